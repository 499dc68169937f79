"""Small programs that once went wrong: each has the outcome that is right.

They are in tests/data/cases. Where `../shared/cases` lies beside the checkout, its programs (the same
under other names, and any that were added since), JAX scripts and commands are run too.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BINARY = Path(os.environ.get("MESHWRIGHT_BINARY") or ROOT / "build" / "release" / "meshwright")
OWN, SHARED = ROOT / "tests" / "data" / "cases", ROOT.parent / "shared" / "cases"
pytestmark = pytest.mark.skipif(not BINARY.exists(), reason="cases need the command line")

PARTITIONED = "this program is partitioned already"
MANUAL = "the body of a shard_map or pmap is written for one device"
OUTPUT = ["--fix", "x=[x,_]", "--fix", "output=replicated"]
OUTPUTS = ["--fix", "x=[x,_]", "--fix", "output[0]=replicated"]

# File, its name in the shared folder, options, and what is right: None, that it is planned, or the
# message with which it is refused.
CASES = [
    ("alias_of_other_shape.hlo", "R3_alias_other_shape_sigill.hlo", [], None),
    ("aliases.mlir", "alias.mlir", [], None),
    ("alpha_beta.hlo", "R6_alpha_beta_false_deadline.hlo",
     ["--cost-model", "alpha_beta", "--fix", "p=[x,_]"], None),
    ("annotated_by_parts.mlir", None, [], None),
    ("annotated_for_fewer.hlo", "an_fewer.hlo", [], None),
    ("annotated_unevenly.hlo", "an_uneven.hlo", [], None),
    ("binary_sharding.mlir", "binsh.mlir", [], None),
    ("carry_read_elsewhere.hlo", "R2a_carry_reused_segv.hlo", [], None),
    ("clip.hlo", "R9_clip.hlo", [], None),
    ("clip.mlir", "R9_clip.mlir", [], None),
    ("colon.hlo", "R11f_colon.hlo", [], None),
    ("custom_rule.mlir", "custom_rule.mlir", [], None),
    ("dead_barrier.mlir", "dead_barrier.mlir", [], None),
    ("dead_call_result.hlo", "dead_call_result.hlo", [], None),
    ("dead_call_result.mlir", "dead_call_result.mlir", [], None),
    ("dead_case_result.mlir", "dead_case_result.mlir", [], None),
    ("dead_while_carry.mlir", "dead_while_carry.mlir", [], None),
    ("effect.mlir", "R1a_callback_segv.mlir", [], None),
    ("effect_without_operands.hlo", "R1b_no_operands_no_results_segv.hlo", [], None),
    ("estimate_dot.hlo", "R8_estimate_dot_replicated.hlo", [], None),
    ("flash.mlir", "flash.mlir", [], None),
    ("known_branch.hlo", None, [], None),
    ("known_branch.mlir", None, [], None),
    ("mhlo.mlir", "R10_mhlo.mlir", [], None),
    ("no_entry.hlo", "R11b_no_entry.hlo", [], None),
    ("no_header.hlo", "R11a_no_header.hlo", [], None),
    ("no_type.hlo", "R11c_no_type.hlo", [], None),
    ("output_fix.hlo", "output_fix.hlo", OUTPUT, None),
    ("output_fix.mlir", "output_fix.mlir", OUTPUT, None),
    ("output_fix_donated.mlir", "output_fix_donated.mlir", OUTPUTS,
     r"output\[0\] is fixed to \[_,_\] but shares its buffer with x, which is fixed to \[x,_\]"),
    ("output_fix_mm.mlir", "output_fix_mm.mlir", OUTPUT, None),
    ("output_fix_step.mlir", "output_fix_step.mlir", OUTPUTS, None),
    ("partitioned.hlo", "R5a_partitioned_planned_as_whole.hlo", [], PARTITIONED),
    ("reduce_scatter_start.hlo", "R4_emit_reduce_scatter_start.hlo", [], PARTITIONED),
    ("scaled_dot.hlo", "R11e_scaled_dot.hlo", [], None),
    ("scan_residual.mlir", "R2c_scan_residual_segv.mlir", [], None),
    ("scan_stacks_results.mlir", "R2b_scan_n_2n_segv.mlir", [], None),
    ("shard_map.hlo", "R5b_shard_map.hlo", [], PARTITIONED),
    ("shard_map.mlir", "R5b_shard_map.mlir", [], MANUAL),
    ("shared_reshard.hlo", "R7_plan_vs_estimate_shared_reshard.hlo", ["--mesh", "4"], None),
    ("sharding_alias.mlir", "sdyhash.mlir", [], None),
    ("sharding_rule.hlo", "R12_sdy_sharding_rule_ignored.hlo", [], None),
    ("sharding_rule.mlir", "R12_sdy_sharding_rule_ignored.mlir", [], None),
    ("splat_literal.hlo", "R11d_splat_literal.hlo", [], None),
    ("sub_axes.mlir", "subaxis.mlir", [], None),
    ("three_devices.mlir", "three_devices.mlir", [], None),
    ("tuple_of_one.mlir", "tup1.mlir", [], None),
    ("two_step_gather.hlo", None, ["--fix", "x=[x,_]", "--fix", "w=[_,y]"], None),
    ("two_step_result.hlo", None, ["--fix", "x=[x,y]", "--fix", "v=[_,_]"], None),
    ("zero_plus.hlo", "zero_plus.hlo", [], None),
    ("zero_plus.mlir", "zero_plus.mlir", [], None),
]  # fmt: skip


def run(verb, path, options, folder, code=0):
    """The plan that a command writes, or its message if the exit code is to be another than 0."""
    mesh = [] if "--mesh" in options else ["--mesh", "x=2,y=4"]
    devices = 4 if "--mesh" in options else 8
    plan = folder / "plan.json"
    words = [BINARY, verb, path, "--cluster", f"{devices}xh100-sxm", *mesh, *options, "-o", plan]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(plan.read_text()) if code == 0 else " ".join(done.stderr.split())


def own(name, folder, verb="plan", more=()):
    """The plan of one of our cases."""
    options = next(case[2] for case in CASES if case[0] == name)
    return run(verb, OWN / name, [*options, *more], folder)


def collectives(plan):
    return {(row["kind"], row["count"]) for row in plan["collectives"]}


def paths():
    for name, shared, options, message in CASES:
        yield pytest.param(OWN / name, options, message, id=name)
        if shared and (SHARED / "programs" / shared).exists():
            path = SHARED / "programs" / shared
            yield pytest.param(path, options, message, id=f"shared/{shared}")


@pytest.mark.parametrize("path, options, message", list(paths()))
def test_outcome(path, options, message, tmp_path):
    if message is None:
        run("plan", path, options, tmp_path)
        # What is planned can be written too.
        run("plan", path, [*options, "--emit", tmp_path / "emitted"], tmp_path)
    else:
        assert re.search(message, run("plan", path, options, tmp_path, code=2))


def test_every_case_has_an_outcome():
    assert {path.name for path in OWN.iterdir()} == {case[0] for case in CASES}
    if SHARED.exists():
        assert {path.name for path in (SHARED / "programs").iterdir()} == {
            case[1] for case in CASES if case[1]
        }


@pytest.mark.parametrize(
    "name", ["clip", "known_branch", "output_fix", "sharding_rule", "zero_plus"]
)
def test_both_forms_give_one_plan(name, tmp_path):
    hlo, mlir = own(f"{name}.hlo", tmp_path), own(f"{name}.mlir", tmp_path)
    assert hlo["step_seconds"] == mlir["step_seconds"]
    assert hlo["peak_bytes"] == mlir["peak_bytes"]
    assert collectives(hlo) == collectives(mlir)


@pytest.mark.parametrize("name", ["custom_rule.mlir", "flash.mlir", "sharding_rule.mlir"])
def test_the_rule_of_a_call_is_the_operators(name, tmp_path):
    plan = own(name, tmp_path)
    assert not {kind for kind, _ in collectives(plan)} & {"all-gather", "all-to-all"}


@pytest.mark.parametrize("name", ["shared_reshard.hlo", "estimate_dot.hlo"])
def test_estimate_has_the_plans_price(name, tmp_path):
    plan, estimate = own(name, tmp_path), own(name, tmp_path, "estimate")
    assert estimate["step_seconds"] == plan["step_seconds"]
    assert collectives(estimate) == collectives(plan)


@pytest.mark.parametrize("name", ["annotated_for_fewer.hlo", "annotated_unevenly.hlo"])
def test_annotations_that_do_not_fit_are_counted_in_one_line(name, tmp_path):
    (warning,) = own(name, tmp_path)["warnings"]
    assert warning.startswith("2 of 2 annotations not used: ")


def test_sub_axes_are_axes_of_the_mesh(tmp_path):
    plan = own("sub_axes.mlir", tmp_path)
    assert plan["warnings"] == []
    assert plan["parameters"][0]["spec"] == [["x"], ["y"]]


def test_a_fixed_output_leaves_as_it_is_fixed(tmp_path):
    for name in ("output_fix.hlo", "output_fix.mlir", "output_fix_mm.mlir", "output_fix_step.mlir"):
        plan = own(name, tmp_path)
        assert plan["outputs"][0]["spec"] == [[], []], name
        assert {kind for kind, _ in collectives(plan)} == {"all-gather"}, name


# ---- JAX scripts, with their counterparts among our tests ----

VERIFIED = r"^verified$"
# What is in a script's output, where that is its point.
SCRIPTS = {
    "R1_gen_debug_print.py": r"",
    "R1c_python_process_killed.py": r"^ok$",
    "R2_gen.py": r"",
    "R5_gen.py": r"",
    "R8_gen_vs_xla.py": r"",  # test_estimate_collectives.py
    "cond_operand.py": VERIFIED,  # test_collectives.py
    "custom_rule.py": r"sdy.sharding_rule",  # test_call_rules.py
    "grad_only_take.py": VERIFIED,  # test_collectives.py
    "output_fix.py": VERIFIED,  # test_collectives.py
    "r1_debug_print_segfault.py": VERIFIED,  # test_calls.py
    "r3_static_args.py": r"as the function is called -> 0\.\d+",  # test_calls.py
    "r4_foreign_jit.py": r"^nnx.jit -> program",  # test_calls.py
    # An error that names the argument. test_calls.py
    "r5_arguments_at_call.py": r"InvalidArgumentError: y: found f32\[64\]",
    "r6_int4_aot.py": r"^jit sharded",  # JAX alone; test_calls.py
    # The option is known; the program has one layer.
    "r7_pipeline_option.py": r"pipeline=2 -> .*2 stages are more than the 1 layer of the program",
    "r8_verify_false_alarm.py": r"centered: results finite .*: 100% 100% 100% 100% 100% 100%",
    "r9_callback_in_loop.py": VERIFIED,  # test_calls.py
    "set_mesh_verify.py": VERIFIED,  # test_calls.py
    "topk_router.py": VERIFIED,  # test_collectives.py
    "two_axis_gather.py": VERIFIED,  # test_collectives.py
    "two_axis_gather_nodes.py": VERIFIED,  # test_collectives.py
    "zero_plus.py": r"",
}
FAILS = {"r5_arguments_at_call.py"}  # on purpose


@pytest.mark.skipif(not (SHARED / "jax").exists(), reason="no ../shared/cases beside the checkout")
@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_script(name, tmp_path):
    arguments = [BINARY] if name == "R8_gen_vs_xla.py" else []
    done = subprocess.run(
        [sys.executable, SHARED / "jax" / name, *arguments],
        cwd=tmp_path,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == (1 if name in FAILS else 0), done.stderr
    assert re.search(SCRIPTS[name], done.stdout + done.stderr, re.MULTILINE), done.stdout
    # Programs that it writes.
    for program in sorted([*tmp_path.glob("*.mlir"), *tmp_path.glob("*.hlo")]):
        words = [BINARY, "plan", program, "--cluster", "8xh100-sxm", "--mesh", "x=2,y=4"]
        planned = subprocess.run(words, capture_output=True, text=True, check=False)
        assert planned.returncode in (0, 2), planned.stderr


@pytest.mark.skipif(not (SHARED / "jax").exists(), reason="no ../shared/cases beside the checkout")
def test_every_script_has_an_outcome():
    assert {path.name for path in (SHARED / "jax").glob("*.py")} == set(SCRIPTS)


# ---- Commands over models and mixed clusters ----


def seconds(text, after=r"^step +"):
    """All times behind `after`, in seconds."""
    units = {"s": 1, "ms": 1e-3, "us": 1e-6}
    return [
        float(value) * units[unit]
        for value, unit in re.findall(rf"{after}([\d.]+) (s|ms|us)\b", text, re.MULTILINE)
    ]


def is_what_was_validated(text):
    (planned,) = seconds(text)
    row = text.splitlines()[-1].split(",")
    assert float(row[15]) == pytest.approx(planned, rel=5e-3)
    assert abs(float(row[15]) / float(row[14]) - 1) < 0.1


def tensor_parallelism_stays_inside_nodes(text):
    best, *_ = text.split("model ")[1:]
    assert "tp_in=" not in best
    inside, across = seconds(text, "tensor communication +")
    assert across > 4 * inside


def long_contexts_are_as_measured(text):
    assert seconds(text) == pytest.approx([16.7, 47.2, 159], rel=0.05)


def conflicts_are_named(text):
    assert len(re.findall("zero=1 does not go with dp=1", text)) == 2


def configurations_are_read(text):
    found = re.findall(r"\((\w+)\)$", text, re.MULTILINE)
    assert found == ["olmo2", "granite", "glm4", "starcoder2", "qwen2_5_vl_text", "mamba2", "t5"]
    assert "decoder" not in text[text.index("(t5)") :]  # the encoder alone


def own_names_keep_what_was_fitted(text):
    steps = seconds(text, r"step +")
    assert len(steps) == 8 and steps[::2] == steps[1::2]


def slow_links_are_waited_for(text):
    for side in ("plain", "group"):
        steps = seconds(text, f"{side} step +")
        assert len(steps) == 5 and steps == sorted(steps) and steps[-1] > 2 * steps[0]


def uneven_stages_wait_for_sends(text):
    rows = re.findall(r"step ([\d.]+) s; .* full duplex\) ([\d.]+) s", text)
    assert len(rows) == 5
    for step, duplex in rows:
        assert float(duplex) <= float(step) < 1.02 * float(duplex)


def faults_over_groups_are_said(text):
    cases = re.split(r"^\d\. ", text, flags=re.MULTILINE)[1:]
    uneven_stages_wait_for_sends(cases[0])
    assert len(re.findall("is not planned over groups of nodes", cases[1])) == 14
    assert int(cases[3].split()[-1]) > 0  # a warning
    assert "were measured with micro-batches of at most 1; with 32" in cases[4]
    for reason in (
        "a stage lies on nodes of one group",
        "the nodes hold at most 1 stage",
        "--top does not go with --profile",
    ):
        assert reason in cases[5]
    assert "intra_node bandwidth" in cases[6] and "inter_node latency" in cases[6]
    assert len(seconds(cases[7], r"step ")) == 3


# What each script prints is judged by a function.
COMMANDS = {
    "models/1_plan_is_not_what_was_validated.sh": is_what_was_validated,
    "models/2_tp_across_nodes.sh": tensor_parallelism_stays_inside_nodes,
    "models/3_long_context.sh": long_contexts_are_as_measured,
    "models/4_fix_message.sh": conflicts_are_named,
    "models/5_configs.sh": configurations_are_read,
    "mixed/base.sh": own_names_keep_what_was_fitted,
    "mixed/faults.sh": faults_over_groups_are_said,
    "mixed/plain_sends.sh": slow_links_are_waited_for,
    "mixed/uneven.py": uneven_stages_wait_for_sends,
}


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared/cases beside the checkout")
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_command(name, tmp_path):
    path = SHARED / name
    done = subprocess.run(
        [sys.executable if path.suffix == ".py" else "bash", path, BINARY],
        cwd=tmp_path,
        env={**os.environ, "MW": str(BINARY), "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    COMMANDS[name](done.stdout + done.stderr)


# A cluster told as one group of nodes costs what it costs plainly, its embeddings tied or not.
@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared/cases beside the checkout")
@pytest.mark.parametrize("model", ["gpt2-345m", "untied"])
@pytest.mark.parametrize(
    "stages, layers", [("pp=4,dp=4", "6-6-6-6"), ("pp=16,dp=1", "-".join(["2"] * 8 + ["1"] * 8))]
)
def test_one_group_costs_what_the_cluster_costs(model, stages, layers, tmp_path):
    steps = []
    for cluster, more in (("plain", ",ends=off,schedule=1f1b,place=order"), ("group", "")):
        fixes = f"tp=1,{stages},mbs=1,zero=0,recompute=none,sp=off{more},layers={layers}"
        plan = tmp_path / "plan.json"
        words = [BINARY, "plan", SHARED / "mixed" / f"{model}.yaml"]
        words += ["--cluster", SHARED / "mixed" / f"{cluster}.yaml", "--global-batch", "32"]
        words += ["--seq", "1024", "--dtype", "fp16", "--fix", fixes, "-o", plan]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        steps.append(json.loads(plan.read_text())["step_seconds"])
    assert steps[0] == pytest.approx(steps[1], rel=1e-9)


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared/cases beside the checkout")
def test_every_command_has_an_outcome():
    files = {path for kind in ("models", "mixed") for path in (SHARED / kind).iterdir()}
    scripts = {str(path.relative_to(SHARED)) for path in files if path.suffix in (".sh", ".py")}
    assert scripts == set(COMMANDS)
