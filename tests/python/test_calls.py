"""Sharded functions are called as the functions are: what jax.jit computes, or an error that names the argument."""

import copy
import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import largest_difference
from jax.sharding import PartitionSpec as P

import meshwright as mw

HERE = {"cluster": "8xh100-sxm", "mesh": "8"}
PARAMS, BATCH = jnp.full((32, 32), 0.01), jnp.ones((64, 32))


def step(p, x):
    value, gradient = jax.value_and_grad(lambda p: (jnp.tanh(x @ p) ** 2).mean())(p)
    return p - 0.1 * gradient, value


def refused(call, *words):
    """One line, of Meshwright's, with these words."""
    with pytest.raises(mw.Error) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert all(word in text for word in words), text


@pytest.fixture(scope="module")
def sharded():
    return mw.jax.shard(step, PARAMS, BATCH, fix={"x": P("x")}, **HERE)


def test_static_arguments():
    @functools.partial(jax.jit, static_argnames=("n", "kind"))
    def scaled(p, x, n, kind="mean"):
        return step(p, getattr(x, kind)(-1, keepdims=True) * n + x)

    plan = mw.plan(scaled, PARAMS, BATCH, 2, **HERE)
    train = mw.jax.shard(scaled, PARAMS, BATCH, 2, plan=plan)
    expected = scaled(PARAMS, BATCH, 2)
    for call in (
        lambda: train(PARAMS, BATCH, 2),
        lambda: train(PARAMS, x=BATCH, n=2),
        lambda: train(PARAMS, BATCH, 2, "mean"),
        lambda: train(n=2, kind="mean", x=BATCH, p=PARAMS),
    ):
        assert largest_difference(call(), expected) < 1e-6
    refused(lambda: train(PARAMS, BATCH, 3), "n: found 3", "static", "for 2")
    refused(lambda: train(PARAMS, BATCH, n=2.0), "n: found 2.0")
    refused(lambda: train(PARAMS, BATCH, 2, "sum"), "kind: found 'sum'", "default 'mean'")
    refused(lambda: train(PARAMS, BATCH), "missing", "'n'")
    placed = train.place(PARAMS, BATCH, 2)
    assert len(placed) == 2
    numbered = mw.jax.shard(jax.jit(scaled, static_argnums=(2, 3)), PARAMS, BATCH, 2, "sum", **HERE)
    assert np.isfinite(float(numbered(PARAMS, BATCH, 2, "sum")[1]))
    refused(lambda: numbered(PARAMS, BATCH, 1, "sum"), "n: found 1")


def test_defaults_keywords_and_variable_arguments():
    def fn(x, *rest, rate=0.5, **others):
        return x * rate + sum(rest) + sum(others.values())

    x = jnp.arange(16.0)
    plain = mw.jax.shard(fn, x, **HERE)
    assert largest_difference(plain(x), fn(x)) == 0
    assert largest_difference(plain(x, rate=0.5), fn(x)) == 0
    refused(lambda: plain(x, rate=0.25), "rate: found 0.25", "default 0.5")
    refused(lambda: plain(x, x), "rest")
    refused(lambda: plain(x, y=x), "others")
    full = mw.jax.shard(fn, x, x, x, kwargs={"rate": 0.1, "y": x}, **HERE)
    assert largest_difference(full(x, x, x, y=x, rate=0.2), fn(x, x, x, rate=0.2, y=x)) < 1e-6
    assert largest_difference(full(x, x, x, y=x), fn(x, x, x, y=x)) < 1e-6  # rate's default
    refused(lambda: full(x, x, y=x, rate=0.2), "by position")
    refused(lambda: full(x, x, x, rate=0.2), "by position")


def test_a_method_and_a_partial_function():
    class Model:
        def step(self, p, x):
            return step(p, x)

    for function in (Model().step, functools.partial(step), functools.partial(jax.jit(step))):
        train = mw.jax.shard(function, PARAMS, BATCH, **HERE)
        assert largest_difference(train(PARAMS, BATCH), step(PARAMS, BATCH)) < 1e-6
        assert largest_difference(train(PARAMS, x=BATCH), step(PARAMS, BATCH)) < 1e-6


