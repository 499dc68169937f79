"""Everything that the command line can be asked, Python can be asked by the same name."""

import ast
import importlib.util
import inspect
import json
import os
import threading
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from meshwright.document import Plan
from profiles import toy

import meshwright as mw
from meshwright import _library, options

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv")
TABLES = _library.options()
ROOT = Path(__file__).parents[2]

# Of each command: the functions that take its options by name, and the classes of their others.
TAKEN = {
    "blocks": ([mw.blocks], [options.BlocksOptions]),
    "db export": ([mw.db.export], [options.DbExportOptions]),
    "db list": ([mw.db.list], [options.DbFilters]),
    "db merge": ([mw.db.merge], []),
    "db prune": ([mw.db.prune], [options.DbPruneOptions]),
    "db show": ([mw.db.show], [options.DbFilters]),
    "calibrate": ([mw.calibrate], []),
    "plan": ([mw.plan], [options.PlanOptions]),
    "estimate": ([mw.estimate], [options.EstimateOptions]),
    "explain": ([Plan.explain, Plan.why_not], []),
    "export": ([Plan.export], [options.ExportOptions]),
    "model": ([mw.model], []),
    "profile": ([mw.profile], [options.ProfileOptions]),
    "simulate": ([Plan.simulate], []),
    "solve": ([mw.solve], [options.SolveOptions]),
}


def python_name(option):
    return {"for": "for_", "from": "from_"}.get(option, option.replace("-", "_"))


def names(functions, classes):
    of_functions = {name for f in functions for name in inspect.signature(f).parameters}
    return of_functions.union(*(get_type_hints(c) for c in classes))


@pytest.mark.parametrize("command", TABLES)
def test_every_option_is_there_under_its_name(command):
    taken = names(*TAKEN[command])
    if command == "export":
        taken.add("output")  # "path" there
    missing = [o["name"] for o in TABLES[command] if python_name(o["name"]) not in taken]
    assert missing == []


def test_types_are_those_of_the_tables():
    """As scripts/python_options.py writes them."""
    spec = importlib.util.spec_from_file_location(
        "python_options", ROOT / "scripts" / "python_options.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def tokens(text):
        return ast.dump(ast.parse(text))

    assert tokens(module.written()) == tokens(module.FILE.read_text())


def test_defaults_of_signatures_are_those_of_the_table():
    for command, function in (("plan", mw.plan), ("estimate", mw.estimate)):
        parameters = inspect.signature(function).parameters
        for option in TABLES[command]:
            parameter = parameters.get(python_name(option["name"]))
            if parameter is not None and parameter.default is not None:
                assert str(parameter.default) == str(option.get("default")), option["name"]


def test_numbers_lists_and_words_reach_the_planner():
    plan = mw.plan(
        "gpt2", cluster="8xh100-sxm", global_batch=16, memory=60 * 2**30, for_=["megatron", "nemo"],
        fix={"tp": 2}, deadline=20, top=3, mtbf="50000h", threads=1,
    )  # fmt: skip
    document = plan.as_dict()
    assert document["budget_bytes"] == 60 * 2**30
    assert document["options"]["fixes"][0] == "tp=2"
    assert document["transformer"]["goodput"] is not None
    assert len(document["transformer"]["alternatives"]) <= 3


def test_files_are_written(tmp_path, step_text):
    """Under the names of the command line, with what it writes."""
    out, emitted = tmp_path / "plan.json", tmp_path / "sharded.hlo"
    plan = mw.plan(step_text, cluster="8xh100-sxm", mesh="8", output=out, emit=emitted)
    assert mw.Plan.load(out) == plan
    assert "sharding={" in emitted.read_text()
    csv, plot = tmp_path / "front.csv", tmp_path / "front.json"
    mw.plan(
        "gpt2",
        cluster="1x8xh100-sxm+1x8xa100-80g",
        global_batch=64,
        pareto=True,
        csv=csv,
        plot=plot,
    )
    assert "step_dollars" in csv.read_text().splitlines()[0]
    assert "vega-lite" in json.loads(plot.read_text())["$schema"]


def test_links_and_pipes_are_written_through(tmp_path, step_text):
    """Neither is replaced by a file."""
    plan = mw.plan(step_text, cluster="8xh100-sxm", mesh="8")
    link, target, pipe = tmp_path / "link", tmp_path / "target.json", tmp_path / "pipe"
    link.symlink_to(target)
    plan.save(link)
    assert link.is_symlink() and mw.Plan.load(target) == plan
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    plan.save(pipe)
    reader.join(timeout=60)
    assert pipe.is_fifo() and read == [plan.to_json()]


def test_a_read_only_file_is_not_replaced(tmp_path, step_text):
    path = tmp_path / "kept.json"
    path.write_text("kept")
    path.chmod(0o444)
    with pytest.raises(mw.InvalidArgumentError, match="kept.json: it is read-only"):
        mw.plan(step_text, cluster="8xh100-sxm", mesh="8").save(path)
    assert path.read_text() == "kept" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory", float("inf")),
        ("deadline", float("nan")),
        ("cluster", [object()]),
        ("cluster", b"8xh100-sxm"),
        ("rules", 5),
        ("fix", {"\udcff": "replicated"}),
    ],
)
def test_values_of_no_use_are_named(step_text, name, value):
    options = {"cluster": "8xh100-sxm", "mesh": "8", name: value}
    with pytest.raises(mw.InvalidArgumentError, match=f'option "{name}": found '):
        mw.plan(step_text, **options)


