"""What processes that run one pipeline need to know of each other: that they run the same, and that
all are alive. Both go through the key-value store of JAX's coordination service.
"""

from __future__ import annotations

import atexit
import hashlib
import itertools
import json
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import jax

from meshwright import _library, errors
from meshwright.document import Plan
from meshwright.pipeline.coordination import Service, start
from meshwright.verify.stage_files import read_file, read_stage_files

# A process that is busy still gives signs of life, by a thread of its own.
_SIGN_SECONDS = 2.0
_GONE_SECONDS = 20.0
_ANSWER_SECONDS = 300.0  # until all processes have lowered and planned
_numbers = itertools.count()
_SIGNS = "meshwright/alive/"
_DONE = "done"
# In errors of collectives and of the coordination service.
_BROKEN = re.compile("Gloo|NCCL|UNAVAILABLE|onnection|CoordinationService")


def _state() -> Any:
    from jax._src import distributed  # there is no other way to the store

    return distributed.global_state


def _client() -> Any:
    return _state().client


def _leave() -> None:
    """Ends this process, and a coordination service that it has started."""
    service = _state().service
    if isinstance(service, Service):
        time.sleep(3 * _SIGN_SECONDS)  # by which the others have seen what this one has
        service.end()
    os._exit(1)


def initialize(*args: Any, **kwargs: Any) -> None:
    """`jax.distributed.initialize`, with the same arguments and in its place.

    From then on, when a process dies - process 0 like any other - all end with one line that names it.
    """
    start(*args, **kwargs)
    watch()


def facts(plan: Plan, contents: bytes, stages: str | os.PathLike[str]) -> dict[str, str]:
    """What must be alike in all processes, by what it is called."""
    document = plan.as_dict()
    document.pop("planning_seconds")
    modules = hashlib.sha256()
    index = read_stage_files(stages).index
    for file in sorted(index.parent.iterdir()):
        modules.update(file.name.encode() + b"\0" + read_file(file))
    return {
        "package": f"{_library.version()}, jax {jax.__version__}",
        "program": hashlib.sha256(contents).hexdigest(),
        "plan": hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest(),
        "stages": modules.hexdigest(),
    }


def check_alike(mine: Mapping[str, str]) -> None:
    """Raises an error in every process if one has other `facts` than the first."""
    if jax.process_count() == 1:
        return
    client, number = _client(), next(_numbers)

    def key(process: int) -> str:
        return f"meshwright/pipeline/{number}/{process}"

    client.key_value_set(key(jax.process_index()), json.dumps(dict(mine)))
    timeout = int(1e3 * _ANSWER_SECONDS)
    found = [
        json.loads(client.blocking_key_value_get(key(process), timeout))
        for process in range(jax.process_count())
    ]
    for process, theirs in enumerate(found):
        for what, first in found[0].items():
            if theirs.get(what) != first:
                raise errors.InvalidArgumentError(
                    f"process {process} has another {what} than process 0: {theirs.get(what)} "
                    f"instead of {first}; start all with the same"
                )


_watching = False
_stages: dict[int, str] = {}
_leaving = threading.Event()  # it was said who is gone


def watch(stages: Mapping[int, str] | None = None) -> None:
    """From now on this process ends, with one line that names the other, when one is gone.

    `stages`: by process those it has, for that line, where that is known. A process is gone that gives no sign of life for
    20 seconds; JAX's own heartbeats take 100 by default. Where process 0 has the coordination service,
    as `jax.distributed.initialize` starts it and coordination.py does not, JAX itself ends all others
    at once when that is gone, with a message of its own.
    """
    global _watching
    _stages.update(stages or {})
    if _client() is None or _watching:
        return
    _watching = True
    ending = threading.Event()
    thread = threading.Thread(target=_watch, args=(ending,), daemon=True)
    thread.start()
    shown = sys.excepthook

    def report(kind: Any, error: BaseException, trace: Any) -> None:
        """Of a connection that broke, first waits for what the watch says of the other end.

        Then ends the process: JAX would wait for the others, and these wait for it.
        """
        nonlocal failed
        failed = True
        if _BROKEN.search(str(error)):
            time.sleep(_GONE_SECONDS + 3 * _SIGN_SECONDS)
        if _leaving.is_set():
            thread.join()  # which ends the process
        shown(kind, error, trace)
        sys.stderr.flush()
        os._exit(1)

    def end() -> None:
        if (
            not failed
        ):  # else the others take it for gone, and it may well be a failure that they share
            ending.set()
            thread.join()

    failed = False
    sys.excepthook = report
    atexit.register(end)  # before JAX leaves the coordination service, which it registered earlier


def _watch(ending: threading.Event) -> None:
    client, me = _client(), _state().process_id
    others = [process for process in range(_state().num_processes) if process != me]
    # By process its last sign and since which of this one's, not of the clock's: on a machine that
    # is short of processors all are late alike.
    seen: dict[int, tuple[str, int]] = {}
    for sign in itertools.count():
        text = _DONE if ending.is_set() else str(sign)
        try:
            client.key_value_set(f"{_SIGNS}{me}", text, allow_overwrite=True)
            signs = dict(client.key_value_dir_get(_SIGNS))
        except Exception:
            _end(0, "its coordination service does not answer")
        if text == _DONE:
            return
        for process in others:
            sign_of = signs.get(f"{_SIGNS}{process}", "")
            if process not in seen or seen[process][0] != sign_of:
                seen[process] = sign_of, sign
            elif sign_of != _DONE and (sign - seen[process][1]) * _SIGN_SECONDS > _GONE_SECONDS:
                _end(process, f"no sign of life for {_GONE_SECONDS:.0f} s")
        ending.wait(_SIGN_SECONDS)


def _end(process: int, why: str) -> None:
    """Ends this process: whatever it waits for will not come."""
    what = f" ({_stages[process]})" if process in _stages else ""
    sys.stderr.write(f"meshwright: process {process}{what} is gone: {why}\n")
    sys.stderr.flush()
    _leaving.set()
    _leave()
