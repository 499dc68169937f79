"""What verification found: one table, or the same as JSON."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

COLUMNS = 80  # of the table
PASSED, EXPLAINED, FAILED, SHOWN = "ok", "explained", "differs", "shown"


@dataclasses.dataclass
class Check:
    """One comparison.

    `outcome` SHOWN: the figures are given, but say nothing for or against. EXPLAINED: they differ,
    for causes that the notes name.
    """

    name: str
    outcome: str
    planned: str
    measured: str
    remark: str = ""
    notes: list[str] = dataclasses.field(default_factory=list)  # causes of differences
    figures: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Report:
    plan: str  # what the plan is for
    devices: str  # what was run on
    checks: list[Check]
    # Of a pipeline whose time was measured every phase: stage, phase, micro_batch (None: of the update),
    # and planned and measured [start, end] in seconds from the step's begin; measured None: did not run.
    timeline: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(check.outcome != FAILED for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "devices": self.devices,
            "passed": self.passed,
            "checks": [dataclasses.asdict(check) for check in self.checks],
            **({"timeline": self.timeline} if self.timeline else {}),
        }

    def timeline_text(self) -> str:
        """A table of the phases: when each was planned to start and end, and when it did."""
        rows = [("stage", "phase", "batch", "planned from", "to", "measured from", "to")]
        for row in self.timeline:
            number = row["micro_batch"]
            times = [
                seconds_text(time)
                for span in (row["planned"], row["measured"])
                for time in span or ()
            ]
            times += [""] * (4 - len(times))
            rows.append(
                (str(row["stage"]), row["phase"], "" if number is None else str(number), *times)
            )
        widths = [max(len(row[column]) for row in rows) for column in range(7)]
        lines = []
        for stage, phase, *rest in rows:
            texts = [f"{text:>{width}}" for text, width in zip(rest, widths[2:])]
            lines.append(f"  {stage:{widths[0]}}  {phase:{widths[1]}}  {'  '.join(texts)}".rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        rows = [("check", "", "planned", "measured", "")]
        rows += [(c.name, c.outcome, c.planned, c.measured, c.remark) for c in self.checks]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = [f"plan      {self.plan}", f"run on    {self.devices}"]
        for number, row in enumerate(rows):
            name, outcome, planned, measured, remark = row
            line = (
                f"  {name:{widths[0]}}  {outcome:{widths[1]}}  {planned:>{widths[2]}}  "
                f"{measured:>{widths[3]}}"
            )
            beside = f"{line}  {remark}".rstrip()
            below = list(self.checks[number - 1].notes) if number else []
            if len(beside) > COLUMNS:
                beside, below = line.rstrip(), [remark, *below]
            lines.append(beside)
            for note in below:
                lines += _indented(note)
        lines.append("verified" if self.passed else "not verified: see what differs")
        return "\n".join(lines)


def _indented(note: str) -> list[str]:
    """A line below a row, or several; names are never broken."""
    return textwrap.wrap(
        note,
        COLUMNS,
        initial_indent=" " * 6,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )


def bytes_text(count: float) -> str:
    """Three significant digits and a unit, as the command line prints bytes."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    unit = 0
    while count >= 1024 and unit + 1 < len(units):
        count /= 1024
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{_three(count)} {units[unit]}"


def seconds_text(seconds: float) -> str:
    if seconds == 0:
        return "0 s"
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * scale >= 1:
            return f"{_three(seconds * scale)} {unit}"
    return f"{_three(seconds * 1e9)} ns"


def _three(value: float) -> str:
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}"
