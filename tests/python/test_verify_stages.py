"""Pipelines: the stages' modules, run one after the other, give what the whole program gives."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import models
import numpy as np
import pytest
from meshwright.verify.report import EXPLAINED, FAILED, PASSED, SHOWN
from meshwright.verify.stage_files import read_stage_files
from meshwright.verify.stage_program import StageProgram
from xla_flags import FAST_TO_COMPILE

import meshwright as mw

BINARY = Path(
    os.environ.get("MESHWRIGHT_BINARY")
    or Path(__file__).parents[2] / "build" / "release" / "meshwright"
)
pytestmark = pytest.mark.skipif(not BINARY.exists(), reason="pipelines need the command line")


def plan_stages(folder, program, cluster, *options):
    """The plan and the folder of its stages."""
    path, stages = folder / "plan.json", folder / "stages"
    outputs = ["-o", path, "--emit", stages, "--quiet"]
    if "--schedule" not in options:
        options += ("--schedule", "1f1b")
    command = [BINARY, "plan", program, "--cluster", cluster, "--pipeline", *options, *outputs]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return mw.Plan.load(path), stages


def lowered(folder, model, **sizes):
    fn, arguments = model(np.random.default_rng(0), **sizes)
    path = folder / "program.hlo.txt"
    path.write_text(jax.jit(fn).lower(*arguments).as_text(dialect="hlo", debug_info=True))
    return path


def modules(stages):
    return [module for _, _, module in read_stage_files(stages).modules()]


def outcomes(report):
    return {check.name: check.outcome for check in report.checks}


def remarks(report):
    return {check.name: check.remark for check in report.checks}


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    """Clipping by a global norm: two stages whose updates wait for each other."""
    folder = tmp_path_factory.mktemp("tied")
    program = folder / "program.hlo.txt.gz"
    data = Path(__file__).parents[1] / "data" / "hlo" / "pipeline" / "tied_clip.train.hlo.txt.gz"
    program.write_bytes(data.read_bytes())
    plan, stages = plan_stages(folder, program, "2xh100-sxm", "2", "--micro-batches", "2")
    return plan, program, stages


def test_updates_that_wait_for_each_other(tied):
    plan, program, stages = tied
    report = plan.verify(program, stages=stages, repeats=1)
    assert report.passed, report
    assert outcomes(report)["numerics"] == PASSED
    assert outcomes(report)["sent forward"] == outcomes(report)["sent backward"] == PASSED
    assert outcomes(report)["collectives"] == PASSED
    sent = {check.name: check.figures for check in report.checks}["sent forward"]
    assert sent["measured_count"] == sent["planned_count"] == 2  # micro-batches
    assert sent["measured_bytes"] == 2 * plan.as_dict()["cross_stage"][0]["bytes_per_device"]
    assert remarks(report)["stage 1 update"] == "one device, in 2 parts"
    assert all(check.measured for check in report.checks)
    assert "2 stages, 2 micro-batches" in report.plan


def test_unrolled_layers_on_meshes(tmp_path, data):
    program = data / "tiny_gpt.train.hlo.txt.gz"
    plan, stages = plan_stages(tmp_path, program, "4xh100-sxm", "2", "--micro-batches", "4")
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report
    assert remarks(report)["stage 0 forward"] == "x=2"


def test_data_parallelism_in_stages_reduces_gradients_once_a_step(tmp_path):
    """Wide batches: devices of a stage have samples each, and gradients stay apart until the end."""
    program = lowered(tmp_path, models.mlp, h=512, batch=8192)
    options = ["2", "--mesh", "4", "--micro-batches", "2"]
    plan, stages = plan_stages(tmp_path, program, "8xh100-sxm", *options)
    assert [stage["sum_parts"] for stage in plan.stages] == [4, 4]
    files = read_stage_files(stages)
    for number, phase, module in files.modules():
        stage = StageProgram(module, files.stages[number].axes, jax.devices()[:4])
        compiled = stage.compile(range(len(module.outputs))).as_text()
        sums = {"forward": number, "backward": 0, "update": 1}  # the last stage has the loss
        assert len(re.findall(r" all-reduce(?:-start)?\(", compiled)) == sums[phase], phase
        assert not re.findall(r" (?:all-gather|all-to-all|reduce-scatter)\S*\(", compiled)
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report
    assert outcomes(report)["numerics"] == PASSED
    assert outcomes(report)["stage 0 all-reduce x"] == EXPLAINED
    pairwise = {check.name: check for check in report.checks}["stage 0 pairwise"]
    assert list(pairwise.figures["differences"]) == [
        "XLA adds up parts of a gradient where they are and reduces the sums"
    ]
    # Parts of gradients that come after those of activations.
    apart = plan.as_dict()
    apart["schedule"] = "zb-h1"
    report = mw.Plan(json.dumps(apart)).verify(program, stages=stages, repeats=0)
    assert report.passed, report


def test_experts_with_fewer_devices_than_planned(tmp_path):
    program = lowered(tmp_path, models.moe)
    plan, stages = plan_stages(tmp_path, program, "4xh100-sxm", "2", "--micro-batches", "2")
    report = plan.verify(program, stages=stages, devices=jax.devices()[:1], repeats=0)
    assert report.passed, report
    assert remarks(report)["stage 1 backward"] == "one device instead of x=2"
    assert report.devices.startswith("1 x host devices")
    outputs = [value for module in modules(stages) for value in module.outputs]
    replaced = {value.output: value.parameter for value in outputs if value.role == "state"}
    assert replaced == {number: number for number in range(len(replaced))}


def test_a_loop_over_layers_in_parts(tmp_path):
    program = lowered(tmp_path, models.llama, layers=4, scanned=True)
    plan, stages = plan_stages(tmp_path, program, "2xh100-sxm", "2", "--micro-batches", "2")
    values = [value for module in modules(stages) for value in module.inputs]
    assert any(value.layers is not None for value in values)
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report


def dropout_step(folder, *model, partitionable=True):
    dropout_models = pytest.importorskip("dropout_models", reason="needs flax and optax")
    with jax.threefry_partitionable(partitionable):
        fn, shapes = dropout_models.lm1b(*model)
        text = jax.jit(fn, donate_argnums=(0, 1)).lower(*shapes).as_text(debug_info=True)
    path = folder / "program.mlir"
    path.write_text(text)
    return path


def test_dropout_leaves_as_many_micro_batches(tmp_path):
    counts = []
    for rate in (0.0, 0.1):
        program = dropout_step(tmp_path, rate)
        command = [BINARY, "plan", program, "--cluster", "8xh100-sxm", "--pipeline", "4"]
        command += ["--micro-batches", "7"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 2
        counts.append(done.stderr)
    assert counts[0] == counts[1]
    assert "it can into 1, 2, 4, 8" in counts[1]
    # Parts of the bits are made without the rest.
    program = dropout_step(tmp_path, 0.1)
    plan, _ = plan_stages(tmp_path, program, "8xh100-sxm", "auto")
    assert not any("bits" in warning for warning in plan.warnings)


@pytest.mark.parametrize("bits", ["partitionable", "whole", "rbg"])
def test_dropout_with_the_whole_batchs_bits(tmp_path, bits):
    implementation = "rbg" if bits == "rbg" else "threefry2x32"
    program = dropout_step(tmp_path, 0.1, implementation, partitionable=bits != "whole")
    plan, stages = plan_stages(tmp_path, program, "4xh100-sxm", "2", "--micro-batches", "4")
    values = [value for module in modules(stages) for value in module.inputs]
    assert any(value.role == "micro-batch" for value in values)
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report
    assert outcomes(report)["numerics"] == PASSED
    said = [warning for warning in plan.warnings if "random bits of the whole batch" in warning]
    assert len(said) == (bits == "rbg")
    assert all("flax/linen/stochastic.py:" in warning for warning in said)


def drop(weights, x, key):
    """Something to train, and the samples with what dropout leaves of them."""
    kept = jax.random.bernoulli(jax.random.wrap_key_data(key, impl="rbg"), 0.75, x.shape)
    x = jnp.where(kept, x, 0.0)

    def loss(w):
        return jnp.mean(jnp.tanh(jnp.tanh(x @ w[0]) @ w[1]))

    return weights - jax.grad(loss)(weights), x


def test_dropout_with_bits_of_the_micro_batchs_own(tmp_path):
    shapes = [(2, 512, 512), (64, 512)]
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    arguments.append(jax.ShapeDtypeStruct((4,), jnp.uint32))
    program = tmp_path / "program.mlir"
    step = jax.jit(drop, donate_argnums=0)
    program.write_text(step.lower(*arguments).as_text(debug_info=True))
    independent = ("--micro-batch-rng", "independent")
    plan, stages = plan_stages(
        tmp_path, program, "2xh100-sxm", "2", "--micro-batches", "4", *independent
    )
    assert any("random bits by a key of its own" in warning for warning in plan.warnings)
    assert plan.as_dict()["options"]["micro_batch_rng"] == "independent"
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report
    assert outcomes(report)["numerics"] == SHOWN

    generator = np.random.default_rng(0)
    inputs = [generator.normal(size=shape).astype(np.float32) for shape in shapes]
    whole = jax.jit(drop)
    run = mw.jax.pipeline(step, *arguments, plan=plan, stages=stages)
    parts = {}
    for key in (1, 2):
        words = np.array([key, 0, key, 0], np.uint32)
        _, left = run(*inputs, words)
        parts[key] = np.split(np.asarray(left) != 0, 4)
        assert not np.array_equal(left, whole(*inputs, words)[1])
        assert np.array_equal(left, run(*inputs, words)[1])
    drawn = [*parts[1], *parts[2]]
    deviation = np.sqrt(0.75 * 0.25 / drawn[0].size)
    for i, one in enumerate(drawn):
        assert abs(one.mean() - 0.75) < 4 * deviation
        for other in drawn[:i]:  # kept by both as often as by chance
            both = (one & other).mean()
            assert abs(both - 0.75**2) < 4 * np.sqrt(0.75**2 * (1 - 0.75**2) / one.size)


def scanned(_, **scan):
    """Six layers in a loop, a training step."""

    def loss(weights, x, y):
        out, _ = jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights, **scan)
        return ((out - y) ** 2).mean()

    def step(weights, x, y):
        value, gradient = jax.value_and_grad(loss)(weights, x, y)
        return weights - 0.1 * gradient, value

    x = np.ones((16, 64), np.float32)
    return step, (np.full((6, 64, 64), 0.01, np.float32), x, x)


@pytest.mark.parametrize("scan", [{"reverse": True}, {"unroll": 2}], ids=["reversed", "unrolled"])
def test_loops_with_entries_that_are_not_numbered_as_layers(tmp_path, scan):
    program = lowered(tmp_path, scanned, **scan)
    plan, stages = plan_stages(tmp_path, program, "2xh100-sxm", "2", "--micro-batches", "2")
    parts = {
        value.layers
        for module in modules(stages)
        for value in module.inputs
        if value.role == "state" and value.layers is not None
    }
    assert len(parts) == 2
    (begin, middle), (after, end) = sorted(parts)
    assert (begin, end) == (0, 6) and middle == after
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report


def forward_pass(_, more):
    """Six layers and several results of their output, some of them sums over the batch."""

    def apply(weights, x):
        for w in weights:
            x = jnp.tanh(x @ w)
        return [x.mean(), x, x.sum(0), *(f(x) for f in more)]

    weights = [np.full((64, 64), 0.01 * (i + 1), np.float32) for i in range(6)]
    return apply, (weights, np.ones((16, 64), np.float32))


@pytest.mark.parametrize(
    "micro_batches, more", [(2, []), (1, [jnp.max, lambda x: x.argmax(-1)])], ids=["two", "one"]
)
def test_results_of_a_forward_pass(tmp_path, micro_batches, more):
    program = lowered(tmp_path, forward_pass, more=more)
    options = ["2", "--micro-batches", micro_batches, "--data", "x"]
    plan, stages = plan_stages(tmp_path, program, "2xh100-sxm", *options)
    index = json.loads((stages / "stages.json").read_text())
    phases = {phase for stage in index["stages"] for phase in stage["modules"]}
    assert phases == {"forward", "update"}
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report


def test_norms_combined_over_layers(tmp_path, data):
    program = data / "pipeline" / "slice_scan_clip.hlo.txt.gz"
    plan, stages = plan_stages(tmp_path, program, "2xh100-sxm", "2", "--micro-batches", "2")
    values = [value for module in modules(stages) for value in module.inputs]
    assert any(value.combine == "sum" for value in values)
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report


def test_devices_of_several_types(tmp_path, tied):
    _, program, _ = tied
    plan, stages = plan_stages(
        tmp_path, program, "1xh100-sxm+1xa100-40g", "2", "--micro-batches", "2"
    )
    types = [row["device"] for row in plan.device_types]
    assert types == ["h100-sxm", "a100-40g"]
    assert plan.num_devices == 2
    for row in plan.stages:
        (number,) = row["devices"]
        assert row["device"] == types[number]
        assert row["device_memory_bytes"] == plan.device_types[number]["device_memory_bytes"]
        assert row["budget_bytes"] == row["device_memory_bytes"]
        assert 0 < row["bytes"]["peak"] == row["bytes"]["peak_of_group"]
    assert "1 a100-40g" in str(plan)
    with pytest.raises(mw.InvalidArgumentError, match="whose stages have a mesh each"):
        plan.mesh()
    report = plan.verify(program, stages=stages, repeats=0)
    assert report.passed, report


def copied(folder, stages):
    copy = folder / "stages"
    copy.mkdir()
    for file in stages.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def test_a_stage_that_computes_something_else(tmp_path, tied):
    plan, program, stages = tied
    copy = copied(tmp_path, stages)
    backward = copy / "stage0.backward.hlo.txt"
    text = backward.read_text()
    changed = text.replace(" subtract(", " add(", 1) if " subtract(" in text else ""
    assert changed
    backward.write_text(changed)
    report = plan.verify(program, stages=copy, repeats=0)
    assert not report.passed
    assert outcomes(report)["numerics"] == FAILED


def test_a_sum_that_is_not_made(tmp_path, tied):
    """As by a runtime that forgets a micro-batch's gradient."""
    plan, program, stages = tied
    copy = copied(tmp_path, stages)
    index = json.loads((copy / "stages.json").read_text())
    for value in index["stages"][1]["modules"]["backward"]["outputs"]:
        if value["role"] == "sum":
            value["value"] += 1_000_000
    (copy / "stages.json").write_text(json.dumps(index))
    with pytest.raises(mw.InvalidArgumentError, match="which no module before it gives"):
        plan.verify(program, stages=copy, repeats=0)


