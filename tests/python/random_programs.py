"""Random JAX programs: what a training step may hold, in combinations that nobody writes down.

`RandomProgram(seed)` is a function of pytrees with arguments for it. Its decisions are drawn anew, and
alike, whenever JAX traces it. A program starts from its arguments as a pool of values, applies
operations from one table to values of the pool, and returns some of them: the rest is dead code.
Values stay near one, and nothing that is discrete hangs on how a float was rounded (what is sorted
is sorted by whole numbers), so that the results of two ways of computing it can be compared.

`python tests/python/random_programs.py --plans 2000 --runs 200` plans and runs many of them, in
processes that may die without taking the others along, and says which seeds fail, and how.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

FLOATS = (jnp.float32, jnp.bfloat16, jnp.float16)
INTEGERS = (jnp.int32, jnp.int8, jnp.uint8, jnp.uint32)


class State(NamedTuple):
    """Arguments and results are pytrees of every kind: dictionaries, tuples and these."""

    value: Any
    count: Any


def is_float(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def is_integer(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.integer)


def tame(x: Any) -> Any:
    """Near one again, however large it was, and of the same sign."""
    return x / (1 + jnp.abs(x))


def ranks(x: Any, axis: int) -> Any:
    """Keys to sort `x` by, all different: an order that no rounding changes."""
    count = x.shape[axis]
    keys = (7 * np.arange(count) + 3) % count if np.gcd(7, count) == 1 else np.arange(count)[::-1]
    keys = lax.broadcast_in_dim(jnp.asarray(keys, jnp.float32), x.shape, (axis,))
    return keys + 0.25 * jnp.tanh(x.astype(jnp.float32))


class Pool:
    """The values that a program has so far, and the dice that choose among them."""

    def __init__(
        self, rng: np.random.Generator, values: Sequence[Any], sizes: Sequence[int]
    ) -> None:
        self.rng = rng
        self.values = list(values)
        self.sizes = sizes
        self.callbacks = 0

    def pick(self, wanted: Callable[[Any], bool]) -> Any:
        """One of the values, young ones more often than old ones.

        Raises:
          LookupError: no value is `wanted`.
        """
        found = [value for value in self.values if wanted(value)]
        if not found:
            raise LookupError
        return found[-1 - min(int(self.rng.geometric(0.3)) - 1, len(found) - 1)]

    def floats(self, least: int = 0, most: int = 4) -> Any:
        return self.pick(lambda v: is_float(v) and least <= v.ndim <= most and v.size)

    def integers(self, least: int = 0) -> Any:
        return self.pick(lambda v: is_integer(v) and v.ndim >= least and v.size)

    def axis(self, x: Any) -> int:
        return int(self.rng.integers(x.ndim))

    def one_of(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def scalar_index(self) -> Any:
        """A whole number of the program's, as predicates and places hang on."""
        x = self.integers()
        return jnp.ravel(x)[0].astype(jnp.int32) if x.ndim else x.astype(jnp.int32)


Operation = Callable[[Pool], Any]
TABLE: list[tuple[str, int, bool, Operation]] = []  # name, weight, whether it has gradients


def operation(weight: int, gradients: bool = True) -> Callable[[Operation], Operation]:
    def enter(function: Operation) -> Operation:
        TABLE.append((function.__name__, weight, gradients, function))
        return function

    return enter


UNARY: Sequence[Callable[[Any], Any]] = (
    jnp.tanh,
    jnp.sin,
    jax.nn.sigmoid,
    jax.nn.gelu,
    jax.nn.softplus,
    jnp.abs,
    jnp.square,
    lax.erf,
    lambda x: jnp.exp(-x * x),
    lambda x: jnp.sqrt(jnp.abs(x) + 0.5),
    lambda x: lax.rsqrt(1 + x * x),
    lambda x: jnp.log1p(jnp.abs(x)),
    lambda x: jnp.maximum(x, 0.1),
    lambda x: jnp.where(x > 0.3333, x, 0.1 * x),
    lambda x: jnp.clip(x, -1, 1),
    lambda x: x * 2 + 1,
    lambda x: lax.stop_gradient(x) + x,
    lambda x: lax.reduce_precision(x, 8, 7),
)


@operation(8)
def unary(pool: Pool) -> Any:
    return tame(pool.one_of(UNARY)(pool.floats()))


