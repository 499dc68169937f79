"""Training steps beside what is predicted of them on one device.

A folder has programs (`NAME.mlir.gz`, `.mlir`, `.hlo.txt.gz`, `.hlo.txt`) and what they were measured to take, a JSON
object a line in any `*.jsonl`: "name", "step_s", and as "mem" what JAX's memory_analysis() says
("peak_memory_in_bytes").

    python bench/zoo/zoo.py ../shared/measured/zoo --cluster 1xh200
    python bench/zoo/zoo.py my/steps --cluster 1xh200 --measure    # runs them on this machine's GPU first

Prints the errors of time and memory, a line a program, and their means. `--measure` compiles and runs every program
with `meshwright verify` (random inputs) in place of reading rows.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ENDINGS = (".mlir.gz", ".mlir", ".hlo.txt.gz", ".hlo.txt")


def programs(folder):
    """By name: the file; of several forms the first of ENDINGS."""
    found = {}
    for ending in ENDINGS:
        for path in sorted(folder.glob(f"*{ending}")):
            found.setdefault(path.name.removesuffix(ending), path)
    return found


def rows(folder):
    """By name: measured seconds and peak bytes."""
    measured = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if "step_s" in row:
                memory = row.get("mem", {}).get("peak_memory_in_bytes", 0)
                measured[row["name"]] = (row["step_s"], memory)
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
    return figure(report, "step time"), figure(report, "memory")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cluster", default="1xh200", help="one device, or a file")
    parser.add_argument("--measure", action="store_true", help="on this machine's GPU")
    parser.add_argument("--meshwright", default=os.environ.get("MESHWRIGHT", "meshwright"))
    options = parser.parse_args()
    known = {} if options.measure else rows(options.folder)
    times, memories = [], []
    print(f"{'program':20} {'measured':>10} {'predicted':>10} {'time':>8} {'memory':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        plan = os.path.join(scratch, "plan.json")
        for name, path in programs(options.folder).items():
            if not options.measure and name not in known:
                continue
            command = [options.meshwright, "estimate", str(path), "--cluster", options.cluster]
            run([*command, "--mesh", "1", "--memory", "unlimited", "-o", plan])
            predicted = json.loads(pathlib.Path(plan).read_text())
            seconds, peak = measure(options, path, plan) if options.measure else known[name]
            if not seconds:
                print(f"{name:20} {'none':>10}")
                continue
            error = predicted["step_seconds"] / seconds - 1
            times.append(abs(error))
            text = (
                f"{name:20} {seconds * 1e3:7.2f} ms {predicted['step_seconds'] * 1e3:7.2f} ms"
                f" {100 * error:+6.1f} %"
            )
            if peak:
                error = predicted["peak_bytes"] / peak - 1
                memories.append(abs(error))
                text += f" {100 * error:+6.1f} %"
            print(text, flush=True)
    for what, errors in (("time", times), ("memory", memories)):
        if errors:
            mean, worst = 100 * statistics.mean(errors), 100 * max(errors)
            print(f"{what}: mean error {mean:.1f} %, largest {worst:.1f} %, of {len(errors)}")


if __name__ == "__main__":
    main()
