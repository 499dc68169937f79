"""What stages send each other, and the collectives within them, held against the plan."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from meshwright.document import Plan
from meshwright.pipeline import Runtime
from meshwright.pipeline.timeline import Sent
from meshwright.verify import checks, collectives
from meshwright.verify.causes import BYTES_TOLERANCE, SMALL_BYTES
from meshwright.verify.report import EXPLAINED, FAILED, PASSED, SHOWN, Check, bytes_text

_FEWER = "not judged: stages run on fewer devices than planned"


def check_transfers(plan: Plan, sent: Sequence[Sent], as_planned: bool) -> list[Check]:
    """What the stages sent in a step, a row for each phase.

    Args:
      as_planned: every stage ran on as many devices as in the plan, so that a device has its share.

    Plans have what each stage hands to its neighbour for a micro-batch. What later stages take too is
    sent to them directly, and so is what updates exchange, which plans do not list: both are shown.
    """
    micro_batches = plan.summary["micro_batches"]
    planned: dict[str, dict[tuple[int, int], int]] = {"forward": {}, "backward": {}}
    for row in plan.as_dict()["cross_stage"]:
        planned[row["phase"]][row["from"], row["to"]] = row["bytes_per_device"]
    found = []
    for phase, hops in planned.items():
        given = [one for one in sent if one.phase == phase]
        found.append(_phase_row(phase, hops, given, micro_batches, as_planned))
    updates = [one for one in sent if one.phase not in planned]
    if updates:
        total = sum(one.bytes_per_device for one in updates)
        measured = f"{len(updates)} x, {bytes_text(total)}"
        remark = "what updates give each other, which plans do not list"
        found.append(Check("sent update", SHOWN, "", measured, remark))
    return found


def _phase_row(
    phase: str,
    planned: Mapping[tuple[int, int], int],
    sent: Sequence[Sent],
    micro_batches: int,
    as_planned: bool,
) -> Check:
    # A plan counts what goes past a neighbour where it leaves its stage, or not at all.
    by_hop: dict[tuple[int, int], dict[tuple[str, int | None], Sent]] = defaultdict(dict)
    past: dict[str, str] = {}
    for one in sent:
        neighbour = one.source + (1 if one.target > one.source else -1)
        there = by_hop[one.source, neighbour]
        if one.target == neighbour:
            there[one.name, one.micro_batch] = one
        else:
            there.setdefault((one.name, one.micro_batch), one)
            past[one.name] = f"{one.name} from stage {one.source} to {one.target}"
    notes, rows = [], []
    for hop in sorted({*planned, *by_hop}):
        want = planned.get(hop, 0) * micro_batches
        expected = micro_batches if want else 0
        leaving = list(by_hop[hop].values())
        candidates = [leaving, [one for one in leaving if one.target == hop[1]]]
        there = next((some for some in candidates if _near(some, want, expected)), leaving)
        got, times = _bytes(there), _times(there)
        rows.append((expected, want, times, got))
        if not _near(there, want, expected):
            names = ", ".join(sorted({one.name for one in there})) or "nothing"
            notes.append(
                f"stage {hop[0]} to {hop[1]}: planned {_sent(expected, want)}, sent "
                f"{_sent(times, got)} ({names})"
            )
    outcome = PASSED if not notes else FAILED if as_planned else SHOWN
    if past:
        text = ", ".join(past.values())
        notes.append(f"sent directly, which plans count where it leaves: {text}")
        outcome = EXPLAINED if outcome == PASSED else outcome
    expected, want, times, got = (sum(column) for column in zip(*rows)) if rows else (0, 0, 0, 0)
    return Check(
        f"sent {phase}",
        outcome,
        _sent(expected, want),
        _sent(times, got),
        "" if as_planned else _FEWER,
        notes,
        {
            "planned_count": expected,
            "planned_bytes": want,
            "measured_count": times,
            "measured_bytes": got,
        },
    )


def _bytes(sent: Sequence[Sent]) -> int:
    return sum(one.bytes_per_device for one in sent)


def _times(sent: Sequence[Sent]) -> int:
    """Micro-batches of which something was sent."""
    return len({one.micro_batch for one in sent})


def _near(sent: Sequence[Sent], want: int, times: int) -> bool:
    got = _bytes(sent)
    near = abs(want - got) <= max(BYTES_TOLERANCE * max(want, got), SMALL_BYTES)
    return near and (_times(sent) == times or got <= SMALL_BYTES)


def _sent(times: int, size: int) -> str:
    return f"{times} x, {bytes_text(size)}" if size else "none"


def check_stage_collectives(plan: Plan, runtime: Runtime) -> list[Check]:
    """Collectives of each stage in a step, in its compiled modules and in the plan."""
    found = []
    document = plan.as_dict()
    for number, row in enumerate(document["stages"]):
        axes = runtime.files.stages[number].axes
        if len(runtime.places[number]) < len(row["devices"]):
            continue  # on one device, without collectives
        mesh = dict(axes)
        same = number if row["same_as"] is None else row["same_as"]
        planned = collectives.planned(document["stages"][same]["instructions"], mesh)
        platform = runtime.places[number][0].platform
        compiled = [
            dataclasses.replace(move, times=move.times * times)
            for text, times in runtime.compiled_texts(number)
            for move in collectives.compiled(
                text, mesh, "the CPU" if platform == "cpu" else "the backend"
            )
        ]
        if not planned and not compiled:
            continue
        for check in checks.check_collectives(planned, compiled):
            check.name = f"stage {number} {check.name}"
            if row["recompute"] and check.outcome == FAILED:
                check.outcome = SHOWN
                check.remark = "not judged: the plan has once what the stage recomputes"
            found.append(check)
    return found or [Check("collectives", PASSED, "none", "none", "within the stages")]


def phase_rows(runtime: Runtime, ran: Sequence[Any]) -> list[dict[str, Any]]:
    """Every phase of a step with start and end as simulated and as measured, in seconds.

    Both count from the start of the first phase. An update in two parts starts with the first and
    ends with the second; a backward phase that has nothing to compute was not measured.
    """
    first = min((one.start for one in ran), default=0.0)
    measured: dict[Any, list[float]] = {}
    for one in ran:
        phase = one.task.phase.partition("-")[0]
        spans = measured.setdefault((one.task.stage, phase, one.task.micro_batch), [])
        spans += [one.start - first, one.end - first]
    rows = []
    for task in runtime.planned:
        spans = measured.get((task.stage, task.phase, task.micro_batch))
        rows.append(
            {
                "stage": task.stage,
                "phase": task.phase,
                "micro_batch": task.micro_batch,
                "planned": [task.start, task.end],
                "measured": None if spans is None else [min(spans), max(spans)],
            }
        )
    return rows
