"""Meshwright's plan beside hand-written shardings, on the accelerators of this host.

    python bench/jax/strategies.py ../shared/measured gpt_2048x4,llama_4096x3,moe_1280x4

Runs the training steps of `jax_models.py` under every sharding that `measure_jax.py` in the given
folder defines, and under the plan that Meshwright chooses for the devices at hand, one after the
other in one process. Prints one JSON line a run and a table of medians at the end.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

import meshwright as mw

WARM_UP = 3


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planned(models: ModuleType, config: Any, steps: int, devices: int) -> dict[str, Any]:
    """The plan for `devices`, its prediction, and measured steps under it."""
    shapes = jax.eval_shape(lambda key: models.init(config, key), jax.random.PRNGKey(0))
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    token = jax.ShapeDtypeStruct((config.batch, config.seq), jnp.int32)
    started = time.time()
    step = mw.jax.shard(
        models.make_step(config),
        (shapes, shapes, shapes, scalar),
        token,
        token,
        devices=jax.devices()[:devices],
        cluster=mw.clusters.guess(jax.devices()[:devices]),
        donate_argnums=0,
    )
    compiled_after = time.time() - started
    zeros = lambda: jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)  # noqa: E731
    tokens = jax.random.randint(
        jax.random.PRNGKey(1), (config.batch, config.seq), 0, config.vocab
    )
    start = (models.init(config, jax.random.PRNGKey(0)), zeros(), zeros(), jnp.float32(0))
    state, tokens, labels = step.place(start, tokens, tokens)
    del start
    times, losses = [], []
    for i in range(steps + WARM_UP):
        begin = time.perf_counter()
        state, loss = step(state, tokens, labels)
        jax.block_until_ready((state, loss))
        if i >= WARM_UP:
            times.append(time.perf_counter() - begin)
        losses.append(float(loss))
    return {
        "config": config.name,
        "strategy": "meshwright",
        "mesh": step.plan.mesh_shape,
        "compile_s": compiled_after,
        "predicted_s": step.plan.step_seconds,
        "step_s": statistics.median(times),
        "step_min": min(times),
        "step_max": max(times),
        "loss": losses[:4],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="with measure_jax.py")
    parser.add_argument("configs", help="names in jax_models.CONFIGS, separated by commas")
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    sys.argv = sys.argv[:1]
    measure = load(arguments.folder / "measure_jax.py")
    models = measure.M
    devices = jax.devices()
    print(f"{len(devices)} x {devices[0].device_kind}, JAX {jax.__version__}", flush=True)

    rows: list[dict[str, Any]] = []
    for name in arguments.configs.split(","):
        config = models.CONFIGS[name]
        runs = {"meshwright": lambda: planned(models, config, arguments.steps, len(devices))}
        for strategy, sharding in measure.strategies(len(devices)).items():
            if sharding.get("expert") and config.kind != "moe":
                continue
            runs[strategy] = lambda strategy=strategy, sharding=sharding: measure.run(
                config, strategy, sharding, devices, arguments.steps
            )[0]
        for strategy, run in runs.items():
            try:
                row = run()
            except Exception as error:  # one that does not fit must not end the comparison
                row = {"config": name, "strategy": strategy, "error": str(error)[:300]}
            print(json.dumps(row, default=str), flush=True)
            rows.append(row)

    for name in arguments.configs.split(","):
        print(f"\n{name}")
        measured = [row for row in rows if row["config"] == name and "step_s" in row]
        for row in sorted(measured, key=lambda row: row["step_s"]):
            print(f"  {row['strategy']:12} {1e3 * row['step_s']:8.2f} ms")


if __name__ == "__main__":
    main()