def test_numbers_may_be_those_of_numpy(step_text):
    for mesh in (np.int64(8), (np.int32(8),)):
        plan = mw.plan(step_text, cluster="8xh100-sxm", mesh=mesh, threads=np.int64(1))
        assert plan.mesh_shape == {"x": 8}
    for mesh in ({}, ()):
        with pytest.raises(mw.InvalidArgumentError, match="mesh: found "):
            mw.plan(step_text, cluster="8xh100-sxm", mesh=mesh)


def test_stages_of_a_pipeline_are_written(tmp_path, data):
    folder = tmp_path / "stages"
    asked = {"cluster": "4xh100-sxm", "pipeline": 2, "schedule": "1f1b", "emit": folder}
    plan = mw.plan(data / "tiny_gpt.train.hlo.txt.gz", **asked)
    index = json.loads((folder / "stages.json").read_text())
    assert len(index["stages"]) == len(plan.stages) == 2
    assert (folder / "stage0.forward.hlo.txt").read_text().startswith("HloModule")
    with pytest.raises(mw.InvalidArgumentError, match="holds files already"):
        mw.plan(data / "tiny_gpt.train.hlo.txt.gz", **asked)


def test_files_go_with_what_is_asked(tmp_path, step_text):
    with pytest.raises(mw.InvalidArgumentError, match='"csv" is for models'):
        mw.plan(step_text, cluster="8xh100-sxm", csv=tmp_path / "x.csv")
    with pytest.raises(mw.InvalidArgumentError, match="its folder does not exist"):
        mw.plan(step_text, cluster="8xh100-sxm", output=tmp_path / "no" / "plan.json")
    with pytest.raises(
        mw.InvalidArgumentError, match='"plot" writes what "sweep" or "pareto" finds'
    ):
        mw.plan("gpt2", cluster="8xh100-sxm", global_batch=16, plot=tmp_path / "x.json")


def test_a_report_shows_sweeps_too(tmp_path):
    swept = mw.sweep("gpt2", "1..2", cluster="8xh100-sxm", global_batch=8)
    swept.plan.report(None, swept, csv=tmp_path / "tables")
    assert (tmp_path / "tables").is_dir()


def test_calibrates(tmp_path):
    measured, out = tmp_path / "measured.csv", tmp_path / "device.yaml"
    rows = ["gemm_4096x4096x4096,1,1.4e11,bf16,250", "copy,1,1e8,bf16,60", "copy,1,1e6,bf16,5"]
    rows += [f"{kind},2,{size},bf16,{size / 1e5}" for kind in KINDS for size in (10**6, 10**8)]
    measured.write_text("\n".join(["op,group,bytes_or_flops,dtype,usec", *rows, ""]))
    yaml = mw.calibrate(measured, device="h100-sxm", output=out)
    assert "h100-sxm" in yaml
    assert out.read_text() == yaml
    with pytest.raises(mw.InvalidArgumentError, match='either "from" FILE or "run"'):
        mw.calibrate()
    with pytest.raises(mw.InvalidArgumentError, match="measuring failed"):
        mw.calibrate(run=True, worker="no_such_worker.py")