@operation(8)
def binary(pool: Pool) -> Any:
    x = pool.floats()
    y = pool.pick(
        lambda v: is_float(v) and (v.shape == x.shape or x.shape[-v.ndim or x.ndim :] == v.shape)
    )
    # What cancels leaves nothing but rounding, which no two ways of computing it share.
    less = lambda a, b: a - 0.37 * b
    function = pool.one_of([jnp.add, less, jnp.multiply, jnp.maximum, jnp.minimum, jnp.hypot])
    return tame(function(x, y.astype(x.dtype) if pool.chance(0.5) else y))


@operation(3)
def integer_arithmetic(pool: Pool) -> Any:
    x = pool.integers()
    y = pool.pick(lambda v: is_integer(v) and v.shape == x.shape).astype(x.dtype)
    functions = [
        jnp.add,
        jnp.multiply,
        jnp.bitwise_and,
        jnp.bitwise_xor,
        jnp.maximum,
        lambda a, b: a - 3 * b,
        lambda a, b: lax.shift_left(a, b & 3),
        lambda a, b: a % (b | 1),
        lambda a, b: lax.population_count(a ^ b),
        lambda a, b: jnp.where(a > b, a, b + 1),
    ]
    return pool.one_of(functions)(x, y)


@operation(3)
def convert(pool: Pool) -> Any:
    x = pool.pick(lambda v: v.dtype == bool or is_float(v) or is_integer(v))
    if is_float(x):
        return x.astype(pool.one_of(FLOATS))
    if x.dtype == bool or pool.chance(0.5):
        return (x % 5 if is_integer(x) else x).astype(pool.one_of(FLOATS)) / 4
    return x.astype(pool.one_of(INTEGERS))


@operation(2)
def bits(pool: Pool) -> Any:
    x = pool.pick(lambda v: v.dtype in (jnp.int32, jnp.uint32))
    return lax.bitcast_convert_type(x, jnp.uint32 if x.dtype == jnp.int32 else jnp.int32) >> 1


@operation(2)
def compare(pool: Pool) -> Any:
    x = pool.integers()
    return pool.one_of([jnp.greater, jnp.equal, jnp.less_equal])(x, 1)


@operation(3)
def select(pool: Pool) -> Any:
    x = pool.floats()
    y = pool.pick(lambda v: v.shape == x.shape and v.dtype == x.dtype)
    mask = pool.pick(lambda v: v.dtype == bool and v.shape in (x.shape, ()))
    return jnp.where(mask, x, y)


@operation(8)
def matmul(pool: Pool) -> Any:
    x = pool.floats(1)
    w = pool.pick(lambda v: is_float(v) and v.ndim == 2 and x.shape[-1] in v.shape)
    w = w if w.shape[0] == x.shape[-1] else w.T
    kind = pool.one_of([None, jnp.float32])
    return tame(jnp.matmul(x, w.astype(x.dtype), preferred_element_type=kind))


@operation(4)
def einsum(pool: Pool) -> Any:
    """A matmul with a batch, or a contraction over everything that two values share."""
    x = pool.floats(2, 3)
    y = pool.pick(lambda v: is_float(v) and v.ndim == x.ndim and v.shape[0] == x.shape[0])
    y = y.astype(x.dtype)
    if x.ndim == 2:
        equation = pool.one_of(["ab,ac->bc", "ab,ac->cb", "ab,ac->abc", "ab,ac->c"])
    elif x.shape[2] == y.shape[2]:
        equation = pool.one_of(["abd,acd->abc", "abd,acd->acb", "abd,acd->bc", "abd,acd->a"])
    else:
        equation = pool.one_of(["abd,ace->abe", "abd,ace->ade", "abd,ace->db"])
    return tame(0.1 * jnp.einsum(equation, x, y))


REDUCTIONS: Sequence[Callable[..., Any]] = (
    jnp.mean,
    jnp.sum,
    jnp.max,
    jnp.min,
    lambda x, axis: 0.2 + jnp.var(x, axis=axis),
    jax.nn.logsumexp,
    lambda x, axis: jnp.prod(1 + 0.1 * x, axis=axis),
)


@operation(6)
def reduce(pool: Pool) -> Any:
    x = pool.floats(1)
    axes = tuple(sorted({pool.axis(x) for _ in range(1 + pool.chance(0.3))}))
    return tame(pool.one_of(REDUCTIONS)(tame(x), axis=axes))


