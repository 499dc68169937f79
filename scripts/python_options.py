"""Writes the typed options of python/meshwright/options.py from the library's tables.

    MESHWRIGHT_LIBRARY=build/release/libmeshwright.so PYTHONPATH=python python scripts/python_options.py

tests/python/test_options.py holds that this has been done.
"""

import inspect
from pathlib import Path

from meshwright.document import Plan

import meshwright as mw
from meshwright import _library

FILE = Path(__file__).parents[1] / "python" / "meshwright" / "options.py"
BEGIN = "# Written by scripts/python_options.py from the library's tables.\n"
END = "# What follows is written by hand.\n"

# By name: the command whose options it has, the function that takes them, and what it is called.
CLASSES = {
    "PlanOptions": ("plan", mw.plan, "plan"),
    "EstimateOptions": ("estimate", mw.estimate, "estimate"),
    "SweepOptions": ("plan", mw.sweep, "sweep"),
    "ProfileOptions": ("profile", mw.profile, "profile"),
    "ExportOptions": ("export", Plan.export, "Plan.export"),
    "BlocksOptions": ("blocks", mw.blocks, "blocks"),
    "SolveOptions": ("solve", mw.solve, "solve"),
    "DbFilters": ("db list", mw.db.list, "db.list"),
    "DbExportOptions": ("db export", mw.db.export, "db.export"),
    "DbPruneOptions": ("db prune", mw.db.prune, "db.prune"),
}
# Kinds of planning that are swept: models on one kind of device (request/plan_options.h).
SWEPT = 8 | 16
# Under another name there.
RENAMED = {("plan", "sweep"): "over", ("export", "output"): "path"}
# What Python has a notation of its own for.
TYPES = {"fix": "Fixes", "mesh": "Mesh", "for": "str | Sequence[str]"}


def python_name(option: str) -> str:
    return {"for": "for_", "from": "from_"}.get(option, option.replace("-", "_"))


def type_of(option: dict) -> str:
    """Of one option's value in Python."""
    if option["name"] in TYPES:
        return TYPES[option["name"]]
    if words := option["words"] or option["known"]:
        return f"Literal[{', '.join(repr(word) for word in words)}]"
    kind, path = option["type"], option["path"]
    if kind == "texts":
        return "Paths" if path else "str | Sequence[str]"
    if kind == "text":
        return "Path" if path else "str | float" if option["unit"] else "str"
    return {"integer": "int", "number": "float", "flag": "bool"}[kind]


def class_text(name: str) -> str:
    command, function, called = CLASSES[name]
    of_function = inspect.signature(function).parameters
    lines = [
        f"class {name}(TypedDict, total=False):",
        f'    """Further options of `{called}`."""',
        "",
    ]
    for option in _library.options()[command]:
        python = python_name(option["name"])
        if python in of_function or RENAMED.get((command, option["name"])) in of_function:
            continue
        if name == "SweepOptions" and not option["kinds"] & SWEPT:
            continue
        lines.append(f"    {python}: {type_of(option)}")
    return "\n".join([*lines, "", "", ""])


def generated() -> str:
    """The part of the file that follows from the tables, as the formatter would have it."""
    tables = _library.options().values()
    lists = {o["name"] for table in tables for o in table if o["type"] == "texts"}
    text = "".join(class_text(name) for name in CLASSES)
    names = ", ".join(repr(name) for name in sorted(lists))
    comment = "# Options that are lists; one value stands for a list of one.\n"
    return (text + comment + f"_LISTS = frozenset({{{names}}})\n\n").replace("'", '"')


def written() -> str:
    """The file as it should be, but for how lines are broken."""
    text = FILE.read_text()
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n\n" + generated() + END + rest.split(END)[1]


if __name__ == "__main__":
    FILE.write_text(written())
