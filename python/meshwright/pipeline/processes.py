"""What processes that run one pipeline need to know of each other: that they run the same, and that
all are alive. Both go through the key-value store of JAX's coordination service.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import itertools
import json
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from meshwright import _library, errors
from meshwright.document import Plan
from meshwright.pipeline.coordination import Service, start
from meshwright.verify.stage_files import read_file, read_stage_files

# A process that is busy still gives signs of life, by a thread of its own. On a machine with too few
# processors that thread waits as well, so silence alone has to last; a process that has ended on this
# host is waited for only as long as others take to meet with an error that all have in common.
_SIGN_SECONDS = 2.0
_GONE_SECONDS = 40.0
_ENDED_SECONDS = 10.0
_LAST_SIGN_SECONDS = 0.2  # while it waits for the others to end
_ANSWER_SECONDS = 1800.0  # until all processes have lowered, planned and compiled
_numbers = itertools.count()
_calls = 0
_SIGNS = "meshwright/alive/"
# In place of a sign of life: has ended in good order, after so many calls; has left as another is gone.
_DONE = "done"
_LEFT = "left"
# In errors of collectives and of the coordination service.
_BROKEN = re.compile("Gloo|NCCL|UNAVAILABLE|onnection|CoordinationService|arrier")


def _state() -> Any:
    from jax._src import distributed  # there is no other way to the store

    return distributed.global_state


def _client() -> Any:
    return _state().client


def begin_call() -> None:
    """Counts a call that takes all processes: one that makes no more of them ends those that do."""
    global _calls
    _calls += 1


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


def facts_of_arrays(arrays: Sequence[Any], names: Sequence[str]) -> dict[str, str]:
    """What arrays of a process's own must be in all, as each takes the parts that it needs of its own.

    Such are numpy arrays and jax.Arrays on its devices alone. Empty in a single process.
    """
    if jax.process_count() == 1:
        return {}
    return {
        f"value of {name}": hashlib.sha256(np.ascontiguousarray(array).view(np.uint8)).hexdigest()
        for name, array in zip(names, arrays, strict=True)
        if isinstance(array, np.ndarray)
        or (isinstance(array, jax.Array) and array.is_fully_addressable)
    }


def check_alike(mine: Mapping[str, str]) -> None:
    """Raises an error in every process if one has another fact than the first, where both have it."""
    if jax.process_count() == 1:
        return
    begin_call()
    client, number = _client(), next(_numbers)

    def key(process: int) -> str:
        return f"meshwright/pipeline/{number}/{process}"

    client.key_value_set(key(jax.process_index()), json.dumps(dict(mine)))

    def answer(process: int) -> Any:
        try:
            return json.loads(client.blocking_key_value_get(key(process), _milliseconds()))
        except jax.errors.JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            raise errors.InvalidArgumentError(
                f"process {process} has not called mw.jax.pipeline, or what it gave, within "
                f"{_ANSWER_SECONDS:.0f} s of process {jax.process_index()}; all make the same calls"
            ) from None

    found = [answer(process) for process in range(jax.process_count())]
    for process, theirs in enumerate(found):
        for what, first in found[0].items():
            if theirs.get(what, first) != first:
                raise errors.InvalidArgumentError(
                    f"process {process} has another {what} than process 0: {theirs.get(what)} "
                    f"instead of {first}; start all with the same"
                )


def _milliseconds() -> int:
    return int(1e3 * _ANSWER_SECONDS)


@functools.cache
def meet(devices: tuple[Any, ...]) -> None:
    """Returns once all processes that have some of the devices have called this.

    Collectives of the CPU give up where one process comes 30 seconds after another to the first that
    they have in common, and take no other limit.
    """
    processes = sorted({device.process_index for device in devices})
    if len(processes) > 1:
        name = hashlib.sha256(str([device.id for device in devices]).encode()).hexdigest()
        _client().wait_at_barrier(f"meshwright/meet/{name}", _milliseconds(), processes)


_watching = False
_stages: dict[int, str] = {}
_leaving = threading.Event()  # it was said who is gone


def watch(stages: Mapping[int, str] | None = None) -> None:
    """From now on this process ends, with one line that names the other, when one is gone.

    `stages`: by process those it has, for that line, where that is known. A process is gone that has
    ended on this host without saying so, or gives no sign of life for 40 seconds (JAX's own heartbeats
    take 100 by default), or has ended in good order before a call that this one makes and that takes
    all. One that ends in good order waits for the others, so that none leaves JAX's coordination
    service before this is so. Where process 0 has that service, as `jax.distributed.initialize` starts
    it and coordination.py does not, JAX itself ends all others at once when that is gone, with a
    message of its own.
    """
    global _watching
    _stages.update(stages or {})
    if _client() is None or _watching:
        return
    _watching = True
    if _state().service is not None and not isinstance(_state().service, Service):
        warnings.warn(
            "jax.distributed.initialize was called in the place of mw.jax.initialize: when process 0 "
            "dies, JAX ends all others without a word of which it was",
            stacklevel=2,
        )
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
            try:
                thread.join()
            except KeyboardInterrupt:  # JAX would wait for the others
                os._exit(1)

    failed = False
    sys.excepthook = report
    atexit.register(end)  # before JAX leaves the coordination service, which it registered earlier


def _watch(ending: threading.Event) -> None:
    client, me = _client(), _state().process_id
    others = [process for process in range(_state().num_processes) if process != me]
    identity = _identity(os.getpid())
    # By process its last sign and since when, by this one's own waiting and not by the clock: on a
    # machine that is short of processors all are late alike.
    seen: dict[int, tuple[str, float]] = {}
    waited = 0.0
    for sign in itertools.count():
        leaving = ending.is_set()
        text = f"{_DONE} {_calls}" if leaving else f"{sign} {identity}"
        # Asked before signs are read: a process that ended as it should has said so by then.
        ended = {process for process in seen if _has_ended(seen[process][0].partition(" ")[2])}
        try:
            client.key_value_set(f"{_SIGNS}{me}", text, allow_overwrite=True)
            signs = dict(client.key_value_dir_get(_SIGNS))
        except Exception:
            time.sleep(_LAST_SIGN_SECONDS)
            if _client() is not client:  # the program has called jax.distributed.shutdown
                return
            _end(0, "its coordination service does not answer")
        of_others = {process: signs.get(f"{_SIGNS}{process}", "") for process in others}
        if leaving and all(other == text for other in of_others.values()):
            return
        for process, other in of_others.items():
            if process not in seen or seen[process][0] != other:
                seen[process] = other, waited
                continue
            silent = waited - seen[process][1]
            word, _, calls = other.partition(" ")
            if silent <= _ENDED_SECONDS or (word == _DONE and int(calls) >= _calls):
                continue
            if process in ended or word == _DONE:
                _end(process, "it has ended without the others")
            if word == _LEFT and leaving:
                _end(process, "it could not go on once this one had ended")
            if silent > _GONE_SECONDS and word != _LEFT:
                _end(process, f"no sign of life for {_GONE_SECONDS:.0f} s")
        if leaving:
            time.sleep(_LAST_SIGN_SECONDS)
        else:
            ending.wait(_SIGN_SECONDS)
        waited += _LAST_SIGN_SECONDS if leaving else _SIGN_SECONDS


def _identity(pid: int) -> str:
    """What tells a running process from all others, of other hosts and times too.

    Empty: it has ended, or this system does not say.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink("/proc/self/ns/pid")  # numbers of processes mean nothing outside of it
        state, *others = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    started = others[18]
    return "" if state in "ZX" else f"{boot} {space} {pid} {started}"


def _has_ended(identity: str) -> bool:
    """Whether a process with that identity was one of this host and is there no more."""
    mine = _identity(os.getpid()).split()
    given = identity.split()
    if not mine or given[:2] != mine[:2]:
        return False
    return _identity(int(given[2])) != identity


def _end(process: int, why: str) -> None:
    """Ends this process: whatever it waits for will not come."""
    what = f" ({_stages[process]})" if process in _stages else ""
    sys.stderr.write(f"meshwright: process {process}{what} is gone: {why}\n")
    sys.stderr.flush()
    _leaving.set()
    try:
        _client().key_value_set(f"{_SIGNS}{_state().process_id}", _LEFT, allow_overwrite=True)
    finally:
        os._exit(1)
