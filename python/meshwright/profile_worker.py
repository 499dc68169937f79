"""python3 -m meshwright.profile_worker --devices gpu|host:N: the worker of `meshwright profile`.

Speaks JSON, one object a line. It says first

  {"event": "ready", "device": "...", "devices": 4, "driver": "...", "libraries": "...", "hosts": 1}

or {"event": "unusable", "message": "..."} and ends. Then it takes commands:

  {"command": "measure", "threads": 8, "jobs": [{"id": 7, ...}, ...]}   see _measuring
  {"command": "stop"}

For every job of a command it says {"event": "compiling", "id": 7}, {"event": "compiled", "id": 7},
{"event": "measuring", "id": 7} and in the end

  {"event": "done", "id": 7, "status": "measured", "samples": [...], "peak_bytes": ...,
   "collectives": [...], "compile_seconds": ...}

or `status` "out_of_memory" or "failed", with `error`; after the last one {"event": "idle"}. All jobs
of a command are compiled, several at a time, before the first is measured: a compiler that tries
kernels out would disturb what runs beside it.

With several processes (--distributed) each runs this; the first one talks, and hands every command
on to the others, which do the same at the same time. What went wrong in one of them did so in all.
If one is gone, which is no property of what was measured, the others end: {"event": "lost",
"message": "..."} is the last thing that the first one says then.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from meshwright import _devices, errors

# How collectives and JAX's coordination service name what becomes of those who wait for a process
# that is gone, or that does not answer. Other errors may be the program's: then all can say so.
_GONE = ("DEADLINE_EXCEEDED", "UNAVAILABLE")
_EXIT_LOST = 3


class _Lost(Exception):
    """Another process of a group is gone."""


class _Line:
    """The way back to whoever gives commands."""

    def __init__(self) -> None:
        # Nobody else may write there: libraries print.
        self._file = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self.silent = False

    def say(self, event: str, **fields: Any) -> None:
        if self.silent:
            return
        with self._lock:
            self._file.write(json.dumps({"event": event, **fields}) + "\n")
            self._file.flush()


class _Group:
    """The processes that work in lock-step; of a single one nothing is to be done."""

    def __init__(self, jax: Any) -> None:
        self._jax = jax
        self.first = jax.process_index() == 0
        self.alone = jax.process_count() == 1

    def share(self, data: bytes) -> bytes:
        """What the first process has, in all of them."""
        if self.alone:
            return data
        import numpy as np
        from jax.experimental import multihost_utils

        first = self.first
        with self._together():
            size = int(multihost_utils.broadcast_one_to_all(np.int64(len(data)), is_source=first))
            padded = np.frombuffer(data, np.uint8) if first else np.zeros(size, np.uint8)
            return bytes(np.asarray(multihost_utils.broadcast_one_to_all(padded, is_source=first)))

    def agree(self, number: int) -> int:
        return number if self.alone else int(self.share(str(number).encode()).decode())

    def failed(self, error: Exception | None) -> Exception | None:
        """What went wrong here, or else in another process, as they all say; None: nothing."""
        if self.alone:
            return error
        if error is not None and any(word in str(error) for word in _GONE):
            raise _Lost(errors.one_line(error)) from error
        import numpy as np
        from jax.experimental import multihost_utils

        with self._together():
            fine = np.asarray(multihost_utils.process_allgather(np.int64(error is None)))
        if error is None and not fine.all():
            return RuntimeError(f"it failed in process {int(fine.argmin())}")
        return error

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        """What fails here does so for want of the others."""
        try:
            yield
        except Exception as error:
            raise _Lost(errors.one_line(error)) from error


def _initialize_distributed(jax: Any) -> None:
    """Slurm and the like tell JAX by themselves; JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and
    JAX_PROCESS_ID say it elsewhere."""
    names = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
    values = [os.environ.get(name) for name in names]
    if jax.config.jax_platforms == "cpu":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if all(values):
        jax.distributed.initialize(values[0], int(values[1] or 0), int(values[2] or 0))
    else:
        jax.distributed.initialize()


def _driver(jax: Any) -> str:
    device = jax.devices()[0]
    if device.platform == "cpu":
        return ""
    version = str(device.client.platform_version).split("\n")[-1].strip()
    return " ".join(version.split())


def _libraries(jax: Any) -> str:
    import jaxlib

    return f"jax {jax.__version__}, jaxlib {jaxlib.__version__}"


def _failure(error: BaseException) -> dict[str, str]:
    text = errors.one_line(error)
    out_of_memory = "RESOURCE_EXHAUSTED" in str(error)
    return {"status": "out_of_memory" if out_of_memory else "failed", "error": text}


class _Worker:
    def __init__(self, line: _Line, group: _Group) -> None:
        from meshwright import _measuring

        self._measuring = _measuring
        self._line = line
        self._group = group

    def warm_up(self) -> None:
        self._measuring.warm_up()

    def measure(self, jobs: Sequence[Mapping[str, Any]], threads: int) -> None:
        protos = [self._proto(job) for job in jobs]
        # In lock-step: compilers of several hosts may exchange what they find.
        threads = threads if self._group.alone else 1
        with concurrent.futures.ThreadPoolExecutor(max(threads, 1)) as pool:
            compiled = list(pool.map(self._compile, jobs, protos))
        for job, program in zip(jobs, compiled):
            self._measure(job, program)
        self._line.say("idle")

    def _proto(self, job: Mapping[str, Any]) -> bytes:
        if job["kind"] != "program":
            return b""
        proto = b""
        if self._group.first:
            with open(job["proto"], "rb") as file:
                proto = file.read()
        return self._group.share(proto)

    def _compile(self, job: Mapping[str, Any], proto: bytes) -> Any:
        self._line.say("compiling", id=job["id"])
        try:
            program = self._measuring.compile_job(job, proto)
        except Exception as error:
            program = error
        self._line.say("compiled", id=job["id"])
        return program

    def _measure(self, job: Mapping[str, Any], program: Any) -> None:
        self._line.say("measuring", id=job["id"])
        found: dict[str, Any] = {}
        error: Exception | None = program if isinstance(program, Exception) else None
        # What did not compile somewhere runs nowhere.
        error = self._group.failed(error)
        if error is None:
            try:
                found = self._measuring.figures(program)
                found["samples"] = self._measuring.measure(program, self._group.agree)
            except _Lost:
                raise
            except Exception as raised:
                error = raised
            error = self._group.failed(error)
        if error is not None:
            found.pop("samples", None)
        result = {"status": "measured"} if error is None else _failure(error)
        self._line.say("done", id=job["id"], **result, **found)


def _serve(commands: TextIO, worker: _Worker, group: _Group) -> None:
    while True:
        text = group.share(commands.readline().encode() if group.first else b"")
        if not text.strip():
            return  # whoever gave commands is gone
        command = json.loads(text)
        if command["command"] == "stop":
            return
        worker.measure(command["jobs"], command["threads"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="profile_worker")
    parser.add_argument("--devices", required=True)
    parser.add_argument("--distributed", action="store_true")
    arguments = parser.parse_args(argv)
    line = _Line()

    def unusable(message: str) -> int:
        line.say("unusable", message=message)
        return 2

    try:
        _devices.choose(arguments.devices)
    except errors.InvalidArgumentError as error:
        return unusable(str(error))
    try:
        import jax
    except ImportError:
        return unusable(
            f"{sys.executable} has no JAX; install it with: {sys.executable} -m pip install "
            "'jax[cpu]' (or 'jax[cuda12]'), or name another Python in MESHWRIGHT_PYTHON"
        )
    try:
        if arguments.distributed:
            _initialize_distributed(jax)
        _devices.check(jax, arguments.devices)
        devices = jax.devices()
    except errors.InvalidArgumentError as error:
        return unusable(str(error))
    except (RuntimeError, ValueError) as error:
        return unusable(f"--devices {arguments.devices}: {errors.one_line(error)}")
    from meshwright import clusters

    group = _Group(jax)
    line.silent = not group.first
    worker = _Worker(line, group)
    try:
        worker.warm_up()
    except RuntimeError as error:
        return unusable(f"--devices {arguments.devices}: {errors.one_line(error)}")
    line.say(
        "ready",
        device=devices[0].device_kind,
        device_type=clusters.device_type(devices[0].device_kind) or "",
        devices=len(devices),
        driver=_driver(jax),
        libraries=_libraries(jax),
        hosts=jax.process_count(),
    )
    try:
        _serve(sys.stdin, worker, group)
    except _Lost as error:
        message = f"a process of this profile is gone or does not answer: {error}"
        line.say("lost", message=message)
        if not group.first:
            print(f"process {jax.process_index()}: {message}", file=sys.stderr, flush=True)
        os._exit(_EXIT_LOST)  # an end in order waits for the others
    if arguments.distributed:
        jax.distributed.shutdown()  # all at once: one that goes by itself ends the others
    return 0


if __name__ == "__main__":
    sys.exit(main())
