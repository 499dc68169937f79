"""How near the step of a running pipeline comes to its simulated schedule.

    python bench/pipeline/overlap.py                       # 4 stages, 16 micro-batches, every schedule
    python bench/pipeline/overlap.py --schedules 1f1b --milliseconds 5

Plans a small network, runs it with `mw.jax.pipeline`, and then once more with each phase's executable
replaced by one that sleeps for as long as the simulation says, enlarged so that the longest takes
`--milliseconds`: what is measured is how phases are dispatched, wait for each other and overlap, on as
few cores as there are. Prints the measured step over the simulated one, and whether the phases ran in
the planned order; exits with 1 where it is above 1.15 or they did not.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--stages", type=int, default=4, help="groups of devices")
parser.add_argument("--micro-batches", type=int, default=16)
parser.add_argument("--milliseconds", type=float, default=20, help="the longest phase")
parser.add_argument("--schedules", nargs="+", default=["gpipe", "1f1b", "interleaved", "zb-h1"])
parser.add_argument("--most", type=float, default=1.15, help="measured over simulated")
FLAG = "--xla_force_host_platform_device_count"


def planned(stages, micro_batches, schedule, folder):
    import jax
    import jax.numpy as jnp
    import numpy as np

    import meshwright as mw

    def step(weights, x, y):
        def loss(weights):
            h = x
            for w in weights:
                h = h + jnp.tanh(h @ w)
            return ((h - y) ** 2).mean()

        value, grads = jax.value_and_grad(loss)(weights)
        return [w - 0.1 * g for w, g in zip(weights, grads)], value

    generator = np.random.default_rng(0)
    layers = 2 * stages
    weights = [0.1 * generator.standard_normal((32, 32), np.float32) for _ in range(layers)]
    x, y = generator.standard_normal((2, 4 * micro_batches, 32), np.float32)
    step = jax.jit(step, donate_argnums=0)
    plan = mw.plan(
        step,
        weights,
        x,
        y,
        cluster=f"{stages}xh100-sxm",
        pipeline=stages,
        micro_batches=micro_batches,
        schedule=schedule,
        emit=folder,
    )
    return step, (weights, x, y), plan


def load_sleep(folder):
    """Compiles and registers the call that sleeps: JAX runs Python's where it is dispatched."""
    import jax

    library = Path(folder) / "sleep.so"
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-shared", "-fPIC", "-w"]
    command += ["-I", jax.ffi.include_dir(), Path(__file__).with_name("sleep.cc"), "-o", library]
    subprocess.run(list(map(str, command)), check=True)
    handler = ctypes.CDLL(str(library)).MeshwrightSleep
    jax.ffi.register_ffi_target("sleep", jax.ffi.pycapsule(handler), platform="cpu")


class Sleeps:
    """In place of a phase's executable: gives zeros of the same kind after some time."""

    def __init__(self, real, seconds):
        self._real, self._seconds, self._stand_in = real, seconds, None

    def __call__(self, totals, *inputs):
        import jax
        import jax.numpy as jnp
        import numpy as np

        if self._stand_in is not None:
            return self._stand_in(totals, *inputs)

        given = self._real(totals, *inputs)
        like = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype), given)

        def phase(totals, *inputs):
            # XLA's CPU client runs what has less than 1000 operations where it is dispatched.
            zeros = jnp.zeros((32, 32))
            slept = jax.ffi.ffi_call("sleep", zeros, input_output_aliases={0: 0})(
                zeros, microseconds=np.int64(1e6 * self._seconds)
            )
            zero = (slept @ slept)[0, 0]
            return jax.tree.map(lambda one: jnp.full(one.shape, zero.astype(one.dtype)), like)

        shardings = jax.tree.map(lambda array: array.sharding, given)
        self._stand_in = jax.jit(phase, out_shardings=shardings, keep_unused=True)
        return given


def sleeping(runtime, scale):
    """Replaces the executables of a runtime; phases take as long as in the simulation, enlarged."""
    for task in runtime.planned:
        for phase in runtime.phases_of(task):
            key = task.stage, phase
            if not isinstance(runtime._compiled[key], Sleeps):
                seconds = scale * (task.end - task.start)
                runtime._compiled[key] = Sleeps(runtime._compiled[key], seconds)


def measure(arguments, schedule):
    """(measured over simulated, whether the phases ran in the planned order)."""
    import jax
    from meshwright.pipeline.timeline import Timeline

    import meshwright as mw

    with tempfile.TemporaryDirectory() as folder:
        step, given, plan = planned(
            arguments.stages, arguments.micro_batches, schedule, Path(folder) / "stages"
        )
        train = mw.jax.pipeline(step, *given, plan=plan)
    runtime = train.runtime
    longest = max(task.end - task.start for task in runtime.planned)
    scale = 1e-3 * arguments.milliseconds / longest
    sleeping(runtime, scale)
    state, *batch = given
    for _ in range(2):  # the second one compiles the stand-ins
        state, _ = jax.block_until_ready(train(state, *batch))
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        state, _ = jax.block_until_ready(train(state, *batch))
        seconds.append(time.perf_counter() - begin)
    timeline = Timeline()
    train.observed(timeline, state, *batch)
    simulated = scale * max(task.end for task in runtime.planned)
    ratio = sorted(seconds)[1] / simulated
    wanted, found = defaultdict(list), defaultdict(list)
    for task in runtime.planned:
        for phase in runtime.phases_of(task):
            wanted[task.stage % arguments.stages].append((task.stage, phase, task.micro_batch))
    for one in timeline.phases():
        stage = one.task.stage
        found[stage % arguments.stages].append((stage, one.phase, one.task.micro_batch))
    in_order = wanted == found
    print(
        f"{schedule:12} simulated {1e3 * simulated:7.1f} ms  measured {1e3 * sorted(seconds)[1]:7.1f} ms"
        f"  ratio {ratio:.3f}  {'in the planned order' if in_order else 'IN ANOTHER ORDER'}",
        flush=True,
    )
    return ratio, in_order


def main():
    arguments = parser.parse_args()
    flag = f"{FLAG}={arguments.stages}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    with tempfile.TemporaryDirectory() as folder:
        load_sleep(folder)
        found = [measure(arguments, schedule) for schedule in arguments.schedules]
    sys.exit(0 if all(ratio <= arguments.most and order for ratio, order in found) else 1)


if __name__ == "__main__":
    main()
