"""Verification: reading compiled programs, the comparisons, and the whole of it on host devices."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import mlp_arguments, mlp_step
from jax.sharding import PartitionSpec as P
from meshwright.verify import checks, collectives
from meshwright.verify.groups import group_axes
from meshwright.verify.inputs import random_inputs
from meshwright.verify.report import FAILED, PASSED, SHOWN, bytes_text, seconds_text

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


# ruff: noqa: E501
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
  %reduced = (f32[64]{0}, f32[64]{0}) all-reduce(%x, %widened), replica_groups=[2,4]<=[8], to_apply=%add
  %first = f32[64]{0} get-tuple-element(%reduced), index=0
  %second = f32[64]{0} get-tuple-element(%reduced), index=1
  %piece = f32[8]{0} fusion(%first, %i), kind=kLoop, calls=%sliced
  %start = (s32[], f32[8]{0}) tuple(%i, %piece)
  %loop = (s32[], f32[8]{0}) while(%start), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"5"}}
  %exchanged = (f32[8]{0}, f32[8]{0}) all-to-all(%piece, %piece), replica_groups=[4,2]<=[2,4]T(1,0)
  ROOT %use = f32[8]{0} slice(%second), slice={[0:8]}
}
"""


def test_collectives_of_a_compiled_program():
    found = collectives.compiled(COMPILED, MESH, "the CPU")
    assert {key: (tally.count, tally.bytes) for key, tally in found.tallies.items()} == {
        ("reduce-scatter", ("y",)): (1, 256),  # only slices of the sum are used
        ("all-reduce", ("y",)): (1, 128),  # a bf16 value
        ("all-gather", ("x",)): (5, 5 * 64),  # in a loop of five rounds
        ("all-to-all", ("x",)): (1, 64),  # its pieces belong together
    }
    notes = "; ".join(found.notes)
    assert "XLA combined 2 all-reduces into one" in notes
    assert "the CPU all-reduces and slices where a reduce-scatter would do" in notes
    assert "the CPU moves bf16 values as f32" in notes


def test_checks_of_collectives():
    def tally(count, total):
        return collectives.Tally(count, total)

    planned = {("all-reduce", ("x",)): tally(2, 100_000), ("all-gather", ("y",)): tally(1, 50_000)}
    compiled = {("all-reduce", ("x",)): tally(1, 101_900), ("all-to-all", ("x",)): tally(1, 9_000)}
    found = checks.check_collectives(planned, collectives.Compiled(compiled, ["a cause"]))
    assert [(check.name, check.outcome) for check in found] == [
        ("all-gather y", FAILED),
        ("all-reduce x", PASSED),  # within 2 %
        ("all-to-all x", FAILED),
    ]
    assert found[-1].remark == "not in the plan"
    assert found[-1].notes == ["a cause"]
    assert checks.check_collectives({}, collectives.Compiled({}, []))[0].outcome == PASSED


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


def test_figures_are_judged_on_the_planned_device_only():
    assert checks.check_memory(100, 105, True, "").outcome == PASSED
    assert checks.check_memory(100, 120, True, "").outcome == FAILED
    assert checks.check_memory(100, 120, False, "a reason").outcome == SHOWN
    assert "a reason" in checks.check_time(1e-3, 2e-3, False, "a reason").remark
    assert checks.check_time(1e-3, 2e-3, True, "").outcome == FAILED


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
    ]
    arrays = random_inputs(rows, 3)
    assert [array.shape for array in arrays] == [tuple(row["shape"]) for row in rows]
    assert arrays[0].min() < 0 < arrays[1].min()
    assert set(np.unique(arrays[2])) == {0, 1}
    again = random_inputs(rows, 3)
    assert all((a == b).all() for a, b in zip(arrays, again, strict=True))
    assert (random_inputs(rows, 4)[0] != arrays[0]).any()


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
    assert "XLA combined 3 all-reduces into one" in str(report)
    assert outcomes["memory"] == outcomes["step time"] == SHOWN
    assert report.passed
    assert str(report).endswith("verified")
    assert json.loads(json.dumps(report.as_dict()))["passed"] is True


def test_a_plan_that_does_not_hold():
    document = data_parallel().as_dict()
    document["collectives"][0]["bytes_per_device"] *= 2
    plan = mw.Plan(json.dumps(document), data_parallel().program)
    report = plan.verify(repeats=0)
    assert not report.passed
    assert "all-reduce x" in str(report)
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
        (["PLAN", "--program", "PLAN"], "expected 'HloModule'"),
        (["PLAN", "--program", "p", "--devices", "host:2"], "the plan is for 8 devices, JAX has 2"),
    ],
)
def test_the_worker_names_what_is_wrong(tmp_path, step_text, arguments, message):
    plan_path, program = tmp_path / "plan.json", tmp_path / "program.hlo"
    program.write_text(step_text)
    mw.plan(program, cluster="8xh100-sxm", mesh=8).save(plan_path)
    names = {"PLAN": plan_path, "p": program}
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
