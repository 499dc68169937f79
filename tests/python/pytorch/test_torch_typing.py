"""The package is typed: pyright agrees (pyrightconfig.json; where torch is installed)."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright():
    command = ["pyright", "--pythonpath", sys.executable, "-p", str(Path(__file__).parent)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
