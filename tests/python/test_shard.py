"""Functions sharded by a plan: same results as on one device, laid out as the plan says."""

import contextlib
import functools
import re

import jax
import jax.numpy as jnp
import models
import numpy as np
import pytest
from conftest import largest_difference, mlp_arguments, mlp_step
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.verify import causes, collectives

import meshwright as mw

CLUSTER = "8xh100-sxm"


# Of the memory that the fastest plan takes: so little that much is cut up, and found soon.
BUDGETS = {
    ("mlp", "8"): 0.5,
    ("mlp", "2x4"): 0.5,
    ("gpt", "8"): 0.6,
    ("gpt", "2x4"): 0.5,
    ("llama", "8"): 0.7,
    ("llama", "2x4"): 0.35,
    ("scan", "8"): 0.35,
    ("scan", "2x4"): 0.5,
    ("moe", "8"): 0.35,
    ("moe", "2x4"): 0.35,
    ("wide_resnet", "8"): 0.35,
    ("wide_resnet", "2x4"): 0.5,
}


@functools.cache
def small_model(family):
    """A training step, its arguments, and its results on one device."""
    step, arguments = getattr(models, family)(np.random.default_rng(0))
    function = jax.jit(step)
    return function, arguments, function(*arguments)


@pytest.mark.parametrize(("family", "mesh"), BUDGETS)
def test_small_models(family, mesh):
    """Results are those of one device; collectives are the plan's but for known causes."""
    function, arguments, expected = small_model(family)
    fastest = mw.plan(function, *arguments, cluster=CLUSTER, mesh=mesh, memory="unlimited")
    memory = int(BUDGETS[family, mesh] * fastest.peak_bytes)
    sharded = mw.jax.shard(function, *arguments, cluster=CLUSTER, mesh=mesh, memory=memory)
    plan = sharded.plan
    assert any(any(row["spec"]) for row in plan.parameters)
    got = sharded(*arguments)
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    shardings = jax.tree.leaves(sharded.out_shardings)
    for array, sharding in zip(jax.tree.leaves(got), shardings, strict=True):
        assert array.sharding.is_equivalent_to(sharding, array.ndim)
    # An update is at most 1e-2 a step (wide_resnet: of the size of its gradients); bf16 has 8 bits.
    assert largest_difference(got, expected) < 2e-3
    again = sharded(got[0], *arguments[1:])  # state stays where it is
    assert np.isfinite(float(again[1]))

    planned = collectives.planned(plan.ops, plan.mesh_shape)
    compiled = collectives.compiled(sharded.compiled.as_text(), plan.mesh_shape, "the CPU")
    matching = causes.match(planned, compiled)
    assert len(matching.matched) >= len(planned) / 2 > 0
    unexplained = [d for d in matching.differences if d.cause == causes.UNEXPLAINED]
    assert not unexplained, "; ".join(map(str, unexplained))


def test_the_program_follows_the_plan_inside():
    """A value in the middle is cut as a fix says, though nothing around it is."""

    def fn(x):
        return (jnp.sin(x) @ jnp.cos(x)).sum()

    x = jnp.ones((64, 64))

    def communicates(spec):
        fixes = {"x": "replicated", "dot_general*": spec}
        sharded = mw.jax.shard(fn, x, cluster=CLUSTER, mesh=8, fix=fixes)
        return bool(re.search(r"all-(reduce|gather)\(", sharded.compiled.as_text()))

    assert communicates("[x,_]")
    assert not communicates("replicated")


@pytest.mark.parametrize("spec", ["replicated", "[x,_]"])
def test_sums_are_combined_after_they_are_added(spec):
    def fn(a, b, c, d, e):
        return jnp.tanh(a @ b + c @ d + a @ e)

    arguments = list(np.random.default_rng(0).standard_normal((5, 64, 64), np.float32))
    rows = P("x", None)
    fixes = {"a": P(None, "x"), "b": rows, "c": P(None, "x"), "d": rows, "e": rows, "tanh*": spec}
    sharded = mw.jax.shard(fn, *arguments, cluster=CLUSTER, mesh=8, fix=fixes)
    assert sum(row["count"] for row in sharded.plan.collectives if "gather" not in row["kind"]) == 1
    assert len(re.findall(r" all-reduce\(", sharded.compiled.as_text())) == 1
    assert largest_difference(sharded(*arguments), jax.jit(fn)(*arguments)) < 1e-4


def test_abstract_arguments_and_numpy_inputs():
    arguments = mlp_arguments()
    shapes = jax.eval_shape(lambda *a: a, *arguments)
    sharded = mw.jax.shard(
        mlp_step,
        *shapes,
        cluster=CLUSTER,
        mesh="2x4",
        fix={"x": P("x"), "state['up']": P(None, "y")},
    )
    expected = jax.jit(mlp_step)(*arguments)
    got = sharded(*jax.tree.map(np.asarray, arguments))
    assert largest_difference(got, expected) < 1e-5
    placed = sharded.place(*arguments)
    assert placed[1].sharding.spec == P("x")
    assert largest_difference(sharded(*placed), expected) < 1e-5


