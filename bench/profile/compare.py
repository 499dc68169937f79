"""A plan from measured segments beside hand-written shardings, random ones and a predicted plan.

    python bench/profile/compare.py ../shared/measured gpt_2048x4 --mesh 4 --out build/compare

On the GPUs of this host. Takes a training step of `jax_models.py`, profiles it within --budget,
plans it with and without what was measured, and runs, each for some steps:

  by hand   the shardings that `measure_jax.py` in the given folder defines
  random    --random plans: every kind of weight, and the batch, is sharded at random, and XLA does
            the rest (`meshwright estimate --rest xla`)
  planned   `meshwright plan`
  profiled  `meshwright plan --db`

Prints a row for each, predicted and measured; --out keeps the program, the database, the plans and
the rows (`rows.jsonl`), so that --parts can do some of it again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

PARTS = ("profile", "planned", "profiled", "hand", "random")
WARM_UP = 3


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure_module(folder: Path) -> ModuleType:
    sys.argv = sys.argv[:1]
    return load(folder / "measure_jax.py")


def emit(folder: Path, config_name: str, path: Path) -> None:
    """Writes the training step as StableHLO. In a process of its own: JAX takes GPUs' memory."""
    import jax
    import jax.numpy as jnp

    models = measure_module(folder).M
    config = models.CONFIGS[config_name]
    shapes = jax.eval_shape(lambda key: models.init(config, key), jax.random.PRNGKey(0))
    token = jax.ShapeDtypeStruct((config.batch, config.seq), jnp.int32)
    state = (shapes, shapes, shapes, jax.ShapeDtypeStruct((), jnp.float32))
    lowered = jax.jit(models.make_step(config), donate_argnums=0).lower(state, token, token)
    # Names of arguments stand in its locations.
    path.write_text(lowered.as_text(debug_info=True))


def random_fixes(parameters: list[dict[str, Any]], axes: dict[str, int], seed: int) -> list[str]:
    """A sharding for every kind of weight and for the data; layers are sharded alike."""
    generator = random.Random(seed)
    specs: dict[str, str] = {}
    for row in parameters:
        kind = re.sub(r"layer\d+", "layer*", row["name"])
        kind = re.sub(r"^state\[\d+\]", "state[*]", kind)
        if kind in specs or len(row["shape"]) == 0:
            continue
        data = row["dtype"].startswith("s")
        dims: list[list[str]] = [[] for _ in row["shape"]]
        for axis, size in axes.items():
            # Of the data the batch alone.
            options = [None, 0] if data else [None, *range(len(dims))]
            choice = generator.choice(options)
            if choice is None:
                continue
            shards = size
            for other in dims[choice]:
                shards *= axes[other]
            if row["shape"][choice] % shards == 0:
                dims[choice].append(axis)
        entries = ["_" if not d else d[0] if len(d) == 1 else f"({','.join(d)})" for d in dims]
        specs[kind] = f"[{','.join(entries)}]"
    return [f"{kind}={spec}" for kind, spec in specs.items()]


