"""The examples, small: each plans, runs sharded and verifies, on meshes of one and two axes."""

import math
import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
# As little to compile as shows what the model is about.
SIZES = {
    "gpt": "--layers 1",
    "llama": "--layers 2",
    "moe": "--layers 1",
    "wide_resnet": "--stages 1 --image 16",
    "flax_mlp": "--layers 2",
}


def test_none_is_left_out():
    scripts = {path.stem for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text()}
    assert scripts == {*SIZES, "pipeline"}  # which test_pipeline_run.py runs


@pytest.mark.parametrize("mesh", ["8", "2x4"])
@pytest.mark.parametrize("name", SIZES)
def test_example(name, mesh, monkeypatch, capsys):
    options = f"{SIZES[name]} --steps 2 --cluster 8xh100-sxm --mesh {mesh} --deadline 60s"
    monkeypatch.setattr(sys, "argv", [name, *options.split()])
    monkeypatch.syspath_prepend(EXAMPLES)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    losses = [float(loss) for loss in re.findall(r"^step \d: loss (.*)$", printed, re.MULTILINE)]
    assert len(losses) == 2
    assert all(map(math.isfinite, losses))
    assert losses[1] < losses[0]  # one batch, again
    assert printed.endswith("\nverified\n"), printed
