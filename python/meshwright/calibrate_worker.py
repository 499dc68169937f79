"""Measures what the cost model needs to know of the local GPUs and prints it as CSV.

usage: python3 calibrate_worker.py [--quick]

Columns: op, group (devices that take part), bytes_or_flops, dtype, usec. `meshwright calibrate --from` reads this
format; lines that start with `#` are notes.

Every figure is the time of one execution *inside* a compiled program: each operation runs in two loops of equally many
turns that differ in how often a turn repeats it, so that neither the host nor the loop enters. The rows:

  gemm_MxNxK, bgemm_BxMxNxK   matmul [M,K]x[K,N] -> [M,N], operations
  copy, gelu, add, reduce     memory-bound kernels, bytes read and written
  transpose_*                 the same for the changes of layout that attention makes
  all_reduce, all_gather, reduce_scatter, all_to_all, send_recv
                              collectives, bytes of the full buffer
  kernel_start                a dependent kernel that does nothing to speak of
  overlap_*                   a collective while matmuls run: seconds that the pair takes beyond the matmuls
                              alone, bytes of the collective
  step_host                   one call of a compiled program that does nothing, waited for, arrays that it takes
                              and returns
"""

import argparse
import functools
import os
import statistics
import sys
import time

# Started as a file, this folder comes first among those that modules are taken from, and its jax.py is not JAX.
_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _HERE]

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

try:
    from jax import shard_map
except ImportError:  # before JAX 0.6
    from jax.experimental.shard_map import shard_map


def out(op, group, size, dtype, seconds):
    print(f"{op},{group},{int(size)},{dtype},{seconds * 1e6:.3f}", flush=True)


def wall(f, *args, repeats=7):
    jax.block_until_ready(f(*args))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(f(*args))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def looped(step, repeats):
    """A loop whose every turn takes `repeats` steps that depend on each other and are kept apart, as the kernels of a
    program are."""

    @jax.jit
    def run(turns, carry, *rest):
        def body(_, c):
            for _ in range(repeats):
                c = jax.lax.optimization_barrier(step(c, *rest))
            return c

        return jax.lax.fori_loop(0, turns, body, carry)

    return run


def measure(step, *args, target=0.04, repeats=(4, 16)):
    """Seconds of one step. `target`: about how long the longer loop runs."""
    few, many = [looped(step, n) for n in repeats]

    def difference(turns):
        turns = jnp.int32(turns)
        seconds = wall(many, turns, *args) - wall(few, turns, *args)
        return seconds / (int(turns) * (repeats[1] - repeats[0]))

    turns = int(min(max(target / repeats[1] / max(difference(4), 1e-7), 4), 500))
    return max(difference(turns), 0)


def random(shape, dtype):
    """Values as a network has them: products of equal ones draw less power, and run at higher clocks."""
    return jax.random.normal(jax.random.key(1), shape, dtype)


def gemms(quick):
    rows = [128, 1024, 8192, 32768]
    shapes = [
        (1024, 1024),
        (2048, 2048),
        (2048, 8192),
        (8192, 2048),
        (4096, 4096),
        (1280, 5120),
        (512, 1024),
        (32000, 4096),
    ]
    if quick:
        rows, shapes = [128], [(256, 256)]
    for dtype in (jnp.bfloat16, jnp.float32):
        for m in rows:
            for n, k in shapes:
                a = random((m, k), dtype)
                b = random((k, n), dtype)

                # The product's first column goes back into the operand, so that rounds wait for each other.
                def step(c, b):
                    x, _ = c
                    y = x @ b
                    return x, y

                def chained(c, b):
                    x, y = step(c, b)
                    x = jax.lax.dynamic_update_slice(x, y[:1, :1], (0, 0))
                    return x, y

                seconds = measure(chained, (a, jnp.zeros((m, n), dtype)), b)
                out(f"gemm_{m}x{n}x{k}", 1, 2 * m * n * k, jnp.dtype(dtype).name, seconds)
    batched = [
        (128, 1024, 1024, 128),
        (128, 1024, 128, 1024),
        (512, 256, 1024, 128),
        (16, 1024, 5120, 1280),
        (64, 512, 2048, 512),
    ]
    for b_, m, n, k in [(2, 64, 64, 64)] if quick else batched:
        a = random((b_, m, k), jnp.bfloat16)
        b = random((b_, k, n), jnp.bfloat16)

        def chained(c, b):
            x, _ = c
            y = jnp.einsum("bmk,bkn->bmn", x, b)
            return jax.lax.dynamic_update_slice(x, y[:1, :1, :1], (0, 0, 0)), y

        seconds = measure(chained, (a, jnp.zeros((b_, m, n), jnp.bfloat16)), b)
        out(f"bgemm_{b_}x{m}x{n}x{k}", 1, 2 * b_ * m * n * k, "bfloat16", seconds)


# The least factor above 1 that bf16 tells from 1: a product with less is optimised away.
FACTOR = 1 + 2**-7


