"""Training steps and single operations beside what is predicted of them on one device.

A folder has programs (`NAME.mlir.gz`, `.mlir`, `.hlo.txt.gz`, `.hlo.txt`) and what they were measured to take, a JSON
object a line in any `*.jsonl` there or in `--rows`: "name", "step_s", and as "mem" what JAX's memory_analysis() says
("peak_memory_in_bytes"). Single operations (kernels.py) have "call_s" and a "kind".

    python bench/zoo/zoo.py ../shared/measured/zoo --cluster 1xh200
    python bench/zoo/zoo.py OUT --rows bench/zoo/h200_steps.jsonl --cluster 1xh200     # OUT: by steps.py --lower
    python bench/zoo/zoo.py OUT --rows bench/zoo/h200_kernels.jsonl --cluster 1xh200   # OUT: by kernels.py --lower
    python bench/zoo/zoo.py my/steps --cluster 1xh200 --measure    # runs them on this machine's GPU first

Prints the errors of time and memory beside those that the plan states of itself, a line a program, their means, by kind
where rows have one, and how many are within what was stated. `--measure` compiles and runs every program with
`meshwright verify` (random inputs) in place of reading rows.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple

ENDINGS = (".mlir.gz", ".mlir", ".hlo.txt.gz", ".hlo.txt")


def programs(folder):
    """By name: the file; of several forms the first of ENDINGS."""
    found = {}
    for ending in ENDINGS:
        for path in sorted(folder.glob(f"*{ending}")):
            found.setdefault(path.name.removesuffix(ending), path)
    return found


class Row(NamedTuple):
    """What a program was measured to take; 0: not measured."""

    seconds: float
    peak: int = 0
    kind: str = ""


def rows(files):
    """By name."""
    measured = {}
    for path in files:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            peak = row.get("mem", {}).get("peak_memory_in_bytes", 0)
            seconds = row.get("step_s", row.get("call_s", 0))
            measured[row["name"]] = Row(seconds, peak, row.get("kind", ""))
    return measured


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    # 4: a check failed, which is what is to be shown.
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def figure(report, name):
    """What `meshwright verify --json` measured under this name; 0: nothing."""
    for check in report["checks"]:
        if check["name"] == name:
            return check["figures"]["measured"]
    return 0


def measure(options, path, plan):
    report = json.loads(run([options.meshwright, "verify", plan, "--program", str(path), "--json"]))
    return Row(figure(report, "step time"), figure(report, "memory"))


class Errors:
    """Of what was measured, as shares of what was predicted, which is what plans state."""

    def __init__(self):
        self.of_measured = []
        self.within = 0

    def add(self, predicted, measured, stated):
        """Returns the text of a row."""
        error = predicted / measured - 1
        self.of_measured.append(abs(error))
        self.within += abs(measured / predicted - 1) <= stated
        return f" {100 * error:+6.1f} % (±{100 * stated:3.0f})"

    def text(self):
        mean, worst = 100 * statistics.mean(self.of_measured), 100 * max(self.of_measured)
        count = len(self.of_measured)
        return f"mean error {mean:.1f} %, largest {worst:.1f} %; {self.within} of {count} as stated"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=pathlib.Path, help="measurements beside the folder's own")
    parser.add_argument("--cluster", default="1xh200", help="one device, or a file")
    parser.add_argument("--measure", action="store_true", help="on this machine's GPU")
    parser.add_argument("--meshwright", default=os.environ.get("MESHWRIGHT", "meshwright"))
    options = parser.parse_args()
    files = sorted(options.folder.glob("*.jsonl")) + ([options.rows] if options.rows else [])
    known = {} if options.measure else rows(files)
    times, memories, kinds = Errors(), Errors(), {}
    print(f"{'program':40} {'measured':>10} {'predicted':>10} {'time':>15} {'memory':>15}")
    with tempfile.TemporaryDirectory() as scratch:
        plan = os.path.join(scratch, "plan.json")
        for name, path in programs(options.folder).items():
            if not options.measure and name not in known:
                continue
            command = [options.meshwright, "estimate", str(path), "--cluster", options.cluster]
            run([*command, "--mesh", "1", "--memory", "unlimited", "-o", plan])
            predicted = json.loads(pathlib.Path(plan).read_text())
            row = measure(options, path, plan) if options.measure else known[name]
            step, text = predicted["step_seconds"], f"{name:40} {'none':>13}"
            if row.kind:  # of a single operation the device's time was measured, without the host's
                step -= predicted["time_use"]["launch_overhead"]
            if row.seconds and step:
                text = f"{name:40} {row.seconds * 1e3:7.2f} ms {step * 1e3:7.2f} ms"
                text += times.add(step, row.seconds, predicted["time_error"])
                kinds.setdefault(row.kind, Errors()).add(step, row.seconds, predicted["time_error"])
            if row.peak:
                text += memories.add(predicted["peak_bytes"], row.peak, predicted["memory_error"])
            print(text, flush=True)
    if len(kinds) > 1:
        for kind, errors in kinds.items():
            print(f"{kind}: {errors.text()}")
    for what, errors in (("time", times), ("memory", memories)):
        if errors.of_measured:
            print(f"{what}: {errors.text()}")


if __name__ == "__main__":
    main()
