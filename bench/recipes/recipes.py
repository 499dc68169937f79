#!/usr/bin/env python3
"""Published recipes beside what is planned: the published step, the predicted step of the published
degrees, and the plan that is chosen, with what it saves by part where it is more than 5 % faster.

    python bench/recipes/recipes.py [--meshwright build/release/meshwright] [--only NAME ...]

A table in Markdown. What a publication does not say of its degrees is left to the search; `facts`
says whether all that decides the step is public.
"""

import argparse
import dataclasses
import json
import subprocess
import tempfile
from pathlib import Path

# An H800 is an H100 of 400 GB/s over NVLink, both directions together.
H800 = """device: h100-sxm
nodes: 256
intra_node: {bandwidth: 200GB/s, latency: 3us}
"""
WORTH_A_REASON = 0.05  # of the published step
# What plans may choose and no published run supports (docs/limits.md).
UNMEASURED = {
    "tp2": lambda c: c["tp2"] > 1,
    "keys by another way than a ring": lambda c: c["cp"] > 1 and c["context"] != "ring",
    "offloading": lambda c: c["offload_optimizer"] or c["offload_activations"],
    "zero-bubble": lambda c: c["schedule"] == "zero-bubble",
    "etp": lambda c: c["etp"] > 1,
}


@dataclasses.dataclass
class Recipe:
    name: str
    model: str
    cluster: str  # or the text of a cluster's file
    batch: int
    sequence: int
    fixes: str  # what is published
    source: str
    facts: str  # "" where all that decides the step is public, else what is not
    seconds: float = 0  # of a step
    tflops: float = 0  # of a GPU, without what is recomputed, in place of seconds
    options: tuple[str, ...] = ()


RECIPES = [
    Recipe(
        "Llama 3.1 405B, 16,384 H100",
        "llama3.1-405b",
        "2048x8xh100-sxm",
        2048,
        8192,
        "tp=8,cp=1,pp=16,dp=128,recompute=none",
        "arXiv:2407.21783, table 4",
        "virtual stages",
        tflops=400,
    ),
    Recipe(
        "DeepSeek-V3, 2,048 H800",
        "deepseek-v3",
        H800,
        15360,
        4096,
        "tp=1,cp=1,pp=16,ep=64,dp=128,zero=1",
        "arXiv:2412.19437, sections 3.2 and 4.2: 180,000 GPU hours for 10^12 tokens",
        "micro-batch; DualPipe, which hides dispatch, is no schedule here",
        seconds=180e3 * 3600 / 1e12 * 15360 * 4096 / 2048,
        options=("--dtype", "fp8"),
    ),
    Recipe(
        "Nemotron-4 340B, 6,144 H100",
        "nemotron-4-340b",
        "768x8xh100-sxm",
        2304,
        4096,
        "tp=8,cp=1,pp=12,dp=64,schedule=interleaved",
        "arXiv:2406.11704, table 2",
        "micro-batch, virtual stages",
        seconds=8.0,
    ),
    Recipe(
        "Mixtral 8x22B, 128 H100",
        "mixtral-8x22b",
        "16x8xh100-sxm",
        256,
        4096,
        "tp=2,cp=1,pp=8,ep=8,etp=1,dp=8,mbs=1,sp=on,zero=1,schedule=1f1b",
        "yanring/Megatron-MoE-ModelZoo, runtime.conf and run_mixtral_8x22B.sh, dropless",
        "",
        tflops=455,
    ),
    Recipe(
        "Qwen3 235B, 256 H100",
        "qwen3-235b-a22b",
        "32x8xh100-sxm",
        2048,
        4096,
        "tp=2,cp=1,pp=8,vp=4,ep=32,dp=16,mbs=1,sp=on,schedule=interleaved",
        "Megatron-Bridge, performance summary 25.11",
        "",
        seconds=2048 * 4096 / (1575 * 256),
        options=("--dtype", "fp8", "--framework", "nemo", "--release", "25.11"),
    ),
    Recipe(
        "GPT-3 175B, 1,024 A100",
        "gpt3-175b",
        "128x8xa100-80g",
        1536,
        2048,
        "tp=8,cp=1,sp=off,zero=0,recompute=full,recompute_layers=0,recompute_stages=0",
        "arXiv:2104.04473, section 5.1: 140 TFLOPS, a quarter of them recomputed",
        "stages, micro-batch",
        tflops=140 * 3 / 4,
        options=("--dtype", "fp16", "--release", "21"),
    ),
    Recipe(
        "BLOOM 176B, 384 A100",
        "bloom-176b",
        "48x8xa100-80g",
        2048,
        2048,
        "tp=4,cp=1,pp=12,dp=8,mbs=2,zero=1,sp=off,schedule=1f1b,"
        "recompute=full,recompute_layers=0,recompute_stages=0",
        "BigScience, chronicles of 2022-02-28",
        "",
        seconds=104.5,
        options=("--release", "21"),
    ),
]


