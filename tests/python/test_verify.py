"""Verification: reading compiled programs, the comparisons, and the whole of it on host devices."""

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import tracemalloc

import jax
import jax.numpy as jnp
import models
import numpy as np
import pytest
from conftest import mlp_arguments, mlp_step
from jax.sharding import PartitionSpec as P
from meshwright._shardy import without_shardings
from meshwright.program import Examples
from meshwright.verify import causes, checks, collectives
from meshwright.verify.collectives import Move
from meshwright.verify.groups import group_axes
from meshwright.verify.index_ranges import index_ranges
from meshwright.verify.inputs import random_inputs
from meshwright.verify.report import (
    EXPLAINED,
    FAILED,
    PASSED,
    SHOWN,
    bytes_text,
    seconds_text,
)

import meshwright as mw

MESH = {"x": 2, "y": 4}


@pytest.mark.parametrize(
    ("attributes", "axes", "size"),
    [
        ("replica_groups={{0,1,2,3},{4,5,6,7}}", ["y"], 4),
        ("replica_groups={{0,4},{1,5},{2,6},{3,7}}", ["x"], 2),
        ("replica_groups={}", ["x", "y"], 8),
        ("replica_groups={{0},{1},{2},{3},{4},{5},{6},{7}}", [], 1),
        ("replica_groups=[2,4]<=[8]", ["y"], 4),
        ("replica_groups=[4,2]<=[2,4]T(1,0)", ["x"], 2),
        ("replica_groups=[1,8]<=[8], use_global_device_ids=true", ["x", "y"], 8),
        ("replica_groups=mesh['a'=2,'b'=4] {'b'}", ["y"], 4),
        ("replica_groups=mesh['a'=8,'b'=1] {'a'}", ["x", "y"], 8),
        ("replica_groups=mesh['a'=8] {'a':(1)2}", ["x"], 2),
        ("replica_groups=mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'a'}", ["y"], 4),
        ("source_target_pairs={{0,4},{4,0}}", ["x"], 2),
        ("source_target_pairs={{0,1},{1,2},{2,3},{3,0}}", ["y"], 2),
    ],
)
def test_group_axes(attributes, axes, size):
    assert group_axes(f"channel_id=1, {attributes}, dimensions={{0}}", MESH) == (axes, size)


COMPILED = """HloModule jit_f, is_scheduled=true

FileLocations
1 {file_name_id=1 function_name_id=1 line=6 end_line=6 column=2 end_column=94}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

%sliced (p0: f32[64], p1: s32[]) -> f32[8] {
  %p0 = f32[64]{0} parameter(0)
  %p1 = s32[] parameter(1)
  ROOT %slice = f32[8]{0} dynamic-slice(%p0, %p1), dynamic_slice_sizes={8}
}

%copied (p2: f32[64]) -> f32[64] {
  %p2 = f32[64]{0} parameter(0)
  ROOT %copy = f32[64]{0} copy(%p2)
}

%body (carried: (s32[], f32[8])) -> (s32[], f32[8]) {
  %carried = (s32[], f32[8]{0}) parameter(0)
  %count = s32[] get-tuple-element(%carried), index=0
  %value = f32[8]{0} get-tuple-element(%carried), index=1
  %gathered = f32[16]{0} all-gather(%value), replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}
  ROOT %next = (s32[], f32[8]{0}) tuple(%count, %value)
}

%condition (carried.1: (s32[], f32[8])) -> pred[] {
  %carried.1 = (s32[], f32[8]{0}) parameter(0)
  ROOT %true = pred[] constant(true)
}

ENTRY %main (x: f32[64], h: bf16[64], i: s32[]) -> f32[8] {
  %x = f32[64]{0} parameter(0)
  %h = bf16[64]{0} parameter(1)
  %i = s32[] parameter(2)
  %widened = f32[64]{0} convert(%h)
  %reduced = (f32[64]{0}, f32[64]{0}) all-reduce(%x, %widened), replica_groups=[2,4]<=[8], to_apply=%add, metadata={op_name="jit(f)/dot_general"}
  %first = f32[64]{0} get-tuple-element(%reduced), index=0
  %second = f32[64]{0} get-tuple-element(%reduced), index=1
  %same = f32[64]{0} fusion(%first), kind=kLoop, calls=%copied
  %piece = f32[8]{0} fusion(%same, %i), kind=kLoop, calls=%sliced
  %start = (s32[], f32[8]{0}) tuple(%i, %piece)
  %loop = (s32[], f32[8]{0}) while(%start), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"5"}}
  %exchanged = (f32[8]{0}, f32[8]{0}) all-to-all(%piece, %piece), replica_groups=[4,2]<=[2,4]T(1,0)
  ROOT %use = f32[8]{0} slice(%second), slice={[0:8]}
}
"""