def test_examples_that_the_function_cannot_be_called_with():
    refused(lambda: mw.plan(step, **HERE), "step(p, x): missing a required argument: 'p'")
    refused(lambda: mw.plan(jax.jit(step), PARAMS, **HERE), "missing a required argument: 'x'")
    refused(lambda: mw.plan(step, PARAMS, BATCH, BATCH, **HERE), "too many positional arguments")
    with pytest.raises(TypeError, match="foo"):  # of the function's own
        mw.plan(lambda x: jnp.sum(x, foo=1), BATCH, **HERE)


def test_plans_of_functions_can_be_pickled_and_copied():
    plan = mw.plan(step, PARAMS, BATCH, **HERE)
    for other in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
        assert other.to_json() == plan.to_json()
        assert other.program.contents == plan.program.contents


def test_shapes_and_types(sharded):
    refused(
        lambda: sharded(PARAMS, BATCH[:40]),
        "x: found f32[40,32]",
        "planned for f32[64,32]",
        "smaller last batch",
        "64",
    )
    refused(lambda: sharded(PARAMS, BATCH.astype(jnp.bfloat16)), "x: found bf16[64,32]")
    refused(lambda: sharded(PARAMS, "text"), "x: found str", "f32[64,32]")
    refused(lambda: sharded(PARAMS, [BATCH]), "x: is missing; x[0] is in its place")
    refused(lambda: sharded(PARAMS), "missing", "'x'")
    half = np.ones((64, 32), np.float64)  # JAX narrows it
    assert largest_difference(sharded(PARAMS, half), step(PARAMS, BATCH)) < 1e-6


def test_leaves_are_named_by_their_path():
    def fn(state, x):
        return jax.tree.map(lambda w: w + x.sum(), state)

    state = {"m": {"w": jnp.ones((8, 8))}, "n": (jnp.ones(3), jnp.int32(1))}
    train = mw.jax.shard(fn, state, jnp.ones(4), **HERE)
    other = {"m": {"w": jnp.ones((8, 4))}, "n": state["n"]}
    refused(lambda: train(other, jnp.ones(4)), "state['m']['w']: found f32[8,4]")
    other = {"m": state["m"], "n": (jnp.ones(3), jnp.float32(1))}
    refused(lambda: train(other, jnp.ones(4)), "state['n'][1]: found f32[]")
    refused(lambda: train({"m": state["m"]}, jnp.ones(4)), "state['n'][0]: is missing (and 1 more)")


def test_whole_numbers_are_not_cut_off():
    labels = jnp.zeros(64, jnp.int32)
    fn = mw.jax.shard(lambda p, y: (p, (y * 1.0).sum()), PARAMS, labels, **HERE)
    refused(lambda: fn(PARAMS, np.full(64, 0.7)), "y: found f32[64]", "s32[64]")
    refused(lambda: fn(PARAMS, np.full(64, 2**40)), "y: 1099511627776 does not fit into s32")
    assert float(fn(PARAMS, np.full(64, 3))[1]) == 192  # int64, as numpy makes them
    count = mw.jax.shard(lambda x, n: x * n, BATCH, 3, **HERE)
    assert float(count(BATCH, 5)[0, 0]) == 5
    assert float(count(BATCH, np.int64(6))[0, 0]) == 6
    refused(lambda: count(BATCH, 0.5), "n: found f32[]", "s32[]")
    refused(lambda: count(BATCH, 2**40), "n: ")


def test_weak_types_are_taken_where_they_make_no_difference():
    def fn(x, rate):
        return x * rate

    train = mw.jax.shard(fn, BATCH, 0.5, **HERE)
    assert float(train(BATCH, jnp.float32(0.25))[0, 0]) == 0.25
    assert float(train(BATCH, np.float64(0.25))[0, 0]) == 0.25
    narrow = BATCH.astype(jnp.bfloat16)
    train = mw.jax.shard(fn, narrow, 0.5, **HERE)
    assert train(narrow, 0.25).dtype == jnp.bfloat16
    # jax.jit gives f32 here.
    refused(lambda: train(narrow, jnp.float32(0.25)), "rate: found a strong type", "a weak type")
    train = mw.jax.shard(fn, narrow, jnp.float32(0.5), **HERE)
    refused(lambda: train(narrow, 0.25), "rate: found a weak type")


