"""Plans many random programs, runs and verifies some, and says which seeds fail, and how.

    python tests/python/run_random_programs.py --plans 2000 --runs 200

Programs are planned in processes of their own: one that dies, or hangs, is a failure of its seed, and
the others go on. Seeds count from --first; those that are run are spread over all. Exit code 1: a seed failed.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from xla_flags import FAST_TO_COMPILE

CLUSTER = "8xh100-sxm"
MESHES = ("2x4", "8", "4x2", "auto")
SECONDS = 120  # of one program, which includes JAX's own tracing and compiling
DEADLINE = "2s"


@dataclasses.dataclass
class Outcome:
    """What became of a seed. `kind`: planned, verified, refused, differs, died, hung or failed."""

    seed: int
    kind: str
    text: str = ""

    @property
    def good(self) -> bool:
        return self.kind in ("planned", "verified")


def run(
    seeds: Sequence[int], runs: int, workers: int = 2, seconds: float = SECONDS
) -> Iterator[Outcome]:
    """The outcome of every seed, as they come. So many of them are run and verified, not only planned."""
    every = max(1, len(seeds) // runs) if runs else 0
    verified = set(seeds[::every][:runs]) if runs else set()
    parts = [seeds[index::workers] for index in range(workers)]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        results: queue.Queue[Outcome] = queue.Queue()
        for part in parts:
            pool.submit(_drive, part, verified, seconds, results)
        for _ in seeds:
            yield results.get()


def _drive(seeds: Sequence[int], verified: set[int], seconds: float, results: Any) -> None:
    """Hands seeds to a worker, one at a time, and to a new one where that died."""
    worker = None
    for seed in seeds:
        if worker is None or worker.poll() is not None:
            worker = _start()
        outcome = _ask(worker, seed, seed in verified, seconds)
        if outcome.kind in ("died", "hung"):
            worker = None
        results.put(outcome)
    if worker is not None:
        worker.stdin.close()
        worker.wait()


def _start() -> Any:
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count=8 {FAST_TO_COMPILE}",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    # Tests put another generator in front.
    before = os.environ.get("MESHWRIGHT_RANDOM_PROGRAMS")
    first = [before] if before else []
    environment["PYTHONPATH"] = os.pathsep.join([*first, *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", "import run_random_programs; run_random_programs.work()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=Path(__file__).parent if not before else before,
    )


def _ask(worker: Any, seed: int, verified: bool, seconds: float) -> Outcome:
    late = threading.Event()

    def stop() -> None:
        late.set()
        worker.kill()

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        worker.stdin.write(f"{seed} {int(verified)}\n")
        worker.stdin.flush()
        phase = "start"
        for line in worker.stdout:
            message = json.loads(line)
            if "kind" in message:
                return Outcome(seed, message["kind"], message["text"])
            phase = message["phase"]
    except BrokenPipeError:
        pass
    finally:
        timer.cancel()
    code = worker.wait()
    if late.is_set():
        return Outcome(seed, "hung", f"while it {phase}, {seconds:g} s")
    name = signal.Signals(-code).name if code < 0 else f"exit {code}"
    return Outcome(seed, "died", f"while it {phase}: {name}")


def work() -> None:
    """The worker: seeds on standard input, what becomes of them on standard output."""
    # What callbacks print must not get between.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**message: Any) -> None:
        print(json.dumps(message), file=out, flush=True)

    warnings.filterwarnings("ignore", "Some donated buffers")
    for line in sys.stdin:
        seed, verified = map(int, line.split())
        try:
            kind, text = _outcome(seed, bool(verified), tell)
        except Exception as error:  # a finding: of Meshwright, of JAX or of the generator
            kind, text = "failed", _last_place(error)
        tell(kind=kind, text=text)
        if "jax" in sys.modules:  # what was compiled is not needed again, and adds up
            sys.modules["jax"].clear_caches()


def _outcome(seed: int, verified: bool, tell: Any) -> tuple[str, str]:
    import numpy as np
    from random_programs import RandomProgram

    import meshwright as mw

    tell(phase="lowers")
    program = RandomProgram(seed)
    program.function.lower(*program.arguments)  # JAX's own failures are not the planner's
    rng = np.random.default_rng([seed, 2])
    options = {"cluster": CLUSTER, "mesh": MESHES[rng.integers(len(MESHES))], "deadline": DEADLINE}
    tell(phase="plans")
    try:
        plan = mw.plan(program.function, *program.arguments, **options)
        if not verified:
            return "planned", ""
        # So little work is hardly worth sharding: some arguments are, whatever that costs.
        options["mesh"] = dict(plan.mesh_shape)
        fix = {row["name"]: _some_spec(row, plan.mesh_shape, rng) for row in plan.parameters}
        fix = {name: spec for name, spec in fix.items() if spec is not None and rng.random() < 0.6}
        tell(phase="plans with fixes")
        plan = mw.plan(program.function, *program.arguments, fix=fix, **options)
        tell(phase="verifies")
        report = plan.verify(repeats=0)
    except mw.Error as error:
        return "refused", f"{type(error).__name__}: {error}"
    if report.passed:
        return "verified", ""
    bad = [check for check in report.checks if check.outcome == "differs"]
    return "differs", "; ".join(f"{c.name} {c.planned} {c.measured} {c.notes}" for c in bad)


def _some_spec(row: dict[str, Any], mesh: dict[str, int], rng: Any) -> str | None:
    """A sharding of one dimension, or of two, that divides them; None: there is none."""
    dims: list[str] = ["_"] * len(row["shape"])
    for axis in rng.permutation(list(mesh)):
        fit = [
            i
            for i, size in enumerate(row["shape"])
            if dims[i] == "_" and size and size % mesh[axis] == 0
        ]
        if fit and rng.random() < 0.7:
            dims[rng.choice(fit)] = str(axis)
    return f"[{','.join(dims)}]" if any(dim != "_" for dim in dims) else None


def _last_place(error: BaseException) -> str:
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    first = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {first} ({Path(frame.filename).name}:{frame.lineno})"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--plans", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, nargs="*", help="these alone, all of them run")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each program")
    arguments = parser.parse_args()
    seeds = arguments.seeds or range(arguments.first, arguments.first + arguments.plans)
    runs = len(seeds) if arguments.seeds else arguments.runs
    counts: collections.Counter[str] = collections.Counter()
    for outcome in run(list(seeds), runs, arguments.workers, arguments.seconds):
        counts[outcome.kind] += 1
        if not outcome.good:
            print(f"seed {outcome.seed} {outcome.kind}: {outcome.text}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 0 if set(counts) <= {"planned", "verified"} else 1


if __name__ == "__main__":
    sys.exit(main())
