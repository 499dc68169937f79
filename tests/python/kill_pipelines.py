"""Kills processes of a pipeline that trains, at random points, and goes on from its checkpoints.

python tests/python/kill_pipelines.py --kills 20

After each kill the others must end within 60 seconds, each with one line that names the process that is
gone. Losses after a restart must be those that an earlier run had at the same steps, and all of them
those of the unsharded step.
"""

import argparse
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ENDS = 60  # seconds


class Died(Exception):
    """What was to be shown is not so."""


class Run:
    """The processes of one start."""

    def __init__(self, count, devices, folder, kind):
        from xla_flags import FAST_TO_COMPILE

        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            address = f"localhost:{probe.getsockname()[1]}"
        flags = f"{FAST_TO_COMPILE} --xla_force_host_platform_device_count={devices}"
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
        self.outputs = [folder / f"output{number}" for number in range(count)]
        self.errors = [folder / f"errors{number}" for number in range(count)]
        self.processes = []
        for number in range(count):
            with open(self.outputs[number], "w") as out, open(self.errors[number], "w") as err:
                command = [sys.executable, HERE / "pipeline_trainer.py", address, count, number]
                command += [folder / "checkpoints", kind, 10**6]
                self.processes.append(
                    subprocess.Popen(
                        list(map(str, command)), env=environment, stdout=out, stderr=err
                    )
                )

    def wait_for(self, word, seconds=300):
        until = time.monotonic() + seconds
        while not all(word in path.read_text() for path in self.outputs):
            if any(process.poll() is not None for process in self.processes):
                raise Died("ended by itself: " + self.errors[0].read_text()[-2000:])
            if time.monotonic() > until:
                raise Died(f'no "{word}" after {seconds} s')
            time.sleep(0.1)

    def kill(self, victim):
        """Seconds until all others have ended, each with one line."""
        before = [path.stat().st_size for path in self.errors]
        self.processes[victim].send_signal(signal.SIGKILL)
        begin = time.monotonic()
        for number, process in enumerate(self.processes):
            try:
                process.wait(max(begin + ENDS - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                raise Died(f"process {number} lives {ENDS} s after process {victim}") from None
            if number == victim:
                continue
            said = self.errors[number].read_bytes()[before[number] :].decode()
            line = rf"meshwright: process {victim}(?: \(stages? [\d, ]+\))? is gone: .*\n"
            if process.returncode != 1 or not re.fullmatch(line, said):
                raise Died(f"process {number} ended with {process.returncode} and said: {said}")
        return time.monotonic() - begin

    def losses(self):
        """By step; all processes have the same."""
        found = {}
        for path in self.outputs:
            for step, loss in re.findall(r"^loss (\d+) (\S+)$", path.read_text(), re.MULTILINE):
                if found.setdefault(int(step), loss) != loss:
                    raise Died(f"processes have different losses at step {step}")
        return found

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def unsharded(kind, steps):
    import jax
    import numpy as np
    import pipeline_models

    fn, (state, *batch) = pipeline_models.MODELS["llama"](
        np.random.default_rng(0), **pipeline_models.KINDS[kind].sizes
    )
    step, losses = jax.jit(fn), []
    for _ in range(steps):
        state, loss = step(state, *batch)
        losses.append(float(loss))
    return losses


def kill_one(count, devices, kind, folder, victim, begun, wait, losses):
    """One start, and one kill some seconds after all have printed the word `begun`.

    Returns the seconds that the end took.
    """
    run = Run(count, devices, folder, kind)
    try:
        run.wait_for(begun)
        time.sleep(wait)
        took = run.kill(victim)
        agree(run, losses)
        return took
    finally:
        run.end()


def go_on(count, devices, kind, folder, losses):
    """A start from the last checkpoint, for a step or more."""
    run = Run(count, devices, folder, kind)
    try:
        run.wait_for("loss")
        run.wait_for("from", 0)
        agree(run, losses)
    finally:
        run.end()


def agree(run, losses):
    """Adds to `losses`, by step, those of a run, which are the same where both have them."""
    for step, loss in run.losses().items():
        if losses.setdefault(step, loss) != loss:
            raise Died(f"step {step} has loss {loss} after a restart, {losses[step]} before")


def check(losses, kind):
    """All steps are there, and as the unsharded step has them."""
    if sorted(losses) != list(range(len(losses))):
        raise Died(f"steps are missing: {sorted(losses)}")
    for step, (mine, other) in enumerate(
        zip((float.fromhex(losses[step]) for step in sorted(losses)), unsharded(kind, len(losses)))
    ):
        if abs(mine - other) > 2e-5 * (step + 1):
            raise Died(f"step {step} has loss {mine}, unsharded {other}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=15, help="the latest kill, after that")
    arguments = parser.parse_args()
    kind = "uneven" if arguments.processes == 2 else "1f1b"
    devices = 1 if arguments.processes == 2 else 4 // arguments.processes
    draw = random.Random(arguments.seed)
    losses, failed = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.kills):
            victim = draw.randrange(arguments.processes)
            wait = draw.uniform(0, arguments.seconds)
            begun = draw.choice(["connected", "loss"])  # while it starts, or while it trains
            try:
                took = kill_one(
                    arguments.processes, devices, kind, Path(folder), victim, begun, wait, losses
                )
                said = f"ok     all ended after {took:.0f} s"
            except Died as error:
                failed += 1
                said = f"FAILED {error}"
            print(
                f'{number}: process {victim} killed {wait:.1f} s after "{begun}", {len(losses)} steps: '
                f"{said}",
                flush=True,
            )
        check(losses, kind)
    print(f"{len(losses)} losses are those of the unsharded step")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
