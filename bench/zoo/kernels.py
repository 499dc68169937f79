"""Single operations of every class, lowered or timed on one GPU: what a class of kernels is off by.

    python bench/zoo/kernels.py OUT --lower        # any machine: OUT/NAME.mlir.gz, lowered for CUDA
    python bench/zoo/kernels.py OUT                # this machine's GPU: OUT/kernels.jsonl as well
    python bench/zoo/zoo.py OUT --cluster 1xh200   # what is predicted of them, by class

Each is a program of one operation, or of the few that a user cannot write without (a normalisation, a softmax), and its
gradients by themselves. Rows of kernels.jsonl have the seconds of a call among many that nobody waits for: the device's,
of operations that take it longer than the host. Plain JAX, 0.10 or newer.
"""

import argparse
import concurrent.futures
import functools
import gzip
import json
import pathlib
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

CALLS = 20
ROUNDS = 4
COMPILED_AT_ONCE = 8


class Array(NamedTuple):
    """An operand; of integers those from 0 up to `bound`."""

    shape: tuple[int, ...]
    dtype: str = "bfloat16"
    bound: int = 0
    ascending: bool = False

    def spec(self):
        return jax.ShapeDtypeStruct(self.shape, self.dtype)

    def draw(self, key):
        if not self.bound:
            return jax.random.normal(key, self.shape, self.dtype)
        drawn = jax.random.randint(key, self.shape, 0, self.bound, self.dtype)
        return jnp.sort(drawn) if self.ascending else drawn


class Kernel(NamedTuple):
    kind: str
    function: Callable
    operands: tuple[Array, ...]


KERNELS: dict[str, Kernel] = {}


def add(kind, name, function, *operands):
    KERNELS[name] = Kernel(kind, function, operands)


def add_gradients(kind, name, function, *operands, of=None, integers=()):
    """The function, and the gradient by each operand in `of` (all, but for integers), each a program."""
    add(kind, name, function, *operands)
    for position in of if of is not None else range(len(operands)):

        def gradient(cotangent, *values, position=position):
            def by_one(x):
                return function(*values[:position], x, *values[position + 1 :])

            return jax.vjp(by_one, values[position])[1](cotangent)[0]

        out = jax.eval_shape(function, *(operand.spec() for operand in operands))
        add(
            kind,
            f"{name}.d{position}",
            gradient,
            Array(out.shape, out.dtype.name),
            *operands,
        )


def matmuls():
    for m, n, k in (
        (8192, 8192, 8192),
        (16384, 1024, 1024),
        (16384, 4096, 1024),
        (16384, 1024, 4096),
        (8192, 50304, 1536),
        (1024, 1024, 65536),
        (2048, 2048, 2048),
        (512, 4096, 4096),
        (64, 8192, 8192),
        (16384, 64, 4096),
    ):
        add("matmul", f"matmul.{m}.{n}.{k}", jnp.matmul, Array((m, k)), Array((k, n)))
    for m, n, k in ((4096, 4096, 4096), (16384, 1024, 1024)):
        f32 = functools.partial(jnp.matmul, precision="highest")
        a, b = Array((m, k), "float32"), Array((k, n), "float32")
        add("matmul", f"matmul.f32.{m}.{n}.{k}", f32, a, b)
        add("matmul", f"matmul.tf32.{m}.{n}.{k}", jnp.matmul, a, b)
    for batch, m, n, k in (
        (512, 512, 512, 64),
        (512, 512, 64, 512),
        (2304, 197, 197, 64),
        (2304, 197, 64, 197),
        (64, 4096, 128, 128),
        (8192, 49, 49, 32),
        (26, 8192, 64, 64),
    ):
        name = f"batched.{batch}.{m}.{n}.{k}"
        add("matmul", name, jnp.matmul, Array((batch, m, k)), Array((batch, k, n)))


