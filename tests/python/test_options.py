"""Everything that the command line can be asked, Python can be asked by the same name."""

import inspect

import pytest
from meshwright.document import Plan

import meshwright as mw
from meshwright import _library, options

TABLES = _library.options()

# Of each command: the functions that take its options by name, and the classes of their others.
TAKEN = {
    "plan": ([mw.plan], [options.PlanOptions]),
    "estimate": ([mw.estimate], [options.EstimateOptions]),
    "explain": ([Plan.explain, Plan.why_not], []),
    "export": ([Plan.export], [options.ExportOptions]),
    "model": ([mw.model], []),
    "simulate": ([Plan.simulate], []),
}


def python_name(option):
    return {"for": "for_"}.get(option, option.replace("-", "_"))


def names(functions, classes):
    of_functions = {name for f in functions for name in inspect.signature(f).parameters}
    return of_functions.union(*(c.__annotations__ for c in classes))


@pytest.mark.parametrize("command", TABLES)
def test_every_option_is_there_under_its_name(command):
    taken = names(*TAKEN[command])
    missing = [o["name"] for o in TABLES[command] if python_name(o["name"]) not in taken]
    assert missing == []


@pytest.mark.parametrize(
    ("command", "classes"),
    [
        ("plan", [options.PlanOptions, options.SweepOptions]),
        ("estimate", [options.EstimateOptions]),
        ("export", [options.ExportOptions]),
    ],
)
def test_no_other_names_are_declared(command, classes):
    known = {python_name(option["name"]) for option in TABLES[command]}
    for cls in classes:
        assert set(cls.__annotations__) <= known


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
