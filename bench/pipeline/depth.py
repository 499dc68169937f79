"""How planning a pipeline grows with the depth of the network.

Lowers GPT training steps of several depths (nothing is run) and plans each on the same cluster:

    python bench/pipeline/depth.py --meshwright build/release/meshwright
    python bench/pipeline/depth.py --layers 24 48 96 192 --hidden 12288 --heads 96 --cluster 128x8xh100-sxm

Prints seconds from the HLO file to the plan, and how much longer than for the first depth, for how much deeper a network.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

# Run in a process of its own for each depth: the example takes its sizes from its command line.
LOWER = """
import sys
sys.path.insert(0, {examples!r})
sys.argv = ["gpt.py"] + {sizes!r}
import jax, gpt
from transformer import adam_state, adam_step, tokens
state = jax.eval_shape(lambda: adam_state(gpt.init(jax.random.key(0))))
batch = jax.eval_shape(lambda: tokens({batch}, {length}, {vocab}))
lowered = jax.jit(adam_step(gpt.loss), donate_argnums=0).lower(state, *batch)
open({path!r}, "w").write(lowered.as_text(dialect="hlo", debug_info=True))
"""


def lower(options, layers, path):
    sizes = [
        "--layers",
        layers,
        "--hidden",
        options.hidden,
        "--heads",
        options.heads,
        "--vocab",
        options.vocab,
        "--length",
        options.length,
        "--batch",
        options.batch,
    ]
    program = LOWER.format(
        examples=str(EXAMPLES),
        sizes=[str(size) for size in sizes],
        batch=options.batch,
        length=options.length,
        vocab=options.vocab,
        path=str(path),
    )
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--meshwright", default="build/release/meshwright")
    parser.add_argument("--cluster", default="128x8xh100-sxm")
    parser.add_argument("--layers", type=int, nargs="+", default=[24, 48, 96, 192])
    parser.add_argument("--hidden", type=int, default=12288)
    parser.add_argument("--heads", type=int, default=96)
    parser.add_argument("--vocab", type=int, default=51200)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--deadline", default="600s")
    options = parser.parse_args()
    first = None
    print(f"{'layers':>6} {'seconds':>8} {'deeper':>7} {'longer':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for layers in options.layers:
            path = pathlib.Path(folder) / f"gpt{layers}.hlo.txt"
            lower(options, layers, path)
            start = time.perf_counter()
            subprocess.run(
                [
                    options.meshwright,
                    "plan",
                    path,
                    "--cluster",
                    options.cluster,
                    "--pipeline",
                    "auto",
                    "--deadline",
                    options.deadline,
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            seconds = time.perf_counter() - start
            first = first or (layers, seconds)
            print(
                f"{layers:6} {seconds:8.2f} {layers / first[0]:6.1f}x {seconds / first[1]:6.2f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
