"""`jax.distributed.initialize` with the coordination service in a process of its own.

JAX has it in process 0. When that dies, the connections of all others break and JAX ends each of them
with a page of text, which names nobody and which Python cannot keep from being printed. By itself the
service outlives process 0, and processes.py says who is gone.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import jax

from meshwright import errors


class Service:
    """What process 0 has of the service."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        script = Path(__file__).with_name("coordination_service.py")
        command = [sys.executable, str(script), json.dumps([arguments, options])]
        # A session of its own: an interrupt from the keyboard is for this process, which ends it.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        if self._process.stdout.readline() != "serving\n":
            last = self._process.stderr.read().strip().rpartition("\n")[2]
            raise errors.InvalidArgumentError(
                f"cannot start the coordination service on {arguments[0]}: {last}"
            )

    def shutdown(self) -> None:
        """Without waiting for it: it serves until this process, too, has disconnected or ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("end\n")
            self._process.stdin.close()
        except BrokenPipeError:  # it has ended
            pass


# Threads of the CPU's client. What waits in a collective for another process keeps its thread, and XLA
# has as many as there are processors: then none is left for what the other process waits for.
_CPU_THREADS = 128

# JAX's client ends the process with a page of text where it finds no service, or not all processes do,
# in time: it gets more time than that, in which this process says so itself.
_MORE_SECONDS = 60


def _give_up(address: str, processes: int, seconds: int) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        why = f"fewer than {processes} processes have come to {address}"
    except OSError as error:
        why = f"no coordination service answers at {address}, where process 0 starts it: {error}"
    sys.stderr.write(f"meshwright: {why}, after {seconds} s\n")
    sys.stderr.flush()
    os._exit(1)


def start(*args: Any, **kwargs: Any) -> None:
    """`jax.distributed.initialize` with the same arguments.

    Raises InvalidArgumentError where they are no good. Where the processes do not find each other in
    time, ends this one with one line.
    """
    from jax._src import distributed  # there is no other way to the service

    os.environ.setdefault("PJRT_NPROC", str(max(_CPU_THREADS, os.cpu_count() or 1)))
    timers = []

    def client(address: str, process: int, *, init_timeout: int, **options: Any) -> Any:
        given = (address, distributed.global_state.num_processes, init_timeout)
        timers.append(threading.Timer(init_timeout, _give_up, given))
        timers[-1].daemon = True
        timers[-1].start()
        more = init_timeout + _MORE_SECONDS
        return real.get_distributed_runtime_client(address, process, init_timeout=more, **options)

    class Library:
        get_distributed_runtime_service = Service
        get_distributed_runtime_client = staticmethod(client)

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

    real = distributed._jax
    try:
        with mock.patch.object(distributed, "_jax", Library()):
            jax.distributed.initialize(*args, **kwargs)
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, errors.Error):
            raise
        if isinstance(error, IndexError):  # of an address without a port
            raise errors.InvalidArgumentError(
                "mw.jax.initialize: coordinator_address: found no port, expected host:port"
            ) from None
        raise errors.InvalidArgumentError(f"mw.jax.initialize: {errors.one_line(error)}") from None
    finally:
        for timer in timers:
            timer.cancel()
