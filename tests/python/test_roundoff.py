"""How `verify` tells results that are nothing but rounding from wrong ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.verify import checks
from meshwright.verify.report import FAILED, PASSED
from meshwright.verify.roundoff import neighbour, roundoff

import meshwright as mw


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32, jnp.float64])
def test_neighbours_are_one_unit_in_the_last_place_away(dtype):
    array = np.asarray([1.5, -3.25, 100.0, 0.0, np.inf, np.nan]).astype(dtype)
    moved = neighbour(array, np.random.default_rng(0))
    assert moved.dtype == array.dtype
    for new, old in zip(moved[:3], array[:3]):
        distance = abs(float(new) - float(old)) / abs(float(old))
        assert 0 < distance <= float(jnp.finfo(dtype).eps)
    assert moved[3] == 0 and np.isinf(moved[4]) and np.isnan(moved[5])


def test_neighbours_of_what_has_none():
    generator = np.random.default_rng(0)
    whole = np.arange(4)
    assert neighbour(whole, generator) is whole
    assert neighbour(np.zeros((0, 3), jnp.bfloat16), generator).shape == (0, 3)
    assert neighbour(np.asarray(2.5, np.float32), generator).shape == ()
    number = np.complex64(1.5 - 0.25j).reshape(1)
    moved = neighbour(number, generator)
    assert moved.dtype == np.complex64 and moved.real != 1.5 and moved.imag != -0.25


def test_wider_types_move_in_the_last_place_of_a_narrower_one():
    array = np.asarray([1.5, -3.25, 100.0, 0.0, np.inf]).astype(np.float32)
    moved = neighbour(array, np.random.default_rng(0), digits=jnp.finfo(jnp.bfloat16).nmant)
    distance = np.abs(moved[:3] - array[:3]) / np.abs(array[:3])
    assert (distance > 2**-9).all() and (distance <= 2**-7).all()
    assert moved[3] == 0 and np.isinf(moved[4])
    # What is computed in bfloat16 is open that far, wherever its inputs come from.
    run = lambda inputs: [inputs[0].astype(jnp.bfloat16).astype(np.float32)]
    x = np.linspace(1, 2, 64, dtype=np.float32)
    assert roundoff(run, [x], run([x]), [None], "bf16")[0] > 2**-9
    assert roundoff(lambda inputs: inputs, [x], [x], [None], "f32")[0] < 1e-6


def test_what_cancels_is_open_and_what_does_not_is_known():
    x = np.random.default_rng(1).standard_normal((4, 16)).astype(np.float32)
    step = jax.jit(lambda x: (jax.grad(lambda v: jax.nn.softmax(v).sum())(x), jnp.tanh(x)))
    run = lambda inputs: [np.asarray(array) for array in step(*inputs)]
    noise = roundoff(run, [x], run([x]), [None, None])
    assert noise[0] > 0.1
    assert noise[1] < 1e-6


def test_an_update_is_known_as_well_as_its_gradient():
    # That the old weight is moved, too, says nothing about the update.
    weight = np.full((8, 8), 3.0, jnp.bfloat16)
    gradient = np.full((8, 8), 1e-3, np.float32)
    run = lambda inputs: [inputs[0] - inputs[1].astype(jnp.float32)]
    expected = run([weight, gradient])
    assert roundoff(run, [weight, gradient], expected, [0])[0] < 1e-3


def test_only_open_results_have_a_wider_limit():
    names, noise = ["cancels", "is known"], [0.9, 1e-7]
    check = checks.check_numerics(names, [0.2, 1e-3], 1.0, "f32", roundoff=noise)
    assert check.outcome == PASSED
    assert check.notes == ["cancels: error 0.2, rounding alone makes 0.9"]
    assert (check.figures["worst"], check.figures["tolerance"]) == ("is known", 5e-3)
    alone = checks.check_numerics(names[:1], [0.2], 1.0, "f32", roundoff=noise[:1])
    assert alone.figures["tolerance"] == pytest.approx(3.6)
    wrong = checks.check_numerics(names, [0.2, 0.2], 1.0, "f32", roundoff=noise)
    assert wrong.outcome == FAILED
    assert wrong.figures["worst"] == "is known"
    far = checks.check_numerics(names, [1e4, 1e-3], 1.0, "f32", roundoff=noise)
    assert far.outcome == FAILED and far.notes == ["cancels: error 1e+04"]
    undefined = checks.check_numerics(names, [float("inf"), 0.0], 1.0, "f32", roundoff=noise)
    assert undefined.outcome == FAILED


def test_a_gradient_that_is_nothing_but_rounding_is_verified():
    x = jnp.asarray(np.random.default_rng(2).standard_normal((16, 64)), jnp.float32)

    def step(x, w):
        return jax.grad(lambda v: jax.nn.softmax(v @ w, axis=-1).sum())(x)

    w = jnp.asarray(np.random.default_rng(3).standard_normal((64, 64)) / 8, jnp.float32)
    plan = mw.plan(
        step, x, w, cluster="8xh100-sxm", mesh="8", fix={"w": "[_,x]", "*dot_general*": "[_,x]"}
    )
    report = plan.verify(repeats=0)
    assert report.passed, str(report)
    assert any("rounding alone makes" in note for note in report.checks[0].notes), str(report)
