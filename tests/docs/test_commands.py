"""Every `meshwright ...` that documentation quotes is a command line that the program understands."""

import json
import re
import shlex
import subprocess

import pytest
from pages import PAGES, ROOT, blocks

SHELL = {"sh", "bash", "console"}
# Not arguments of the command before them.
ENDS = {"|", "||", "&&", ";", ">", "<", "&"}
SPAN = re.compile(r"`(meshwright [^`\n]+)`")


@pytest.fixture(scope="module")
def reference(program):
    done = subprocess.run([program, "help", "--json"], capture_output=True, check=True)
    return {command["name"]: command for command in json.loads(done.stdout)["commands"]}


def words(line):
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    return list(lexer)


def commands(block):
    """The command lines of a block, each as the arguments of meshwright."""
    text = block.text.replace("\\\n", " ")
    if block.language == "console":
        text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("$ "))
    for line in text.splitlines():
        if "meshwright" not in line:
            continue
        found = words(line)
        for start, word in enumerate(found):
            first = start == 0 or found[start - 1] in ENDS
            if not first or word.rsplit("/", 1)[-1] != "meshwright":
                continue
            rest = found[start + 1 :]
            end = next((i for i, one in enumerate(rest) if one in ENDS), len(rest))
            yield rest[:end]


def test_the_program_parses_what_blocks_quote(program):
    parsed = 0
    for page in PAGES:
        for block in blocks(page):
            if block.language not in SHELL:
                continue
            for arguments in commands(block):
                done = subprocess.run(
                    [program, "--parse-only", *arguments],
                    check=False,
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, f"{block}: {' '.join(arguments)}\n{done.stderr}"
                parsed += 1
    assert parsed > 50


def test_text_names_commands_and_options_that_exist(reference):
    """Text may leave out what a command needs."""
    checked = 0
    for page in PAGES:
        for match in SPAN.finditer(page.read_text()):
            where = f"{page.relative_to(ROOT)}: {match[0]}"
            arguments = match[1].split()[1:]
            if arguments[0].startswith("-") or arguments[0] == "COMMAND":
                continue
            command = arguments[0]
            assert command in reference, where
            options = {name for one in reference[command]["options"] for name in one["names"]}
            used = {word.split("=")[0] for word in arguments[1:] if re.match(r"--?[a-z]", word)}
            assert used <= options, f"{where}: no option {used - options}"
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("bad", ["plan a.hlo --cluster c --frobnicate", "plann a.hlo"])
def test_a_wrong_command_line_would_be_found(program, bad):
    done = subprocess.run([program, "--parse-only", *bad.split()], check=False, capture_output=True)
    assert done.returncode == 2
