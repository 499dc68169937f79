"""What `meshwright export` writes, read by the libraries that will read it, and run."""

import ast
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import jax
import pytest
import yaml
from conftest import mlp_arguments, mlp_step

import meshwright as mw

tomllib = pytest.importorskip("tomllib")  # Python 3.11

ROOT = Path(__file__).parent.parent.parent
BINARY = Path(os.environ.get("MESHWRIGHT_BINARY") or ROOT / "build" / "release" / "meshwright")
pytestmark = pytest.mark.skipif(not BINARY.exists(), reason="export needs the command line")
STEP = """
from conftest import mlp_arguments, mlp_step


def make():
    state, x, y = mlp_arguments()
    return mlp_step, state, lambda number: (x, y), 0
"""


def run(*arguments, code=0, **options):
    done = subprocess.run(arguments, capture_output=True, text=True, **options)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def environment():
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "MESHWRIGHT_PYTHON": sys.executable,
        "PATH": f"{BINARY.parent}{os.pathsep}{os.environ['PATH']}",
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8",
    }


def test_jax_export_trains_and_verifies(tmp_path):
    state, x, y = mlp_arguments()
    lowered = jax.jit(mlp_step, donate_argnums=0, keep_unused=True).lower(state, x, y)
    program = tmp_path / "step.mlir"
    program.write_text(lowered.as_text(debug_info=True))
    plan = tmp_path / "plan.json"
    run(BINARY, "plan", program, "--cluster", "8xh100-sxm", "--mesh", "8", "-o", plan)
    script = tmp_path / "it's a step.py"
    script.write_text(STEP)
    launch = tmp_path / "launch"
    run(BINARY, "export", plan, "--to", "jax", "--program", program, "--script", script,
        "--steps", "3", "-o", launch)  # fmt: skip
    printed = run(launch / "launch.sh", "--verify", env=environment())
    losses = [float(line.split()[-1]) for line in printed.splitlines() if line.startswith("step ")]
    assert len(losses) == 3
    assert losses[2] < losses[0]  # one batch, again
    assert printed.endswith("\nverified\n"), printed
    assert run(launch / "verify.sh", "--repeats", "1", env=environment()).endswith("\nverified\n")


LAYERS = """
import jax
import jax.numpy as jnp
import numpy as np


def step(state, x, y):
    def loss(weights):
        hidden = x
        for weight in weights:
            hidden = hidden + jnp.tanh(hidden @ weight)
        return ((hidden - y) ** 2).mean()

    value, grads = jax.value_and_grad(loss)(state)
    return [w - 0.1 * g for w, g in zip(state, grads)], value


def make():
    generator = np.random.default_rng(0)
    state = [jnp.asarray(0.1 * generator.normal(size=(64, 64)), jnp.float32) for _ in range(4)]
    x, y = (jnp.asarray(generator.normal(size=(32, 64)), jnp.float32) for _ in range(2))
    return step, state, lambda number: (x, y)
"""


def test_pipeline_export_trains_and_verifies(tmp_path):
    script = tmp_path / "step.py"
    script.write_text(LAYERS)
    step, state, batches = runpy.run_path(str(script))["make"]()
    program = tmp_path / "step.hlo.txt"
    lowered = jax.jit(step, keep_unused=True).lower(state, *batches(0))
    program.write_text(lowered.as_text(dialect="hlo", debug_info=True))
    plan, stages, launch = tmp_path / "plan.json", tmp_path / "stages", tmp_path / "launch"
    run(BINARY, "plan", program, "--cluster", "2xh100-sxm", "--pipeline", "2", "--micro-batches",
        "2", "-o", plan, "--emit", stages)  # fmt: skip
    run(BINARY, "export", plan, "--to", "jax", "--program", program, "--stages", stages, "--script",
        script, "--steps", "2", "-o", launch)  # fmt: skip
    printed = run(launch / "launch.sh", "--verify", env=environment())
    losses = [float(line.split()[-1]) for line in printed.splitlines() if line.startswith("step ")]
    for loss in losses:
        state, expected = step(state, *batches(0))
        assert loss == pytest.approx(float(expected), rel=1e-4)
    assert len(losses) == 2
    assert printed.endswith("\nverified\n"), printed
    assert run(launch / "verify.sh", "--repeats", "0", env=environment()).endswith("\nverified\n")
    nothing = tmp_path / "nothing.py"
    nothing.write_text("def make():\n    return None\n")
    for arguments, why in (
        (
            [script, "--verify", "--processes", "2"],
            "--verify: a pipeline is verified in one process",
        ),
        (
            [script, "--processes", "2", "--coordinator", "here"],
            "mw.jax.initialize: coordinator_address",
        ),
        ([tmp_path / "none.py"], f"{tmp_path}/none.py is no Python file"),
        ([script, "--steps", "0"], "--steps: found 0, expected a number from 1"),
        ([script, "--processes", "-1"], "--processes: found -1, expected a number from 1"),
        ([nothing], f"make() of {nothing}: expected it to return step, state, batches"),
    ):
        command = [sys.executable, launch / "train.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        assert done.returncode == 2
        assert done.stderr.startswith(f"train.py: {why}")
        assert done.stderr.count("\n") == 1
    index = json.loads((stages / "stages.json").read_text())
    for wrong in ("{", json.dumps({**index, "micro_batches": 4})):
        (stages / "stages.json").write_text(wrong)
        again = tmp_path / "again"
        run(BINARY, "export", plan, "--to", "jax", "--stages", stages, "-o", again, code=2)
        assert not again.exists()


def test_another_program_is_refused(tmp_path, step_text):
    program, plan = tmp_path / "step.hlo.txt", tmp_path / "plan.json"
    program.write_text(step_text)
    run(BINARY, "plan", program, "--cluster", "8xh100-sxm", "--mesh", "8", "-o", plan)
    program.write_text(step_text + "\n")
    run(BINARY, "export", plan, "--to", "jax", "--program", program, "-o", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()
    assert mw.Plan.load(plan).parameters


FIXES = {
    "megatron": "tp=4,sp=on,pp=2,zero=1,schedule=1f1b",
    "nemo": "tp=4,sp=on,pp=2,zero=1,schedule=1f1b",
    "torchtitan": "tp=4,sp=on,pp=2,zero=3,schedule=1f1b,mbs=1",
    "deepspeed": "tp=1,cp=1,pp=1,zero=2,recompute=full",
    "accelerate": "tp=1,cp=1,pp=1,zero=3,recompute=full",
    "slurm": "tp=1,pp=2",
}


@pytest.mark.parametrize("target", FIXES)
def test_files_parse(target, tmp_path):
    plan, out = tmp_path / "plan.json", tmp_path / "out"
    run(BINARY, "plan", "llama3-8b", "--cluster", "2x8xh100-sxm", "--global-batch", "64", "--seq",
        "2048", "--for", target, "--fix", FIXES[target], "-o", plan)  # fmt: skip
    run(BINARY, "export", plan, "--to", target, "-o", out)
    for file in out.rglob("*"):
        if file.suffix == ".py":
            ast.parse(file.read_text())
        elif file.suffix == ".toml":
            parsed = tomllib.loads(file.read_text())
            assert parsed["parallelism"]["tensor_parallel_degree"] == 4
        elif file.suffix == ".yaml":
            assert yaml.safe_load(file.read_text())["num_processes"] == 16
        elif file.suffix == ".json":
            json.loads(file.read_text())
    assert (out / "launch.sh").exists()