def test_inside_transformations(sharded):
    expected = step(PARAMS, BATCH)
    inside = jax.jit(lambda p, x: jax.tree.map(lambda v: v + 1, sharded(p, x)))(PARAMS, BATCH)
    assert largest_difference(inside, jax.tree.map(lambda v: v + 1, expected)) < 1e-6
    loop = jax.lax.fori_loop(0, 2, lambda _, p: sharded(p, BATCH)[0], PARAMS)
    assert largest_difference(loop, step(expected[0], BATCH)[0]) < 1e-6
    advice = "inside the function"
    refused(lambda: jax.grad(lambda p: sharded(p, BATCH)[1])(PARAMS), advice)
    refused(lambda: jax.grad(jax.jit(lambda p: sharded(p, BATCH)[1]))(PARAMS), advice)
    refused(lambda: jax.vmap(lambda x: sharded(PARAMS, x))(jnp.ones((2, 64, 32))), advice)
    refused(lambda: jax.vmap(jax.jit(lambda x: sharded(PARAMS, x)))(jnp.ones((2, 64, 32))), advice)
    refused(lambda: jax.jvp(lambda p: sharded(p, BATCH), (PARAMS,), (PARAMS,)), advice)
    refused(lambda: jax.jit(lambda x: sharded(PARAMS, x))(BATCH[:8]), "x: found f32[8,32]")


def test_arrays_elsewhere_and_arrays_that_are_gone(sharded):
    there = jax.device_put(PARAMS, jax.devices()[5])
    assert largest_difference(sharded(there, BATCH), step(PARAMS, BATCH)) < 1e-6
    train = mw.jax.shard(step, PARAMS, BATCH, donate_argnums=0, **HERE)
    state = train.place(PARAMS, BATCH)[0] + 0
    state = train.place(state, BATCH)[0]
    train(state, BATCH)
    refused(lambda: train(state, BATCH), "p: this array was donated")


def test_types_of_less_than_a_byte():
    values = np.random.default_rng(0).integers(-7, 7, (32, 32))
    array = jnp.asarray(values).astype(jnp.int4)
    fn = mw.jax.shard(lambda z: z.astype(jnp.float32).sum(), array, fix={"z": "[x,_]"}, **HERE)
    assert fn.in_shardings[0].spec == P("x")
    assert float(fn(array)) == values.sum()
    assert float(fn(np.asarray(array))) == values.sum()
    assert fn.plan.verify(repeats=0).passed


def test_callbacks():
    seen = []

    def fn(p, x):
        def body(carry, _):
            jax.debug.callback(lambda v: seen.append(float(v)), carry.sum())
            return jnp.tanh(carry @ p), None

        final = jax.lax.scan(body, x, None, length=3)[0]
        kind = jax.ShapeDtypeStruct(final.shape, final.dtype)
        cosine = jax.pure_callback(lambda v: np.cos(v), kind, final)
        return jax.experimental.io_callback(lambda v: 2 * np.asarray(v), kind, cosine)

    train = mw.jax.shard(fn, PARAMS, BATCH, fix={"x": P("x")}, **HERE)
    got = train(PARAMS, BATCH)
    jax.effects_barrier()
    assert len(seen) == 3
    assert largest_difference(got, jax.jit(fn)(PARAMS, BATCH)) < 1e-6
    jax.effects_barrier()
    assert seen[:3] == pytest.approx(seen[3:])


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
def test_within_a_mesh_of_the_users(kind):
    mesh = jax.make_mesh((8,), ("data",), axis_types=(getattr(jax.sharding.AxisType, kind),))
    with jax.set_mesh(mesh):
        train = mw.jax.shard(step, PARAMS, BATCH, fix={"x": P("x")}, **HERE)
        expected = jax.tree.map(np.asarray, jax.jit(step)(PARAMS, BATCH))
        got = train(PARAMS, BATCH)
        got = train(got[0], BATCH)  # what is on one mesh goes on
        assert train.plan.verify(repeats=0).passed
    assert largest_difference(got, step(expected[0], BATCH)) < 1e-6


