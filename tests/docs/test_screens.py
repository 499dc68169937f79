"""What documentation shows of the program's output fits a terminal of 80 columns, as the output does."""

import re

from pages import PAGES, blocks


def test_screens_fit_80_columns():
    screens = [block for page in PAGES for block in blocks(page) if block.language == "console"]
    assert len(screens) > 5
    wide = [
        f"{block.page.name}:{number}: {line}"
        for block in screens
        for number, line in enumerate(block.text.splitlines(), block.line)
        if len(line) > 80 and not line.startswith("$ ")
    ]
    assert not wide, "\n".join(wide)


# Words that stand for something still to be put in: GPT3SCREEN, WHYNOTMODEL, TODO.
_PLACEHOLDER = re.compile(
    r"\b(?:[A-Z0-9_]*(?:SCREEN|WHYNOT|PLACEHOLDER)[A-Z0-9_]*|TODO|TBD|FIXME|XXX)\b"
)


def test_no_placeholder_was_left():
    assert _PLACEHOLDER.search("a\nGPT3SCREEN\n") and _PLACEHOLDER.search("WHYNOTMODEL")
    left = [
        f"{page.name}:{number}: {line}"
        for page in PAGES
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if _PLACEHOLDER.search(line)
    ]
    assert not left, "\n".join(left)


def test_console_blocks_show_output():
    """A block that is one word in capitals was meant to be replaced, whatever the word."""
    bare = [
        str(block)
        for page in PAGES
        for block in blocks(page)
        for line in [[one for one in block.text.splitlines() if not one.startswith("$ ")]]
        if block.language == "console" and len(line) == 1 and re.fullmatch(r"[A-Z0-9_]+", line[0])
    ]
    assert not bare, "\n".join(bare)
