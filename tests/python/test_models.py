"""Models from Python: named, as dictionaries, files and configurations of transformers."""

import json
import math
import re
from pathlib import Path

import pytest

import meshwright as mw

CONFIG = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "intermediate_size": 1024,
    "vocab_size": 1000,
}
ASKED = {"cluster": "8xh100-sxm", "global_batch": 16, "seq": 512}


class Config:
    """As transformers.PretrainedConfig."""

    def to_dict(self):
        return {**CONFIG, "_name_or_path": "tiny"}


@pytest.fixture(scope="module")
def plan():
    return mw.plan("gpt2", **ASKED)


def test_a_model_is_a_name_a_dictionary_an_object_or_a_path(tmp_path, plan):
    assert plan.summary["transformer"]["model"] == "gpt2"
    assert not plan.has_program and plan.program is None
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    plans = [mw.plan(model, **ASKED) for model in (CONFIG, Config(), tmp_path)]
    seconds = {p.step_seconds for p in plans}
    assert len(seconds) == 1
    assert [p.summary["transformer"]["model"] for p in plans][:2] == ["llama", "tiny"]


def test_a_plan_of_a_model_has_no_program_to_run(plan):
    asked = [plan.mesh, plan.in_shardings, plan.out_shardings, plan.verify]
    for ask in [*asked, lambda: mw.jax.shard(lambda x: x, 1.0, plan=plan)]:
        with pytest.raises(mw.InvalidArgumentError, match="a plan of the model gpt2, which has no"):
            ask()
    with pytest.raises(mw.InvalidArgumentError, match="expected a Plan, found int"):
        plan.diff(3)


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        ("gpt22", {}, mw.NotFoundError, 'neither a file nor .* nearest name is "gpt2"'),
        ("gpt22", {"pipeline": "auto"}, mw.NotFoundError, 'nearest name is "gpt2"'),
        ("gpt2", {"mesh": "8"}, mw.InvalidArgumentError, '"mesh" is for programs, but gpt2'),
        ("gpt2", {"batch": 8}, mw.InvalidArgumentError, '"batch": there is no such option'),
        ("gpt2", {"top": 0}, mw.InvalidArgumentError, "found 0, expected an integer from 1"),
        ("gpt2", {"fix": {"tp": 7}}, mw.InvalidArgumentError, "tp=7"),
        ({"model_type": "lama"}, {}, mw.Error, "lama"),
        ({"model_type": 1 + 2j}, {}, mw.Error, "model_type"),
    ],
)
def test_errors(model, options, error, message):
    with pytest.raises(error, match=message):
        mw.plan(model, **{**ASKED, **options})


def test_the_batch_is_required():
    with pytest.raises(mw.InvalidArgumentError, match='"global-batch" is required'):
        mw.plan("gpt2", cluster="8xh100-sxm")


def test_model_describes():
    told = mw.model("gpt2")
    assert "gpt2" in told and told.data["parameters"]["total"] > 1e8
    assert mw.model(CONFIG, seq=128).data["parameters"]["total"] < 1e8
    assert "llama3-8b" in {model["name"] for model in mw.models()}


def test_sweep():
    swept = mw.sweep("gpt2", "4..16", cluster="8xh100-sxm", global_batch=16, seq=512)
    assert swept.csv.count("\n") == 4 and "GPUs" in str(swept)
    assert swept.plan.num_devices == 16
    assert swept.plot["data"]
    swept = mw.sweep("gpt2", "seq=256..512", cluster="8xh100-sxm", global_batch=16)
    assert [row["sequence"] for row in swept.plan.as_dict()["transformer"]["sweep"]] == [256, 512]


def test_groups_of_nodes():
    plan = mw.plan("gpt2", **{**ASKED, "cluster": "4xh100-sxm+4xa100-80g"}, tokens="1B")
    assert plan.summary["transformer"]["over_groups"]["steps"] > 0


def test_a_published_search_makes_no_plan():
    with pytest.raises(mw.UnsupportedError, match="no plan"):
        mw.plan("gpt2XL", cluster="1x4xa100-40g+1x4xa10g", cost_model="fasop")


def test_what_a_plan_says(tmp_path, plan):
    assert "gpt2" in plan.explain()
    assert plan.why_not({"tp": 2}).data["verdict"] in ("worse", "equal")
    other = mw.plan("gpt2", **ASKED, fix="tp=2")
    assert not plan.diff(other).data["identical"]
    assert plan.diff(plan).data["identical"]
    with pytest.raises(mw.InvalidArgumentError, match="say what"):
        plan.why_not()
    html = plan._repr_html_()
    assert "gpt2" in html and "<table>" in html and "peak memory" in html
    assert 0 < plan.time_error < 1 and f"± {math.ceil(100 * plan.time_error)} %" in html
    assert 0 < plan.memory_error < 1


def test_export(tmp_path, plan):
    assert plan.launch["for"] == "" and "megatron" in plan.launch["targets"]
    assert plan.launch["command"].startswith("meshwright export plan.json --to megatron")
    folder = plan.export("megatron", tmp_path / "launch", data_path="mock", steps=100)
    assert (folder / "launch.sh").stat().st_mode & 0o111
    with pytest.raises(mw.InvalidArgumentError, match="holds files already"):
        plan.export("megatron", folder)
    with pytest.raises(mw.InvalidArgumentError, match="did you mean|nearest"):
        plan.export("megatro", tmp_path / "other")
    with pytest.raises(mw.InvalidArgumentError, match="is not for"):
        plan.export("megatron", tmp_path / "other", image="x", learning_rate=1e-4, stages="x")


def test_report(tmp_path, plan):
    try:
        plan.report(tmp_path / "report.html", csv=tmp_path / "tables")
    except mw.UnsupportedError:  # a library without the page
        plan.report(csv=tmp_path / "tables")
    else:
        assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert list((tmp_path / "tables").glob("*.csv"))
    with pytest.raises(mw.InvalidArgumentError, match="of a program"):
        plan.report(dot=tmp_path / "graph.dot")


def test_what_the_documentation_shows_runs(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "python.md"
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(block, names)  # noqa: S102
