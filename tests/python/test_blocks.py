"""Blocks, each compiled by itself under every strategy: nothing is communicated inside.

A block's program has its forward and backward members. What a strategy leaves partial (one of y, dx
and dw, whatever x w is cut by) is combined outside of the block, but a program must have whole
results: so it has an all-reduce for that, and these bytes are all that may be communicated.
"""

import collections
import concurrent.futures
import json

import jax
import models
import numpy as np
import pytest
from meshwright.verify import collectives as compiled_collectives

import meshwright as mw
from meshwright import _measuring


def analyse(folder, model, mesh, steps=1, **sizes):
    """The blocks of a model's training step, or several, as JSON, and their programs."""
    fn, arguments = model(np.random.default_rng(0), **sizes)
    if steps > 1:
        fn, arguments = models.steps(fn, arguments, steps)
    program = jax.jit(fn).lower(*arguments).as_text(dialect="hlo")
    devices = np.prod([int(size) for size in mesh.split("x")])
    folder.mkdir(exist_ok=True)
    blocks = mw.blocks(program, mesh=mesh, cluster=f"{devices}xh100-sxm", emit=folder / "blocks")
    return blocks.data, json.loads((folder / "blocks" / "index.json").read_text())


def communicated(row, folder):
    """Bytes of the collectives in the compiled program, by kind and axis: what is combined along two
    axes may be so at once, or along one after the other."""
    program = _measuring.compile_job(row["job"], (folder / "blocks" / row["proto"]).read_bytes())
    mesh = dict(map(tuple, row["job"]["mesh"]))
    found = collections.Counter()
    for move in compiled_collectives.compiled(program.function.as_text(), mesh, "the CPU"):
        for axis in move.axes:
            found[move.kind, axis] += move.total_bytes
    return found


@pytest.mark.parametrize(
    ("model", "mesh", "sizes"),
    [
        (models.mlp, "2x2", {"layers": 2}),
        (models.gpt, "4", {}),
        (models.llama, "4", {"layers": 1}),
        (models.gpt, "4", {"parts": 2}),
        (models.gpt, "4", {"fused": "wqkv"}),
        (models.gpt, "4", {"fused": "whqkv"}),
        (models.moe, "8", {}),
        (models.bert, "4", {"layers": 1}),
        (models.t5, "4", {"layers": 1}),
        (models.wide_resnet, "4", {}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_blocks_do_not_communicate(model, mesh, sizes, tmp_path):
    _, rows = analyse(tmp_path, model, mesh, **sizes)
    assert rows
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        all_found = list(pool.map(lambda row: communicated(row, tmp_path), rows))
    for row, found in zip(rows, all_found):
        outside = collections.Counter()
        for partial in row["partial"]:
            for axis in partial["axes"]:
                outside["all-reduce", axis] += partial["bytes"]
        # XLA combines a value once that leaves in two forms.
        assert found.keys() == outside.keys() and found <= outside, (
            f"{row['led_by']}: {row['strategy']}"
        )


@pytest.mark.parametrize(
    ("model", "attentions", "feeds"),
    [(models.gpt, 1, 1), (models.bert, 2, 2), (models.llama, 2, 2), (models.t5, 2 + 2 * 2, 2 + 2)],
)
def test_attention_and_feed_forward_parts_are_two_blocks_each(model, attentions, feeds, tmp_path):
    """Attention begins with queries, keys and values, and ends with the projection; and so, up and
    down, does what follows. In a decoder that attends to an encoder there are two attentions."""
    blocks, _ = analyse(tmp_path, model, "2")
    head = 1
    assert len(blocks["blocks"]) <= 2 * attentions + 2 * feeds + head


@pytest.mark.parametrize("model", [models.gpt, models.llama, models.scan])
def test_parts_of_the_batch_are_cut_as_the_whole(model, tmp_path):
    """A batch that the program takes apart, to add up gradients in a loop, changes no block; nor
    does a loop over steps around it."""
    whole, _ = analyse(tmp_path / "whole", model, "2")
    parts, _ = analyse(tmp_path / "parts", model, "2", parts=4)
    steps, _ = analyse(tmp_path / "steps", model, "2", parts=4, steps=2)

    def shape(blocks):
        return [(len(b["contractions"]), len(b["strategies"])) for b in blocks["blocks"]]

    for one in parts, steps:
        assert shape(one) == shape(whole)
        assert len(one["distinct_segments"]) == len(whole["distinct_segments"])


def test_queries_keys_and_values_of_one_weight(tmp_path):
    """With those of each head side by side a cut of the weight is one of the heads. One behind the
    other they are cut apart from attention, and a note says what would help."""
    beside, _ = analyse(tmp_path / "beside", models.gpt, "2", fused="whqkv")
    assert len(beside["blocks"]) == 4 + 1
    assert "n=x" in beside["blocks"][0]["strategies"]
    assert beside["notes"] == []
    behind, _ = analyse(tmp_path / "behind", models.gpt, "2", fused="wqkv")
    assert len(behind["blocks"]) == 5 + 1
    (note,) = behind["notes"]
    assert "3x4x8" in note and "4x3x8" in note
