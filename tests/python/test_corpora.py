"""scripts/corpora.sh: which modules it finds among sources, and how it judges what becomes of them."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "corpora"

# Stands for meshwright: what it does is said by the module.
PROGRAM = """#!/usr/bin/env python3
import os, resource, signal, sys
if sys.argv[1] == "--version":
    print("meshwright 0")
    sys.exit(0)
text = open(sys.argv[2], errors="replace").read()
if "CRASH" in text:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), signal.SIGSEGV)
while "LOOP" in text:
    pass
if "BUG" in text:
    sys.exit(1)
if "REFUSE" in text:
    print('meshwright: %s:3:7: expected a type, found "%d"' % (sys.argv[2], len(text)), file=sys.stderr)
    sys.exit(2)
open(sys.argv[sys.argv.index("-o") + 1], "w").write("{}")
"""


def module(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPT / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "good.mlir").write_text(
        "// RUN: opt\nfunc.func @a()\n// -----\n// nothing\n// -----\nfunc.func @b()\n"
    )
    (folder / "other.hlo").write_text("HloModule m\n")
    (folder / "data.bin").write_bytes(b"ML\xefR\x03")
    (folder / "some_test.cc").write_text(
        'a = R"(HloModule one)"; b = R"hlo(HloModule $0)hlo"; c = R"(no program)"; d = R"x(HloModule (two))x";'
    )
    (folder / "data.py").write_text(
        'd = dict(mlir_module_text=r"""module @m { func.func @main() }""", mlir_module_serialized=b"ML\\xefR1")'
        '\ne = dict(exported_serialized=bytearray(b"0\\x00"))'
    )
    return folder


def run(folder, tmp_path, *options):
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    argv = [
        sys.executable,
        SCRIPT,
        folder,
        "--program",
        program,
        "-o",
        tmp_path / "out",
        "-j",
        "2",
        "--no-xla",
    ]
    return subprocess.run([*argv, *options], capture_output=True, text=True, check=False)


def test_modules_are_found_in_files_strings_and_data(sources):
    found = module("modules").find_modules(sources)
    assert [(m.name, m.form, m.contents.strip()) for m in found] == [
        ("data.bin", "MLIR bytecode", b"ML\xefR\x03"),
        ("data.py#0", "MLIR text", b"module @m { func.func @main() }"),
        ("data.py#1", "MLIR bytecode", b"ML\xefR1"),
        ("data.py#2", "jax.export file", b"0\x00"),
        ("good.mlir#0", "MLIR text", b"// RUN: opt\nfunc.func @a()"),
        ("good.mlir#1", "MLIR text", b"func.func @b()"),
        ("other.hlo", "HLO text", b"HloModule m"),
        ("some_test.cc#0", "HLO text", b"HloModule one"),
        ("some_test.cc#1", "HLO text", b"HloModule (two)"),
    ]


def test_refusals_are_no_faults_and_are_grouped_by_reason(sources, tmp_path):
    (sources / "data.bin").unlink()
    (sources / "data.py").unlink()
    (sources / "r1.hlo").write_text("HloModule REFUSE")
    (sources / "r2.hlo").write_text("HloModule REFUSE, longer")
    done = run(sources, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '2          ?  plan     expected a type, found "..."' in done.stdout
    assert "0 of 7 modules failed" in done.stdout


@pytest.mark.parametrize(
    ("word", "fault"), [("CRASH", "SIGSEGV"), ("LOOP", "hang"), ("BUG", "exit 1")]
)
def test_faults_fail_and_their_modules_are_kept(word, fault, tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "bad.hlo").write_text(f"HloModule {word}")
    (sources / "good.hlo").write_text("HloModule m")
    done = run(sources, tmp_path, "--limit", "1")
    assert done.returncode == 1
    assert f"{fault}: bad.hlo" in done.stdout
    assert (tmp_path / "out" / "failing.txt").read_text() == "bad.hlo\n"
    assert (tmp_path / "out" / "failing" / "bad.hlo").read_text() == f"HloModule {word}"

    (tmp_path / "failed").write_text("bad.hlo\n")
    again = run(sources, tmp_path, "--limit", "1", "--sample", "100", "--also", tmp_path / "failed")
    assert "1 of 1 modules failed" in again.stdout


def test_a_page_gets_the_tables_between_its_markers(sources, tmp_path):
    pytest.importorskip("jaxlib")
    (sources / "taken.hlo").write_text(
        "HloModule REFUSE\nENTRY e { ROOT p = f32[] parameter(0) }\n"
    )
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- corpora: begin -->\nold\n<!-- corpora: end -->\nafter\n")
    argv = [sys.executable, SCRIPT, sources, "--program", tmp_path / "program"]
    run(sources, tmp_path)  # makes the program
    subprocess.run(
        [*argv, "-o", tmp_path / "out", "--markdown", page], check=True, capture_output=True
    )
    text = page.read_text()
    assert text.startswith("before\n<!-- corpora: begin -->\n10 modules of")
    assert text.endswith("<!-- corpora: end -->\nafter\n")
    assert '| 1 | `expected a type, found "..."` | `taken.hlo` |' in text
    assert "old" not in text
