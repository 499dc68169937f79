"""`jax.distributed.initialize` with the coordination service in a process of its own.

JAX has it in process 0. When that dies, the connections of all others break and JAX ends each of them
with a page of text, which names nobody and which Python cannot keep from being printed. By itself the
service outlives process 0, and processes.py says who is gone.
"""

from __future__ import annotations

import json
import subprocess
import sys
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

    def end(self) -> None:
        """Without waiting for it: JAX ends a process as soon as it has lost the service."""
        assert self._process.stdin is not None
        self._process.stdin.write("end\n")
        self._process.stdin.flush()

    def shutdown(self) -> None:
        try:
            self._process.communicate("end\n")
        except BrokenPipeError:
            self._process.wait()


def start(*args: Any, **kwargs: Any) -> None:
    """`jax.distributed.initialize` with the same arguments."""
    from jax._src import distributed  # there is no other way to the service

    class Library:
        get_distributed_runtime_service = Service

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

    real = distributed._jax
    with mock.patch.object(distributed, "_jax", Library()):
        jax.distributed.initialize(*args, **kwargs)
