"""Calls that bring their own sharding rule: planned by it, and run so on eight host devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw


@custom_partitioning
def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


attention.def_partition(
    partition=lambda mesh, arguments, result: (
        mesh,
        attention.fun,
        result.sharding,
        tuple(argument.sharding for argument in arguments),
    ),
    infer_sharding_from_operands=lambda mesh, arguments, result: arguments[0].sharding,
    sharding_rule="b q h d, b m h d, b m h d -> b q h d",
)


def step(weights, x):
    q, k, v = (jnp.einsum("bsw,whd->bshd", x, w) for w in weights)
    return jnp.sum(attention(q, k, v) ** 2)


def lowered(dialect: str) -> bytes:
    """The step as it is lowered for eight devices, on one of which the call is not seen."""
    mesh = jax.make_mesh((8,), ("x",))
    weights = [jax.ShapeDtypeStruct((64, 8, 16), jnp.float32)] * 3
    x = jax.ShapeDtypeStruct((64, 256, 64), jnp.float32, sharding=NamedSharding(mesh, P("x")))
    return jax.jit(step).lower(weights, x).as_text(dialect=dialect).encode()


@pytest.mark.parametrize("dialect", ["stablehlo", "hlo"])
def test_no_gathers_around_a_call_that_has_a_rule(dialect):
    plan = mw.plan(lowered(dialect), cluster="8xh100-sxm", mesh="x=8")
    rows = plan.as_dict()["instructions"]
    call = next(row for row in rows if row["opcode"] == "custom-call")
    assert call["spec"][0] == ["x"]
    kinds = {one["kind"] for row in rows for one in row["collective"]}
    assert kinds <= {"all-reduce"}
    assert not any("no sharding rule" in warning for warning in plan.as_dict()["warnings"])
    report = plan.verify(repeats=0)
    assert report.passed, str(report)


def test_both_forms_give_the_same_plan():
    plans = [
        mw.plan(lowered(dialect), cluster="8xh100-sxm", mesh="x=8").as_dict()
        for dialect in ("stablehlo", "hlo")
    ]
    assert plans[0]["objective_seconds"] == plans[1]["objective_seconds"]
    specs = [[row["spec"] for row in plan["instructions"]] for plan in plans]
    assert specs[0] == specs[1]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("([i, j])->([i, j]) {i=8, j=4}", "factors of 1 operands; there are 2"),
        ("([i, j], [i, j])->([i, j]) {i=8, j=5}", "whose sizes multiply to 5"),
        ("([i, j], [i, k])->([i, j]) {i=8, j=4}", "factor k has no size"),
    ],
)
def test_rules_that_do_not_fit_are_refused(rule, message):
    program = f"""func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {{
  %0 = stablehlo.custom_call @f(%a, %a) {{sdy.sharding_rule = #sdy.op_sharding_rule<{rule}, custom>}}
    : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}}
"""
    with pytest.raises(mw.Error, match=message):
        mw.plan(program.encode(), cluster="8xh100-sxm", mesh=8)