def memory_bound(quick):
    for log in [16] if quick else [18, 22, 25, 27, 29]:
        n = 1 << log
        x = jnp.ones((n,), jnp.bfloat16)
        out("copy", 1, 4 * n, "bf16", measure(lambda c: c * jnp.bfloat16(FACTOR), x))
        out("gelu", 1, 4 * n, "bf16", measure(jax.nn.gelu, x))
        y = jnp.ones((n,), jnp.float32)
        out("add", 1, 12 * n, "f32", measure(lambda c, y: c + y, y, y))
        m = x.reshape(n // 1024, 1024)
        seconds = measure(
            lambda c: (
                c[0],
                jnp.sum((c[0] + c[1][:1, None].astype(c[0].dtype)).astype(jnp.float32), -1),
            ),
            (m, jnp.zeros((n // 1024,), jnp.float32)),
        )
        out("reduce", 1, 2 * n, "bf16", seconds)
    small = [("qkv", (2, 64, 4, 16), (0, 2, 3, 1))]
    large = [
        ("heads", (8, 1024, 16, 128), (0, 2, 1, 3)),
        ("heads_minor", (8, 1024, 16, 128), (0, 2, 3, 1)),
        ("major", (32, 1024, 2048), (1, 0, 2)),
        ("minor", (32, 1024, 2048), (1, 2, 0)),
        ("matrix", (8192, 8192), (1, 0)),
        ("heads_large", (32, 1024, 16, 128), (0, 2, 1, 3)),
    ]
    for name, shape, order in small if quick else large:
        x = jnp.ones((int(np.prod(shape)),), jnp.bfloat16)

        # Flat at both ends: XLA would choose a layout for anything else in which nothing has to move.
        def rearranged(c):
            return jnp.transpose(c.reshape(shape), order).reshape(-1)

        out(f"transpose_{name}", 1, 4 * x.size, "bf16", measure(rearranged, x))
    x = jnp.ones((256,), jnp.float32)
    out("kernel_start", 1, 2048, "f32", measure(lambda c: c + 1, x))


# Where links are so slow that more are needed to hide a collective, the cost of hiding it does not matter.
MOST_PRODUCTS = 40


def collective(name, n):
    if name == "all_reduce":
        return lambda c: jax.lax.psum(c, "x")
    if name == "all_gather":
        return lambda c: jax.lax.dynamic_slice_in_dim(
            jax.lax.all_gather(c, "x", tiled=True), 0, c.shape[0]
        )
    if name == "scatter_gather":
        return lambda c: jax.lax.all_gather(
            jax.lax.psum_scatter(c, "x", tiled=True), "x", tiled=True
        )
    if name == "all_to_all":
        return lambda c: jax.lax.all_to_all(c, "x", 0, 0, tiled=True)
    return lambda c: jax.lax.ppermute(c, "x", [(i, (i + 1) % n) for i in range(n)])


def collectives(n, quick):
    mesh = Mesh(np.array(jax.devices()[:n]), ("x",))
    everywhere = NamedSharding(mesh, P("x"))
    whole = functools.partial(shard_map, mesh=mesh, out_specs=P("x"))

    def buffer(kind, size):
        """What a device holds of a full buffer of `size` bytes before the collective."""
        elements = max(size // 2 // (n if kind == "all_gather" else 1), 1)
        return jax.device_put(jnp.ones((n * elements,), jnp.bfloat16), everywhere)

    def timed(kind, size):
        return measure(whole(collective(kind, n), in_specs=P("x")), buffer(kind, size))

    for log in [12] if quick else [10, 16, 20, 22, 24, 26, 28]:
        size = 1 << log  # bytes of the full buffer, bf16
        times = {
            kind: timed(kind, size)
            for kind in ("all_reduce", "all_gather", "all_to_all", "send_recv")
        }
        # Its result is smaller than its operand, so that it cannot be repeated by itself.
        times["reduce_scatter"] = max(timed("scatter_gather", size) - times["all_gather"], 0)
        for kind, seconds in times.items():
            out(kind, n, size, "bf16", seconds)

    # The pair in one program: XLA's scheduler puts the independent products between the start and the end of the
    # collective. They take about twice as long as it, so that all of it can hide.
    k = 64 if quick else 4096
    x, b = [jax.device_put(random((n * k, k), jnp.bfloat16) / k**0.5, everywhere) for _ in range(2)]
    product = measure(whole(jnp.matmul, in_specs=(P("x"), P("x"))), x, b)
    for kind in ("all_reduce", "all_gather", "all_to_all"):
        for size in [1 << 12] if quick else [1 << 23, 1 << 25]:
            products = int(np.ceil(2 * timed(kind, size) / max(product, 1e-6)))
            if products > MOST_PRODUCTS:
                continue
            move = collective(kind, n)

            def alone(c, b):
                y = c[0]
                for _ in range(products):
                    y = y @ b
                return y, c[1]

            def both(c, b):
                return alone(c, b)[0], move(c[1])

            steps = [
                shard_map(
                    f, mesh=mesh, in_specs=((P("x"), P("x")), P("x")), out_specs=(P("x"), P("x"))
                )
                for f in (alone, both)
            ]
            without, together = [measure(f, (x, buffer(kind, size)), b, target=0.1) for f in steps]
            out(f"overlap_{kind}", n, size, "bf16", max(together - without, 0))


def host(n):
    mesh = Mesh(np.array(jax.devices()[:n]), ("x",))
    everywhere = NamedSharding(mesh, P("x"))
    for count in (1, 100):
        state = [
            jax.device_put(jnp.ones((n * 128,), jnp.float32), everywhere) for _ in range(count)
        ]
        one = jax.jit(lambda s: [x + 1 for x in s[:1]] + s[1:], donate_argnums=0)
        for _ in range(3):
            state = jax.block_until_ready(one(state))
        times = []
        for _ in range(30):
            start = time.perf_counter()
            state = jax.block_until_ready(one(state))
            times.append(time.perf_counter() - start)
        out("step_host", n, 2 * count, "f32", statistics.median(times))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a few tiny sizes, to try the script")
    quick = parser.parse_args().quick
    devices = jax.devices()
    print("op,group,bytes_or_flops,dtype,usec")
    print(f"# {devices[0].device_kind}, {len(devices)} devices, JAX {jax.__version__}")
    sys.stdout.flush()
    host(1)
    memory_bound(quick)
    group = 2
    while group <= len(devices):
        host(group)
        collectives(group, quick)
        group *= 2
    gemms(quick)


if __name__ == "__main__":
    main()
