"""Pipelines that run: what they compute is what the unsharded step computes, in the planned order.

Tolerances. The models compute in float32 but for attention, which is in bfloat16. A pipeline adds up
micro-batches and shards in another order than the whole step does: sums of n terms differ by up to
about sqrt(n) units in the last place (2^-24 of the values, which are of the order of 1 here), and an
update by Adam or with a global norm divides such sums once more. That is 1e-6 after a step and grows
with each; 2e-5 after five has room for that, and is far below what leaving out a micro-batch or
a layer does (1e-3 and more). What goes through bfloat16 may round to the neighbour where two sums differ,
which is 2^-8 of an activation and, averaged over a batch, less than 1e-3 of a gradient; times the
learning rate of 0.1 that is 1e-4 a step.
"""

import collections
import dataclasses
import functools
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import jax
import kill_pipelines
import numpy as np
import pipeline_models
import pytest
from meshwright.pipeline.processes import facts_of_arrays
from meshwright.pipeline.timeline import Timeline, trace_of
from meshwright.verify.report import FAILED
from xla_flags import FAST_TO_COMPILE

import meshwright as mw

HERE = Path(__file__).parent
TOLERANCE = {"gpt": 5e-4}


def run(model, kind, folder, steps=2):
    step, arguments, plan = pipeline_models.planned(model, kind, folder)
    train = mw.jax.pipeline(step, *arguments, plan=plan)
    checked = pipeline_models.Checked(step, arguments)
    state = checked.state
    for _ in range(steps):
        state, results = train(state, *arguments[1:])
        checked.compare(state, results)
    assert checked.error < TOLERANCE.get(model, 2e-5)
    return train, state, arguments


# Each model once and each kind of plan at least once; run_pipelines.py has the whole matrix.
@pytest.mark.parametrize(
    ("model", "kind"),
    [("gpt", "gpipe"), ("moe", "meshes"), ("moe", "interleaved"), ("wide_resnet", "zb-h1")],
)
def test_equals_the_unsharded_step(model, kind, tmp_path):
    train, state, arguments = run(model, kind, tmp_path / "stages")
    planned, measured = orders(train, state, arguments)
    assert measured == planned
    apart = {phase for phases in measured.values() for phase, _ in phases} == PHASES_APART
    assert apart == (kind == "zb-h1")


PHASES_APART = {"forward", "backward", "weight gradient", "update"}


def orders(train, state, arguments):
    """By stage the phases as they were planned, and as they ran."""
    timeline = Timeline()
    train.observed(timeline, state, *arguments[1:])
    ran = timeline.phases()
    planned, measured = collections.defaultdict(list), collections.defaultdict(list)
    for task in train.runtime.order:
        for _ in train.runtime.phases_of(task):
            planned[task.stage].append((task.phase, task.micro_batch))
    for one in ran:
        measured[one.task.stage].append((one.task.phase, one.task.micro_batch))
    return planned, measured


def test_layers_of_a_loop_in_uneven_stages(tmp_path):
    train, state, arguments = run("llama", "uneven", tmp_path / "stages")
    staged = [leaf for leaf in jax.tree.leaves(state) if isinstance(leaf, mw.jax.StagedArray)]
    assert staged
    devices = [part.devices() for part in staged[0].parts]
    assert devices == [{jax.devices()[row["devices"][0]]} for row in train.plan.stages]
    whole = np.asarray(staged[0])
    assert (whole.shape, whole.nbytes) == (staged[0].shape, staged[0].nbytes)
    assert len(staged[0]) == len(whole)
    elsewhere = mock.patch.object(type(staged[0].parts[0]), "is_fully_addressable", False)
    with elsewhere, pytest.raises(mw.InvalidArgumentError, match="on devices of other processes"):
        np.asarray(staged[0])

    # What was donated is gone, and says so.
    newer, _ = train(state, *arguments[1:])
    with pytest.raises(mw.InvalidArgumentError, match="was donated to an earlier call"):
        train(state, *arguments[1:])

    # Both schedules as a trace.
    timeline = Timeline()
    newer, _ = train.observed(timeline, newer, *arguments[1:])
    ran = timeline.phases()
    events = trace_of(train.runtime.planned, ran, 2)["traceEvents"]
    assert {event["pid"] for event in events} == {1, 2}
    assert {event["tid"] for event in events if event["ph"] == "X"} == {1, 2}

    # Checkpoints, also into another plan.
    orbax = pytest.importorskip("orbax.checkpoint")
    with orbax.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "checkpoint", mw.jax.to_checkpoint(newer))
        restored = checkpointer.restore(tmp_path / "checkpoint")
    _, loss = train(newer, *arguments[1:])
    restored = mw.jax.from_checkpoint(restored, like=newer)
    step, _, plan = pipeline_models.planned("llama", "1f1b", tmp_path / "other", layers=3)
    other = mw.jax.pipeline(step, *arguments, plan=plan)
    _, again = other(restored, *arguments[1:])
    assert abs(float(loss) - float(again)) < 1e-6