def run_binary(*arguments):
    environment = {**os.environ, "MESHWRIGHT_PYTHON": sys.executable, "XLA_FLAGS": FAST_TO_COMPILE}
    command = [str(argument) for argument in (BINARY, "verify", *arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_the_command(tied):
    plan, program, stages = tied
    done = run_binary(
        *(stages.with_name("plan.json"), "--program", program, "--stages", stages),
        *("--repeats", "0", "--json"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["passed"]
    assert report["checks"][1]["figures"]["planned"] == plan.stages[0]["seconds"]["forward"]
    assert "timeline" not in report  # nothing was timed


def test_the_command_shows_both_schedules(tied, tmp_path):
    _, program, stages = tied
    document, trace = stages.with_name("plan.json"), tmp_path / "trace.json"
    given = (document, "--program", program, "--stages", stages, "--repeats")
    done = run_binary(*given, 1, "--pipeline", "--trace", trace)
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("\nverified\n")[2].splitlines()
    assert " ".join(table[0].split()) == "stage phase batch planned from to measured from to"
    phases = sorted(row.split()[:2] for row in table[1:])
    both = [["0", "backward"], ["0", "forward"], ["1", "backward"], ["1", "forward"]]
    assert phases == sorted([*both, *both, ["0", "update"], ["1", "update"]])
    assert all(len(row.split()) >= 10 for row in table[1:])  # four times with their units
    assert {event["pid"] for event in json.loads(trace.read_text())["traceEvents"]} == {1, 2}
    refused = run_binary(*given, 0, "--pipeline")
    assert refused.returncode == 2
    assert refused.stderr == "meshwright: --pipeline: needs a step to time, found --repeats 0\n"


def another(tied, tmp_path, *, program=False, micro_batches=None, index=None, **files):
    plan, path, stages = tied
    if program:
        path = lowered(tmp_path, models.moe)
    copy = copied(tmp_path, stages)
    if micro_batches is not None:
        (tmp_path / "more").mkdir()
        _, copy = plan_stages(
            tmp_path / "more", path, "2xh100-sxm", "2", "--micro-batches", str(micro_batches)
        )
    if index is not None:
        (copy / "stages.json").write_text(index)
    if "missing" in files:
        (copy / files["missing"]).unlink()
    if "garbled" in files:
        (copy / files["garbled"]).write_text("no program")
    if "swapped" in files:
        source = copy / f"stage0.{files['swapped']}.hlo.txt"
        (copy / "stage0.forward.hlo.txt").write_bytes(source.read_bytes())
    return plan, path, copy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"program": True}, "the stages are of another program"),
        ({"micro_batches": 4}, "is of another plan: it has 2 stages and 4 micro-batches"),
        ({"index": "{"}, "stages.json: Expecting property name"),
        ({"index": "[" * 100_000}, "stages.json: maximum recursion depth exceeded"),
        ({"index": "[]"}, 'expected an object with "micro_batches"'),
        ({"index": '{"micro_batches": "2"}'}, '"micro_batches": found "2", expected an integer'),
        ({"index": '{"micro_batches": 2, "stages": []}'}, "found 0 stages and 2 micro-batches"),
        ({"index": '{"micro_batches": 1, "stages": []}'}, "found 0 stages and 1 micro-batch, exp"),
        ({"missing": "stages.json"}, "`meshwright plan --emit` writes it"),
        ({"garbled": "stage0.forward.hlo.txt"}, "stage0.forward.hlo.txt: .*HloModule"),
        ({"swapped": "backward"}, "the index names"),
        ({"missing": "stage1.update-after-shared.hlo.txt"}, "cannot open .*update-after-shared"),
    ],
)
def test_what_does_not_go_together(tmp_path, tied, change, message):
    plan, program, stages = another(tied, tmp_path, **change)
    with pytest.raises(mw.Error, match=message):
        plan.verify(program, stages=stages, repeats=0)


