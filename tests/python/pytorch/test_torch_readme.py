"""The README's example runs and prints what it quotes."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "tests/docs"))

from pages import blocks, matches


def test_example_in_pytorch(tmp_path):
    page = blocks(ROOT / "README.md")
    index, example = next(
        (i, block) for i, block in enumerate(page) if block.text.startswith("import torch\n")
    )
    (tmp_path / "example.py").write_text(example.text)
    command = [sys.executable, "example.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert matches(page[index + 1].text, done.stdout), f"other than\n{done.stdout}"
