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

    @property
    def passed(self) -> bool:
        return all(check.outcome != FAILED for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "devices": self.devices,
            "passed": self.passed,
            "checks": [dataclasses.asdict(check) for check in self.checks],
        }

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
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * scale >= 1:
            return f"{_three(seconds * scale)} {unit}"
    return f"{_three(seconds * 1e9)} ns"


def _three(value: float) -> str:
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}"
