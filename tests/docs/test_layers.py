"""HACKING.md lists the folders of the engine, lowest first; none includes anything of one below it in the list."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src" / "meshwright"
PACKAGE = ROOT / "python" / "meshwright"


def table(header):
    """The rows of the table of HACKING.md that begins so."""
    text = (ROOT / "HACKING.md").read_text()
    return re.search(rf"\n{re.escape(header)}\n(.+?)\n\n", text, re.DOTALL)[1]


TABLE = table("| folder | holds |")
FOLDERS = re.findall(r"^\| `([a-z/]+)/` \|", TABLE, re.MULTILINE)


def test_a_folder_uses_only_those_above_it():
    place = {folder: i for i, folder in enumerate(FOLDERS)}
    files = [
        f
        for f in SOURCE.rglob("*")
        if f.suffix in (".h", ".cc") and f.parent.name != "without_page"
    ]
    assert {str(f.parent.relative_to(SOURCE)) for f in files} == set(FOLDERS)
    upward = [
        f"{file.relative_to(SOURCE)} includes {header}"
        for file in files
        for header in re.findall(r'^#include "meshwright/(.+)"', file.read_text(), re.MULTILINE)
        if "/" in header
        and place[header.rpartition("/")[0]] > place[str(file.parent.relative_to(SOURCE))]
    ]
    assert upward == []


def test_what_is_looked_for_is_where_hacking_says():
    rows = re.findall(
        r"^\| .+ \| `([\w/.]+)` \| `(.+)` \|$", table("| what | where | by name |"), re.MULTILINE
    )
    assert len(rows) > 10
    missing = []
    for file, name in rows:
        found = [path for path in (SOURCE / file, PACKAGE / file) if path.exists()]
        if not found or name.lower() not in found[0].read_text().lower():
            missing.append(f"{file}: {name}")
    assert missing == []