def test_collectives_of_a_compiled_program():
    found = collectives.compiled(COMPILED, MESH, "the CPU")
    assert [(m.name, m.kind, m.axes, m.times, m.bytes) for m in found] == [
        ("reduced[0]", "reduce-scatter", ("y",), 1, 256),  # only slices of the sum are used
        ("reduced[1]", "all-reduce", ("y",), 1, 128),  # a bf16 value
        ("exchanged", "all-to-all", ("x",), 1, 64),  # its pieces belong together
        ("gathered", "all-gather", ("x",), 5, 64),  # in a loop of five rounds
    ]
    assert [m.operator for m in found] == ["dot_general", "dot_general", "", ""]
    assert found[0].undone == (
        "XLA combined several into one",
        "the CPU all-reduces and slices where a reduce-scatter would do",
    )
    assert found[1].undone == (
        "XLA combined several into one",
        "the CPU moves bf16 values as f32",
    )
    assert found[2].undone == found[3].undone == ()


def test_collectives_of_a_plan():
    def one(kind, axes, count, total):
        return {"kind": kind, "axes": axes, "count": count, "bytes_per_device": total}

    rows = [
        {"name": "a/dot_general.12", "collective": [one("all-reduce", ["y", "x"], 4, 4096)]},
        {"name": "while.1/carry{1}", "collective": []},
        {"name": "add", "collective": [{**one("all-gather", ["x"], 1, 64), "value": "mul.1"}]},
    ]
    assert collectives.planned(rows, MESH) == [
        Move("a/dot_general.12", "dot_general", "all-reduce", ("x", "y"), 4, 1024),
        Move("add", "add", "all-gather", ("x",), 1, 64, "mul.1"),
    ]


def move(kind, size, *traits, name="dot.1", axes="y", times=1, value=""):
    operator = name.partition(".")[0]
    return Move(name, operator, kind, (axes,), times, size, value, (), frozenset(traits))


BIG = 1 << 20


