"""Planned collectives are compiled ones: where values are moved, in which steps, and how often."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.verify.report import PASSED

import meshwright as mw

CLUSTER = "8xh100-sxm"


def check(function, *arguments, mesh, fix):
    """Plans with `fix`; what is compiled must be just that."""
    plan = mw.plan(function, *arguments, cluster=CLUSTER, mesh=mesh, fix=fix)
    report = plan.verify(repeats=0)
    judged = [c for c in report.checks if c.name not in ("memory", "step time")]
    assert all(c.outcome == PASSED for c in judged), str(report)
    return plan


def square(rows=64):
    return jnp.ones((rows, rows))


def whole(x):
    """Something that XLA computes on replicated operands only."""
    return jnp.linalg.cholesky(x @ x.T + 100 * jnp.eye(len(x)))


# XLA would gather the last dimension's axis first; a plan takes the cheaper order.
@pytest.mark.parametrize("mesh", ["x=4,y=2", "x=2,y=4", "x=2,y=2,z=2"])
@pytest.mark.parametrize("spec", ["[x,y]", "[y,x]", "[(x,y),_]"])
def test_gathers_over_two_axes(mesh, spec):
    plan = check(whole, square(), mesh=mesh, fix={"x": spec})
    assert sum(row["count"] for row in plan.collectives) == (1 if "(" in spec else 2)


def test_gathers_over_three_axes():
    check(
        lambda x: whole(x[0]) + x.sum(0),
        jnp.ones((8, 64, 64)),
        mesh="x=2,y=2,z=2",
        fix={"x": "[x,y,z]"},
    )


def test_gathers_and_slices():
    """Only a slice along the other axis is gathered, where XLA would gather all and slice."""
    check(
        lambda t, w: t[w],
        jnp.ones((64, 32)),
        jnp.zeros((16, 8), jnp.int32),
        mesh="x=2,y=4",
        fix={"t": "[x,_]"},
    )


@pytest.mark.parametrize("spec", ["[x,_]", "[_,x]"])
def test_operands_of_conditionals(spec):
    """Moved once for what is in branches and what is behind them."""

    def refresh(q, s):
        return jax.lax.cond(s > 0, whole, lambda q: q, q) @ q

    def captured(q, s):
        return jax.lax.switch(s, [lambda: whole(q), lambda: 2 * q, lambda: q @ q]) @ q

    for function in (refresh, captured):
        check(function, square(), jnp.int32(1), mesh="x=8", fix={"q": spec})


@pytest.mark.parametrize(("mesh", "spec"), [("x=8", "[x,_]"), ("x=2,y=4", "[(x,y),_]")])
def test_top_k_of_a_sharded_batch(mesh, spec):
    def route(x, router):
        return jax.lax.top_k(jax.nn.softmax(x @ router), 2)

    plan = check(route, jnp.ones((128, 16)), jnp.ones((16, 8)), mesh=mesh, fix={"x": spec})
    assert not plan.collectives
    function = mw.jax.shard(route, jnp.ones((128, 16)), jnp.ones((16, 8)), plan=plan)
    x, router = np.random.default_rng(0).normal(size=(128, 16)), np.eye(16, 8)
    for got, expected in zip(function(x, router), route(x, router), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_top_k_of_a_sharded_batch_in_hlo():
    text = jax.jit(lambda x: jax.lax.top_k(x, 2)).lower(jnp.ones((128, 16))).as_text(dialect="hlo")
    plan = mw.plan(text.encode(), cluster=CLUSTER, mesh="x=8", fix={"x*": "[x,_]"})
    report = plan.verify(repeats=0)
    assert report.passed and not plan.collectives, str(report)


# XLA would gather both operands of a convolution by groups, whichever its gradients are.
@pytest.mark.parametrize(
    ("groups", "image", "kernel"),
    [(4, "[x,y,_,_]", "[x,_,_,_]"), (4, "[_,_,_,y]", "[y,_,_,_]"), (8, "[_,x,_,_]", "[_,_,_,_]")],
)
def test_convolutions_by_groups(groups, image, kernel):
    def loss(x, w):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=groups)
        return (y**2).sum()

    x, w = jnp.ones((16, 8, 8, 8)), jnp.ones((16, 8 // groups, 3, 3))
    check(jax.grad(loss, (0, 1)), x, w, mesh="x=2,y=4", fix={"x": image, "w": kernel})


@pytest.mark.parametrize("spec", ["[x,_]", "[_,x]", "[(x,y),_]", "[x,y]"])
def test_lookups_and_their_gradients(spec):
    def update(table, words, weight):
        loss, gradient = jax.value_and_grad(lambda t: (jnp.take(t, words, axis=0) * weight).sum())(
            table
        )
        return table - 0.1 * gradient, loss

    arguments = jnp.ones((512, 64)), jnp.zeros((16, 8), jnp.int32), jnp.ones((16, 8, 64))
    plan = mw.plan(update, *arguments, cluster=CLUSTER, mesh="x=2,y=4", fix={"table": spec})
    assert plan.verify(repeats=0).passed


@pytest.mark.parametrize(
    ("function", "fixes"),
    [
        (lambda x: x * 2.0, {"output": "replicated"}),
        (lambda x: x * 2.0, {"output": "[_,x]"}),
        (lambda x: (x - 1.0, x @ x), {"output[0]": "[y,_]", "output[1]": "[_,x]"}),
        (lambda x: (x, jnp.zeros_like(x)), {"output[0]": "[_,y]", "output[1]": "[y,x]"}),
    ],
)
def test_fixed_outputs_leave_as_fixed(function, fixes):
    fix = {"x": "[x,_]", **fixes}
    plan = check(function, square(), mesh="x=2,y=4", fix=fix)
    wanted = list(fixes.values())
    made = jax.tree.leaves(mw.jax.shard(function, square(), plan=plan)(square()))
    for array, spec in zip(made, wanted, strict=True):
        assert mw_spec(array) == spec


def mw_spec(array):
    """How an array is sharded, in Meshwright's notation."""
    entries = [entry or "_" for entry in array.sharding.spec]
    entries += ["_"] * (array.ndim - len(entries))
    return "replicated" if set(entries) == {"_"} else f"[{','.join(entries)}]"


