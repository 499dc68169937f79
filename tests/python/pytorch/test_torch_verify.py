"""Plans that do not replicate everything, run on 8 devices, and the same step on one."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import modules

import meshwright as mw


def tight_plan(case, mesh, share):
    """A plan with a share of the memory that the fastest takes."""
    given = {"loss": case.loss, "targets": case.targets, "optimizer": case.adamw()}
    given |= {"cluster": "8xh100-sxm", "mesh": mesh}
    fastest = mw.torch.plan(case.module, case.inputs, **given)
    memory = int(fastest.peak_bytes * share)
    return mw.torch.plan(case.module, case.inputs, **given, memory=memory)


@pytest.mark.parametrize("make", modules.ALL, ids=modules.NAMES)
def test_a_step_is_that_of_one_device(make):
    torch.manual_seed(0)
    case = make()
    plan = tight_plan(case, (2, 4), 0.5)
    assert any(any(row["spec"]) for row in plan.parameters)
    report = plan.verify(simulate=True)
    assert report.passed, str(report)
    # A collective over several axes may be one over each.
    for kind in ("all-gather", "all-reduce", "reduce-scatter"):
        rows = [row for row in plan.collectives if row["kind"] == kind]
        fewest = sum(row["count"] for row in rows)
        most = sum(row["count"] * len(row["axes"]) for row in rows)
        assert fewest <= report.ran.get(kind, 0) <= most, str(report)


def test_processes_give_what_simulated_devices_give():
    torch.manual_seed(0)
    plan = tight_plan(modules.decoder(), (2, 4), 0.5)
    simulated, report = plan.verify(simulate=True), plan.verify()
    assert report.passed and simulated.passed, str(report)
    assert report.ran == simulated.ran
    assert "8 processes" in str(report) and "8 simulated devices" in str(simulated)


def test_heads_of_queries_are_sharded_where_one_of_keys_is_theirs():
    torch.manual_seed(0)
    case = modules.multi_query()
    given = {"loss": case.loss, "targets": case.targets, "mesh": 8, "cluster": "8xh100-sxm"}
    fix = ["q.weight=[x,_]", "out.weight=[_,x]", "attention.1=[_,x,_]"]
    plan = mw.torch.plan(case.module, case.inputs, **given, fix=fix)
    calls = [row for row in plan.ops if "attention" in row.get("op_name", "")]
    assert [row["strategy"] for row in calls] == ["h=x", "h=x"]
    report = plan.verify(simulate=True)
    assert report.passed and not report.replicated, str(report)


def test_dropout_draws_what_one_device_draws():
    torch.manual_seed(0)
    case = modules.mlp(dropout=0.5)
    report = tight_plan(case, (4, 2), 0.4).verify(simulate=True)
    assert report.passed, str(report)


def test_a_wrong_value_is_found():
    torch.manual_seed(0)
    plan = tight_plan(modules.mlp(), (8,), 0.5)
    report = plan.verify(simulate=True)
    assert report.passed and "ok:" in str(report)
    report.errors["loss"] = float("nan")
    assert not report.passed and "FAILED" in str(report) and report.worst[0] == "loss"
