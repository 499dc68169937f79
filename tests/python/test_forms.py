"""A program's StableHLO and XLA's HLO text of it, before it is optimised, get one plan.

CHLO's operators are one each in StableHLO; XLA's conversion writes out what they consist of, which
on a device is a kernel as well. All are here, in real, half and complex numbers.
"""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import meshwright as mw

EIGHT = {"cluster": "8xh100-sxm", "mesh": "x=2,y=4"}
S = jax.ShapeDtypeStruct
REAL, ROWS = S((512, 256), jnp.float32), S((64, 1000), jnp.float32)
TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "c64": jnp.complex64}

# By the number of their operands; what is not for complex numbers stands in the second of a pair.
UNARY = (
    ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "square", "tan"),
    ("bessel_i0e", "bessel_i1e", "digamma", "erf", "erf_inv", "erfc", "lgamma"),
)
BINARY = ("nextafter", "polygamma", "zeta")


def operators():
    for name in UNARY[0] + UNARY[1]:
        for kind, dtype in TYPES.items():
            if kind != "c64" or name in UNARY[0]:
                yield pytest.param(getattr(lax, name), [S((512, 256), dtype)], id=f"{name}-{kind}")
    for name in BINARY:
        yield pytest.param(getattr(lax, name), [REAL, REAL], id=name)
    for name, function in PROGRAMS.items():
        yield pytest.param(*function, id=name)


def empty(*shape):
    return S(shape, jnp.float32)


PROGRAMS = {
    "conj": (lax.conj, [S((512, 256), jnp.complex64)]),
    "infinite": (lambda x: (jnp.isinf(x), jnp.isposinf(x), jnp.isneginf(x)), [REAL]),
    "after matmul": (lambda a, b: lax.erf_inv(a @ b), [empty(256, 256), empty(256, 8)]),
    "gradient": (jax.grad(lambda a, b: lax.lgamma(a @ b).sum()), [empty(256, 256)] * 2),
    "igamma": (lax.igamma, [REAL, REAL]),
    "igammac": (lax.igammac, [REAL, REAL]),
    "igamma's gradient": (lax.igamma_grad_a, [REAL, REAL]),
    "betainc": (lax.betainc, [REAL] * 3),
    "bits": (lambda x: lax.bitcast_convert_type(-lax.bitcast_convert_type(x, jnp.int32), x.dtype), [REAL]),
    "top_k": (lambda x: lax.top_k(x, 3), [REAL]),
    "approx_max_k": (lambda x: lax.approx_max_k(x, 8), [ROWS]),
    "approx_min_k": (lambda x: lax.approx_min_k(x, 8, aggregate_to_topk=False), [ROWS]),
    "unique": (lambda x: jnp.unique(x, size=5), [REAL]),
    "no rows": (lambda a, b: a @ b, [empty(0, 256), empty(256, 128)]),
    "nothing to contract": (lambda a, b: a @ b, [empty(64, 0), empty(0, 128)]),
    "no batch": (jax.vmap(jnp.matmul), [empty(0, 4, 8), empty(0, 8, 4)]),
    "nothing to reduce": (lambda a: (a.sum(0), a.max(1, initial=0), jnp.cumsum(a)), [empty(0, 64)]),
    "nothing twice": (lambda a, b: (a @ b) @ b.T + 1, [empty(0, 256), empty(256, 128)]),
    "nothing beside something": (
        lambda a, b: (jnp.concatenate([a, b]), jnp.pad(a, ((2, 1), (0, 0))), b.at[:0].set(a)),
        [empty(0, 256), empty(64, 256)],
    ),
    "no indices": (lambda x, i: (x[i], x.at[i].add(1.0)), [empty(64, 64), S((0,), jnp.int32)]),
}  # fmt: skip


@pytest.mark.parametrize(("function", "shapes"), list(operators()))
def test_both_forms_give_one_plan(function, shapes):
    lowered = jax.jit(function).lower(*shapes)
    stablehlo = mw.plan(lowered.as_text(debug_info=True), **EIGHT)
    hlo = mw.plan(lowered.as_text(dialect="hlo", debug_info=True), **EIGHT)
    assert stablehlo.step_seconds == pytest.approx(hlo.step_seconds, rel=1e-9)
    assert [row["spec"] for row in stablehlo.parameters] == [row["spec"] for row in hlo.parameters]
