"""Measures what the cost model needs to know of the local GPUs and prints it as CSV.

usage: python3 calibrate_worker.py [--quick]

Columns: op, group (devices that take part), bytes_or_flops, dtype, usec. `meshwright calibrate --from` reads this
format; lines that start with `#` are notes.

Every figure is the time of one execution *inside* a compiled program: each operation runs in a loop on the device and
the time of a shorter loop is taken off, so that neither the host nor the start of a program enters. The rows:

  gemm_MxNxK, bgemm_BxMxNxK   matrix product [M,K]x[K,N] -> [M,N], operations
  copy, gelu, add, reduce     memory-bound kernels, bytes read and written
  transpose_*                 the same for the changes of layout that attention makes
  all_reduce, all_gather, reduce_scatter, all_to_all, send_recv
                              collectives, bytes of the full buffer
  kernel_start                a dependent kernel that does nothing to speak of
  overlap_*                   a collective while matrix products run: seconds that the pair takes beyond the products
                              alone, bytes of the collective
  step_host                   one call of a compiled program with 100 donated arguments that does nothing, waited for
"""

import argparse
import functools
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

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


def per_round(loop, *args, target=0.02):
    """Seconds of one round of `loop(rounds, *args)`."""
    short = 4
    base = wall(functools.partial(loop, short), *args)
    guess = wall(functools.partial(loop, 3 * short), *args)
    one = max((guess - base) / (2 * short), 1e-7)
    rounds = 4 * int(min(max(target / one, 16), 2000) // 4)
    return max((wall(functools.partial(loop, short + rounds), *args) - base) / rounds, 0)


def unrolled(step):
    """A loop whose rounds depend on each other and are kept apart, as the kernels of a program are."""

    @jax.jit
    def run(rounds, carry, *rest):
        def body(_, c):
            for _ in range(4):
                c = jax.lax.optimization_barrier(step(c, *rest))
            return c
        return jax.lax.fori_loop(0, rounds // 4, body, carry)

    return lambda rounds, *args: run(jnp.int32(max(rounds, 4)), *args)


def measure(step, *args):
    return per_round(unrolled(step), *args)


def gemms(quick):
    rows = [128, 1024, 8192, 32768]
    shapes = [(1024, 1024), (2048, 2048), (2048, 8192), (8192, 2048), (4096, 4096), (1280, 5120), (512, 1024),
              (32000, 4096)]
    if quick:
        rows, shapes = [128], [(256, 256)]
    for dtype in (jnp.bfloat16, jnp.float32):
        for m in rows:
            for n, k in shapes:
                a = jnp.ones((m, k), dtype)
                b = jnp.ones((k, n), dtype)

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
    batched = [(128, 1024, 1024, 128), (128, 1024, 128, 1024), (512, 256, 1024, 128), (16, 1024, 5120, 1280),
               (64, 512, 2048, 512)]
    for b_, m, n, k in [(2, 64, 64, 64)] if quick else batched:
        a = jnp.ones((b_, m, k), jnp.bfloat16)
        b = jnp.ones((b_, k, n), jnp.bfloat16)

        def chained(c, b):
            x, _ = c
            y = jnp.einsum("bmk,bkn->bmn", x, b)
            return jax.lax.dynamic_update_slice(x, y[:1, :1, :1], (0, 0, 0)), y
        seconds = measure(chained, (a, jnp.zeros((b_, m, n), jnp.bfloat16)), b)
        out(f"bgemm_{b_}x{m}x{n}x{k}", 1, 2 * b_ * m * n * k, "bfloat16", seconds)


def memory_bound(quick):
    for log in [16] if quick else [18, 22, 25, 27, 29]:
        n = 1 << log
        x = jnp.ones((n,), jnp.bfloat16)
        out("copy", 1, 4 * n, "bf16", measure(lambda c: c * jnp.bfloat16(1.0001), x))
        out("gelu", 1, 4 * n, "bf16", measure(jax.nn.gelu, x))
        y = jnp.ones((n,), jnp.float32)
        out("add", 1, 12 * n, "f32", measure(lambda c, y: c + y, y, y))
        m = x.reshape(n // 1024, 1024)
        seconds = measure(lambda c: (c[0], jnp.sum((c[0] + c[1][:1, None].astype(c[0].dtype)).astype(jnp.float32), -1)),
                          (m, jnp.zeros((n // 1024,), jnp.float32)))
        out("reduce", 1, 2 * n, "bf16", seconds)
    small = [("qkv", (2, 64, 4, 16), (0, 2, 3, 1))]
    large = [("heads", (8, 1024, 16, 128), (0, 2, 1, 3)), ("heads_minor", (8, 1024, 16, 128), (0, 2, 3, 1)),
             ("major", (32, 1024, 2048), (1, 0, 2)), ("minor", (32, 1024, 2048), (1, 2, 0)),
             ("matrix", (8192, 8192), (1, 0)), ("heads_large", (32, 1024, 16, 128), (0, 2, 1, 3))]
    for name, shape, order in small if quick else large:
        x = jnp.ones(shape, jnp.bfloat16)
        back = tuple(np.argsort(order))

        def there_and_back(c):
            t = jax.lax.optimization_barrier(jnp.transpose(c, order) * jnp.bfloat16(1.0001))
            return jnp.transpose(t, back) * jnp.bfloat16(1.0001)
        out(f"transpose_{name}", 1, 4 * x.size, "bf16", measure(there_and_back, x) / 2)
    x = jnp.ones((256,), jnp.float32)
    out("kernel_start", 1, 2048, "f32", measure(lambda c: c + 1, x))


def collective(name, n):
    if name == "all_reduce":
        return lambda c: jax.lax.psum(c, "x") * jnp.asarray(1 / n, c.dtype)
    if name == "all_gather":
        return lambda c: jax.lax.dynamic_slice_in_dim(jax.lax.all_gather(c, "x", tiled=True), 0, c.shape[0])
    if name == "reduce_scatter":
        return None
    if name == "all_to_all":
        return lambda c: jax.lax.all_to_all(c, "x", 0, 0, tiled=True)
    return lambda c: jax.lax.ppermute(c, "x", [(i, (i + 1) % n) for i in range(n)])


def pair(c, n):
    return jax.lax.all_gather(jax.lax.psum_scatter(c, "x", tiled=True), "x", tiled=True) * jnp.asarray(1 / n, c.dtype)


def collectives(n, quick):
    mesh = Mesh(np.array(jax.devices()[:n]), ("x",))
    everywhere = NamedSharding(mesh, P("x"))

    def timed(step, elements):
        x = jax.device_put(jnp.ones((n * elements,), jnp.bfloat16), everywhere)
        loop = unrolled(shard_map(step, mesh=mesh, in_specs=P("x"), out_specs=P("x")))
        return per_round(loop, x, target=0.05)

    for log in [12] if quick else [10, 16, 20, 22, 24, 26, 28]:
        size = 1 << log  # bytes of the full buffer, bf16
        elements = size // 2
        times = {}
        times["all_reduce"] = timed(collective("all_reduce", n), elements)
        # These keep the full result alive by carrying a part of it; the copy that takes costs next to nothing.
        times["all_gather"] = timed(collective("all_gather", n), max(elements // n, 1))
        times["reduce_scatter"] = max(timed(lambda c: pair(c, n), elements) - times["all_gather"], 0)
        times["all_to_all"] = timed(collective("all_to_all", n), elements)
        times["send_recv"] = timed(collective("send_recv", n), elements)
        for name, seconds in times.items():
            out(name, n, size, "bf16", seconds)

    # The pair in one program: XLA's scheduler puts the independent products between the start and the end of the
    # collective.
    k, rounds = (64, 2) if quick else (4096, 6)
    a = jax.device_put(jnp.ones((n * k, k), jnp.bfloat16), NamedSharding(mesh, P("x", None)))
    for kind in ("all_reduce", "all_gather", "all_to_all"):
        for size in [1 << 12] if quick else [1 << 25, 1 << 28]:
            elements = size // 2 if kind != "all_gather" else size // 2 // n
            x = jax.device_put(jnp.ones((n * elements,), jnp.bfloat16), everywhere)
            move = collective(kind, n)
            if kind == "all_gather":
                move = lambda c: jnp.max(jax.lax.all_gather(c, "x", tiled=True).reshape(n, -1), 0)

            def products(c):
                for _ in range(rounds):
                    c = c @ c
                return c

            def both(c):
                return products(c[0]), move(c[1])

            def alone(c):
                return products(c[0]), c[1]
            spec = (P("x", None), P("x"))
            loops = [unrolled(shard_map(f, mesh=mesh, in_specs=(spec,), out_specs=spec)) for f in (alone, both)]
            without, together = [per_round(loop, (a, x), target=0.1) for loop in loops]
            out(f"overlap_{kind}", n, size, "bf16", max(together - without, 0))


def host(n):
    mesh = Mesh(np.array(jax.devices()[:n]), ("x",))
    everywhere = NamedSharding(mesh, P("x"))
    state = [jax.device_put(jnp.ones((n * 128,), jnp.float32), everywhere) for _ in range(100)]
    one = jax.jit(lambda s: [x + 1 for x in s[:1]] + s[1:], donate_argnums=0)
    for _ in range(3):
        state = jax.block_until_ready(one(state))
    times = []
    for _ in range(30):
        start = time.perf_counter()
        state = jax.block_until_ready(one(state))
        times.append(time.perf_counter() - start)
    out("step_host", n, 0, "f32", statistics.median(times))


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