@operation(2)
def reduce_integers(pool: Pool) -> Any:
    x = pool.integers(1)
    return pool.one_of([jnp.max, jnp.sum, jnp.min, jnp.any, jnp.all])(x, axis=pool.axis(x))


@operation(2)
def reduce_two(pool: Pool) -> Any:
    """argmax, and a reduction over pairs."""
    x = pool.floats(1)
    axis = pool.axis(x)
    if pool.chance(0.5):
        return jnp.argmax(ranks(x, axis), axis)
    return lax.reduce(
        (ranks(x, axis), x.astype(jnp.float32)),
        (np.float32(-1e9), np.float32(0)),
        lambda a, b: (jnp.maximum(a[0], b[0]), a[1] + b[1]),
        (axis,),
    )[0]


@operation(3)
def normalize(pool: Pool) -> Any:
    x = pool.floats(1)
    if pool.chance(0.5):
        return jax.nn.softmax(x, pool.axis(x))
    return tame((x - 0.4 * x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 0.1))


@operation(3)
def cumulative(pool: Pool) -> Any:
    x = pool.floats(1)
    axis, reverse = pool.axis(x), pool.chance(0.4)
    function = pool.one_of(
        [
            lax.cumsum,
            lax.cummax,
            lax.cumlogsumexp,
            lambda v, axis, reverse: lax.cumprod(1 + 0.1 * v, axis, reverse),
        ]
    )
    return tame(function(tame(x), axis=axis, reverse=reverse))