def run_plan(program_path: Path, plan_path: Path, vocab: int, steps: int) -> dict[str, Any]:
    import jax
    from meshwright._lowering import numpy_dtype, planned_function
    from meshwright._measuring import array
    from meshwright.document import Plan
    from meshwright.program import Program

    from meshwright import _library
    from meshwright import jax as mw_jax

    program = Program(program_path.read_bytes(), program_path.name)
    plan = Plan.load(plan_path, program)
    mesh = mw_jax.make_mesh(plan)
    shardings = mw_jax.parameter_shardings(plan, mesh)
    rows = plan.parameters
    donated = [row["donated"] for row in _library.read_program(program.contents)["parameters"]]
    structs = [jax.ShapeDtypeStruct(row["shape"], numpy_dtype(row["dtype"])) for row in rows]
    started = time.perf_counter()
    step = (
        jax.jit(
            planned_function(program, plan),
            in_shardings=tuple(shardings),
            out_shardings=mw_jax.output_shardings(plan, mesh),
            donate_argnums=tuple(i for i, gone in enumerate(donated) if gone),
            keep_unused=True,
        )
        .lower(*structs)
        .compile()
    )
    compile_seconds = time.perf_counter() - started
    positive = [row["category"] == "optimizer_state" for row in rows]
    arguments = [
        array({**row, "below": vocab, "positive": sign}, sharding)
        for row, sign, sharding in zip(rows, positive, shardings)
    ]
    index = {row["name"]: i for i, row in enumerate(rows)}
    replaced = [
        index.get(op["strategy"].removeprefix("as ")) for op in plan.ops if op["opcode"] == "output"
    ]
    times = []
    for i in range(steps + WARM_UP):
        begin = time.perf_counter()
        results = step(*arguments)
        jax.block_until_ready(results)
        if i >= WARM_UP:
            times.append(time.perf_counter() - begin)
        for output, parameter in enumerate(replaced):
            if parameter is not None:
                arguments[parameter] = results[output]
    return {
        "predicted_s": plan.step_seconds,
        "step_s": statistics.median(times),
        "step_min": min(times),
        "step_max": max(times),
        "compile_s": compile_seconds,
    }


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| run | predicted | measured | error |", "| --- | --- | --- | --- |"]
    for row in sorted(rows, key=lambda row: row.get("step_s", float("inf"))):
        if "step_s" not in row:
            lines.append(f"| {row['run']} | | failed: {row['error'][:60]} | |")
            continue
        predicted = row.get("predicted_s")
        shown = f"{1e3 * predicted:.1f} ms" if predicted else ""
        error = f"{100 * (predicted / row['step_s'] - 1):+.1f} %" if predicted else ""
        lines.append(f"| {row['run']} | {shown} | {1e3 * row['step_s']:.2f} ms | {error} |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="with measure_jax.py")
    parser.add_argument("config", help="a name in jax_models.CONFIGS")
    parser.add_argument("--mesh", default="4")
    parser.add_argument("--cluster", help="default: what is here")
    parser.add_argument("--out", type=Path, required=True, help="folder for what is made")
    parser.add_argument("--meshwright", default="build/release/meshwright")
    parser.add_argument("--devices", default="gpu")
    parser.add_argument("--budget", default="10m", help="of the profile")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--random", type=int, default=20)
    # Devices lower their clocks within the first second of full load: the median should come after.
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--emit", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.emit:
        emit(options.folder, options.config, options.emit)
        return
    parts = options.parts.split(",")
    options.out.mkdir(parents=True, exist_ok=True)
    program = options.out / f"{options.config}.mlir"
    database = options.out / "profiles.sqlite"
    if not program.exists():
        command = [sys.executable, __file__, str(options.folder), options.config]
        command += ["--out", str(options.out), "--emit", str(program)]
        subprocess.run(command, check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})

    environment = {**os.environ, "MESHWRIGHT_PYTHON": sys.executable}

    def meshwright(verb: str, *more: str) -> None:
        command = [options.meshwright, verb, str(program), "--mesh", options.mesh, *more]
        print("$", " ".join(command), flush=True)
        subprocess.run(command, check=True, env=environment)

    if "profile" in parts:
        meshwright(
            "profile", "--db", str(database), "--devices", options.devices, "--budget",
            options.budget, *(["--cluster", options.cluster] if options.cluster else []),
        )  # fmt: skip
    if parts == ["profile"]:
        return

    import jax

    from meshwright import _library, clusters

    measure = measure_module(options.folder)
    config = measure.M.CONFIGS[options.config]
    devices = jax.devices()
    cluster = options.cluster or clusters.guess(devices)
    print(f"{len(devices)} x {devices[0].device_kind}, JAX {jax.__version__}", flush=True)
    runs: dict[str, Callable[[], dict[str, Any]]] = {}

    def planned(name: str, verb: str, *more: str) -> Callable[[], dict[str, Any]]:
        def run() -> dict[str, Any]:
            path = options.out / f"{options.config}.{name.replace(' ', '_')}.json"
            meshwright(verb, "--cluster", cluster, "-o", str(path), *more)
            return run_plan(program, path, config.vocab, options.steps)

        return run

    if "planned" in parts:
        runs["planned"] = planned("planned", "plan")
    if "profiled" in parts:
        runs["profiled"] = planned("profiled", "plan", "--db", str(database))
    if "hand" in parts:
        for name, sharding in measure.strategies(len(devices)).items():
            if sharding.get("expert") and config.kind != "moe":
                continue
            runs[name] = lambda name=name, sharding=sharding: measure.run(
                config, name, sharding, devices, options.steps
            )[0]
    if "random" in parts:
        parameters = _library.read_program(program.read_bytes())["parameters"]
        sizes = [int(size) for size in options.mesh.split("x")]
        axes = dict(zip("xyz", sizes))
        for seed in range(options.random):
            fixes = options.out / f"random_{seed}.txt"
            fixes.write_text("\n".join(random_fixes(parameters, axes, seed)) + "\n")
            name = f"random {seed}"
            runs[name] = planned(name, "estimate", "--fix-file", str(fixes))

    rows = []
    for name, run in runs.items():
        try:
            row = {"run": name, **run()}
        except Exception as error:  # one that does not fit must not end the comparison
            row = {"run": name, "error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(row, default=str), flush=True)
        rows.append(row)
        with (options.out / "rows.jsonl").open("a") as file:
            file.write(json.dumps({"config": options.config, **row}, default=str) + "\n")
    print(f"\n{options.config}, mesh {options.mesh}\n\n{table(rows)}")


if __name__ == "__main__":
    main()