def convolutions():
    def convolve(x, w, *, stride=1, groups=1, dilation=1, layout="NHWC"):
        spatial = x.ndim - 2
        letters = "DHW"[3 - spatial :]
        features = f"N{letters}C" if layout == "NHWC" else f"NC{letters}"
        return lax.conv_general_dilated(
            x,
            w,
            (stride,) * spatial,
            "SAME",
            rhs_dilation=(dilation,) * spatial,
            dimension_numbers=(features, f"{letters}IO", features),
            feature_group_count=groups,
        )

    def one(name, image, features_in, features_out, window, kind="convolution", **options):
        groups = options.get("groups", 1)
        batch, *places = image
        channels_first = options.get("layout") == "NCHW"
        shape = (batch, features_in, *places) if channels_first else (batch, *places, features_in)
        kernel = (window,) * len(places) + (features_in // groups, features_out)
        function = functools.partial(convolve, **options)
        add_gradients(kind, f"conv.{name}", function, Array(shape), Array(kernel))

    one("3x3.64", (128, 56, 56), 64, 64, 3)
    one("3x3.256", (128, 28, 28), 256, 256, 3)
    one("3x3.512", (64, 32, 32), 512, 512, 3)
    one("3x3.256.nchw", (128, 28, 28), 256, 256, 3, layout="NCHW")
    one("1x1.256.1024", (128, 28, 28), 256, 1024, 1)
    one("3x3.strided", (128, 56, 56), 128, 256, 3, stride=2)
    one("3x3.dilated", (64, 56, 56), 128, 128, 3, dilation=2)
    one("3d", (2, 64, 64, 64), 32, 64, 3)
    one("1d", (32, 4096), 512, 512, 5)
    image, kernel = Array((64, 28, 28, 256)), Array((2, 2, 256, 128))
    upsample = functools.partial(lax.conv_transpose, strides=(2, 2), padding="SAME")
    add_gradients("convolution", "conv.transposed", upsample, image, kernel)
    grouped = functools.partial(one, kind="grouped_convolution")
    grouped("groups.32x4", (128, 56, 56), 128, 128, 3, groups=32)
    grouped("groups.32x16", (128, 14, 14), 512, 512, 3, groups=32)
    grouped("groups.16x48.1d", (16, 512), 768, 768, 128, groups=16)
    grouped("groups.4x64", (64, 28, 28), 256, 256, 3, groups=4)
    grouped("depthwise.3x3", (128, 56, 56), 144, 144, 3, groups=144)
    grouped("depthwise.5x5", (128, 28, 28), 240, 240, 5, groups=240)
    grouped("depthwise.7x7", (128, 28, 28), 192, 192, 7, groups=192)
    grouped("depthwise.7x7.small", (128, 7, 7), 768, 768, 7, groups=768)
    grouped("depthwise.1d", (16, 2048), 2048, 2048, 4, groups=2048)


def attention():
    for batch, length, heads, key_heads, depth, causal in (
        (8, 2048, 16, 16, 64, True),
        (2, 8192, 16, 16, 128, True),
        (2, 8192, 32, 4, 128, True),
        (1, 16384, 32, 8, 128, False),
        (1, 32768, 16, 16, 128, True),
        (4, 4096, 24, 24, 128, False),
        (16, 1024, 32, 8, 64, True),
        (32, 512, 16, 16, 64, False),
    ):
        query = Array((batch, length, heads, depth))
        key = Array((batch, length, key_heads, depth))
        attend = functools.partial(
            jax.nn.dot_product_attention, is_causal=causal, implementation="cudnn"
        )
        mask = "causal" if causal else "full"
        name = f"attention.{batch}.{length}.{heads}.{key_heads}.{depth}.{mask}"
        add("attention", name, attend, query, key, key)

        def gradients(cotangent, *operands, attend=attend):
            return jax.vjp(attend, *operands)[1](cotangent)

        add("attention", f"{name}.d", gradients, query, query, key, key)


def grouped_products():
    for rows, width, out, groups in (
        (8192, 2048, 5632, 8),
        (32768, 1024, 2048, 16),
        (16384, 2048, 1024, 32),
        (4096, 4096, 4096, 4),
    ):

        def product(x, w, groups=groups):
            return lax.ragged_dot(x, w, jnp.full((groups,), x.shape[0] // groups, jnp.int32))

        name = f"ragged.{rows}.{width}.{out}.{groups}"
        add_gradients(
            "ragged_dot", name, product, Array((rows, width)), Array((groups, width, out))
        )


def indexed():
    def rows_of(table, indices):
        return table[indices]

    def summed(values, indices, rows):
        return jax.ops.segment_sum(values, indices, rows)

    for rows, width, count, dtype in (
        (100_000, 256, 1_000_000, "bfloat16"),
        (100_000, 64, 1_000_000, "float32"),
        (1_000_000, 64, 500_000, "float32"),
        (50_304, 1536, 16_384, "float32"),
        (32_000, 4096, 16_384, "bfloat16"),
        (1_000_000, 8, 2_000_000, "float32"),
    ):
        table, indices = Array((rows, width), dtype), Array((count,), "int32", rows)
        name = f"{rows}.{width}.{count}.{dtype}"
        add("gather", f"gather.{name}", rows_of, table, indices)
        values = Array((count, width), dtype)
        scatter = functools.partial(summed, rows=rows)
        add("scatter", f"scatter.{name}", scatter, values, indices)
        ascending = indices._replace(ascending=True)
        add("scatter", f"scatter.ascending.{name}", scatter, values, ascending)
    maxima = functools.partial(jax.ops.segment_max, num_segments=100_000)
    add(
        "scatter",
        "scatter.max",
        maxima,
        Array((1_000_000, 64), "float32"),
        Array((1_000_000,), "int32", 100_000),
    )
    along = functools.partial(jnp.take_along_axis, axis=1)
    add(
        "gather",
        "gather.along",
        along,
        Array((4096, 4096), "float32"),
        Array((4096, 1024), "int32", 4096),
    )


def ordered():
    f32 = functools.partial(Array, dtype="float32")
    add("sort", "sort.rows", functools.partial(jnp.sort, axis=-1), f32((16_384, 2048)))
    add("sort", "sort.one", jnp.sort, f32((4_194_304,)))
    add("sort", "sort.pairs", jnp.argsort, f32((8192, 1024)))
    add("sort", "sort.integers", jnp.sort, Array((16_777_216,), "int32", 1 << 30))
    for k in (8, 64):
        add("top_k", f"top_k.{k}", functools.partial(lax.top_k, k=k), f32((16_384, 2048)))
    add("top_k", "top_k.long", functools.partial(lax.top_k, k=32), f32((64, 131_072)))
    for dtype in ("float32", "bfloat16"):
        sums = functools.partial(jnp.cumsum, axis=-1)
        add("scan", f"cumsum.rows.{dtype}", sums, Array((16_384, 2048), dtype))
        add(
            "scan",
            f"cumsum.columns.{dtype}",
            functools.partial(jnp.cumsum, axis=0),
            Array((2048, 8192), dtype),
        )

    def recurrence(a, b):
        def combine(left, right):
            return left[0] * right[0], left[1] * right[0] + right[1]

        return lax.associative_scan(combine, (a, b), axis=1)[1]

    for shape in ((16, 2048, 1024), (4, 8192, 512)):
        name = "associative_scan." + ".".join(map(str, shape))
        add_gradients("associative_scan", name, recurrence, f32(shape), f32(shape))

    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")

    add_gradients("window", "max_pool", pool, Array((128, 112, 112, 64)))

    def average(x):
        return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")

    add("window", "average_pool", average, f32((64, 56, 56, 128)))
    for length, batch in ((512, 32_768), (4096, 4096), (1 << 20, 16)):
        add("fft", f"fft.{length}", jnp.fft.fft, Array((batch, length), "complex64"))
        add("fft", f"rfft.{length}", jnp.fft.rfft, f32((batch, length)))
    add("fft", "fft2", jnp.fft.fft2, Array((64, 512, 1024), "complex64"))

    def bits(seed, shape, draw):
        return draw(jax.random.fold_in(jax.random.key(0), seed[0]), shape)

    seed = Array((1,), "int32", 7)
    normal = functools.partial(bits, shape=(8192, 8192), draw=jax.random.normal)
    add("random", "random.normal", normal, seed)

    def keep(key, shape):
        return jax.random.bernoulli(key, 0.9, shape)

    add("random", "random.bernoulli", functools.partial(bits, shape=(8192, 8192), draw=keep), seed)


def loops():
    def layer_norm(x, scale):
        wide = x.astype(jnp.float32)
        mean = wide.mean(-1, keepdims=True)
        variance = wide.var(-1, keepdims=True)
        return ((wide - mean) * lax.rsqrt(variance + 1e-6) * scale).astype(x.dtype)

    def adam(x, m, v, g):
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        return x - 1e-4 * m / (jnp.sqrt(v) + 1e-8), m, v

    def cross_entropy(x, labels):
        wide = x.astype(jnp.float32)
        return jax.nn.logsumexp(wide, -1) - jnp.take_along_axis(wide, labels[:, None], 1)[:, 0]

    f32 = functools.partial(Array, dtype="float32")
    for rows, width in ((32_768, 1024), (8192, 8192)):
        x = Array((rows, width))
        add_gradients("loop", f"layer_norm.{rows}.{width}", layer_norm, x, f32((width,)))
        add_gradients("loop", f"softmax.{rows}.{width}", jax.nn.softmax, x)
        add_gradients("loop", f"gelu.{rows}.{width}", jax.nn.gelu, x)
    add("loop", "adam", adam, *(f32((8192, 8192)),) * 4)
    logits, labels = Array((8192, 50_304)), Array((8192,), "int32", 50_304)
    add_gradients("loop", "cross_entropy", cross_entropy, logits, labels, of=(0,))
    add("loop", "sum.rows", functools.partial(jnp.sum, axis=1), f32((16_384, 8192)))
    add("loop", "sum.columns", functools.partial(jnp.sum, axis=0), f32((16_384, 8192)))
    add("loop", "sum.all", jnp.sum, f32((16_384, 8192)))
    add("loop", "argmax", functools.partial(jnp.argmax, axis=1), f32((16_384, 8192)))
    add("loop", "transpose", jnp.transpose, f32((8192, 8192)))
    swap = functools.partial(jnp.transpose, axes=(0, 2, 1, 3))
    add("loop", "transpose.heads", swap, Array((32, 2048, 16, 64)))
    add(
        "loop",
        "concatenate",
        lambda a, b: jnp.concatenate([a, b], 1),
        f32((8192, 4096)),
        f32((8192, 4096)),
    )
    add("loop", "strided", lambda x: x[:, ::2] + x[:, 1::2], f32((8192, 8192)))
    add("loop", "one_hot", lambda i: jax.nn.one_hot(i, 4096), Array((16_384,), "int32", 4096))


for family in (matmuls, convolutions, attention, grouped_products, indexed, ordered, loops):
    family()


def lower(kernel, platforms=None):
    specs = [operand.spec() for operand in kernel.operands]
    return jax.jit(kernel.function).trace(*specs).lower(lowering_platforms=platforms)


def measure(kernel, executable):
    """Seconds of a call among many, the least of several rounds."""
    keys = jax.random.split(jax.random.key(0), len(kernel.operands))
    operands = [operand.draw(key) for operand, key in zip(kernel.operands, keys)]
    jax.block_until_ready(executable(*operands))
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            result = executable(*operands)
        jax.block_until_ready(result)
        seconds.append((time.perf_counter() - start) / CALLS)
    return min(seconds)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=pathlib.Path, help="folder of what is written")
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginnings of names; none: all")
    parser.add_argument("--lower", action="store_true", help="writes programs only; needs no GPU")
    options = parser.parse_args()
    names = [name for name in KERNELS if not options.names or name.startswith(tuple(options.names))]
    options.out.mkdir(parents=True, exist_ok=True)

    def prepare(name):
        try:
            lowered = lower(KERNELS[name], ("cuda",) if options.lower else None)
            text = gzip.compress(lowered.as_text().encode(), mtime=0)
            (options.out / f"{name}.mlir.gz").write_bytes(text)
            return None if options.lower else lowered.compile()
        except Exception as error:
            print(f"{name}: {error!r:.300}", file=sys.stderr, flush=True)
            return None

    with concurrent.futures.ThreadPoolExecutor(COMPILED_AT_ONCE) as pool:
        executables = list(pool.map(prepare, names))
    with open(options.out / "kernels.jsonl", "w") as rows:
        for name, executable in zip(names, executables):
            if executable is None:
                continue
            try:
                seconds = measure(KERNELS[name], executable)
            except Exception as error:
                print(f"{name}: {error!r:.300}", file=sys.stderr, flush=True)
                continue
            row = {"name": name, "kind": KERNELS[name].kind, "call_s": seconds}
            row |= {"device": jax.devices()[0].device_kind, "jax": jax.__version__}
            print(json.dumps(row), file=rows, flush=True)


if __name__ == "__main__":
    main()
