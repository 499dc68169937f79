"""Runs a command of meshwright on modules, each in a process of its own, so that a crash or a hang is
the module's own, and judges how it ended."""

import math
import resource
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CLUSTER = ["--cluster", "8xh100-sxm"]
MESH = ["--mesh", "x=2,y=4"]
WAITING = 10  # times the limit: after so long, what uses no processor time is stopped
ENDED_WELL = (0, 2, 3)  # planned, refused, nothing fits

# Commands by name: words with {module}, {plan} (of the module) and {out} (a path that may be written).
# Each module's own plan is made by the first, and the others run on modules that have one.
COMMANDS = {
    "plan": ["plan", "{module}", *CLUSTER, *MESH, "-o", "{plan}"],
    "emit": ["plan", "{module}", *CLUSTER, *MESH, "--emit", "{out}"],
    "pipeline": ["plan", "{module}", *CLUSTER, "--pipeline", "2", "--emit", "{out}"],
    "estimate": ["estimate", "{module}", *CLUSTER, *MESH],
    "blocks": ["blocks", "{module}", *CLUSTER, *MESH],
    "explain": ["explain", "{plan}", "--parameters"],
    "simulate": ["simulate", "{plan}"],
    "report": ["report", "{plan}", "-o", "{out}"],
}


@dataclass(frozen=True)
class Run:
    command: str  # a key of COMMANDS
    code: int | None  # exit code, minus the number of the signal that ended it, or None: stopped
    seconds: float
    message: str  # what it said on standard error, in one line

    @property
    def fault(self):
        """What is wrong with how it ended, or None."""
        if self.code is None:
            return "hang"
        if self.code < 0:
            return signal.Signals(-self.code).name
        if self.code not in ENDED_WELL:
            return f"exit {self.code}"
        if self.code != 0 and not self.message:
            return f"exit {self.code} without a message"
        return None

    @property
    def ending(self):
        """How it ended, in a word."""
        return self.fault or f"exit {self.code}"


def _run(argv, limit_seconds):
    """Exit code or None, seconds, and standard error of a command. The limit is of processor time, so that
    a busy machine stops nothing; what waits for ever is stopped too, later."""
    start = time.monotonic()
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    limit = math.ceil(limit_seconds)
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit + 1))
    try:
        message = process.communicate(timeout=WAITING * limit_seconds)[1]
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        message = process.communicate()[1]
        code = None
    if code is not None and -code == signal.SIGXCPU:
        code = None
    return code, time.monotonic() - start, " ".join(message.decode(errors="replace").split())


def _remove(path):
    if Path(path).is_dir():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)


class Runner:
    """Runs `commands` (keys of COMMANDS) of `program`; files go below `folder`."""

    def __init__(self, program, folder, commands, limit_seconds, memory_bytes):
        self.program = program
        self.folder = Path(folder)
        self.commands = commands
        self.limit_seconds = limit_seconds
        if memory_bytes:  # a limit of this process, which those that it starts inherit
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, hard))

    def run(self, module):
        """Runs of the commands on one module, those after the first only if that gave a plan."""
        own = str(self.folder / f"thread{threading.get_ident()}")
        paths = {"module": own + ".module", "plan": own + ".json", "out": own + ".out"}
        Path(paths["module"]).write_bytes(module.contents)
        runs = []
        for command in self.commands:
            _remove(paths["out"])
            words = [word.format(**paths) for word in COMMANDS[command]]
            code, seconds, message = _run([self.program, *words], self.limit_seconds)
            runs.append(Run(command, code, seconds, message.replace(paths["module"], "MODULE")))
            if command == self.commands[0] and code != 0:
                break
        for path in paths.values():
            _remove(path)
        return runs

    def run_all(self, modules, processes, progress):
        """Runs of every module, in the order of modules."""
        with ThreadPoolExecutor(processes) as pool:
            results = []
            for runs in pool.map(self.run, modules):
                results.append(runs)
                progress(len(results))
            return results