def test_what_each_layer_of_a_loop_gives(tmp_path):
    """Sums over the batch and values of every sample, stacked along layers of several stages."""

    def step(weights, x):
        def loss(weights):
            def layer(x, w):
                x = x + jax.numpy.tanh(x @ w)
                return x, (0.01 * (x * x).sum(), x.mean(-1))

            end, given = jax.lax.scan(layer, x, weights["stack"])
            return ((end @ weights["head"]) ** 2).mean(), given

        (value, given), grads = jax.value_and_grad(loss, has_aux=True)(weights)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads), (value, given)

    generator = np.random.default_rng(0)
    weights = {
        "stack": 0.1 * generator.standard_normal((4, 16, 16), np.float32),
        "head": 0.1 * generator.standard_normal((16, 16), np.float32),
    }
    arguments = (weights, generator.standard_normal((8, 16), np.float32))
    step = jax.jit(step, donate_argnums=0)
    options = {"cluster": "2xh100-sxm", "pipeline": 2, "micro_batches": 2, "schedule": "1f1b"}
    plan = mw.plan(step, *arguments, emit=tmp_path / "stages", **options)
    train = mw.jax.pipeline(step, *arguments, plan=plan)
    checked = pipeline_models.Checked(step, arguments)
    state, results = train(*arguments)
    checked.compare(state, results)
    assert checked.error < 2e-5
    sums, means = results[1]
    assert (sums.shape, means.shape) == ((4,), (4, 8))
    assert (sums.size, means.size) == (4, 32)


class Full:
    """In place of a phase's executable: finds no memory, as XLA says it."""

    def __call__(self, *_):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.")


def test_out_of_memory_names_the_stage(tmp_path, monkeypatch):
    step, arguments, plan = pipeline_models.planned("moe", "uneven", tmp_path / "stages")
    train = mw.jax.pipeline(step, *arguments, plan=plan)
    monkeypatch.setitem(train.runtime._compiled, (1, "backward"), Full())
    with pytest.raises(mw.InfeasibleError) as caught:
        train(*arguments)
    assert str(caught.value) == (
        "stage 1 backward, micro-batch 0: a device has not the memory: JaxRuntimeError: "
        "RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes."
    )


def test_what_does_not_belong_together(tmp_path):
    step, arguments, plan = pipeline_models.planned("moe", "uneven", tmp_path / "stages")
    with pytest.raises(mw.InvalidArgumentError, match="name the folder of the plan's stages"):
        mw.jax.pipeline(step, *arguments, plan=mw.Plan(plan.to_json()))
    other, others, _ = pipeline_models.planned("wide_resnet", "uneven", tmp_path / "other")
    with pytest.raises(mw.InvalidArgumentError, match="the stages are of another program"):
        mw.jax.pipeline(other, *others, plan=plan)
    whole = mw.plan(step, *arguments, cluster="2xh100-sxm", mesh=2)
    with pytest.raises(mw.InvalidArgumentError, match=r"has no pipeline; mw\.jax\.shard runs it"):
        mw.jax.pipeline(step, *arguments, plan=whole)
    with pytest.raises(mw.InvalidArgumentError, match=r"a pipeline; mw\.jax\.pipeline runs it"):
        mw.jax.shard(step, *arguments, plan=plan)


