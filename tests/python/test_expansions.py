"""Operators that XLA does not partition are written in terms of others."""

import jax
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
