"""What the examples share: options, devices, and from a training step to a verified plan."""

import argparse
import os
from collections.abc import Callable
from typing import Any


def options(description: str, **sizes: int) -> argparse.Namespace:
    """Parses the command line and sets JAX up: host devices where there are no others.

    `sizes`: the model's, each an option of its name.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--cluster", help="what to plan for, such as 8xh100-sxm; default: what is here"
    )
    parser.add_argument("--mesh", default="auto", help="such as 2x4; default: tries all")
    parser.add_argument(
        "--memory", help="of a device, such as 60GiB; default: less than the fastest plan needs"
    )
    parser.add_argument("--deadline", default="5s", help="for the search: its best until then")
    parser.add_argument("--steps", type=int, default=3, help="training steps to run")
    parser.add_argument("--host-devices", type=int, default=8, help="devices where there is no GPU")
    for name, size in sizes.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=size)
    arguments = parser.parse_args()
    # Concerns the CPU only: with GPUs about, JAX uses those.
    flag = f"--xla_force_host_platform_device_count={arguments.host_devices}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    return arguments


def less_memory(plan: Any) -> int:
    """What the fastest plan needs if half of it is shared by all devices, so that something has to
    be sharded: models as small as these are fastest replicated. All of it on one device.
    """
    return (plan.peak_bytes + plan.peak_bytes // plan.num_devices) // 2


def train(arguments: argparse.Namespace, step: Callable[..., Any], state: Any, *batch: Any) -> None:
    """Plans `step(state, *batch) -> (state, loss)`, runs it sharded, and verifies the plan."""
    import jax

    import meshwright as mw

    cluster = arguments.cluster or mw.clusters.guess()
    memory = arguments.memory
    if memory is None:
        memory = less_memory(mw.plan(step, state, *batch, cluster=cluster, mesh=arguments.mesh))
    sharded = mw.jax.shard(
        step,
        state,
        *batch,
        donate_argnums=0,
        cluster=cluster,
        mesh=arguments.mesh,
        memory=memory,
        deadline=arguments.deadline,
    )
    print(sharded.plan)
    for number in range(arguments.steps):
        state, loss = sharded(state, *batch)
        print(f"step {number}: loss {float(jax.block_until_ready(loss)):.4f}")
    print(sharded.plan.verify(repeats=3))