def test_stages_of_functions():
    jitted = jax.jit(step)
    plan = mw.plan(jitted, PARAMS, BATCH, fix={"x": P("x")}, **HERE)
    exported = jax.export.export(jitted)(PARAMS, BATCH)
    for stage in (jitted.trace(PARAMS, BATCH), jitted.lower(PARAMS, BATCH), exported):
        again = mw.plan(stage, **HERE)
        assert again.verify(repeats=0).passed
        train = mw.jax.shard(stage, **HERE)
        assert largest_difference(train(PARAMS, BATCH), step(PARAMS, BATCH)) < 1e-6
        refused(lambda train=train: train(PARAMS, BATCH[:8]), "f32[8,32]")
        refused(lambda stage=stage: mw.plan(stage, PARAMS, **HERE), "has them already")
    refused(lambda: mw.plan(jitted.lower(PARAMS, BATCH).compile(), **HERE), "pass the function")
    refused(lambda: mw.plan(jitted.lower, PARAMS, BATCH, **HERE), "a method of a jitted function")
    train = mw.jax.shard(jitted, PARAMS, BATCH, plan=plan)
    refused(lambda: mw.plan(train, PARAMS, BATCH, **HERE), "pass the function itself")
    refused(lambda: mw.jax.shard(train, PARAMS, BATCH, **HERE), "pass the function itself")
    refused(lambda: mw.jax.shard(step, PARAMS, BATCH, donate_argnums=9, **HERE), "only accepts 2")
    refused(lambda: mw.jax.shard(jitted, PARAMS, BATCH[:8], plan=plan), "another program")
    sizes = jax.export.symbolic_shape("b,32")
    open_batch = jax.ShapeDtypeStruct(sizes, jnp.float32)
    refused(lambda: mw.plan(jax.export.export(jitted)(PARAMS, open_batch), **HERE), "sizes")


def test_examples_that_are_no_arrays():
    def fn(x, how):
        return x

    refused(lambda: mw.plan(fn, BATCH, "relu", **HERE), "how: found str", 'static_argnames="how"')
    refused(lambda: mw.plan(fn, BATCH, {"f": [len]}, **HERE), "how['f'][0]: found builtin")
    refused(lambda: mw.plan(fn, BATCH, 2**40, **HERE), "how: ", "too large")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (np.array([object()]), "found ndarray of dtype object"),
        (np.array(["a"]), "found ndarray of dtype <U1"),
        (np.array(["2020-01-01"], "datetime64[D]"), "found ndarray of dtype datetime64[D]"),
        (np.datetime64("2020-01-01"), "found datetime64 of dtype"),
        (np.ones(4, np.longdouble), "found ndarray of dtype"),
        (np.zeros(4, [("a", "f4"), ("b", "i4")]), "found ndarray of dtype [('a'"),
        (np.ones(4, ">f4"), "another byte order"),
        (np.ma.array([1, 2], mask=[0, 1]), "array.filled()"),
        ({1: np.ones(3), "a": np.ones(3)}, "'<' not supported between"),
        (np, "found module"),
        (iter(()), "found tuple_iterator"),
        ({1}, "found set"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_arguments_that_jax_has_no_type_for(value, found):
    for given in (value, [BATCH, value]):
        refused(lambda given=given: mw.plan(lambda x, how: x, BATCH, given, **HERE), "how", found)


def test_arguments_of_every_kind_that_jax_takes():
    sparse = pytest.importorskip("jax.experimental.sparse")
    kinds = {
        "sparse": sparse.BCOO.fromdense(jnp.eye(4)),
        "key": jax.random.key(0),
        "struct": jax.ShapeDtypeStruct((4, 4), jnp.float32),
        "none": None,
        "scalars": [1, 1.0, True, 1j, np.float32(3), np.array(3)],
        "strided": np.ones((8, 8))[:, ::2],
        "f16": np.ones(4, np.float16),
    }
    plan = mw.plan(lambda batch, kinds: jax.tree.map(lambda x: x, kinds), BATCH, kinds, **HERE)
    assert plan.step_seconds > 0


def test_functions_of_other_libraries():
    nnx = pytest.importorskip("flax.nnx")
    model = nnx.Linear(32, 32, rngs=nnx.Rngs(0))

    @nnx.jit
    def loss(model, x):
        return (jnp.tanh(model(x)) ** 2).mean()

    assert mw.plan(loss, model, BATCH, **HERE).verify(repeats=0).passed
    refused(lambda: mw.jax.shard(loss, model, BATCH, **HERE), "nnx.split")
    equinox = pytest.importorskip("equinox")
    assert mw.plan(equinox.filter_jit(step), PARAMS, BATCH, **HERE).verify(repeats=0).passed
    refused(lambda: mw.jax.shard(equinox.filter_jit(step), PARAMS, BATCH, **HERE), "eqx.partition")
