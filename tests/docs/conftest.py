"""The built program, and an environment in which documentation's commands run."""

import os
import sys
from pathlib import Path

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "tests" / "python"))
from xla_flags import FAST_TO_COMPILE

PROGRAM = Path(os.environ.get("MESHWRIGHT_BINARY") or ROOT / "build" / "release" / "meshwright")


@pytest.fixture(scope="session")
def program() -> Path:
    if not PROGRAM.exists():
        pytest.skip("needs the built program: scripts/demo.sh, or its path in MESHWRIGHT_BINARY")
    return PROGRAM


@pytest.fixture
def environment(program, tmp_path_factory) -> dict[str, str]:
    """With `meshwright` and this Python first in PATH, on the CPU."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "meshwright").symlink_to(program)
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python").chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "MESHWRIGHT_PYTHON": sys.executable,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": FAST_TO_COMPILE,
    }