def test_profiles(tmp_path, step, monkeypatch):
    monkeypatch.setenv("MESHWRIGHT_PYTHON", toy(tmp_path))
    database, layers = tmp_path / "profiles.sqlite", tmp_path / "layers.csv"
    asked = {"mesh": 1, "db": database, "devices": "host:1", "budget": 20}
    answer = mw.profile(step, **asked, layers_csv=layers)
    assert answer.data["measured"] > 0
    assert layers.read_text().startswith("gpu,tp,micro_batch,layer_id")
    assert mw.profile(step, **asked).data["measured"] == 0


def test_databases(tmp_path, step, monkeypatch):
    monkeypatch.setenv("MESHWRIGHT_PYTHON", toy(tmp_path))
    database, other, csv = (tmp_path / name for name in ("a.sqlite", "b.sqlite", "a.csv"))
    mw.profile(step, mesh=1, db=database, devices="host:1", budget=20)
    found = mw.db.list(database, kind="segment").data["profiles"]
    assert found
    assert mw.db.show(database, found[0]["program"][:8], mesh=1).data["profiles"]
    assert mw.db.merge(other, database).data[0]["new_runs"] > 0
    assert mw.db.export(database, format="csv", output=csv) == csv.read_text()
    assert csv.read_text().startswith("device,")
    assert mw.db.prune(other, kind="segment").data == {"removed": len(found)}
    with pytest.raises(mw.InvalidArgumentError, match="say what to remove"):
        mw.db.prune(other)
    with pytest.raises(mw.NotFoundError, match="holds no profiles of"):
        mw.db.list(other, kind="segment")


def test_blocks(tmp_path, step_text):
    folder = tmp_path / "blocks"
    found = mw.blocks(step_text, mesh=4, cluster="4xh100-sxm", emit=folder)
    assert found.startswith("program")
    index = json.loads((folder / "index.json").read_text())
    assert {row["kind"] for row in index} == {block["kind"] for block in found.data["blocks"]}
    assert all((folder / row["proto"]).stat().st_size > 0 for row in index)
    with pytest.raises(mw.InvalidArgumentError, match="holds files already"):
        mw.blocks(step_text, mesh=4, cluster="4xh100-sxm", emit=folder)


def test_solves(tmp_path):
    nodes = {"intervals": [[0, 1], [0, 1]], "costs": [[3, 1], [0, 2]], "usages": [[1, 5], [1, 1]]}
    edges = {"nodes": [[0, 1]], "costs": [[0, 9, 9, 0]]}
    problem = {"problem": {"name": "two", "nodes": nodes, "edges": edges, "usage_limit": 6}}
    path, out = tmp_path / "two.json", tmp_path / "solution.json"
    path.write_text(json.dumps(problem))
    solved = mw.solve(path, deadline=5, output=out)
    assert solved.startswith("optimal: cost 3")
    assert mw.solve(problem).data["choice"] == json.loads(out.read_text())["choice"] == [0, 0]
    problem["problem"]["usage_limit"] = 1
    with pytest.raises(mw.InfeasibleError, match="infeasible"):
        mw.solve(problem)


def test_processes_but_the_first_measure_for_it(tmp_path, step, monkeypatch):
    monkeypatch.setenv("MESHWRIGHT_PYTHON", toy(tmp_path))
    monkeypatch.setenv("SLURM_PROCID", "1")
    database = tmp_path / "profiles.sqlite"
    assert mw.profile(step, mesh=2, db=database, devices="host:1", distributed=True) == ""
    assert not database.exists()


CALLS = """HloModule m
ENTRY e {
  x = f32[16,8] parameter(0)
  ROOT c = f32[16,8] custom-call(x), custom_call_target="mine"
}
"""


def test_drafts_rules_of_calls(tmp_path):
    assert "TopK" in [call["target"] for call in mw.calls()]
    draft = mw.draft_rules(CALLS)
    assert "mine  ([a, b])->([a, b]) need_replication={a, b}" in draft
    rules = tmp_path / "rules.txt"
    rules.write_text(draft.replace(" need_replication={a, b}", ""))
    plan = mw.plan(CALLS, cluster="8xh100-sxm", mesh="8", rules=rules, fix=["x=[x,_]"])
    assert not plan.warnings
    assert "what the plan does" in plan.why_not("x=[x,_]")
    with pytest.raises(mw.Error, match='found 3, expected fixes: texts "NAME=SPEC"'):
        plan.why_not(3)
