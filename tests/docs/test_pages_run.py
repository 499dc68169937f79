"""Pages whose code runs as it stands, from top to bottom, in an empty folder.

Blocks with a title are files, `sh` is run, and `console` is run and printed what it quotes. `bash` needs
what is not here (a cluster, the network, a checkout) and is not run.
"""

import subprocess

import pytest
from pages import ROOT, blocks, matches

PAGES = [
    "index.md",
    "tutorial.md",
    "mfu.md",
    *(f"howto/{path.name}" for path in (ROOT / "docs" / "howto").glob("*.md")),
]


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


# What the Python examples of the README need, in the order in which they stand.
_EXAMPLES = ["jax", "torch"]


@pytest.mark.parametrize(("number", "needed"), list(enumerate(_EXAMPLES)), ids=_EXAMPLES)
def test_python_examples_of_the_readme(number, needed, tmp_path, environment):
    pytest.importorskip(needed)
    readme = blocks(ROOT / "README.md")
    at = [i for i, block in enumerate(readme) if block.language == "python"][number]
    example, screen = readme[at : at + 2]
    assert f"import {needed}" in example.text and screen.language == "console"
    (tmp_path / "example.py").write_text(example.text)
    done = run("python example.py", tmp_path, environment)
    assert done.returncode == 0, done.stderr
    assert matches(screen.text, done.stdout), f"{screen} quotes other than\n{done.stdout}"


def test_commands_of_the_readme(tmp_path, environment):
    for program in (ROOT / "tests" / "data" / "hlo").glob("*.gz"):
        (tmp_path / program.name).symlink_to(program)
    commands = [block for block in blocks(ROOT / "README.md") if block.text.startswith("$ ")]
    assert len(commands) == 2
    for block in commands:
        check_screen(block, tmp_path, environment)


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
