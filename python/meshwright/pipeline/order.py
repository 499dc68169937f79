"""In which order a pipeline's phases run: the plan's, as `simulate` has it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from meshwright import _library, errors
from meshwright.document import Plan

WEIGHTS = "weight gradient"


@dataclasses.dataclass(frozen=True)
class Task:
    """A phase of a stage: of a micro-batch, or the update (micro_batch None)."""

    stage: int
    phase: str  # forward, backward, weight gradient, update
    micro_batch: int | None
    start: float  # simulated, seconds from the step's begin
    end: float

    @property
    def name(self) -> str:
        part = "" if self.micro_batch is None else f", micro-batch {self.micro_batch}"
        return f"stage {self.stage} {self.phase}{part}"


def planned_order(plan: Plan) -> list[Task]:
    """The plan's schedule as one sequence: by start in the simulation.

    A phase starts there after those that it needs, and each group of devices runs one at a time, so
    this is an order of every group's own and one in which all processes can dispatch alike. A
    schedule that has the weights' gradients apart (zb-h1) has phases of their own for them.
    """
    # The events lie in groups; Python's sort is stable, so phases of no length keep their order.
    events = json.loads(_library.simulate(plan.to_json().encode(), {})[1])
    cut = events.get("otherData")
    if cut is not None:
        raise errors.UnsupportedError(
            f"the schedule has {cut['tasks']} phases, a run can have {cut['shown_tasks']}: plan fewer "
            "micro-batches"
        )
    tasks = [
        Task(
            event["args"]["stage"],
            event["cat"],
            event["args"].get("micro_batch"),
            1e-6 * event["ts"],
            1e-6 * (event["ts"] + event["dur"]),
        )
        for event in events["traceEvents"]
        if event.get("cat") in ("forward", "backward", WEIGHTS, "update")
    ]
    return _causal(tasks, len(plan.stages))


def _causal(tasks: Sequence[Task], stages: int) -> list[Task]:
    """`tasks` by start, but none before what it needs where times are equal or rounded."""
    left = sorted(tasks, key=lambda task: task.start)
    done: set[tuple[int, str, int | None]] = set()
    present = {(task.stage, task.phase, task.micro_batch) for task in tasks}

    def needs(task: Task) -> list[tuple[int, str, int | None]]:
        if task.phase == "forward":
            return [(task.stage - 1, "forward", task.micro_batch)]
        if task.phase == "backward":
            return [
                (task.stage + 1, "backward", task.micro_batch),
                (task.stage, "forward", task.micro_batch),
            ]
        if task.phase == WEIGHTS:
            return [(task.stage, "backward", task.micro_batch)]
        return []

    ordered: list[Task] = []
    while left:
        # What waits holds up its own stage's later phases, so that these keep their order.
        held: set[int] = set()
        rest: list[Task] = []
        for task in left:
            ready = all(need in done or need not in present for need in needs(task))
            if task.stage in held or not ready:
                held.add(task.stage)
                rest.append(task)
                continue
            done.add((task.stage, task.phase, task.micro_batch))
            ordered.append(task)
        if len(rest) == len(left):
            raise errors.InternalError("the simulated schedule's phases wait for each other")
        left = rest
    assert len(done) <= len(ordered) and stages > 0
    return ordered