def test_donated_outputs_are_not_fixed_otherwise():
    with pytest.raises(mw.Error, match=r"shares its buffer with x, which is fixed to \[x,_\]"):
        mw.plan(
            jax.jit(lambda x: x * 2.0, donate_argnums=0),
            square(),
            cluster=CLUSTER,
            mesh="x=2,y=4",
            fix={"x": "[x,_]", "output": "replicated"},
        )


def test_hlo_is_moved_as_planned():
    """As the StableHLO of the same program: before the loop, not in it."""

    def step(x, v):
        def turn(i, c):
            rows = jax.lax.dynamic_slice(c, (i, 0), (4, 32))
            return jax.lax.dynamic_update_slice(c, rows * v, (2 * i, 0))

        return jax.lax.fori_loop(0, 12, turn, x)

    lowered = jax.jit(step).lower(jnp.ones((64, 32)), jnp.ones(32))
    text = lowered.as_text(dialect="hlo", debug_info=True)
    plan = mw.plan(text, cluster=CLUSTER, mesh="x=2,y=4", fix={"x": "[y,x]", "v": "[y]"})
    report = plan.verify(text, repeats=0)
    assert report.passed, str(report)


# Gathered once before the loop, or not at all, however its rounds want it.
@pytest.mark.parametrize("fix", ["[_,x]", "[x,y]", "[x,_]"])
def test_loops_carry_what_their_bodies_move(fix):
    def step(x):
        return jax.lax.scan(lambda c, _: (c * 2, jax.lax.top_k(c, 2)[1]), x, None, length=3)

    check(step, jnp.ones((64, 32)), mesh="x=2,y=4", fix={"x": fix})
    check(
        lambda x: jnp.searchsorted(jnp.arange(32.0), x),
        jnp.ones((64, 32)),
        mesh="x=2,y=4",
        fix={"x": fix},
    )


@pytest.mark.parametrize("fix", ["[_,x]", "[x,_]"])
def test_reductions_of_several_arrays(fix):
    check(lambda x: jnp.argmax(x, -1), jnp.ones((64, 32)), mesh="x=2,y=4", fix={"x": fix})


def test_conditionals_move_what_they_leave_once():
    def step(x, i):
        a = jax.lax.cond(i > 2, lambda v: jnp.cumsum(v, 0), lambda v: v, x)
        return jnp.sort(a, 1), a

    check(step, jnp.ones((16, 64)), jnp.int32(1), mesh="x=2,y=4", fix={"x": "[_,y]"})