def plan(meshwright: str, recipe: Recipe, fixed: list[str]) -> dict:
    """The plan's document; where degrees that were run do not fit, as if memory had no end."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = recipe.cluster
        if "\n" in cluster:
            file = Path(folder, "cluster.yaml")
            file.write_text(cluster)
            cluster = str(file)
        command = [meshwright, "plan", recipe.model, "--cluster", cluster, "--json", "--top", "1"]
        command += ["--global-batch", str(recipe.batch), "--seq", str(recipe.sequence)]
        for memory in ("device", "unlimited") if fixed else ("device",):
            words = [*command, *recipe.options, *fixed, "--memory", memory]
            done = subprocess.run(words, check=False, capture_output=True, text=True)
            if done.returncode == 0:
                return json.loads(done.stdout)
    raise SystemExit(f"{recipe.name}: {done.stderr.strip() or done.stdout.strip()}")


def degrees(document: dict) -> str:
    c = document["transformer"]["configuration"]
    keys = {"tp": "tp", "cp": "cp", "pp": "pp", "vp": "virtual_stages", "ep": "ep", "etp": "etp"}
    keys |= {"dp": "dp", "mbs": "micro_batch"}
    words = [f"{key}={c[name]}" for key, name in keys.items() if c[name] > 1]
    if c["recompute"] != "none":
        words.append(c["recompute"])
    return " ".join([*words, f"zero={c['zero']}"])


def reason(published: dict, chosen: dict) -> str:
    """What the chosen plan saves of the published degrees' step, by part, the most first."""
    whole = published["step_seconds"]
    if chosen["step_seconds"] > (1 - WORTH_A_REASON) * whole:
        return "-"
    before, after = (d["transformer"]["seconds"] for d in (published, chosen))
    shares = {part: (after[part] - before[part]) / whole for part in before}
    parts = sorted((s, p) for p, s in shares.items() if abs(s) >= 0.01)
    text = ", ".join(f"{p.split('_')[0]} {100 * s:+.0f} %" for s, p in parts)
    c = chosen["transformer"]["configuration"]
    unmeasured = [name for name, has in UNMEASURED.items() if has(c)]
    return text + (f"; not measured: {', '.join(unmeasured)}" if unmeasured else "")


def row(meshwright: str, recipe: Recipe) -> str:
    published = plan(meshwright, recipe, ["--fix", recipe.fixes, "--for", "none"])
    chosen = plan(meshwright, recipe, [])
    gpus = sum(part["nodes"] * part["devices_per_node"] for part in published["cluster"]["parts"])
    step = recipe.seconds or published["transformer"]["model_flops"] / (recipe.tflops * 1e12 * gpus)
    predicted, best = published["step_seconds"], chosen["step_seconds"]
    cells = [
        recipe.name,
        f"{step:.1f} s",
        degrees(published) + (", over memory" if published["budget_bytes"] is None else ""),
        f"{predicted:.1f} s ({100 * (predicted / step - 1):+.0f} %)",
        degrees(chosen),
        f"{best:.1f} s ({100 * (best / predicted - 1):+.0f} %)",
        reason(published, chosen),
        recipe.facts or "all",
        recipe.source,
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--meshwright", default="build/release/meshwright")
    parser.add_argument("--only", nargs="*", help="recipes whose names contain one of these")
    asked = parser.parse_args()
    head = [
        "recipe",
        "published",
        "degrees",
        "predicted",
        "chosen",
        "step",
        "because",
        "not public",
    ]
    print("| " + " | ".join([*head, "source"]) + " |")
    print("|" + " --- |" * (len(head) + 1))
    for recipe in RECIPES:
        if not asked.only or any(word in recipe.name for word in asked.only):
            print(row(asked.meshwright, recipe), flush=True)


if __name__ == "__main__":
    main()
