"""The package is typed: pyright agrees, and knows every option."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright():
    command = ["pyright", "--pythonpath", sys.executable, "-p", str(ROOT)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
