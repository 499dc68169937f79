"""Plans of programs in every form, without compiling anything."""

import gzip
import json

import jax
import numpy as np
import pytest
from conftest import mlp_arguments, mlp_step
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

EIGHT = {"cluster": "8xh100-sxm", "mesh": "8"}


def test_path_text_and_bytes_give_one_plan(tmp_path, step_text):
    path = tmp_path / "step.hlo"
    path.write_text(step_text)
    packed = tmp_path / "step.hlo.gz"
    packed.write_bytes(gzip.compress(step_text.encode()))
    plans = [mw.plan(form, **EIGHT) for form in (path, str(packed), step_text, step_text.encode())]
    for plan in plans:
        assert plan.parameters == plans[0].parameters
        assert plan.ops == plans[0].ops
    assert plans[0].as_dict()["inputs"][0]["path"] == str(path)
    assert plans[0] != plans[2]  # another input
    assert plans[2] == plans[3]  # but for planning_seconds


def test_functions_and_lowered_programs_keep_their_structure():
    arguments = mlp_arguments()
    shapes = jax.eval_shape(lambda *a: a, *arguments)
    from_function = mw.plan(mlp_step, *shapes, **EIGHT)
    from_jitted = mw.plan(jax.jit(mlp_step), *arguments, **EIGHT)
    from_lowered = mw.plan(jax.jit(mlp_step).lower(*arguments), **EIGHT)
    for plan in (from_function, from_jitted, from_lowered):
        names = [row["name"] for row in plan.parameters]
        assert names == ["state['down']", "state['up']", "x", "y"]
        shardings = plan.in_shardings()
        assert jax.tree.structure(shardings) == jax.tree.structure(arguments)
        assert isinstance(shardings[0]["up"], NamedSharding)
        state, loss = plan.out_shardings()
        assert state == shardings[0]
        assert loss.spec == P()


def test_tables_and_summary():
    plan = mw.plan(mlp_step, *mlp_arguments(), fix={"x": P("x", None)}, **EIGHT)
    assert plan.mesh_shape == {"x": 8}
    assert plan.num_devices == 8
    memory = 80 * 2**30
    assert plan.device_types == [
        {"device": "h100-sxm", "nodes": 1, "devices_per_node": 8, "device_memory_bytes": memory}
    ]
    assert plan.objective_seconds == plan.summary["objective_seconds"] > 0
    assert plan.peak_bytes == plan.summary["peak_bytes"] > 0
    assert "instructions" not in plan.summary
    assert {"name", "spec", "strategy", "seconds"} <= plan.ops[0].keys()
    assert sum(row["seconds"] for row in plan.collectives) == pytest.approx(
        plan.summary["communication_seconds"]
    )
    assert "state['up']" in str(plan)
    assert "parallelism" in plan.explain() and "state['up']" in plan.explain()
    assert "8xh100-sxm" in repr(plan)
    assert plan.in_shardings()[1].spec == P("x")
    assert any(op.get("source", "").rpartition(":")[2].isdigit() for op in plan.ops)
    assert any("dot_general" in op.get("op_name", "") for op in plan.ops)
    by_category = (
        *("parameters", "optimizer_state", "inputs"),
        *("gradients", "activations", "temporaries"),
    )
    totals = [sum(point[key] for key in by_category) for point in plan.memory_timeline]
    assert max(totals) == plan.peak_bytes
    plan.ops.clear()  # a copy
    assert plan.ops


def test_rows_are_copies(step_text):
    plan = mw.plan(step_text, **EIGHT)
    for name in ("parameters", "outputs", "ops", "memory_timeline"):
        rows = getattr(plan, name)
        assert rows and rows == getattr(plan, name), name
        rows[0].clear()
        assert getattr(plan, name)[0], name


def test_save_and_load(tmp_path, step_text):
    plan = mw.plan(step_text, **EIGHT)
    path = tmp_path / "plan.json"
    plan.save(path)
    loaded = mw.Plan.load(path)
    assert loaded == plan
    assert loaded.to_json() == path.read_text()
    assert loaded.explain() == plan.explain()
    assert [type(sharding) for sharding in loaded.in_shardings()] == [NamedSharding] * 2
    assert list(tmp_path.iterdir()) == [path]


def test_mesh_and_fix_in_all_notations(step_text):
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    plans = [
        mw.plan(step_text, cluster="8xh100-sxm", mesh=given, fix=fix)
        for given, fix in [
            ("2x4", "x=[(x,y),_]"),
            ((2, 4), ["x=[(x,y),_]"]),
            ({"x": 2, "y": 4}, {"x": "[(x,y),_]"}),
            (mesh, {"x": P(("x", "y"), None)}),
            (mesh, {"x": NamedSharding(mesh, P(("x", "y")))}),
        ]
    ]
    assert [plan.parameters for plan in plans] == [plans[0].parameters] * len(plans)
    assert plans[0].parameters[1]["spec"] == [["x", "y"], []]


