"""When the phases of a step ran, beside when they were planned to."""

from __future__ import annotations

import dataclasses
import math
import queue
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from meshwright.pipeline.order import Task
from meshwright.pipeline.routes import Port
from meshwright.pipeline.runtime import Observer
from meshwright.pipeline.wiring import Module


@dataclasses.dataclass(frozen=True)
class Ran:
    """A phase that ran; seconds since the timeline was made."""

    task: Task
    phase: str  # as the index has it
    devices: tuple[int, ...]  # numbers, JAX's
    start: float
    end: float


@dataclasses.dataclass(frozen=True)
class Sent:
    """An array that went from one stage to another's devices."""

    source: int  # stages
    target: int
    phase: str  # of the phase that gave it, as the index has it
    name: str
    micro_batch: int | None
    bytes_per_device: int  # of what a sending device has of it


@dataclasses.dataclass(eq=False)
class _Phase:
    """One that was dispatched."""

    task: Task
    name: str
    inputs: Sequence[Any]
    done: Any
    dispatched: float
    end: float | None = None


class Timeline(Observer):
    """Observes a runtime's step. For each set of devices a thread waits for phase after phase.

    A phase has started when it is dispatched, its inputs are there and the one before it on the same
    devices has ended; what transfers take between is in neither. Waiting does not hold up what runs.
    """

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        # Threads that wait are to see an end when it comes, not when Python next lets them run.
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-4)
        self._queues: dict[tuple[int, ...], queue.SimpleQueue[Any]] = {}
        self._threads: list[threading.Thread] = []
        self._ran: list[Ran] = []
        self._running: list[_Phase] = []
        self.transfers: list[Sent] = []

    def ran(
        self, task: Task, module: Module, inputs: Sequence[Any], done: Any, dispatched: float
    ) -> None:
        devices = tuple(sorted(device.id for device in done.sharding.device_set))
        phase = _Phase(task, module[1], inputs, done, dispatched - self._begin)
        # What is small runs while it is dispatched; no thread would wake up for it in time.
        self._running = [one for one in (*self._running, phase) if not self._ended(one)]
        if devices not in self._queues:
            self._queues[devices] = queue.SimpleQueue()
            thread = threading.Thread(target=self._watch, args=(devices,), daemon=True)
            self._threads.append(thread)
            thread.start()
        self._queues[devices].put(phase)

    def _ended(self, phase: _Phase) -> bool:
        if phase.end is None and phase.done.is_ready():
            phase.end = time.perf_counter() - self._begin
        return phase.end is not None

    def sent(self, port: Port, taker: Module, task: Task, name: str, array: Any) -> None:
        source = array.sharding
        shard = source.shard_shape(array.shape)
        size = math.prod(shard) * np.dtype(array.dtype).itemsize
        self.transfers.append(Sent(port.stage, taker[0], port.phase, name, task.micro_batch, size))

    def phases(self) -> list[Ran]:
        """Waits for the end of all phases; by start."""
        for waiting in self._queues.values():
            waiting.put(None)
        for thread in self._threads:
            thread.join()
        sys.setswitchinterval(self._interval)
        return sorted(self._ran, key=lambda ran: ran.start)

    def _watch(self, devices: tuple[int, ...]) -> None:
        before = 0.0
        ran: list[Ran] = []
        while (phase := self._queues[devices].get()) is not None:
            start = max(phase.dispatched, before)
            if phase.end is None:
                start = max(start, self._wait(phase.inputs))
                jax.block_until_ready(phase.done)
                self._ended(phase)
            assert phase.end is not None
            before = phase.end
            ran.append(Ran(phase.task, phase.name, devices, min(start, before), before))
        # This thread may have seen late that a phase ended: it was over when the next one began.
        for number in reversed(range(len(ran) - 1)):
            one, following = ran[number], ran[number + 1].start
            start, end = min(one.start, following), min(one.end, following)
            ran[number] = dataclasses.replace(one, start=start, end=end)
        self._ran += ran

    def _wait(self, arrays: Sequence[Any]) -> float:
        for array in arrays:
            try:
                jax.block_until_ready(array)
            except RuntimeError:
                if not array.is_deleted():  # what a later phase overwrites was there before
                    raise
        return time.perf_counter() - self._begin


def trace_of(order: Sequence[Task], ran: Sequence[Ran], groups: int) -> dict[str, Any]:
    """The planned schedule and the measured one in the Trace Event Format, for Perfetto.

    `pid` 1 has what was planned and 2 what ran, each with a row (`tid`, from 1) for each group of
    devices. Times are microseconds from the step's begin; the measured ones begin with the first phase.
    """
    first = min((one.start for one in ran), default=0.0)
    events: list[dict[str, Any]] = []
    for pid, name in ((1, "planned"), (2, "measured")):
        events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})
        for group in range(groups):
            row = {"pid": pid, "tid": 1 + group, "args": {"name": f"group {group}"}}
            events.append({"name": "thread_name", "ph": "M", **row})
    rows = [(1, task, task.phase, task.start, task.end) for task in order]
    rows += [(2, one.task, one.phase, one.start - first, one.end - first) for one in ran]
    for pid, task, phase, start, end in rows:
        number = "" if task.micro_batch is None else f" {task.micro_batch}"
        events.append(
            {
                "name": f"{phase}{number} s{task.stage}",
                "cat": task.phase,
                "ph": "X",
                "pid": pid,
                "tid": 1 + task.stage % groups,
                "ts": 1e6 * start,
                "dur": 1e6 * (end - start),
                "args": {"stage": task.stage, "micro_batch": task.micro_batch},
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ms"}
