"""Plans that do not replicate everything, run by 8 processes, and the same step in one."""

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


# Where DTensor moves more than the plan does. All-to-all is all-gather with gloo.
MORE = {"transformer": 4, "cnn": 1, "mlp": 8}


@pytest.mark.parametrize("make", modules.ALL, ids=modules.NAMES)
def test_a_step_is_that_of_one_process(make):
    torch.manual_seed(0)
    case = make()
    plan = tight_plan(case, (2, 4), 0.5)
    assert any(any(row["spec"]) for row in plan.parameters)
    report = plan.verify()
    assert report.passed, str(report)
    # A collective over several axes may be one over each.
    for kind in ("all-reduce", "reduce-scatter"):
        rows = [row for row in plan.collectives if row["kind"] == kind]
        fewest = sum(row["count"] for row in rows)
        most = sum(row["count"] * len(row["axes"]) for row in rows)
        assert fewest <= report.ran.get(kind, 0) <= most, str(report)
    more = sum(report.ran.values()) - sum(report.planned.values())
    assert more <= MORE.get(make.__name__, 0), str(report)


def test_dropout_draws_what_one_process_draws():
    torch.manual_seed(0)
    case = modules.mlp(dropout=0.5)
    report = tight_plan(case, (4, 2), 0.4).verify()
    assert report.passed, str(report)


def test_a_wrong_value_is_found():
    torch.manual_seed(0)
    plan = tight_plan(modules.mlp(), (8,), 0.5)
    report = plan.verify()
    assert report.passed and "ok:" in str(report)
    report.errors["loss"] = float("nan")
    assert not report.passed and "FAILED" in str(report) and report.worst[0] == "loss"