def small(rate=0.1, width=8):
    def step(weights, x):
        def loss(weights):
            stack, head = weights
            h, _ = jax.lax.scan(lambda h, w: (jax.numpy.tanh(h @ w), None), x, stack)
            return ((h @ head) ** 2).mean()

        value, grads = jax.value_and_grad(loss)(weights)
        return [w - rate * g for w, g in zip(weights, grads)], value

    weights = [np.full(shape, 0.1, np.float32) for shape in ((4, width, width), (width, width))]
    return jax.jit(step, donate_argnums=0), (weights, np.ones((4, width), np.float32))


def test_a_batch_as_large_as_the_width(tmp_path):
    """What loops carry then has one shape, whether it runs over the batch or not."""
    step, arguments = small(width=4)
    options = {"cluster": "2xh100-sxm", "pipeline": 2, "micro_batches": 2}
    plan = mw.plan(step, *arguments, emit=tmp_path / "stages", **options)
    train = mw.jax.pipeline(step, *arguments, plan=plan)
    checked = pipeline_models.Checked(step, arguments)
    checked.compare(*train(*arguments))
    assert checked.error < 2e-5


@pytest.fixture(scope="module")
def planned_small(tmp_path_factory):
    step, arguments = small()
    folder = tmp_path_factory.mktemp("small") / "stages"
    options = {"cluster": "2xh100-sxm", "pipeline": 2, "micro_batches": 2, "schedule": "1f1b"}
    return step, arguments, mw.plan(step, *arguments, emit=folder, **options)


def test_a_function_that_was_changed(planned_small):
    _, arguments, plan = planned_small
    for same in (small()[0], jax.jit(small()[0].__wrapped__)):  # defined anew, not donating
        mw.jax.pipeline(same, *arguments, plan=plan)
    with pytest.warns(UserWarning, match="the stages of another program than this one"):
        mw.jax.pipeline(small(rate=0.2)[0], *arguments, plan=plan)
    with pytest.raises(mw.InvalidArgumentError, match="the module is of another program"):
        mw.jax.pipeline(*[small(width=16)[0], *small(width=16)[1]], plan=plan)


def test_a_pipeline_is_exported_with_its_stages(planned_small, tmp_path):
    _, _, plan = planned_small
    folder = plan.export("jax", tmp_path / "launch", stages=plan.stages_folder)
    modules = {file.name for file in Path(plan.stages_folder).iterdir()}
    assert {file.name for file in (folder / "stages").iterdir()} == modules
    assert "stages.json" in modules


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"plan": "plan.json"}, "plan: found str, expected a Plan"),
        ({"stages": "/nowhere"}, "cannot open /nowhere/stages.json"),
        ({"stages": __file__}, f"^cannot read {__file__}/stages.json: Not a directory"),
        ({"micro_batches": 4}, "micro_batches: is for making a plan, and plan= is one"),
        ({"cluster": "2xh100-sxm"}, "cluster: is for making a plan"),
        ({"plan": None, "stages": "stages"}, "stages: are those of a plan"),
        ({"devices": []}, "devices: found none, expected different devices"),
        ({"devices": [0, 1]}, "devices: found int, expected"),
        ({"devices": [jax.devices()[0]] * 2}, "devices: found one twice, expected"),
    ],
)
def test_what_is_no_pipeline(planned_small, given, error):
    step, arguments, plan = planned_small
    with pytest.raises(mw.Error, match=error):
        mw.jax.pipeline(step, *arguments, **{"plan": plan, **given})


