"""What a running pipeline costs beyond its phases' computation, for each micro-batch and stage.

    python bench/pipeline/overhead.py                        # 2 stages on the first device
    python bench/pipeline/overhead.py --micro-batches 64 --schedules zb-h1 --profile

Plans a network so small that its phases take next to no time, and runs all its stages on one device: a
GPU, or a host device. Prints the median step, the unsharded step beside it, and the difference over the
number of micro-batches and stages; and the processor time of the thread that dispatches, over the same
number, which hardly depends on what else the machine does. Exits with 1 where the results are not those
of the unsharded step, or where the overhead is above `--most`.
"""

import argparse
import cProfile
import os
import pstats
import statistics
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--stages", type=int, default=2)
parser.add_argument("--micro-batches", type=int, nargs="+", default=[16, 64])
parser.add_argument("--schedules", nargs="+", default=["1f1b", "gpipe", "zb-h1"])
parser.add_argument("--layers", type=int, default=2, help="of a stage")
parser.add_argument("--steps", type=int, default=50)
parser.add_argument("--most", type=float, help="microseconds for each micro-batch and stage")
parser.add_argument("--profile", action="store_true", help="where the calls spend their time")


def training(layers, micro_batches):
    """A step, its state and its batch."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def step(weights, x, y):
        def loss(weights):
            h = x
            for w in weights:
                h = h + jnp.tanh(h @ w)
            return ((h - y) ** 2).mean()

        value, grads = jax.value_and_grad(loss)(weights)
        return [w - 0.1 * g for w, g in zip(weights, grads)], value

    generator = np.random.default_rng(0)
    weights = [0.1 * generator.standard_normal((32, 32), np.float32) for _ in range(layers)]
    x, y = jax.device_put(generator.standard_normal((2, 4 * micro_batches, 32), np.float32))
    return jax.jit(step, donate_argnums=0), weights, (x, y)


def seconds(call, state, batch, steps):
    """Medians of a step and of the calling thread's part in it; the state after `steps` of them."""
    import jax

    whole, thread = [], []
    for _ in range(steps):
        begin, used = time.perf_counter(), time.thread_time()
        state, value = call(state, *batch)
        thread.append(time.thread_time() - used)
        jax.block_until_ready((state, value))
        whole.append(time.perf_counter() - begin)
    return statistics.median(whole), statistics.median(thread), state


def measure(arguments, schedule, micro_batches):
    """Microseconds for each micro-batch and stage, and whether the results are right."""
    import jax
    import numpy as np

    import meshwright as mw

    step, weights, batch = training(arguments.layers * arguments.stages, micro_batches)
    with tempfile.TemporaryDirectory() as folder:
        plan = mw.plan(
            step,
            weights,
            *batch,
            cluster=f"{arguments.stages}xh100-sxm",
            pipeline=arguments.stages,
            micro_batches=micro_batches,
            schedule=schedule,
            emit=os.path.join(folder, "stages"),
        )
        train = mw.jax.pipeline(step, weights, *batch, plan=plan, devices=jax.devices()[:1])
    *_, expected = seconds(step, jax.device_put(weights), batch, 3)
    *_, state = seconds(train, weights, batch, 3)
    error = max(np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in zip(state, expected))
    unsharded, _, _ = seconds(step, expected, batch, arguments.steps)
    if arguments.profile:
        with cProfile.Profile() as profile:
            *_, state = seconds(train, state, batch, arguments.steps)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    whole, thread, _ = seconds(train, state, batch, arguments.steps)
    count = micro_batches * len(plan.stages)
    overhead = 1e6 * (whole - unsharded) / count
    print(
        f"{schedule:12} {len(plan.stages)} stages, {micro_batches:3} micro-batches: step "
        f"{1e3 * whole:7.2f} ms, unsharded {1e3 * unsharded:5.2f} ms, overhead {overhead:5.0f} us, "
        f"dispatching thread {1e6 * thread / count:5.0f} us; error {error:.1e}",
        flush=True,
    )
    return overhead, error < 1e-5


def main():
    arguments = parser.parse_args()
    import jax

    device = jax.devices()[0]
    print(f"{device.device_kind} ({device.platform}), jax {jax.__version__}")
    found = [
        measure(arguments, schedule, micro_batches)
        for schedule in arguments.schedules
        for micro_batches in arguments.micro_batches
    ]
    most = float("inf") if arguments.most is None else arguments.most
    sys.exit(0 if all(right and overhead <= most for overhead, right in found) else 1)


if __name__ == "__main__":
    main()
