"""docs/calls.md has every target that `meshwright ops` lists, and no other."""

import re
import subprocess

from pages import ROOT

HEADING = "calls (custom-call)"


def test_the_page_lists_the_table_of_calls(program):
    listed = subprocess.run(
        [program, "ops"], capture_output=True, text=True, check=True
    ).stdout.split(HEADING)[1]
    targets = {line.split()[0] for line in listed.splitlines()[1:] if line[:1].strip()}
    page = (ROOT / "docs" / "calls.md").read_text().split("## The table")[1]
    table = page.split("## What they cost")[0]
    documented = {
        target
        for row in re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)
        for target in re.findall(r"`([^`]+)`", row)
    }
    assert documented == targets
