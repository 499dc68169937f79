"""Pages whose code runs as it stands, from top to bottom, in an empty folder.

Blocks with a title are files, `sh` is run, and `console` is run and printed what it quotes. `bash` needs
what is not here (a cluster, the network, a checkout) and is not run.
"""

import subprocess

import pytest
from pages import ROOT, blocks, matches

PAGES = ["tutorial.md", *(f"howto/{path.name}" for path in (ROOT / "docs" / "howto").glob("*.md"))]


def run(command, folder, environment):
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


def check_screen(block, folder, environment):
    for screen in block.text.split("$ ")[1:]:
        command, _, quoted = screen.partition("\n")
        done = run(command, folder, environment)
        assert done.returncode == 0, f"{block}: {done.stderr}"
        assert matches(quoted, done.stdout), f"{block} quotes other than\n{done.stdout}"


@pytest.mark.parametrize("name", PAGES)
def test_page(name, tmp_path, environment):
    ran = 0
    for block in blocks(ROOT / "docs" / name):
        if block.title:
            (tmp_path / block.title).write_text(block.text)
        elif block.language == "sh":
            done = run(block.text, tmp_path, environment)
            assert done.returncode == 0, f"{block}: {done.stderr}"
            ran += 1
        elif block.language == "console":
            check_screen(block, tmp_path, environment)
            ran += 1
    assert ran > 0


def test_first_example_of_the_readme(tmp_path, environment):
    example = next(block for block in blocks(ROOT / "README.md") if block.language == "python")
    (tmp_path / "example.py").write_text(example.text)
    done = run("python example.py", tmp_path, environment)
    assert done.returncode == 0, done.stderr
    screen = next(block for block in blocks(ROOT / "README.md") if block.language == "console")
    assert matches(screen.text, done.stdout), f"{screen} quotes other than\n{done.stdout}"
