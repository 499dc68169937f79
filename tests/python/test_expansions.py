"""Operators that HLO does not have, or XLA not partition, are written in terms of others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import meshwright as mw


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32"])
def test_upper_halves_of_products(dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(7).integers(info.min, info.max, (64,), dtype, endpoint=True)
    x[:2] = info.min, info.max
    plan = mw.plan(jax.lax.mulhi, x, x[::-1].copy(), cluster="8xh100-sxm", mesh=8, fix={"x": "[x]"})
    numerics = plan.verify(repeats=0).checks[0]
    assert numerics.figures["error"] == 0, str(numerics)


def special(weights, key, x):
    """Noise for every layer, of which `erf_inv` makes normal numbers, and functions of CHLO's alone."""

    def loss(weights):
        noise = 0.1 * jax.random.normal(key, weights.shape[:2])
        h, _ = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w[0] + w[1]), None), x, (weights, noise))
        h = jnp.where(jnp.isinf(h), 0, jax.scipy.special.gammaln(2 + h * h))
        return (jax.scipy.special.i1e(h) ** 2).mean()

    value, gradient = jax.value_and_grad(loss)(weights)
    return weights - gradient, value


def test_operators_that_hlo_does_not_have(tmp_path):
    weights = np.random.default_rng(7).standard_normal((4, 8, 8), np.float32)
    step = jax.jit(special, donate_argnums=0)
    plan = mw.plan(
        step, weights, jax.random.PRNGKey(0), weights[0], cluster="2xh100-sxm", pipeline=2,
        micro_batches=2, data=["x"], emit=tmp_path / "stages",
    )  # fmt: skip
    report = plan.verify(repeats=0)
    assert report.passed, str(report)
