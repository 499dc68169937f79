"""What documentation shows of the program's output fits a terminal of 80 columns, as the output does."""

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