def normalized(weights, x, y):
    """Samples less what all of them have in common, as in a batch norm."""

    def loss(weights):
        h = x
        for w in weights:
            h = jax.numpy.tanh(h @ w)
            h = (h - h.mean(0)) / (h.std(0) + 1)
        return ((h - y) ** 2).mean()

    return jax.tree.map(lambda w, g: w - g, weights, jax.grad(loss)(weights))


def printed(weights, x, y):
    """A step that prints its loss, and gives the sum of its gradients' squares."""

    def loss(weights):
        h, _ = jax.lax.scan(lambda h, w: (jax.numpy.tanh(h @ w), None), x, weights)
        return ((h - y) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)(weights)
    jax.debug.print("loss {}", value)
    return weights - gradients, value, (gradients**2).sum()


def test_calls_for_an_effect_are_left_out_with_a_warning(capsys):
    generator = np.random.default_rng(0)
    weights = generator.standard_normal((4, 8, 8), np.float32)
    x, y = generator.standard_normal((2, 8, 8), np.float32)
    step = jax.jit(printed, donate_argnums=0)
    options = {"cluster": "2xh100-sxm", "pipeline": 2, "micro_batches": 2}
    wanted = jax.jit(printed)(weights, x, y)
    jax.effects_barrier()
    assert capsys.readouterr().out.startswith("loss ")
    with pytest.warns(UserWarning, match="is called only for an effect, which stages of"):
        run = mw.jax.pipeline(step, weights, x, y, **options)
    got = run(weights, x, y)
    jax.effects_barrier()
    assert capsys.readouterr().out == ""
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-5, atol=1e-6)


def test_updates_that_are_chosen():
    """A conditional takes all layers at once, a selection those of the stage."""

    def step(weights, x, y, choose):
        def loss(weights):
            h, _ = jax.lax.scan(lambda h, w: (jax.numpy.tanh(h @ w), None), x, weights["layers"])
            return ((h @ weights["head"] - y) ** 2).mean()

        gradients = jax.grad(loss)(weights)
        new = jax.tree.map(lambda w, g: w - g, weights, gradients)
        return choose(jax.numpy.isfinite(gradients["head"]).all(), new, weights)

    def by_conditional(finite, new, old):
        return jax.lax.cond(finite, lambda: new, lambda: old)

    def by_selection(finite, new, old):
        return jax.tree.map(lambda n, o: jax.numpy.where(finite, n, o), new, old)

    weights = {"layers": np.ones((4, 8, 8), np.float32), "head": np.ones((8, 8), np.float32)}
    x = y = np.ones((8, 8), np.float32)

    def plan(choose):
        chosen = jax.jit(functools.partial(step, choose=choose), donate_argnums=0)
        return mw.plan(chosen, weights, x, y, cluster="2xh100-sxm", pipeline=2, micro_batches=2)

    with pytest.raises(mw.Error, match="beside that loop too: choose by jnp.where in place of"):
        plan(by_conditional)
    assert len(plan(by_selection).stages) >= 2


def test_statistics_of_the_micro_batchs_own(tmp_path):
    generator = np.random.default_rng(0)
    *weights, x, y = (generator.standard_normal((8, 8), np.float32) for _ in range(6))
    step = jax.jit(normalized, donate_argnums=0)
    options = {"cluster": "2xh100-sxm", "pipeline": 2, "micro_batches": 2}
    plan = mw.plan(step, weights, x, y, emit=tmp_path / "stages", **options)
    with pytest.warns(UserWarning, match="each micro-batch takes its own, so the results are not"):
        mw.jax.pipeline(step, weights, x, y, plan=plan)
    numerics = plan.verify(repeats=0, trace=tmp_path / "trace.json").checks[0]
    assert numerics.outcome == "ok", numerics
    assert "on micro-batches that are alike" in numerics.remark
    assert numerics.notes == plan.deviations != []
    # What differs even then, differs by more than was planned.
    wrong = dataclasses.replace(numerics, outcome=FAILED)
    with mock.patch("meshwright.verify.pipeline._numerics", return_value=wrong):
        assert not plan.verify(repeats=0).passed
    with pytest.raises(mw.InvalidArgumentError, match="its folder does not exist$"):
        plan.verify(trace=tmp_path / "none" / "trace.json")