def test_auto_mesh_tries_several(step_text):
    plan = mw.plan(step_text, cluster="8xh100-sxm")
    assert plan.num_devices == 8
    assert plan.as_dict()["options"]["mesh"] == "auto"


def test_default_cluster_is_what_jax_sees(step_text):
    with pytest.warns(UserWarning, match="8 x h100-sxm, which the CPU devices here stand for"):
        plan = mw.plan(step_text)
    assert plan.as_dict()["cluster"]["name"] == "8xh100-sxm"


def test_estimate_follows_shardings():
    arguments = mlp_arguments()
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    plan = mw.estimate(mlp_step, *arguments, shardings=(whole, split, split), cluster="8xh100-sxm")
    assert plan.in_shardings(mesh) == ({"up": whole, "down": whole}, split, split)
    assert plan.summary["budget_bytes"] is None
    assert plan.collectives  # gradients, or what they are made from
    some = mw.estimate(
        mlp_step, *arguments, shardings=(None, P("x"), None), mesh=8, cluster="8xh100-sxm"
    )
    assert some.in_shardings()[1].spec == P("x")


def test_unused_arguments_are_there():
    def fn(a, unused, b):
        return a + b

    shape = jax.ShapeDtypeStruct((8, 8), np.float32)
    for function in (fn, jax.jit(fn)):
        plan = mw.plan(function, shape, shape, shape, fix={"b": P("x")}, **EIGHT)
        shardings = plan.in_shardings()
        assert len(shardings) == 3
        assert shardings[2].spec == P("x")


@pytest.mark.parametrize(
    ("program", "options", "error", "message"),
    [
        ("/no/such/file", {}, mw.NotFoundError, "cannot open /no/such/file"),
        ("/", {}, mw.InvalidArgumentError, "/: this is a folder"),
        ("HloModule m\n\nnonsense", {}, mw.InvalidArgumentError, "program:3:9"),
        (7, {}, mw.InvalidArgumentError, "found int, expected a program"),
        (None, {"cluster": "8xh101"}, mw.NotFoundError, "did you mean"),
        (None, {"mesh": "3x3"}, mw.InvalidArgumentError, "3x3"),
        (None, {"mesh": 1.5}, mw.InvalidArgumentError, "mesh: found 1.5"),
        (None, {"memory": "1MiB"}, mw.InfeasibleError, "the smallest budget that a plan was found"),
        (None, {"fix": {"z": "[x,_]"}}, mw.InvalidArgumentError, "z"),
        (None, {"fix": {"x": 5}}, mw.InvalidArgumentError, "found 5, expected a sharding"),
        (None, {"meshes": "8"}, mw.InvalidArgumentError, 'did you mean "mesh"?'),
        (None, {"seed": object()}, mw.InvalidArgumentError, 'option "seed": found'),
        (None, {"threads": 0}, mw.InvalidArgumentError, 'option "threads"'),
    ],
)
def test_errors(step_text, program, options, error, message):
    with pytest.raises(error) as raised:
        mw.plan(step_text if program is None else program, **{**EIGHT, **options})
    assert message in str(raised.value)
    assert isinstance(raised.value, mw.Error)


def test_arguments_go_with_functions(step_text):
    with pytest.raises(mw.InvalidArgumentError, match="example arguments go with a function"):
        mw.plan(step_text, np.zeros(3), **EIGHT)
    with pytest.raises(mw.InvalidArgumentError, match="mesh: is needed"):
        mw.estimate(step_text, cluster="8xh100-sxm")
    with pytest.raises(mw.InvalidArgumentError, match="shardings go with a function"):
        mw.estimate(step_text, shardings=(P("x"),), mesh=8, cluster="8xh100-sxm")
    with pytest.raises(mw.InvalidArgumentError, match="shardings do not match the arguments"):
        mw.estimate(mlp_step, *mlp_arguments(), shardings=(P("x"),), mesh=8, cluster="8xh100-sxm")


def test_meshes_must_fit(step_text):
    plan = mw.plan(step_text, cluster="2x8xh100-sxm", mesh=16)
    with pytest.raises(mw.InvalidArgumentError, match="16 devices, JAX has 8; host devices can be"):
        plan.in_shardings()
    plan = mw.plan(step_text, **EIGHT)
    other = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    with pytest.raises(mw.InvalidArgumentError, match="the mesh is x=2,y=4, the plan's is x=8"):
        plan.in_shardings(other)


def test_bad_plans(tmp_path, step_text):
    with pytest.raises(mw.NotFoundError):
        mw.Plan.load(tmp_path / "none.json")
    document = json.loads(mw.plan(step_text, **EIGHT).to_json())
    document["schema"] = 99
    with pytest.raises(mw.InvalidArgumentError, match="schema"):
        mw.Plan(json.dumps(document))
    with pytest.raises(mw.InvalidArgumentError):
        mw.plan(step_text, **EIGHT).save(tmp_path / "no" / "folder.json")


def test_tables_of_the_library():
    names = {device["name"] for device in mw.devices()}
    assert "h100-sxm" in names
    assert any(row["opcode"] == "dot" and row["rule"] for row in mw.operators())