def test_a_saved_plan_can_be_used_again(tmp_path):
    arguments = mlp_arguments()
    mw.plan(mlp_step, *arguments, cluster=CLUSTER, mesh=8, fix={"x": P("x")}).save(
        tmp_path / "plan.json"
    )
    sharded = mw.jax.shard(mlp_step, *arguments, plan=mw.Plan.load(tmp_path / "plan.json"))
    assert sharded.in_shardings[1].spec == P("x")
    with pytest.raises(mw.InvalidArgumentError, match="the plan is of another program"):
        mw.jax.shard(lambda x: x + 1, arguments[1], plan=sharded.plan)


def test_donation():
    state, x, y = mlp_arguments()
    sharded = mw.jax.shard(
        mlp_step, state, x, y, cluster=CLUSTER, mesh=8, donate_argnums=0, fix={"x": P("x")}
    )
    placed = sharded.place(state, x, y)
    sharded(*placed)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(placed[0]))
    assert not placed[1].is_deleted()
    jitted = jax.jit(mlp_step, donate_argnums=0)
    assert mw.jax.shard(jitted, state, x, y, plan=sharded.plan)._signature.donated == [0, 1]
    with pytest.raises(mw.InvalidArgumentError, match="jitted already"):
        mw.jax.shard(jitted, state, x, y, plan=sharded.plan, donate_argnums=0)


def test_devices_and_mesh_of_the_user():
    arguments = mlp_arguments()
    four = jax.devices()[4:]
    sharded = mw.jax.shard(
        mlp_step, *arguments, cluster="4xh100-sxm", mesh=4, devices=four, fix={"x": P("x")}
    )
    assert sharded(*arguments)[1].sharding.device_set == set(four)
    mesh = jax.sharding.Mesh(np.array(jax.devices())[::-1].reshape(4, 2), ("data", "model"))
    sharded = mw.jax.shard(
        mlp_step, *arguments, cluster=CLUSTER, mesh=mesh, fix={"x": P("data"), "y": P("data")}
    )
    assert sharded.in_shardings[1] == NamedSharding(mesh, P("data"))
    assert largest_difference(sharded(*arguments), jax.jit(mlp_step)(*arguments)) < 1e-5


def test_keyword_arguments_keys_and_unused_arguments():
    def fn(key, x, *, scale, unused):
        key, other = jax.random.split(key)
        return key, scale * (x + jax.random.normal(other, x.shape))

    key, x = jax.random.key(7), jnp.ones((16, 8))
    kwargs = {"scale": jnp.float32(2), "unused": jnp.zeros(3)}
    sharded = mw.jax.shard(fn, key, x, kwargs=kwargs, cluster=CLUSTER, mesh=8, fix={"x": P("x")})
    got = sharded(key, x, **kwargs)
    expected = fn(key, x, **kwargs)
    assert (jax.random.key_data(got[0]) == jax.random.key_data(expected[0])).all()
    assert largest_difference(got[1], expected[1]) < 1e-6
    with pytest.raises(
        mw.InvalidArgumentError, match="missing a required (keyword-only )?argument: .scale."
    ):
        sharded(key, x)


def test_control_flow():
    def fn(x, count):
        x = jax.lax.cond(count > 2, jnp.sin, jnp.cos, x)
        return jax.lax.while_loop(lambda c: c[1] < 5, lambda c: (c[0] @ c[0], c[1] + 1), (x, count))

    x = jnp.eye(16) * 0.9
    sharded = mw.jax.shard(fn, x, jnp.int32(3), cluster=CLUSTER, mesh="2x4", fix={"x": P("x", "y")})
    assert largest_difference(sharded(x, 3), fn(x, 3)) < 1e-5


def test_what_cannot_be_sharded():
    def ordered(x):
        jax.debug.print("{}", x.sum(), ordered=True)
        return x + 1

    with pytest.raises(mw.UnsupportedError, match="leave out ordered=True"):
        mw.jax.shard(ordered, jnp.ones(8), cluster=CLUSTER, mesh=8)
    with pytest.raises(mw.InvalidArgumentError, match="16 devices, JAX has 8"):
        mw.jax.shard(jnp.sin, jnp.ones(16), cluster="2x8xh100-sxm", mesh=16)


def test_arrays_at_hand_inside_of_jit():
    x = jnp.arange(32.0).reshape(8, 4)
    sharded = mw.jax.shard(lambda x: x * 2, x, cluster="8xh100-sxm", mesh="8")
    assert jax.jit(lambda q: (sharded(x) * q).sum())(3.0) == 6 * x.sum()


def test_values_that_are_traced_outside():
    x = jnp.ones((8, 4))

    def outer(q):
        # JAX 0.7.1 takes them along; JAX 0.10 makes arguments of them that nobody gives.
        with contextlib.suppress(mw.InvalidArgumentError):
            assert mw.plan(lambda x: x * q, x, cluster="8xh100-sxm", mesh="8").step_seconds > 0
        return q

    assert jax.jit(outer)(1.0) == 1