def orthogonal(state, x, y):
    """Momentum made orthogonal by a polynomial whose coefficients are of the state, as muon's are."""
    weights, momentum, (a, b) = state

    def loss(weights):
        h = x
        for w in weights:
            h = jax.numpy.tanh(h @ w)
        return ((h - y) ** 2).mean()

    momentum = [0.9 * m + g for m, g in zip(momentum, jax.grad(loss)(weights))]
    updates = [m / jax.numpy.linalg.norm(m) for m in momentum]
    for _ in range(40):
        updates = [a * u + b * (u @ u.T) @ u for u in updates]
    return [w - 0.1 * u for w, u in zip(weights, updates)], momentum, (a, b)


def test_verified_on_the_plans_example_arguments(tmp_path):
    generator = np.random.default_rng(0)
    *weights, x, y = (generator.standard_normal((8, 8), np.float32) for _ in range(6))
    state = weights, [np.ones_like(w) for w in weights], (np.float32(1.5), np.float32(-0.5))
    step = jax.jit(orthogonal, donate_argnums=0)
    options = {"cluster": "2xh100-sxm", "pipeline": 2, "micro_batches": 2}
    plan = mw.plan(step, state, x, y, emit=tmp_path / "stages", **options)
    numerics = plan.verify(repeats=0).checks[0]
    assert numerics.outcome == "ok", numerics
    assert "on the plan's example arguments" in numerics.remark


def test_what_is_no_state(planned_small):
    step, (weights, x), plan = planned_small
    train = mw.jax.pipeline(step, weights, x, plan=plan)
    like = [jax.ShapeDtypeStruct(weight.shape, weight.dtype) for weight in weights]
    with pytest.raises(
        mw.InvalidArgumentError, match=r"weights\[0\]: found a ShapeDtypeStruct, exp"
    ):
        train(like, x)

    staged, head = mw.jax.to_checkpoint(train(weights, x)[0])
    first, second = staged
    parts = {name: np.asarray(part) for name, part in staged.items()}
    restored = mw.jax.from_checkpoint([parts, head], like=like)  # parts as some restore them
    state, _ = train(restored, x)
    assert state[0].shape == weights[0].shape
    for tree, error in (
        ([parts], "the checkpoint has 1 arrays, the state has 2"),
        (
            [{first: parts[first]}, head],
            r"state\[0\]: the checkpoint has f32\[2,8,8\], the state has f32\[4,8,8\]",
        ),
        ([{second: parts[second]}, head], "do not follow each other: dimension 0 from 2 to 4"),
        ([{first: parts[first], second: weights[0]}, head], "do not follow each other"),
    ):
        with pytest.raises(mw.InvalidArgumentError, match=error):
            mw.jax.from_checkpoint(tree, like=like)