@operation(2)
def associative(pool: Pool) -> Any:
    x = pool.floats(1)
    axis = pool.axis(x)

    def join(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    return tame(lax.associative_scan(join, (jax.nn.sigmoid(x), tame(x)), axis=axis)[1])


@operation(6)
def rearrange(pool: Pool) -> Any:
    x = pool.pick(lambda v: v.ndim >= 1 and v.size)
    axis = pool.axis(x)
    size = x.shape[axis]
    choices: list[Callable[[], Any]] = [
        lambda: jnp.transpose(x, pool.rng.permutation(x.ndim)),
        lambda: jnp.flip(x, axis),
        lambda: jnp.roll(x, int(pool.rng.integers(1, 4)), axis),
        lambda: lax.slice_in_dim(x, 0, max(1, size // 2), axis=axis),
        lambda: lax.slice_in_dim(x, size % 2, size, 2 if size > 3 else 1, axis),
        lambda: jnp.concatenate([x, x[..., :1]], -1),
        lambda: jnp.stack([x, x], axis),
        lambda: jnp.pad(x, [(1, 2)] + [(0, 0)] * (x.ndim - 1)),
        lambda: (
            lax.pad(
                x,
                jnp.zeros((), x.dtype),
                [(-1 if size > 3 else 0, 1, 1)] + [(0, 0, 0)] * (x.ndim - 1),
            )
            if axis == 0
            else x
        ),
        lambda: x.reshape(-1),
        lambda: x.reshape(x.shape[0], -1),
        lambda: (
            x.reshape(*x.shape[:-1], 2, x.shape[-1] // 2)
            if x.shape[-1] % 2 == 0 and x.ndim < 4
            else x[None]
        ),
        lambda: jnp.expand_dims(x, axis),
        lambda: jnp.broadcast_to(x, (3, *x.shape)) if x.ndim < 3 else x,
        lambda: jnp.repeat(x, 2, axis),
        lambda: jnp.tile(x, 2),
        lambda: jnp.tril(x) if x.ndim >= 2 else x,
        lambda: jnp.diagonal(x) if x.ndim >= 2 else x,
        lambda: jnp.squeeze(lax.slice_in_dim(x, size - 1, size, axis=axis), axis),
        lambda: jnp.swapaxes(x, 0, -1),
    ]
    result = pool.one_of(choices)()
    return result if result.size <= 1 << 14 else x


@operation(5)
def gather(pool: Pool) -> Any:
    x = pool.pick(lambda v: v.ndim >= 1 and v.size)
    where = pool.pick(lambda v: is_integer(v) and v.ndim <= 2 and v.size <= 512)
    axis = pool.axis(x)
    if x.size // x.shape[axis] * where.size > 1 << 14:
        raise LookupError
    places = where.astype(jnp.int32) % x.shape[axis]
    mode = pool.one_of(["clip", "fill", None])
    return jnp.take(x, places, axis, mode=mode)


@operation(3)
def gather_along(pool: Pool) -> Any:
    x = pool.pick(lambda v: v.ndim >= 2 and v.size)
    labels = pool.pick(lambda v: is_integer(v) and v.shape == x.shape[:-1])
    labels = (labels.astype(jnp.int32) % x.shape[-1])[..., None]
    return jnp.take_along_axis(x, labels, -1)[..., 0]


@operation(5)
def scatter(pool: Pool) -> Any:
    x = pool.floats(1)
    where = pool.pick(lambda v: is_integer(v) and v.ndim == 1 and v.size)
    places = where.astype(jnp.int32) % x.shape[0]
    values = jnp.broadcast_to(
        0.1 * jnp.cos(places.astype(x.dtype)).reshape(-1, *[1] * (x.ndim - 1)),
        (where.size, *x.shape[1:]),
    )
    if values.size > 1 << 14:
        raise LookupError
    kind = pool.one_of(["add", "max", "min", "multiply"])
    return tame(getattr(x.at[places], kind)(values))


@operation(3)
def segments(pool: Pool) -> Any:
    x = pool.floats(1)
    where = pool.pick(lambda v: is_integer(v) and v.shape == x.shape[:1])
    return tame(
        jax.ops.segment_sum(x, where.astype(jnp.int32) % 4, num_segments=pool.one_of([4, 8]))
    )


@operation(3)
def one_hot(pool: Pool) -> Any:
    x = pool.pick(lambda v: is_integer(v) and v.size <= 512)
    return jax.nn.one_hot(x % 8, pool.one_of([8, 6]), dtype=pool.one_of(FLOATS))


@operation(4)
def dynamic_slice(pool: Pool) -> Any:
    x = pool.pick(lambda v: v.ndim >= 1 and v.shape[0] >= 2)
    start = pool.scalar_index()
    if pool.chance(0.5):
        return lax.dynamic_slice_in_dim(x, start, x.shape[0] // 2, 0)
    return lax.dynamic_update_slice_in_dim(x, x[: x.shape[0] // 2], start, 0)


@operation(4)
def sort(pool: Pool) -> Any:
    x = pool.floats(1)
    axis = pool.axis(x)
    if pool.chance(0.3):
        return jnp.argsort(ranks(x, axis), axis)
    return lax.sort((ranks(x, axis), x), dimension=axis, num_keys=1)[1]


@operation(4)
def top_k(pool: Pool) -> Any:
    x = pool.floats(1)
    values, places = lax.top_k(ranks(x, x.ndim - 1), min(3, x.shape[-1]))
    return places if pool.chance(0.4) else tame(values)


@operation(5)
def convolution(pool: Pool) -> Any:
    x = pool.floats(2, 4)
    while x.ndim < 4:
        x = x[:, None]
    channels = x.shape[1]
    groups = pool.one_of([1, channels])
    size = (pool.one_of([1, 3]), pool.one_of([1, 3]))
    kernel = (
        jnp.full((channels, channels // groups, *size), 0.1, x.dtype)
        + 0.01 * lax.iota(x.dtype, channels)[:, None, None, None]
    )
    strides = (1, pool.one_of([1, 2]))
    dilation = (1, pool.one_of([1, 2]))
    if channels > 64 or x.size > 1 << 13:
        raise LookupError
    return tame(
        lax.conv_general_dilated(
            x, kernel, strides, "SAME", rhs_dilation=dilation, feature_group_count=groups
        )
    )


@operation(3)
def pooling(pool: Pool) -> Any:
    x = pool.floats(1, 3)
    window = [1] * (x.ndim - 1) + [min(3, x.shape[-1])]
    strides = [1] * (x.ndim - 1) + [pool.one_of([1, 2])]
    if pool.chance(0.5):
        keys = ranks(x, x.ndim - 1)
        return tame(lax.reduce_window(keys, -jnp.inf, lax.max, window, strides, "SAME"))
    return tame(
        lax.reduce_window(
            x, np.array(0, x.dtype), lax.add, window, strides, pool.one_of(["SAME", "VALID"])
        )
    )


@operation(4)
def linear_algebra(pool: Pool) -> Any:
    """LAPACK's custom calls."""
    x = pool.floats(2, 3).astype(jnp.float32)[..., :8, :]
    square = 0.1 * jnp.matmul(x, jnp.swapaxes(x, -1, -2)) + 2 * jnp.eye(x.shape[-2])
    lower = jnp.linalg.cholesky(square)
    choices = [
        lambda: lower,
        lambda: jax.scipy.linalg.solve_triangular(lower, x, lower=True),
        lambda: jnp.linalg.solve(square, x),
        lambda: jnp.abs(jnp.linalg.qr(square)[1]),
        lambda: jnp.linalg.inv(square),
    ]
    return tame(pool.one_of(choices)())


@operation(2)
def fourier(pool: Pool) -> Any:
    x = pool.floats(1).astype(jnp.float32)
    if pool.chance(0.5):
        return tame(jnp.abs(jnp.fft.rfft(x)) / x.shape[-1])
    return tame(jnp.real(jnp.fft.fft(lax.complex(x, 0.5 * x))) / x.shape[-1])


@operation(4)
def random_numbers(pool: Pool) -> Any:
    x = pool.floats()
    key = jax.random.fold_in(
        jax.random.key(3, impl=pool.one_of(["threefry2x32", "rbg"]))
        if pool.chance(0.3)
        else jax.random.key(5),
        pool.scalar_index(),
    )
    if pool.chance(0.5):
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x, 0)
    return x + 0.1 * jax.random.uniform(key, x.shape).astype(x.dtype)


def block(pool: Pool, x: Any, depth: int = 0) -> Callable[[Any], Any]:
    """A function from values like `x` to values like it, of a few operations.

    Its decisions are made here, not when JAX traces it, which may be more than once.
    """
    choices: list[Callable[[Any], Any]] = [
        jnp.tanh,
        lambda v: 0.5 * v + 0.1,
        lambda v: tame(v * v + v),
    ]
    if x.ndim:
        axis = pool.axis(x)
        choices += [
            lambda v: jax.nn.softmax(v, axis),
            lambda v: jnp.flip(v, axis),
            lambda v: v - 0.4 * v.mean(axis, keepdims=True),
            lambda v: tame(jnp.cumsum(v, axis)),
            lambda v: lax.sort((ranks(v, axis), v), dimension=axis, num_keys=1)[1],
            lambda v: v.at[0].add(0.1),
        ]
        if x.ndim >= 2:
            for w in pool.values:
                if is_float(w) and w.shape == (x.shape[-1],) * 2:
                    choices.append(lambda v, w=w: tame(v @ w.astype(v.dtype)))
                elif is_float(w) and w.ndim == 2 and w.shape[0] == x.shape[-1]:
                    choices.append(
                        lambda v, w=w: tame(jnp.tanh(v @ w.astype(v.dtype)) @ w.T.astype(v.dtype))
                    )
        for other in pool.values[-6:]:
            if other.shape == x.shape and is_float(other):
                choices.append(lambda v, o=other: tame(v + o.astype(v.dtype)))
    chosen = [pool.one_of(choices) for _ in range(int(pool.rng.integers(1, 4)))]
    if depth < 2 and pool.chance(0.25):
        inner = block(pool, x, depth + 1)
        count = int(pool.rng.integers(2, 4))
        chosen.append(
            pool.one_of(
                [
                    lambda v: lax.scan(lambda c, _: (inner(c), None), v, None, length=count)[0],
                    lambda v: lax.cond(v.size > 4, inner, lambda u: u, v),
                    jax.checkpoint(inner),
                    jax.jit(inner),
                ]
            )
        )

    def run(v: Any) -> Any:
        for function in chosen:
            v = function(v).astype(v.dtype)
        return v

    return run


@operation(7)
def scan(pool: Pool) -> Any:
    """With a carry or several, inputs and outputs of each round, either way round."""
    x = pool.floats()
    body = block(pool, x)
    reverse, unroll = pool.chance(0.3), pool.one_of([1, 1, 2])
    shape = pool.one_of([0, 1, 2, 3])
    if shape == 0:
        return lax.scan(lambda c, _: (body(c), None), x, None, length=3, reverse=reverse)[0]
    if shape == 1 and x.ndim:
        each = block(pool, x[0])
        carried, out = lax.scan(
            lambda c, v: (tame(c + each(v).mean().astype(c.dtype)), each(v)),
            jnp.zeros((), x.dtype),
            x,
            reverse=reverse,
            unroll=unroll,
        )
        return out + carried
    if shape == 2:  # a counter, and a carry that nobody reads
        final = lax.scan(
            lambda c, _: ((body(c[0]), c[1] + 1, c[2] * 2), c[1]),
            (x, jnp.int32(0), x),
            None,
            length=4,
        )
        return final[0][0] if pool.chance(0.7) else final[1]
    stacked = lax.scan(lambda c, _: (body(c), c), x, None, length=2)[1]
    return stacked if stacked.size <= 1 << 14 else stacked[0]


@operation(4)
def scan_over_weights(pool: Pool) -> Any:
    """Layers in a loop: their weights are stacked."""
    x = pool.floats(2, 3)
    w = pool.pick(lambda v: is_float(v) and v.ndim == 2 and v.shape == (x.shape[-1],) * 2)
    weights = jnp.stack([w, 0.5 * w, w.T])
    layer = lambda c, m: (tame(c + jnp.tanh(c @ m.astype(c.dtype))), None)
    if pool.chance(0.5):
        layer = jax.checkpoint(layer)
    return lax.scan(layer, x, weights)[0]


@operation(4, gradients=False)
def while_loop(pool: Pool) -> Any:
    x = pool.floats()
    body = block(pool, x)
    most = pool.scalar_index() % 4
    final = lax.while_loop(
        lambda c: c[1] < most, lambda c: (body(c[0]), c[1] + 1), (x, jnp.int32(0))
    )
    return final[pool.one_of([0, 0, 1])]


@operation(4)
def fori_loop(pool: Pool) -> Any:
    x = pool.floats(1)
    body = block(pool, x)
    if pool.chance(0.5):
        return lax.fori_loop(0, 3, lambda i, v: body(v), x)
    return lax.fori_loop(0, min(3, x.shape[0]), lambda i, v: v.at[i].set(tame(v[i] + 0.1)), x)


@operation(5)
def cond(pool: Pool) -> Any:
    x = pool.floats()
    one, other = block(pool, x), block(pool, x)
    index = pool.scalar_index()
    if pool.chance(0.3):
        return lax.switch(index % 3, [one, other, lambda v: v], x)
    if pool.chance(0.3):  # results that one branch does not compute
        return lax.cond(index > 2, lambda v: (one(v), v), lambda v: (v, other(v)), x)[1]
    return lax.cond(index > 2, one, other, x)


@operation(4)
def rematerialized(pool: Pool) -> Any:
    x = pool.floats()
    policy = pool.one_of(
        [None, jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.nothing_saveable]
    )
    return jax.checkpoint(block(pool, x), policy=policy)(x)


@operation(4)
def shared_function(pool: Pool) -> Any:
    """One function that is called twice."""
    x = pool.floats()
    function = jax.jit(block(pool, x))
    return function(function(x))


@operation(3)
def mapped(pool: Pool) -> Any:
    x = pool.floats(1)
    body = block(pool, x[0])
    return pool.one_of([jax.vmap(body), lambda v: lax.map(body, v)])(x)


@operation(2)
def custom_gradient(pool: Pool) -> Any:
    x = pool.floats()

    @jax.custom_vjp
    def function(v: Any) -> Any:
        return jnp.sin(v)

    function.defvjp(lambda v: (jnp.sin(v), v), lambda v, g: (tame(g * v),))
    return function(x)


@operation(2)
def barrier(pool: Pool) -> Any:
    x, y = pool.floats(), pool.pick(lambda v: True)
    return lax.optimization_barrier((x, y))[0]


@operation(3)
def dead_code(pool: Pool) -> Any:
    x = pool.floats()
    lax.scan(lambda c, _: (jnp.tanh(c), c.sum()), x, None, length=2)
    jnp.cumsum(x.reshape(-1))
    raise LookupError  # nothing new


@operation(2)
def inner_gradient(pool: Pool) -> Any:
    x = pool.floats()
    body = block(pool, x)
    return tame(jax.grad(lambda v: body(v).astype(jnp.float32).sum())(x))


@operation(2, gradients=False)
def callback(pool: Pool) -> Any:
    x = pool.floats()
    pool.callbacks += 1
    kind = pool.one_of(["print", "callback", "io", "pure", "loop"])
    if kind == "print":
        jax.debug.print("{}", x.sum())
    elif kind == "callback":
        jax.debug.callback(lambda *v: None, x, pool.pick(lambda v: True))
    elif kind == "io":
        io_callback(lambda v: None, None, x)
    elif kind == "pure":
        return jax.pure_callback(lambda v: np.asarray(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    else:

        def body(c: Any, _: Any) -> Any:
            jax.debug.callback(lambda v: None, c.sum())
            return jnp.tanh(c), None

        return lax.scan(body, x, None, length=2)[0]
    raise LookupError


@dataclasses.dataclass
class RandomProgram:
    """A function and arguments for it. `trains`: a step that updates its first argument."""

    seed: int
    callbacks: bool = True

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 0])
        self.trains = bool(rng.random() < 0.5)
        self.length = int(rng.integers(3, 16))
        sizes = rng.choice([4, 6, 8, 8, 12, 16, 16, 24, 32, 5], 4)
        b, t, d, f = (int(size) for size in sizes)
        self.sizes = (b, t, d, f)

        def normal(*shape: int, dtype: Any = None) -> Any:
            dtype = (
                dtype
                or [jnp.float32, jnp.float32, jnp.float32, jnp.bfloat16, jnp.float16][
                    rng.integers(5)
                ]
            )
            return jnp.asarray(0.5 * rng.standard_normal(shape), dtype)

        weights = {
            "square": normal(d, d),
            "up": normal(d, f),
            "down": normal(f, d),
            "bias": normal(d),
            "stack": (normal(2, d, d), normal(f)),
            "unused": normal(3),
        }
        if not self.trains:
            weights = State(weights, jnp.int32(rng.integers(5)))
        batch = {
            "x": normal(b, d),
            "seq": normal(b, t, d),
            "images": normal(b, 2, t, t),
            "scale": normal(),
            "tokens": jnp.asarray(rng.integers(0, 9, (b, t)), jnp.int32),
            "labels": jnp.asarray(
                rng.integers(0, 9, b), [jnp.int32, jnp.uint8, jnp.int8][rng.integers(3)]
            ),
            "mask": jnp.asarray(rng.random((b, t)) < 0.5),
            "step": jnp.int32(rng.integers(9)),
        }
        for name in list(batch):
            if rng.random() < 0.3 and name not in ("x", "step"):
                del batch[name]
        self.arguments: tuple[Any, ...] = (weights, batch)
        self.donated = (0,) if rng.random() < 0.5 else (0, 1) if rng.random() < 0.2 else ()

    @functools.cached_property
    def function(self) -> Callable[..., Any]:
        """As it is given to the planner: jitted, with its donation."""

        def step(weights: Any, batch: Any) -> Any:
            return self._train(weights, batch) if self.trains else self._compute(weights, batch)

        return jax.jit(step, donate_argnums=self.donated)

    def _grown(self, weights: Any, batch: Any, gradients: bool) -> Pool:
        rng = np.random.default_rng([self.seed, 1])
        leaves = [*jax.tree.leaves(weights), *jax.tree.leaves(batch)]
        pool = Pool(rng, leaves, self.sizes)
        rows = [
            row
            for row in TABLE
            if (row[2] or not gradients) and (self.callbacks or row[0] != "callback")
        ]
        weight = np.array([row[1] for row in rows], float)
        done = 0
        for _ in range(8 * self.length):
            if done == self.length:
                break
            try:
                value = rows[rng.choice(len(rows), p=weight / weight.sum())][3](pool)
            except LookupError:  # no values that it can take
                continue
            pool.values.append(value)
            done += 1
        return pool

    def _compute(self, weights: Any, batch: Any) -> Any:
        pool = self._grown(weights, batch, False)
        made = pool.values[-self.length :]
        results = [value for value in made if pool.rng.random() < 0.6] or made[-1:]
        if pool.chance(0.3):  # a result twice, one that is an argument, and a constant
            results += [results[0], batch["x"], jnp.ones((4, 8))]
        return {"results": tuple(results), "state": State(jax.tree.map(lambda v: v, weights), ())}

    def _train(self, weights: Any, batch: Any) -> Any:
        def loss(weights: Any) -> Any:
            pool = self._grown(weights, batch, True)
            floats = [v for v in pool.values[-self.length :] if is_float(v) and v.size]
            total = sum((v.astype(jnp.float32).mean() for v in floats), jnp.float32(0))
            return total + sum(
                (w.astype(jnp.float32) ** 2).mean() for w in jax.tree.leaves(weights)
            ), [v for v in pool.values[-2:] if v.dtype != bool]

        (value, others), gradient = jax.value_and_grad(loss, has_aux=True)(weights)
        updated = jax.tree.map(lambda w, g: (w - 0.1 * tame(g)).astype(w.dtype), weights, gradient)
        return updated, value, others