@pytest.mark.parametrize(
    ("planned", "compiled", "cause"),
    [
        (move("all-reduce", BIG), move("all-reduce", BIG + BIG // 64), None),  # within 2 %
        (
            move("reduce-scatter", BIG),
            move("all-reduce", BIG),
            "the sum of a reduce-scatter has other users than slices",
        ),
        (
            move("all-gather", BIG),
            move("all-gather", 2 * BIG, "narrowed"),
            "XLA moves f32 before the conversion to 16 bits",
        ),
        (
            move("all-gather", BIG, times=4),
            move("all-gather", BIG),
            "XLA took it out of a loop",
        ),
        (
            move("all-gather", 4 * BIG),
            move("all-gather", BIG, times=4),
            "XLA moves the slice that each round of a loop uses",
        ),
        (
            move("all-to-all", BIG),
            move("all-gather", 8 * BIG, "sliced", name="x"),
            "XLA gathers and slices to reshard",
        ),
        (
            dataclasses.replace(move("all-gather", 8 * BIG), piece_bytes=BIG),
            move("all-to-all", BIG, name="x"),
            "XLA exchanges pieces where the plan gathers and slices",
        ),
        (
            move("reduce-scatter", BIG),
            move("reduce-scatter", 2 * BIG, "sliced", name="x"),
            "XLA adds up whole terms and slices the sum",
        ),
        (
            move("all-gather", BIG),
            move("all-reduce", 3 * BIG),
            "XLA moves another operand or the result of the operator",
        ),
        (move("all-gather", 512), None, "a few numbers"),
        (None, move("all-reduce", 1024), "a few numbers"),
    ],
)
def test_causes(planned, compiled, cause):
    found = causes.match([m for m in [planned] if m], [m for m in [compiled] if m])
    assert [difference.cause for difference in found.differences] == ([cause] if cause else [])


@pytest.mark.parametrize(
    ("planned", "compiled"),
    [
        (move("all-reduce", BIG), None),
        (None, move("all-reduce", BIG)),
        (None, move("all-reduce", BIG, "added")),  # a term of a sum that nobody planned
        (None, move("all-gather", BIG, times=4)),  # no slice of anything planned
        (move("all-gather", BIG), move("all-gather", 2 * BIG, name="add.1")),  # f32 in the plan
        (move("all-gather", BIG), move("all-gather", BIG, axes="x", name="add.1")),
        (move("reduce-scatter", BIG), move("reduce-scatter", 2 * BIG, name="add.1")),  # used whole
        (move("all-to-all", BIG), move("all-gather", BIG, name="add.1")),  # used whole
        (move("all-gather", 8 * BIG), move("all-to-all", BIG, name="add.1")),  # wanted whole
        (
            dataclasses.replace(move("all-gather", 8 * BIG), piece_bytes=BIG),
            move("all-to-all", 2 * BIG, name="add.1"),  # more than that
        ),
    ],
)
def test_what_has_no_known_cause(planned, compiled):
    found = causes.match([m for m in [planned] if m], [m for m in [compiled] if m])
    assert {difference.cause for difference in found.differences} == {causes.UNEXPLAINED}


def test_what_the_program_widens_itself_counts_in_full():
    """A plan moves the f32 that a conversion from bf16 gives, if that is cheaper for its users."""
    halved = dataclasses.replace(
        move("all-gather", BIG), undone=("the CPU moves bf16 values as f32",)
    )
    found = causes.match([move("all-gather", 2 * BIG)], [halved])
    assert not found.differences
    assert [(c.bytes, c.undone) for _, c in found.matched] == [(2 * BIG, ())]
    found = checks.check_collectives([move("all-gather", 2 * BIG)], [halved])
    assert {check.outcome for check in found} == {PASSED}
    found = causes.match([move("all-gather", BIG)], [halved])
    assert [c.bytes for _, c in found.matched] == [BIG]
    # Another move of as many bytes is that one, whatever stands first.
    plain = move("all-gather", BIG)
    found = causes.match([move("all-gather", BIG), move("all-gather", 2 * BIG)], [halved, plain])
    assert [(c.bytes, c.undone) for _, c in found.matched] == [(BIG, ()), (2 * BIG, ())]


def test_causes_that_need_another_collective():
    twice = [move("all-gather", BIG, name=f"dot.{i}", value="main/param.3") for i in range(2)]
    found = causes.match([move("all-gather", BIG, value="w")], twice)
    assert [(d.cause, d.compiled) for d in found.differences] == [
        ("XLA moves a value again instead of keeping it", twice[1])
    ]
    summed = [move("all-reduce", BIG, name=f"dot.{i}") for i in range(2)]
    terms = [move("all-reduce", BIG, "added", name=f"dot.{i}") for i in range(3)]
    found = causes.match(summed, terms)
    assert len(found.matched) == 2
    assert [(d.cause, d.compiled) for d in found.differences] == [
        ("XLA sums each term before the addition that the plan sums after", terms[2])
    ]
    users = [move("all-gather", BIG, name=f"dot.{i}", value="w") for i in range(2)]
    other = move("all-gather", BIG, name="dot.2", value="v")
    once = [move("all-gather", BIG, name=f"dot.{i}") for i in (7, 8)]
    found = causes.match([*users, other], once)
    assert [(d.cause, d.planned) for d in found.differences] == [
        ("XLA moves a value once for all its users", users[1])
    ]
    slices = [move("all-gather", BIG, name=f"squeeze.{i}", times=4) for i in range(2)]
    found = causes.match([move("all-gather", 4 * BIG, name="w")], slices)
    assert [(d.cause, d.compiled) for d in found.differences] == [
        ("XLA moves the slice that each round of a loop uses", slices[0]),
        ("XLA moves a slice again instead of keeping it", slices[1]),
    ]


def test_the_same_operator_is_matched_first():
    planned = [move("all-gather", BIG, name="add.1"), move("all-gather", BIG, name="dot.1")]
    compiled = [move("all-gather", BIG, name="dot.9"), move("all-gather", BIG, name="add.9")]
    assert causes.match(planned, compiled).matched == [
        (planned[0], compiled[1]),
        (planned[1], compiled[0]),
    ]


def test_a_better_cause_goes_before_the_same_operator():
    planned = [move("all-gather", BIG, name="dot.1"), move("reduce-scatter", BIG, name="add.1")]
    found = causes.match(planned, [move("all-reduce", BIG, name="dot.7")])
    assert {d.planned.name: d.cause for d in found.differences} == {
        "add.1": "the sum of a reduce-scatter has other users than slices",
        "dot.1": causes.UNEXPLAINED,
    }


def test_what_may_be_exchanged_leaves_equals_to_others():
    planned = [
        dataclasses.replace(move("all-gather", 8 * BIG, name="a.1"), piece_bytes=BIG),
        move("all-gather", 8 * BIG, name="b.1"),
    ]
    found = causes.match(
        planned,
        [move("all-gather", 8 * BIG, name="x.1"), move("all-to-all", BIG, name="x.2")],
    )
    assert [p.name for p, _ in found.matched] == ["b.1"]
    assert [d.cause for d in found.differences] == [
        "XLA exchanges pieces where the plan gathers and slices"
    ]


def test_pieces_of_what_a_plan_gathers():
    gather = {"kind": "all-gather", "axes": ["y"], "count": 1, "bytes_per_device": 4096}
    rows = [
        {"name": "mul", "operands": [], "spec": [["y"], []], "collective": []},
        {"name": "a", "operands": [0], "spec": [[], ["y"]], "operand_specs": [[[], ["y"]]]},
        {"name": "b", "operands": [0], "spec": [[], []], "operand_specs": [[[], []]]},
        {"name": "c", "operands": [0], "spec": [[], ["y"]]},
        {"name": "while.1/carry{0}", "operands": [0, 0], "spec": [[], ["y"]]},
    ]
    for row, value in zip(rows[1:], ("mul", "mul", "c", "mul")):
        row["collective"] = [{**gather, "value": value}]
    found = collectives.planned(rows, MESH)
    assert [one.piece_bytes for one in found] == [1024, 0, 1024, 1024]


def test_checks_of_collectives():
    planned = [move("all-reduce", 50_000, times=2), move("all-gather", 50_000, name="add.1")]
    compiled = [move("all-reduce", 50_900, times=2), move("all-to-all", 9_000, name="mul")]
    found = checks.check_collectives(planned, compiled)
    assert [(check.name, check.outcome) for check in found] == [
        ("all-gather y", FAILED),
        ("all-reduce y", PASSED),  # within 2 %
        ("all-to-all y", FAILED),
        ("pairwise", FAILED),
    ]
    assert found[2].remark == "not in the plan"
    assert found[3].notes == [
        "unexplained: planned add.1 (all-gather y), compiled mul (all-to-all y)"
    ]
    found = checks.check_collectives([move("reduce-scatter", BIG)], [move("all-reduce", BIG)])
    assert {check.outcome for check in found} == {EXPLAINED}
    assert found[-1].notes == [
        (
            "the sum of a reduce-scatter has other users than slices: "
            "planned dot.1 (reduce-scatter y) -> compiled dot.1 (all-reduce y)"
        )
    ]
    assert checks.check_collectives([], [])[0].outcome == PASSED


def test_output_error_is_relative_to_the_change():
    old = np.full(100, 1.0, np.float32)
    expected = old + 0.01
    assert checks.output_error(old + 0.0101, expected, old) == pytest.approx(0.01, rel=0.01)
    assert checks.output_error(old + 0.0101, expected, None) < 1e-3
    assert checks.output_error(expected, expected, old) == 0
    # An update that was forgotten, or taken twice, cannot hide behind the weight.
    assert checks.output_error(old, expected, old) == pytest.approx(1, rel=0.01)
    infinite = np.array([np.inf, 1], np.float32)
    assert checks.output_error(infinite, infinite, None) == 0
    assert checks.output_error(np.ones(2, np.float32), infinite, None) == float("inf")
    assert checks.output_error(-infinite, infinite, None) == float("inf")
    undefined = np.array([np.nan, 1], np.float32)
    assert checks.output_error(undefined, undefined, None) == float("inf")  # agrees with nothing
    assert checks.output_error(np.ones(2, np.float32), undefined, None) == float("inf")


def test_arrays_of_many_blocks_are_compared_like_small_ones():
    size = 3 * checks._BLOCK + 5
    old = np.random.default_rng(0).standard_normal((1, size)).astype(np.float32)
    for expected in (2 * old, 2 * old * np.complex64(1 + 1j), (2 * old).astype(jnp.bfloat16)):
        got = (expected * np.float32(1.25)).astype(expected.dtype)
        change = np.linalg.norm(expected.astype(complex) - old)
        error = np.linalg.norm(got.astype(complex) - expected.astype(complex)) / change
        assert checks.output_error(got, expected, old) == pytest.approx(error)
        assert checks.finite_share([expected]) == 1
        expected[0, -1] = np.nan
        assert checks.output_error(got, expected, old) == float("inf")
        assert checks.has_nan(expected) and not checks.has_nan(got)
        assert checks.finite_share([expected]) == 1 - 1 / size
    assert checks.output_error(old[:, 1:], old, None) == float("inf")


def test_a_large_array_is_compared_without_wide_copies_of_all_of_it():
    array = np.ones(1 << 23, np.float32)
    tracemalloc.start()
    checks.output_error(array, array, array)
    checks.finite_share([array])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * array.nbytes  # what one wide copy takes


def test_figures_are_judged_on_the_planned_device_only():
    gib = 1 << 30
    assert checks.check_memory(100 * gib, 105 * gib, True, "").outcome == PASSED
    assert checks.check_memory(100 * gib, 120 * gib, True, "").outcome == FAILED
    assert checks.check_memory(100 * gib, 120 * gib, False, "a reason").outcome == SHOWN
    assert "a reason" in checks.check_time(1e-1, 2e-1, False, "a reason").remark
    assert checks.check_time(1e-1, 2e-1, True, "").outcome == FAILED
    # Too small to be predicted: launches and workspace, not work.
    small = checks.check_memory(40 << 20, 55 << 20, True, "")
    assert small.outcome == SHOWN and "workspace" in small.remark
    short = checks.check_time(173e-6, 559e-6, True, "")
    assert short.outcome == SHOWN and "launches" in short.remark
    assert checks.check_time(20e-3, 40e-3, True, "", launches=400).outcome == FAILED
    assert checks.check_time(15e-3, 40e-3, True, "", launches=400).outcome == SHOWN


def test_texts():
    assert [bytes_text(n) for n in (0, 1023, 1024, 5 << 30)] == [
        "0 B",
        "1023 B",
        "1.00 KiB",
        "5.00 GiB",
    ]
    assert [seconds_text(s) for s in (2, 0.0123, 4.5e-6, 3e-9)] == [
        "2.00 s",
        "12.3 ms",
        "4.50 us",
        "3.00 ns",
    ]


def test_random_inputs():
    rows = [
        {"dtype": "f32", "shape": [64, 64], "category": "parameters"},
        {"dtype": "bf16", "shape": [64, 64], "category": "optimizer_state"},
        {"dtype": "s32", "shape": [64], "category": "inputs"},
        {"dtype": "u32", "shape": [2], "category": "inputs"},
        {"dtype": "pred", "shape": [8], "category": "inputs"},
        {"dtype": "c64", "shape": [], "category": "inputs"},
        {"dtype": "f32", "shape": [0], "category": "parameters"},
    ]
    arrays = random_inputs(rows, 3)
    assert [array.shape for array in arrays] == [tuple(row["shape"]) for row in rows]
    assert arrays[0].min() < 0 < arrays[1].min()
    assert set(np.unique(arrays[2])) == {0, 1}
    again = random_inputs(rows, 3)
    assert all((a == b).all() for a, b in zip(arrays, again, strict=True))
    assert (random_inputs(rows, 4)[0] != arrays[0]).any()


def test_inputs_of_an_optimizer():
    """State is not negative, whatever its shape; what nothing is known of is told by its argument."""

    def row(name, category, dtype="f32", shape=(16,)):
        return {"name": name, "category": category, "dtype": dtype, "shape": list(shape)}

    rows = [
        row("p['w']", "parameters", shape=(16, 8)),
        row("st[0].count", "optimizer_state", "s32", ()),
        row("st[0].v_row['w']", "inputs"),
        row("st[0].steps", "inputs", "s8", ()),
        row("other", "inputs"),
        row("x", "inputs"),
    ]
    arrays = random_inputs(rows, 0, carried={"other"})
    assert all(arrays[number].min() > 0 for number in (1, 2, 3, 4))
    assert arrays[0].min() < 0 and arrays[5].min() < 0


def test_whole_numbers_stay_within_what_they_index():
    def step(table, tokens, labels, kinds, start, bits, plain):
        hidden = jnp.tanh(table[tokens])
        logits = hidden @ table.T
        loss = jnp.take_along_axis(logits, labels[..., None], -1).sum()
        for _ in range(2):
            loss += jax.lax.fori_loop(0, 3, lambda i, c: c + table[labels[0]].sum(), 0.0)
        loss += (jax.nn.one_hot(kinds, 7) * hidden[0, 0, 0]).sum()
        loss += jax.lax.dynamic_slice_in_dim(table, start, 10, 0).sum()
        return loss + jax.random.normal(jax.random.wrap_key_data(bits)) + plain

    shapes = [(50, 8), (4, 6), (4, 6), (3,), (), (2,), ()]
    kinds = [jnp.float32, jnp.int32, jnp.int32, jnp.uint8, jnp.int32, jnp.uint32, jnp.int32]
    arguments = map(jax.ShapeDtypeStruct, shapes, kinds)
    text = jax.jit(step).lower(*arguments).as_text().encode()
    found = index_ranges(without_shardings(text))
    assert found == [None, 50, 50, 7, 41, None, None]
    rows = mw.plan(text, cluster="8xh100-sxm", mesh=8).parameters
    arrays = random_inputs(rows, 0, ranges=found)
    assert [int(array.max()) < 50 for array in arrays[1:3]] == [True, True]
    assert arrays[1].max() > 10


def test_the_example_arguments_are_the_inputs():
    def step(x, y):
        return jnp.log(x) + y

    here = {"cluster": "8xh100-sxm", "mesh": 8}
    plan = mw.plan(step, jnp.ones((8, 8)), jnp.ones(8), **here)
    report = plan.verify(repeats=0)
    assert report.passed
    assert "on the plan's example arguments" in report.checks[0].remark
    gone = jnp.full((8, 8), -1.0)
    plan = mw.plan(step, gone, jax.ShapeDtypeStruct((8,), jnp.float32), **here)
    report = plan.verify(repeats=0)
    assert not report.passed
    assert "on 1 of 2 of the plan's example arguments" in report.checks[0].remark
    assert any("NaN on one device too" in note for note in report.checks[0].notes)
    gone.delete()
    assert "example" not in plan.verify(repeats=0).checks[0].remark


def test_fresh_state_of_an_optimizer_is_no_input():
    """m / sqrt(v) is the sign of a gradient then, and a matter of rounding where that is near zero."""
    state, batch = {"w": jnp.full((8, 8), 0.1)}, jnp.ones((16, 8))
    step = models.adam(lambda p, x: (jnp.tanh(x @ p["w"]) ** 2).mean())
    zeros = jax.tree.map(jnp.zeros_like, state)
    plan = mw.plan(step, (state, zeros, zeros, jnp.zeros(())), batch, cluster="8xh100-sxm", mesh=8)
    report = plan.verify(repeats=0)
    assert report.passed
    assert "on 2 of 5 of the plan's example arguments" in report.checks[0].remark


def test_large_examples_are_not_kept_alive():
    large = [np.ones(Examples.KEPT, np.int8), np.ones(3)]
    examples = Examples(large)
    assert next(iter(examples)) is large[0]
    del large
    assert list(examples) == [None, None]
    small = Examples([np.ones(3), 2.0, jax.ShapeDtypeStruct((3,), jnp.float32)])
    assert [value is not None for value in small] == [True, True, False]


@pytest.mark.parametrize("dialect", ["stablehlo", "hlo"])
def test_callbacks_are_not_called(dialect):
    """What they do - print, log, save - is not for made-up inputs."""
    seen = []

    def step(x):
        jax.debug.callback(lambda v: seen.append(v), x.sum())
        return jax.pure_callback(np.cos, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    def prints(x):
        jax.debug.print("{}", x.sum())
        return x + 1

    x, here = jnp.ones((8, 8)), {"cluster": "8xh100-sxm", "mesh": 8, "fix": {"x": "[x,_]"}}
    assert mw.plan(step, x, **here).verify(repeats=0).passed
    jax.effects_barrier()
    assert not seen
    text = jax.jit(prints).lower(x).as_text(dialect=dialect)
    assert mw.plan(text.encode(), cluster="8xh100-sxm", mesh=8).verify(repeats=0).passed
    text = jax.jit(step).lower(x).as_text().encode()
    with pytest.raises(mw.UnsupportedError, match="pass the function instead of its text"):
        mw.plan(text, cluster="8xh100-sxm", mesh=8).verify(repeats=0)

    def stateful(x):
        return jax.experimental.io_callback(np.cos, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(mw.UnsupportedError, match="takes results from io_callback"):
        mw.plan(stateful, x, cluster="8xh100-sxm", mesh=8).verify(repeats=0)


def data_parallel():
    """A batch too large to be gathered: gradients are summed once each, as XLA does it too."""
    arguments = mlp_arguments(batch=1 << 17)
    fixes = {"x": P("x"), "y": P("x"), "state*": "replicated"}
    return mw.plan(mlp_step, *arguments, cluster="8xh100-sxm", mesh=8, fix=fixes)


def test_a_plan_that_holds():
    report = data_parallel().verify(repeats=1)
    outcomes = {check.name: check.outcome for check in report.checks}
    assert outcomes["numerics"] == PASSED
    assert outcomes["all-reduce x"] == PASSED
    assert outcomes["pairwise"] == PASSED
    assert "XLA combined several into one: all-reduce" in str(report)
    assert outcomes["memory"] == outcomes["step time"] == SHOWN
    assert report.passed
    assert str(report).endswith("verified")
    assert json.loads(json.dumps(report.as_dict()))["passed"] is True


def test_a_plan_that_does_not_hold():
    document = data_parallel().as_dict()
    for row in document["instructions"]:
        for collective in row["collective"]:
            collective["bytes_per_device"] *= 2
    plan = mw.Plan(json.dumps(document), data_parallel().program)
    report = plan.verify(repeats=0)
    assert not report.passed
    assert "unexplained: planned" in str(report)
    assert str(report).endswith("not verified: see what differs")


def test_a_wrong_program_is_noticed():
    """What a sharding that forgets a sum would give."""
    shape = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    names, errors = (
        ["output"],
        [checks.output_error(np.ones(shape.shape), np.full((8, 8), 8), None)],
    )
    assert checks.check_numerics(names, errors, 1.0, "bf16").outcome == FAILED
    assert checks.check_numerics(names, [1e-4], 0.1, "f32").outcome == FAILED  # nothing to compare


# Functions that several layers share, constants that are filled into arrays, partial sums that are
# added first: in HLO what they are is not in the annotations of values alone.
@pytest.mark.parametrize(
    ("family", "sizes", "memory"),
    [(models.mlp, {"layers": 8}, "150KiB"), (models.gpt, {}, "150KiB")],
)
def test_programs_in_hlo_compile_to_what_is_planned(family, sizes, memory):
    step, arguments = family(np.random.default_rng(0), **sizes)
    program = jax.jit(step).lower(*arguments).as_text(dialect="hlo").encode()
    report = mw.plan(program, cluster="8xh100-sxm", mesh=8, memory=memory).verify(repeats=0)
    pairwise = next(check for check in report.checks if check.name == "pairwise")
    assert pairwise.outcome in (PASSED, EXPLAINED), str(report)
    assert report.passed, str(report)


@pytest.mark.parametrize("dialect", ["stablehlo", "hlo"])
def test_branches_that_compute_their_results_otherwise(dialect):
    """XLA does not compile branches whose results differ in their shardings."""

    def step(p, x, w):
        return jax.lax.cond(p, lambda: x @ w, lambda: jnp.tanh(x) @ w)

    array = jnp.ones((32, 32))
    text = jax.jit(step).lower(True, array, array).as_text(dialect=dialect).encode()
    rows = mw.plan(text, cluster="4xh100-sxm", mesh=4).as_dict()["instructions"]
    dots = [row["name"] for row in rows if row["opcode"] == "dot"]
    fix = {dots[0]: P("x", None), dots[1]: P(None, None)}
    report = mw.plan(text, cluster="4xh100-sxm", mesh=4, fix=fix).verify(repeats=0)
    assert {check.name: check.outcome for check in report.checks}["numerics"] == PASSED, report


@pytest.mark.parametrize("dialect", ["stablehlo", "hlo"])
@pytest.mark.parametrize(
    ("rows", "specs"),
    [
        (64, [P(("y", "x")), P(("y", "x"), None)]),  # another order than the mesh's
        (64, [P(("y", "x")), P(("x", "y"), None)]),
        (10, [P(), P("y")]),  # uneven inside
    ],
)
def test_annotations_that_the_program_carries(dialect, rows, specs):
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    stored, kept = (jax.sharding.NamedSharding(mesh, spec) for spec in specs)

    def step(a, w):
        hidden = jax.lax.with_sharding_constraint(jnp.tanh(a), kept)
        return jnp.tanh(hidden @ w)

    a = jax.ShapeDtypeStruct((rows, 64), jnp.float32, sharding=stored)
    text = jax.jit(step).lower(a, jnp.ones((64, 64))).as_text(dialect=dialect).encode()
    plan = mw.plan(text, cluster="8xh100-sxm", mesh="x=2,y=4")
    assert plan.warnings == [], plan.warnings
    report = plan.verify(repeats=0)
    assert report.passed, report
    tanh = next(row for row in plan.as_dict()["instructions"] if row["opcode"] == "tanh")
    assert tanh["spec"] == [list(np.atleast_1d(specs[1][0])), []]


@pytest.mark.parametrize("kind", ["FFT", "RFFT", "IRFFT"])
def test_transforms_are_computed_by_shard(kind):
    """XLA gathers the operand of an FFT, whatever dimension is sharded."""

    def transformed(x):
        y = jnp.tanh(x)
        shape = (62,) if kind == "IRFFT" else (32,)
        return jax.lax.fft(y if kind == "RFFT" else jax.lax.complex(y, x), kind, shape)

    text = jax.jit(transformed).lower(jnp.ones((32, 8, 32))).as_text(debug_info=True).encode()
    plan = mw.plan(text, cluster="4xh100-sxm", mesh=4, fix={"x": "[x,_,_]"})
    spec = next(row["spec"] for row in plan.as_dict()["instructions"] if row["opcode"] == "fft")
    assert spec[0] == ["x"], spec
    assert plan.collectives == []
    report = plan.verify(repeats=0)
    assert report.passed, report


def worker(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "meshwright.verify", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "XLA_FLAGS": "", **environment},
    )


def test_the_worker(tmp_path):
    program, plan_path = tmp_path / "step.hlo", tmp_path / "plan.json"
    lowered = jax.jit(mlp_step, donate_argnums=0).lower(*mlp_arguments())
    program.write_text(lowered.as_text(dialect="hlo", debug_info=True))
    mw.plan(program, cluster="4xh100-sxm", mesh=4, fix={"x": "[x,_]"}).save(plan_path)
    done = worker(plan_path, "--program", program, "--repeats", "1", "--json")
    assert done.returncode in (0, 4), done.stderr
    report = json.loads(done.stdout)
    assert report["passed"] == (done.returncode == 0)
    assert report["checks"][0]["name"] == "numerics"
    assert report["checks"][0]["outcome"] == "ok"
    assert "4 x host devices" in report["devices"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/no/plan.json", "--program", "p"], "cannot open /no/plan.json"),
        (["PLAN", "--program", "/no/program"], "cannot open /no/program"),
        (["PLAN"], "--program"),
        (["PLAN", "--program", "p", "--devices", "tpu"], "expected host:N or gpu"),
        pytest.param(
            ["PLAN", "--program", "p", "--devices", "gpu"],
            "--devices gpu: ",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("jax_plugins") is not None, reason="there may be GPUs"
            ),
        ),
        (["PLAN", "--program", "PLAN"], "this is a plan, not a program"),
        (["PLAN", "--program", "BOUNDED"], '"a" f32[<=8,4] has a size that is only bounded'),
        (["PLAN", "--program", "p", "--devices", "host:2"], "the plan is for 8 devices, JAX has 2"),
    ],
)
def test_the_worker_names_what_is_wrong(tmp_path, step_text, arguments, message):
    plan_path, program = tmp_path / "plan.json", tmp_path / "program.hlo"
    program.write_text(step_text)
    mw.plan(program, cluster="8xh100-sxm", mesh=8).save(plan_path)
    bounded = tmp_path / "bounded.hlo"
    bounded.write_text("HloModule m\nENTRY e {\n  ROOT a = f32[<=8,4] parameter(0)\n}\n")
    names = {"PLAN": plan_path, "p": program, "BOUNDED": bounded}
    done = worker(*[names.get(argument, argument) for argument in arguments])
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("meshwright: ")
    assert message in done.stderr
    assert done.stdout == ""


def test_no_jax(tmp_path, step_text):
    (tmp_path / "jax.py").write_text("raise ImportError('not installed')")
    plan_path, program = tmp_path / "plan.json", tmp_path / "program.hlo"
    program.write_text(step_text)
    mw.plan(program, cluster="8xh100-sxm", mesh=8).save(plan_path)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = worker(plan_path, "--program", program, PYTHONPATH=path)
    assert done.returncode == 2
    assert "-m pip install 'jax[cpu]'" in done.stderr


def test_planned_devices_are_used_where_they_are_here(monkeypatch):
    from types import SimpleNamespace

    import jax.extend.backend

    from meshwright import _devices

    host = [SimpleNamespace(device_kind="cpu", platform="cpu")] * 8
    plan = SimpleNamespace(num_devices=2, device_types=[{"device": "h200"}])
    for kinds, taken in [(["NVIDIA H200"] * 4, 2), (["NVIDIA H200"], 0), (["NVIDIA A10G"] * 2, 0)]:
        gpus = [SimpleNamespace(device_kind=kind, platform="gpu") for kind in kinds]
        here, settings = list(gpus), {}
        monkeypatch.setattr(jax.extend.backend, "clear_backends", lambda here=here: here.clear())
        stand_in = SimpleNamespace(
            devices=lambda name=None, here=here: here or host,
            config=SimpleNamespace(update=settings.__setitem__),
        )
        chosen = _devices.planned_or_host(stand_in, plan)
        assert chosen == (gpus[:taken] if taken else host)
        assert settings == ({} if taken else {"jax_platforms": "cpu"})