def processes(count, devices, folder, model, kind, steps=2, planned=0, seconds=300):
    """The output of each; `devices` of the host in each, `planned` in the plan."""
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        address = f"localhost:{probe.getsockname()[1]}"
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    flags = f"{FAST_TO_COMPILE} --xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "PYTHONPATH": path, "XLA_FLAGS": flags}
    command = [sys.executable, HERE / "pipeline_worker.py", address, count]
    rest = [folder, model, kind, steps, planned]
    started = [
        subprocess.Popen(
            list(map(str, [*command, number, *rest])),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    try:
        return [process.communicate(timeout=seconds) for process in started]
    finally:
        for process in started:
            process.kill()


def error_of(output):
    out, err = output
    errors = [line.split()[1] for line in out.splitlines() if line.startswith("error ")]
    assert errors, f"{out}\n{err}"
    return float(errors[0])


def test_two_processes(tmp_path):
    """Of several devices each, of which more wait for the other process than there are processors."""
    for output in processes(2, 4, tmp_path / "run", "gpt", "uneven", steps=5, planned=8):
        assert error_of(output) < TOLERANCE["gpt"]


def test_processes_with_different_plans(tmp_path):
    for out, err in processes(2, 1, tmp_path / "other", "moe", "uneven"):
        assert "refused process 1 has another plan than process 0" in out, err


def test_processes_with_different_data(tmp_path):
    """As loaders that are seeded by process give."""
    for out, err in processes(2, 1, tmp_path / "loader", "moe", "uneven"):
        assert "refused process 1 has another value of " in out, err
        assert "step" not in out


def test_arrays_that_are_compared():
    """Equal values are equal facts, be they numpy's or on a device; one process compares nothing."""
    values = [np.float32(2), np.arange(6, dtype=np.int8).reshape(2, 3).T, np.zeros((0, 3))]
    names = ["rate", "x", "none"]
    assert facts_of_arrays(values, names) == {}
    with mock.patch("jax.process_count", return_value=2):
        arrays = [np.asarray(value) for value in values]
        facts = facts_of_arrays(arrays, names)
        assert list(facts) == ["value of rate", "value of x", "value of none"]
        assert facts_of_arrays([jax.numpy.asarray(a, a.dtype) for a in arrays[:2]], names[:2]) == {
            name: facts[name] for name in list(facts)[:2]
        }
        other = facts_of_arrays([arrays[1] + 1], ["x"])
        assert other["value of x"] != facts["value of x"]


EXAMPLES = HERE.parents[1] / "examples"


def example(*command, flags=FAST_TO_COMPILE):
    environment = {**os.environ, "XLA_FLAGS": flags, "PYTHON": sys.executable}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    losses = [
        float(line.rpartition(" ")[2]) for line in done.stdout.splitlines() if ": loss " in line
    ]
    assert len(losses) > 1
    losses = list(dict.fromkeys(losses))  # several processes print the same
    assert losses == sorted(losses, reverse=True)  # one batch, again
    return done.stdout


def test_the_example(tmp_path):
    command = [sys.executable, EXAMPLES / "pipeline.py", "--steps", 2, "--layers", 2]
    try:
        import orbax.checkpoint  # noqa: F401

        command += ["--checkpoint", tmp_path / "checkpoint"]
    except ImportError:
        pass
    assert "\nverified\n" in example(*command)


# What Slurm gives: srun starts a task for each process, JAX finds its number and the first host.
SLURM = """#!/bin/sh
for number in 0 1; do
  SLURM_PROCID=$number SLURM_LOCALID=$number SLURM_STEP_NODELIST=localhost "$@" &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid" || exit 1; done
"""


def test_the_example_in_a_slurm_job(tmp_path, monkeypatch):
    script = EXAMPLES / "pipeline_hosts.sh"
    for name, text in (
        ("srun", SLURM),
        ("scontrol", f'#!/bin/sh\necho "   Command={script} --x"\n'),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", str(os.getpid()))  # JAX makes the port of it
    monkeypatch.setenv("SLURM_NTASKS", "2")
    example("bash", script, "--steps", 2, "--layers", 2, "--host-devices", 2)


def test_processes_that_are_killed(tmp_path):
    """All end with one line, and the next run goes on where the last checkpoint is."""
    pytest.importorskip("orbax.checkpoint")

    def kill(victim):
        folder, losses = tmp_path / str(victim), {}
        folder.mkdir()
        kill_pipelines.kill_one(2, 1, "uneven", folder, victim, "saved", 0.5, losses)
        kill_pipelines.go_on(2, 1, "uneven", folder, losses)
        return losses

    with ThreadPoolExecutor() as pool:  # most of it is waiting
        for losses in pool.map(kill, (0, 1)):
            assert len(losses) > 1
            kill_pipelines.check(losses, "uneven")


def test_the_example_in_two_processes():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        os.environ["PORT"] = str(probe.getsockname()[1])
    try:
        example("bash", EXAMPLES / "pipeline_hosts.sh", "--steps", 2, "--layers", 2)
    finally:
        del os.environ["PORT"]
