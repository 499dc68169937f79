"""Plans a GPT as a pipeline, trains it on its stages' devices, and restarts it from a checkpoint.

python examples/pipeline.py                               # on host devices or the GPUs here
python examples/pipeline.py --pipeline 4 --schedule gpipe --micro-batches 8
examples/pipeline_hosts.sh                                # in several processes
"""

import argparse
import os
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--cluster", default="4xh100-sxm", help="what to plan for")
parser.add_argument("--pipeline", type=int, default=2, help="stages, or groups of stages")
parser.add_argument("--schedule", default="1f1b", help="1f1b, gpipe, interleaved or zb-h1")
parser.add_argument("--micro-batches", type=int, default=4)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--hidden", type=int, default=64)
parser.add_argument("--host-devices", type=int, default=4, help="where there is no GPU")
parser.add_argument(
    "--checkpoint", help="a folder to make, with the state at the end (needs Orbax)"
)
parser.add_argument("--coordinator", help="host:port of process 0; Slurm's jobs need none of these")
parser.add_argument("--processes", type=int, default=1)
parser.add_argument("--process", type=int)
arguments = parser.parse_args()
flag = f"--xla_force_host_platform_device_count={arguments.host_devices}"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()

import meshwright as mw

if arguments.processes > 1:
    mw.jax.initialize(arguments.coordinator, arguments.processes, arguments.process)

import jax
import jax.numpy as jnp
import numpy as np


def init(generator, layers, hidden, vocab=256):
    def weight(*shape):
        return jnp.asarray(0.05 * generator.standard_normal(shape), jnp.float32)

    stack = {"up": weight(layers, hidden, 4 * hidden), "down": weight(layers, 4 * hidden, hidden)}
    return {"embed": weight(vocab, hidden), "stack": stack, "head": weight(hidden, vocab)}


def loss(params, tokens, labels):
    def layer(x, w):
        return x + jax.nn.gelu(x @ w["up"]) @ w["down"], None

    x, _ = jax.lax.scan(layer, params["embed"][tokens], params["stack"])
    logits = jax.nn.log_softmax(x @ params["head"])
    return -jnp.take_along_axis(logits, labels[..., None], -1).mean()


def step(params, tokens, labels):
    value, grads = jax.value_and_grad(loss)(params, tokens, labels)
    return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads), value


def main():
    generator = np.random.default_rng(0)
    params = init(generator, arguments.layers, arguments.hidden)
    tokens, labels = generator.integers(0, 256, (2, 16, 32), np.int32)
    trained = jax.jit(step, donate_argnums=0)
    with tempfile.TemporaryDirectory() as folder:
        plan = mw.plan(
            trained,
            params,
            tokens,
            labels,
            cluster=arguments.cluster,
            pipeline=arguments.pipeline,
            schedule=arguments.schedule,
            micro_batches=arguments.micro_batches,
            emit=Path(folder) / "stages",
        )
        train = mw.jax.pipeline(trained, params, tokens, labels, plan=plan)
        for number, row in enumerate(plan.stages):
            print(
                f"stage {number}: layers {row['first_layer']}-{row['end_layer'] - 1}",
                row["devices"],
            )
        state = params
        for number in range(arguments.steps):
            state, value = train(state, tokens, labels)
            print(f"step {number}: loss {float(value):.4f}", flush=True)
        if arguments.processes == 1:
            print(plan.verify(repeats=1))
    if arguments.checkpoint:
        restart(train, state, tokens, labels)


def restart(train, state, tokens, labels):
    """Saves the state, and goes on from what was saved."""
    import orbax.checkpoint

    path = Path(arguments.checkpoint).absolute()
    with orbax.checkpoint.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(path, mw.jax.to_checkpoint(state))
        restored = checkpointer.restore(path)
    state, value = train(mw.jax.from_checkpoint(restored, like=state), tokens, labels)
    print(f"from the checkpoint: loss {float(value):.4f}")


if __name__ == "__main__":
    main()
