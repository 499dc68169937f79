"""What became of the modules, as tables: endings, and refusals by reason."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

# What stands in messages for names and numbers, so that equal reasons are equal texts; in this order.
NEUTRAL = [
    (re.compile(r"meshwright: warning: .*?(?=meshwright: |$)"), ""),
    (re.compile(r"^meshwright: "), ""),
    (re.compile(r"(MODULE|thread\d+\.\w+)(:\d+)*:? ?"), ""),
    (re.compile(r'"(?:[^"\\]|\\.)*"'), '"..."'),
    (
        re.compile(r"(?:tensor|vector|memref|complex|tuple)<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>"),
        "TYPE",
    ),
    (
        re.compile(r"\b(?:pred|token|[suf]\d+|bf16|c\d+|f8e\w+|f4e\w+)\[[^\]]*\](?:\{[^}]*\})?"),
        "TYPE",
    ),
    (re.compile(r"\bsharding=\{.*\}(?=: )"), "sharding={...}"),
    (re.compile(r"\b(of type|not for) [a-z]+\d+\b"), r"\1 TYPE"),
    *3 * [(re.compile(r"\((?:TYPE(?:, )?)+\)(?! is)"), "TYPE")],  # tuples, nested
    (re.compile(r"[%@][\w.$-]+(?:#\d+)?"), "NAME"),
    (re.compile(r"^(?!(?:builtin|func|stablehlo|chlo|mhlo|sdy|mpmd)\.)[\w.$-]+: "), "NAME: "),
    (re.compile(r"\bcomputation (?!is\b)[\w.$-]+ (?=takes|has|gives)"), "computation NAME "),
    (re.compile(r"\b\d[\d.,]*\b(?: (?:[KMGT]i)?B\b)?"), "N"),
    (re.compile(r"N(?:(?:, | x |x)N)+"), "N"),
]
LONGEST_REASON = 160


@dataclass(frozen=True)
class Outcome:
    module: object  # modules.Module
    runs: list  # of runs.Run, the first is the one that plans
    taken: bool | None  # whether XLA's parser takes the module; None: not asked

    @property
    def faults(self):
        return [run for run in self.runs if run.fault]


def reason(message):
    """An error's message without names and numbers."""
    for pattern, text in NEUTRAL:
        message = pattern.sub(text, message)
    message = message.strip()
    return message if len(message) <= LONGEST_REASON else message[:LONGEST_REASON].rstrip() + "..."


def columns(rows, right=()):
    """Rows as lines of columns, those in `right` aligned right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (
            c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))
        )
        yield "  ".join(cells).rstrip()


def ending_rows(outcomes):
    """Endings of every command with their counts."""
    counts = Counter((run.command, run.ending) for outcome in outcomes for run in outcome.runs)
    rows = [("command", "ended", "modules")]
    return rows + [(*key, str(count)) for key, count in sorted(counts.items())]


def form_rows(outcomes):
    """Of every source (folder) and form of module: how many, planned, and so on."""
    groups = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.module.name.split("/")[0], outcome.module.form].append(outcome)
    rows = [
        ("source", "form", "modules", "planned", "nothing fits", "refused", "of these XLA takes")
    ]
    for (source, form), group in sorted(groups.items()):
        codes = Counter(outcome.runs[0].code for outcome in group)
        taken = sum(bool(outcome.taken) for outcome in group)
        counts = (len(group), codes[0], codes[3], codes[2], taken)
        rows.append((source, form, *map(str, counts)))
    return rows


def refusal_groups(outcomes):
    """Refused modules by (command, reason), the most frequent first."""
    groups = defaultdict(list)
    for outcome in outcomes:
        for run in outcome.runs:
            if run.code == 2:
                groups[run.command, reason(run.message)].append(outcome)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


def refusal_rows(outcomes):
    rows = [("refused", "XLA takes", "command", "reason", "example")]
    for (command, why), group in refusal_groups(outcomes):
        taken = sum(bool(outcome.taken) for outcome in group)
        known = str(taken) if any(outcome.taken is not None for outcome in group) else "?"
        example = max(group, key=lambda outcome: bool(outcome.taken)).module.name
        rows.append((str(len(group)), known, command, why, example))
    return rows


def text(outcomes):
    """All tables for a terminal or a file."""
    lines = list(columns(form_rows(outcomes), right=(2, 3, 4, 5, 6))) + [""]
    lines += list(columns(ending_rows(outcomes), right=(2,))) + [""]
    lines += list(columns(refusal_rows(outcomes), right=(0, 1)))
    return "\n".join(lines) + "\n"


def _markdown_row(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _code(text):
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def markdown(outcomes, conditions):
    """The generated part of docs/coverage.md: `conditions` are sentences."""
    lines = [*conditions, ""]
    rows = form_rows(outcomes)
    lines += [_markdown_row(rows[0]), "| --- | --- |" + " ---: |" * 5]
    lines += map(_markdown_row, rows[1:])
    taken = [outcome for outcome in outcomes if outcome.taken]
    lines += ["", f"## Refused though XLA's parser takes them: {len(taken)}", ""]
    lines += ["| modules | reason | an example |", "| ---: | --- | --- |"]
    for (_, why), group in refusal_groups(taken):
        cells = (str(len(group)), _code(why), _code(group[0].module.name))
        lines.append(_markdown_row(cells))
    return "\n".join(lines) + "\n"