@pytest.mark.parametrize(
    ("phase", "side", "change", "message"),
    [
        (
            *("forward", "inputs", {"role": "weights"}),
            '"role": found "weights", expected state, data, activation, gradient, saved or micro-batch',
        ),
        ("forward", "inputs", {"role": "result"}, '"role": found "result", expected state, data'),
        ("forward", "inputs", {"role": "sum"}, '"role": found "sum", expected state, data, acti'),
        (
            *("forward", "outputs", {"role": ""}),
            '"role": found "", expected state, activation, gradient, saved, sum or result',
        ),
        ("forward", "outputs", {"role": "data"}, '"role": found "data", expected state, activ'),
        ("backward", "outputs", {"role": "shared"}, '"role": found "shared", expected state, ac'),
        (
            *("update-before-shared", "inputs", {"role": "gradient"}),
            '"role": found "gradient", expected state, data, saved, sum or shared',
        ),
        (
            *("update-after-shared", "outputs", {"role": "saved"}),
            '"role": found "saved", expected state, sum, shared or result',
        ),
        ("forward", "inputs", {"role": None}, '"role": found null, expected a string'),
        (
            *("forward", "inputs", {"role": "state", "parameter": None}),
            '"parameter": found null, expected the number of a parameter for ".*" of role state',
        ),
        (
            *("forward", "inputs", {"role": "saved", "parameter": 0}),
            '"parameter": found 0, expected null for ".*" of role saved',
        ),
        (
            *("forward", "outputs", {"role": "result", "output": None}),
            '"output": found null, expected the number of an output for ".*" of role result',
        ),
        (
            *("update-before-shared", "outputs", {"combine": "mean"}),
            '"combine": found "mean", expected sum, product, max, min, and or or',
        ),
        (
            *("forward", "inputs", {"batch_dimension": 9}),
            '"batch_dimension" of ".*": found 9, expected a dimension of an array of shape',
        ),
        (
            *("forward", "inputs", {"layer_dimension": 0, "layers": [0, 1000000]}),
            r'"layers" of ".*": found \[0, 1000000\], expected a range of the \d+ layers',
        ),
    ],
)
def test_what_values_cannot_be(tmp_path, tied, phase, side, change, message):
    plan, program, stages = tied
    copy = copied(tmp_path, stages)
    index = json.loads((copy / "stages.json").read_text())
    index["stages"][0]["modules"][phase][side][0].update(change)
    (copy / "stages.json").write_text(json.dumps(index))
    with pytest.raises(mw.InvalidArgumentError, match=message):
        plan.verify(program, stages=copy, repeats=0)


def test_pipelines_need_their_stages(tied, tmp_path, step_text):
    plan, program, stages = tied
    with pytest.raises(mw.InvalidArgumentError, match="name the folder of its stages"):
        plan.verify(program)
    with pytest.raises(mw.InvalidArgumentError, match="the plan has no pipeline"):
        mw.plan(step_text, cluster="8xh100-sxm", mesh=8).verify(stages=stages)
    done = run_binary(stages.with_name("plan.json"), "--program", program)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--stages DIR" in done.stderr
