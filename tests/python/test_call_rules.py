"""Calls that bring their own sharding rule: planned by it, and run so on eight host devices."""

import json

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


# A layer norm without shift and its gradients, as kernels that only who wrote them knows.
NORMS = """module @m {
  func.func @main(%w: tensor<512xf32>, %x: tensor<8192x512xf32>) -> (tensor<512xf32>, tensor<8192x512xf32>) {
    %y = stablehlo.custom_call @my_norm(%x, %w) : (tensor<8192x512xf32>, tensor<512xf32>) -> tensor<8192x512xf32>
    %g:2 = stablehlo.custom_call @my_norm_backward(%y, %x, %w)
      : (tensor<8192x512xf32>, tensor<8192x512xf32>, tensor<512xf32>) -> (tensor<8192x512xf32>, tensor<512xf32>)
    %n = stablehlo.subtract %w, %g#1 : tensor<512xf32>
    return %n, %g#0 : tensor<512xf32>, tensor<8192x512xf32>
  }
}
"""
NORM_RULES = """my_norm           ([s, h], [h])->([s, h]) need_replication={h}
my_norm_backward  ([s, h], [s, h], [h])->([s, h], [h]) need_replication={h} reduction={s}
"""


def norm(x, w):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1) * w


STAND_INS = {
    "my_norm": norm,
    "my_norm_b*": lambda y, x, w: jax.vjp(norm, x, w)[1](y),
}


def test_calls_with_rules_are_computed_shard_by_shard(tmp_path):
    rules = tmp_path / "rules.txt"
    rules.write_text(NORM_RULES)
    plan = mw.plan(NORMS, cluster="8xh100-sxm", mesh="x=8", rules=rules, fix=["x=[x,_]"])
    assert {one["kind"] for one in plan.collectives} == {"all-reduce"}
    rows = set()

    def seen_norm(x, w):
        rows.add(x.shape[0])
        return norm(x, w)

    report = plan.verify(repeats=0, stand_ins={**STAND_INS, "my_norm": seen_norm})
    assert report.passed, str(report)
    assert rows == {8192, 1024}  # on one device, and on each of eight


def test_stand_ins_have_the_results_of_the_call():
    plan = mw.plan(NORMS, cluster="8xh100-sxm", mesh="x=8")
    wrong = {**STAND_INS, "my_norm": lambda x, w: x[0]}
    with pytest.raises(mw.InvalidArgumentError, match="for my_norm gives float32"):
        plan.verify(repeats=0, stand_ins=wrong)
    assert plan.verify(repeats=0, stand_ins=STAND_INS).passed


def flash(q, k, v):
    """cuDNN's attention by its definition: results have heads before positions."""
    k, v = (jnp.repeat(a, q.shape[2] // a.shape[2], 2) for a in (k, v))
    scores = jnp.einsum("bshd,bthd->bhst", q, k).astype(jnp.float32)
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(seen, scores / np.sqrt(q.shape[-1]), -1e30))
    return [jnp.einsum("bhst,bthd->bhsd", weights.astype(q.dtype), v)]


CONFIG = {
    "mask_type": "CAUSAL",
    "bmm1_dot_dimension_numbers": {"lhs_batch_dimensions": ["0", "2"]},
    "intermediate_tensor_shape": {"dimensions": ["8", "8", "128", "128"]},
}
# As JAX lowers jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn").
ATTENTION = """module @m {
  func.func @main(%q: tensor<8x128x8x16xbf16>, %k: tensor<8x128x2x16xbf16>, %v: tensor<8x128x2x16xbf16>)
      -> tensor<8x8x128x16xbf16> {
    %0:2 = stablehlo.custom_call @__cudnn$fmhaSoftmax(%q, %k, %v) {backend_config = "CONFIG"}
      : (tensor<8x128x8x16xbf16>, tensor<8x128x2x16xbf16>, tensor<8x128x2x16xbf16>)
      -> (tensor<8x8x128x16xbf16>, tensor<0xui8>)
    %1 = stablehlo.add %0#0, %0#0 : tensor<8x8x128x16xbf16>
    return %1 : tensor<8x8x128x16xbf16>
  }
}
""".replace("CONFIG", json.dumps({"cudnn_fmha_backend_config": CONFIG}).replace('"', "\\22"))


def test_query_heads_are_cut_across_groups():
    """Eight devices divide neither the two heads of keys nor the four query heads of each."""
    plan = mw.plan(ATTENTION, cluster="8xh100-sxm", mesh="x=8", fix=["q=[_,_,x,_]"])
    assert not plan.collectives
    call = next(row for row in plan.ops if row["opcode"] == "custom-call")
    assert call["spec"] == [[], ["x"], [], []]


@pytest.mark.parametrize(("devices", "fix"), [(8, "q=[x,_,_,_]"), (2, "q=[_,_,x,_]")])
def test_fused_attention_runs_as_planned(devices, fix):
    plan = mw.plan(ATTENTION, cluster=f"{devices}xh100-sxm", mesh=f"x={devices}", fix=[fix])
    assert not plan.collectives
    shapes = set()

    def seen_flash(q, k, v):
        shapes.add((q.shape, k.shape))
        return flash(q, k, v)

    report = plan.verify(repeats=0, stand_ins={"__cudnn$fmha*": seen_flash})
    assert report.passed, str(report)
    assert len(shapes) == 2
