"""What XLA would compile wrongly is kept apart."""

import jax
import jax.numpy as jnp
import pytest

import meshwright as mw

STEPS = {
    "set": lambda x: x.at[2].set(7.0),
    "add": lambda x: x.at[0].add(0.1),
    "column": lambda x: x.at[:, 5].multiply(2.0),
    "element": lambda x: x.at[5, 6].max(1000.0),
    "several": lambda x: x.at[jnp.array([1, 9])].add(0.5),
}


SLICES = {
    "rows": lambda x, i: jax.lax.dynamic_slice_in_dim(x, i, 8),
    "columns": lambda x, i: jax.lax.dynamic_slice_in_dim(x, i, 16, axis=1),
    "gathered": lambda x, i: jax.lax.gather(
        x,
        i.reshape(1),
        jax.lax.GatherDimensionNumbers((0, 1), (), (0,)),
        slice_sizes=(8, 32),
        mode="clip",
    ),
    "block": lambda x, i: jax.lax.dynamic_slice(x, (i, i), (8, 16)),
    # One device, with which the plan is compared, is to clamp the first slice too.
    "twice": lambda x, i: jax.lax.dynamic_slice_in_dim(
        jax.lax.dynamic_slice_in_dim(x, i, 16), i - 29, 8
    ),
}


def _verify(step, arguments, replicated, specs):
    """That two axes compute what one device does, however its output is cut."""
    for spec in specs:
        fix = {replicated: "replicated", "output": spec}
        plan = mw.plan(step, *arguments, cluster="8xh100-sxm", mesh="x=4,y=2", fix=fix)
        numerics = plan.verify(repeats=0).checks[0]
        assert numerics.figures["error"] == 0, f"{spec}: {numerics}"


# Started beyond the last place that fits, a slice is clamped, whoever gets which part of it.
@pytest.mark.parametrize("name", SLICES)
@pytest.mark.parametrize("start", [29, -40])
def test_slices_that_are_clamped(name, start):
    arguments = jnp.arange(24.0 * 32).reshape(24, 32), jnp.int32(start)
    step = jax.jit(SLICES[name])
    (first, _) = (row["name"] for row in mw.plan(step, *arguments, cluster="8xh100-sxm").parameters)
    _verify(step, arguments, first, ("[x,_]", "[y,x]"))


# A row is set in one device's shard of an array that all devices have; the others keep theirs.
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("dialect", ["stablehlo", "hlo"])
def test_scatters_into_slices(name, dialect):
    x = jnp.arange(24.0 * 32).reshape(24, 32)
    text = jax.jit(STEPS[name]).lower(x).as_text(dialect=dialect).encode()
    (name,) = (row["name"] for row in mw.plan(text, cluster="8xh100-sxm", mesh=8).parameters)
    _verify(text, (), name, ("[x,_]", "[_,x]", "[y,x]"))
