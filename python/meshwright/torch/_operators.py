"""The table of operators: how each of ATen's becomes StableHLO.

A row is a function of the writer, of what the operator gives (fake tensors), and of its arguments,
with values for tensors. Operators without a row are opened by torch's own decompositions; those that have neither
are refused.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from meshwright import errors
from meshwright.torch import _attention, _windows
from meshwright.torch._stablehlo import Value, Writer, type_text

_ATEN = torch.ops.aten

Row = Callable[..., Any]
TABLE: dict[Any, Row] = {}


def _row(*operators: Any) -> Callable[[Row], Row]:
    def add(row: Row) -> Row:
        for operator in operators:
            for overload in operator.overloads() if hasattr(operator, "overloads") else [""]:
                TABLE[getattr(operator, overload) if overload else operator] = row
        return row

    return add


def _values(w: Writer, shape: Sequence[int], dtype: torch.dtype, *args: Any) -> list[Value]:
    """Tensors and numbers as values of one type."""
    values = []
    for arg in args:
        if isinstance(arg, Value):
            values.append(w.broadcast(w.convert(arg, dtype), shape))
        else:
            values.append(w.constant(arg, shape, dtype))
    return values


# Elementwise: the result's type is that of the computation.

_UNARY = {
    "abs": "abs",
    "acos": "chlo.acos",
    "acosh": "chlo.acosh",
    "asin": "chlo.asin",
    "asinh": "chlo.asinh",
    "atan": "chlo.atan",
    "atanh": "chlo.atanh",
    "bitwise_not": "not",
    "ceil": "ceil",
    "cos": "cosine",
    "cosh": "chlo.cosh",
    "digamma": "chlo.digamma",
    "erf": "chlo.erf",
    "erfc": "chlo.erfc",
    "erfinv": "chlo.erf_inv",
    "exp": "exponential",
    "expm1": "exponential_minus_one",
    "floor": "floor",
    "lgamma": "chlo.lgamma",
    "log": "log",
    "log1p": "log_plus_one",
    "logical_not": "not",
    "neg": "negate",
    "round": "round_nearest_even",
    "rsqrt": "rsqrt",
    "sigmoid": "logistic",
    "sgn": "sign",
    "sign": "sign",
    "sin": "sine",
    "sinh": "chlo.sinh",
    "sqrt": "sqrt",
    "tan": "chlo.tan",
    "tanh": "tanh",
}
_BINARY = {
    "add": "add",
    "atan2": "atan2",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "fmod": "remainder",
    "logical_and": "and",
    "logical_or": "or",
    "logical_xor": "xor",
    "maximum": "maximum",
    "minimum": "minimum",
    "mul": "multiply",
    "pow": "power",
    "sub": "subtract",
}
_COMPARED = {"eq": "EQ", "ge": "GE", "gt": "GT", "le": "LE", "lt": "LT", "ne": "NE"}


def _unary(name: str, w: Writer, out: Any, x: Value) -> Value:
    [x] = _values(w, out.shape, out.dtype, x)
    return w.elementwise(name, x)


def _binary(name: str, w: Writer, out: Any, a: Any, b: Any, *, alpha: Any = 1) -> Value:
    a, b = _values(w, out.shape, out.dtype, a, b)
    if alpha != 1:
        [scale] = _values(w, out.shape, out.dtype, alpha)
        b = w.elementwise("multiply", b, scale)
    return w.elementwise(name, a, b)


def _common_type(*args: Any) -> torch.dtype:
    values = [arg.dtype for arg in args if isinstance(arg, Value)]
    dtype = functools.reduce(torch.promote_types, values)
    if any(isinstance(arg, float) for arg in args) and not dtype.is_floating_point:
        return torch.get_default_dtype()
    return dtype


def _compared(direction: str, w: Writer, out: Any, a: Any, b: Any) -> Value:
    return w.compare(direction, *_values(w, out.shape, _common_type(a, b), a, b))


for _name, _operation in _UNARY.items():
    _row(getattr(_ATEN, _name).default)(functools.partial(_unary, _operation))
for _name, _operation in _BINARY.items():
    _row(getattr(_ATEN, _name))(functools.partial(_binary, _operation))
for _name, _operation in _COMPARED.items():
    _row(getattr(_ATEN, _name))(functools.partial(_compared, _operation))


@_row(_ATEN.rsub)
def _rsub(w: Writer, out: Any, a: Any, b: Any, alpha: Any = 1) -> Value:
    return _binary("subtract", w, out, b, a, alpha=alpha)


@_row(_ATEN.reciprocal.default)
def _reciprocal(w: Writer, out: Any, x: Value) -> Value:
    return _binary("divide", w, out, 1, x)


@_row(_ATEN.relu.default)
def _relu(w: Writer, out: Any, x: Value) -> Value:
    return _binary("maximum", w, out, x, 0)


@_row(_ATEN.div)
def _div(w: Writer, out: Any, a: Any, b: Any, *, rounding_mode: str | None = None) -> Value:
    if rounding_mode is None or out.dtype.is_floating_point:
        quotient = _binary("divide", w, out, a, b)
        if rounding_mode == "floor":
            return w.elementwise("floor", quotient)
        return quotient if rounding_mode is None else _trunc(w, out, quotient)
    if rounding_mode == "trunc":
        return _binary("divide", w, out, a, b)
    x, y = _values(w, out.shape, out.dtype, a, b)
    quotient = w.elementwise("divide", x, y)
    zero = w.constant(0, out.shape, out.dtype)
    remainder = w.elementwise("remainder", x, y)
    signs = w.elementwise("xor", w.compare("LT", x, zero), w.compare("LT", y, zero))
    below = w.elementwise("and", w.compare("NE", remainder, zero), signs)
    one = w.constant(1, out.shape, out.dtype)
    return w.select(below, w.elementwise("subtract", quotient, one), quotient)


@_row(_ATEN.floor_divide)
def _floor_divide(w: Writer, out: Any, a: Any, b: Any) -> Value:
    return _div(w, out, a, b, rounding_mode="floor")


@_row(_ATEN.remainder)
def _remainder(w: Writer, out: Any, a: Any, b: Any) -> Value:
    x, y = _values(w, out.shape, out.dtype, a, b)
    rest = w.elementwise("remainder", x, y)
    zero = w.constant(0, out.shape, out.dtype)
    signs = w.elementwise("xor", w.compare("LT", rest, zero), w.compare("LT", y, zero))
    moved = w.elementwise("and", w.compare("NE", rest, zero), signs)
    return w.select(moved, w.elementwise("add", rest, y), rest)


@_row(_ATEN.trunc.default)
def _trunc(w: Writer, out: Any, x: Value) -> Value:
    zero = w.constant(0, x.shape, x.dtype)
    return w.select(w.compare("LT", x, zero), w.elementwise("ceil", x), w.elementwise("floor", x))


@_row(_ATEN.isnan.default)
def _isnan(w: Writer, out: Any, x: Value) -> Value:
    return w.compare("NE", x, x)


@_row(_ATEN.isinf.default)
def _isinf(w: Writer, out: Any, x: Value) -> Value:
    infinite = w.constant(math.inf, x.shape, x.dtype)
    return w.compare("EQ", w.elementwise("abs", x), infinite)


def _of_truths(row: Row, w: Writer, out: Any, *args: Any) -> Value:
    """A row for numbers by what they are as truths: whether they are not zero."""
    return row(w, out, *(w.convert(x, torch.bool) if isinstance(x, Value) else x for x in args))


for _name in ("logical_not", "logical_and", "logical_or", "logical_xor"):
    _operator = getattr(_ATEN, _name).default
    TABLE[_operator] = functools.partial(_of_truths, TABLE[_operator])


@_row(_ATEN.where.self, _ATEN.where.ScalarOther, _ATEN.where.ScalarSelf, _ATEN.where.Scalar)
def _where(w: Writer, out: Any, condition: Value, a: Any, b: Any) -> Value:
    [condition] = _values(w, out.shape, torch.bool, condition)
    return w.select(condition, *_values(w, out.shape, out.dtype, a, b))


@_row(_ATEN.masked_fill)
def _masked_fill(w: Writer, out: Any, x: Value, mask: Value, value: Any) -> Value:
    return _where(w, out, mask, value, x)


@_row(_ATEN.clamp, _ATEN.clamp_min, _ATEN.clamp_max, _ATEN.hardtanh)
def _clamp(w: Writer, out: Any, x: Value, min: Any = None, max: Any = None) -> Value:
    [x] = _values(w, out.shape, out.dtype, x)
    if min is not None:
        x = _binary("maximum", w, out, x, min)
    return x if max is None else _binary("minimum", w, out, x, max)


TABLE[_ATEN.clamp_max.default] = TABLE[_ATEN.clamp_max.Tensor] = lambda w, out, x, max: _clamp(
    w, out, x, None, max
)


@_row(
    *(_ATEN._to_copy, _ATEN.clone, _ATEN.alias, _ATEN.detach, _ATEN.lift_fresh_copy),
    *(_ATEN.lift_fresh, _ATEN.lift, _ATEN.contiguous),
)
def _same(w: Writer, out: Any, x: Value, **_: Any) -> Value:
    return w.convert(x, out.dtype)


@_row(_ATEN.copy.default)
def _copy(w: Writer, out: Any, _: Value, x: Value, non_blocking: bool = False) -> Value:
    [x] = _values(w, out.shape, out.dtype, x)
    return x


# Values made anew.


def _filled(value: Any, w: Writer, out: Any, *_: Any, **__: Any) -> Value:
    return w.constant(value, out.shape, out.dtype)


for _names, _fill in (("zeros empty new_zeros new_empty", 0), ("ones new_ones", 1)):
    for _name in _names.split():
        _row(getattr(_ATEN, _name))(functools.partial(_filled, _fill))
for _name, _fill in (("zeros_like", 0), ("empty_like", 0), ("ones_like", 1)):
    _row(getattr(_ATEN, _name))(functools.partial(_filled, _fill))
_row(_ATEN.empty_permuted, _ATEN.empty_strided, _ATEN.new_empty_strided)(
    functools.partial(_filled, 0)
)


@_row(_ATEN.full, _ATEN.full_like, _ATEN.fill)
def _full(w: Writer, out: Any, _: Any, value: Any, **__: Any) -> Value:
    return _values(w, out.shape, out.dtype, value)[0]


TABLE[_ATEN.new_full.default] = lambda w, out, _, size, value: _full(w, out, size, value)


@_row(_ATEN.scalar_tensor.default)
def _scalar_tensor(w: Writer, out: Any, value: Any, **_: Any) -> Value:
    return w.constant(value, (), out.dtype)


@_row(_ATEN.arange.start_step)
def _arange(w: Writer, out: Any, start: Any, end: Any, step: Any = 1, **_: Any) -> Value:
    numbers = w.iota(out.shape, out.dtype, 0)
    if step != 1:
        numbers = _binary("multiply", w, out, numbers, step)
    return numbers if start == 0 else _binary("add", w, out, numbers, start)


TABLE[_ATEN.arange.start] = lambda w, out, start, end, **_: _arange(w, out, start, end)
TABLE[_ATEN.arange.default] = lambda w, out, end, **_: _arange(w, out, 0, end)


def _random(w: Writer, out: Any, low: float, high: float, distribution: str) -> Value:
    sizes = ", ".join(map(str, out.shape))
    kind = type_text((len(out.shape),), torch.int64)
    text = f"stablehlo.constant dense<[{sizes}]>"
    [shape] = w.operation(text, [], [((len(out.shape),), torch.int64)], kind)
    dtype = out.dtype if out.dtype.is_floating_point else torch.float32
    bounds = [w.constant(low, (), dtype), w.constant(high, (), dtype)]
    text = f"stablehlo.rng {{}}, {{}}, {{}}, distribution = {distribution}"
    return w.operation(text, [*bounds, shape], [(out.shape, dtype)])[0]


@_row(_ATEN.rand, _ATEN.rand_like)
def _rand(w: Writer, out: Any, *_: Any, **__: Any) -> Value:
    return _random(w, out, 0.0, 1.0, "UNIFORM")


@_row(_ATEN.uniform)
def _uniform(w: Writer, out: Any, _: Any, low: float = 0.0, high: float = 1.0, **__: Any) -> Value:
    return _random(w, out, low, high, "UNIFORM")


@_row(_ATEN.randn, _ATEN.randn_like)
def _randn(w: Writer, out: Any, *_: Any, **__: Any) -> Value:
    return _random(w, out, 0.0, 1.0, "NORMAL")


@_row(_ATEN.bernoulli.p)
def _bernoulli(w: Writer, out: Any, _: Any, p: float = 0.5, **__: Any) -> Value:
    drawn = _random(w, out, 0.0, 1.0, "UNIFORM")
    below = w.compare("LT", drawn, w.constant(p, drawn.shape, drawn.dtype))
    return w.convert(below, out.dtype)


# Shapes.


@_row(
    *(_ATEN.view.default, _ATEN._unsafe_view, _ATEN.reshape, _ATEN.squeeze, _ATEN.unsqueeze),
    *(_ATEN.flatten.using_ints, _ATEN.unflatten.int, _ATEN._reshape_alias, _ATEN.view_as),
)
def _reshape(w: Writer, out: Any, x: Value, *_: Any) -> Value:
    return w.reshape(x, out.shape)


@_row(_ATEN.expand, _ATEN.expand_copy)
def _expand(w: Writer, out: Any, x: Value, *_: Any, **__: Any) -> Value:
    return w.broadcast(x, out.shape)


@_row(_ATEN.permute)
def _permute(w: Writer, out: Any, x: Value, dims: Sequence[int]) -> Value:
    return w.transpose(x, dims)


@_row(_ATEN.transpose.int)
def _transpose(w: Writer, out: Any, x: Value, a: int, b: int) -> Value:
    order = list(range(len(x.shape)))
    if order:
        order[a], order[b] = order[b], order[a]
    return w.transpose(x, order)


@_row(_ATEN.t)
def _t(w: Writer, out: Any, x: Value) -> Value:
    return w.transpose(x, range(len(x.shape))[::-1])


def _slice_of(
    w: Writer, x: Value, dim: int, start: int | None, end: int | None, step: int = 1
) -> Value:
    first, last, step = slice(start, end, step).indices(x.shape[dim])
    starts, limits, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    starts[dim], limits[dim], steps[dim] = first, max(first, last), step
    return w.slice(x, starts, limits, steps)


@_row(_ATEN.slice.Tensor)
def _slice(
    w: Writer, out: Any, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    return _slice_of(w, x, dim, start, end, step)


@_row(_ATEN.select.int)
def _select(w: Writer, out: Any, x: Value, dim: int, index: int) -> Value:
    index %= x.shape[dim]
    return w.reshape(_slice_of(w, x, dim, index, index + 1), out.shape)


@_row(_ATEN.split, _ATEN.split_with_sizes, _ATEN.unbind, _ATEN.chunk)
def _split(w: Writer, outs: Any, x: Value, *args: Any, **kwargs: Any) -> list[Value]:
    numbers = [arg for arg in args if isinstance(arg, int)]
    unbound = len(outs[0].shape) < len(x.shape)
    dim = kwargs.get("dim", 0)
    if unbound:
        dim = args[0] if args else dim
    elif len(args) > 1:
        dim = numbers[-1]
    parts, start = [], 0
    for out in outs:
        end = start + (1 if unbound else out.shape[dim])
        parts.append(w.reshape(_slice_of(w, x, dim, start, end), out.shape))
        start = end
    return parts


@_row(_ATEN.cat)
def _cat(w: Writer, out: Any, tensors: Sequence[Value], dim: int = 0) -> Value:
    kept = [x for x in tensors if len(x.shape) == len(out.shape)]  # others: empty lists of old
    return w.concatenate([w.convert(x, out.dtype) for x in kept], dim % len(out.shape))


@_row(_ATEN.stack)
def _stack(w: Writer, out: Any, tensors: Sequence[Value], dim: int = 0) -> Value:
    dim %= len(out.shape)
    shape = [*out.shape[:dim], 1, *out.shape[dim + 1 :]]
    return w.concatenate([w.reshape(w.convert(x, out.dtype), shape) for x in tensors], dim)


@_row(_ATEN.slice_backward)
def _slice_backward(
    w: Writer, out: Any, grad: Value, sizes: Any, dim: int, start: int, end: int, step: int
) -> Value:
    first, _, _ = slice(start, end).indices(out.shape[dim])
    return _placed(w, out, grad, dim, first, step)


@_row(_ATEN.select_backward)
def _select_backward(w: Writer, out: Any, grad: Value, sizes: Any, dim: int, index: int) -> Value:
    dim %= len(out.shape)
    grad = w.reshape(grad, [*out.shape[:dim], 1, *out.shape[dim + 1 :]])
    return _placed(w, out, grad, dim, index % out.shape[dim], 1)


def _placed(w: Writer, out: Any, x: Value, dim: int, start: int, step: int) -> Value:
    """Among zeros."""
    low, high, interior = ([0] * len(out.shape) for _ in range(3))
    taken = start + max(0, (x.shape[dim] - 1) * step + 1)
    low[dim], high[dim], interior[dim] = start, out.shape[dim] - taken, step - 1
    return w.pad(x, w.constant(0, (), x.dtype), low, high, interior)


@_row(_ATEN.constant_pad_nd)
def _constant_pad(w: Writer, out: Any, x: Value, pads: Sequence[int], value: Any = 0) -> Value:
    rank = len(x.shape)
    low, high = [0] * rank, [0] * rank
    for i in range(len(pads) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    return w.pad(x, w.constant(value, (), x.dtype), low, high)


@_row(_ATEN.flip)
def _flip(w: Writer, out: Any, x: Value, dims: Sequence[int]) -> Value:
    return w.reverse(x, [d % len(x.shape) for d in dims])


# Sums and the like.


def _dims(x: Value, dim: Any) -> list[int]:
    if dim is None or dim == []:
        return list(range(len(x.shape)))
    return [d % max(1, len(x.shape)) for d in ([dim] if isinstance(dim, int) else dim)]


def _reduced(kind: str, w: Writer, out: Any, x: Value, dim: Any, initial: Any) -> Value:
    x = w.convert(x, out.dtype)
    return w.reshape(w.reduce(x, kind, _dims(x, dim), initial), out.shape)


@_row(_ATEN.sum)
def _sum(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any, **__: Any) -> Value:
    return _reduced("add", w, out, x, dim, 0)


@_row(_ATEN.mean)
def _mean(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any, **__: Any) -> Value:
    total = _reduced("add", w, out, x, dim, 0)
    count = math.prod(x.shape[d] for d in _dims(x, dim))
    return _binary("divide", w, out, total, count)


@_row(_ATEN.var.correction, _ATEN.var.dim)
def _var(
    w: Writer,
    out: Any,
    x: Value,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Value:
    return _moments(w, out, x, dim, int(unbiased) if correction is None else correction)[0]


@_row(_ATEN.var_mean.correction)
def _var_mean(
    w: Writer, outs: Any, x: Value, dim: Any = None, *, correction: Any = 1, keepdim: bool = False
) -> list[Value]:
    return _moments(w, outs[0], x, dim, 1 if correction is None else correction)


def _moments(w: Writer, out: Any, x: Value, dim: Any, correction: Any) -> list[Value]:
    """Variance and mean, in the shape of `out`."""
    dims = _dims(x, dim)
    count = math.prod(x.shape[d] for d in dims)
    others = [d for d in range(len(x.shape)) if d not in dims]
    total = w.reduce(x, "add", dims, 0)
    mean = w.elementwise("divide", total, w.constant(count, total.shape, x.dtype))
    centred = w.elementwise("subtract", x, w.broadcast(mean, x.shape, others))
    squares = w.reduce(w.elementwise("multiply", centred, centred), "add", dims, 0)
    divisor = w.constant(max(0, count - correction), squares.shape, x.dtype)
    variance = w.elementwise("divide", squares, divisor)
    return [w.reshape(value, out.shape) for value in (variance, mean)]


@_row(_ATEN.prod)
def _prod(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any, **__: Any) -> Value:
    return _reduced("multiply", w, out, x, dim, 1)


def _end(dtype: torch.dtype, least: bool) -> Any:
    if dtype == torch.bool:
        return not least
    if dtype.is_floating_point:
        return -math.inf if least else math.inf
    return torch.iinfo(dtype).min if least else torch.iinfo(dtype).max


@_row(_ATEN.amax, _ATEN.max.default)
def _amax(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any) -> Value:
    return _reduced("maximum", w, out, x, dim, _end(out.dtype, least=True))


@_row(_ATEN.amin, _ATEN.min.default)
def _amin(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any) -> Value:
    return _reduced("minimum", w, out, x, dim, _end(out.dtype, least=False))


@_row(_ATEN.any)
def _any(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any) -> Value:
    x = w.convert(x, torch.bool)
    return w.reshape(w.reduce(x, "or", _dims(x, dim), False), out.shape)


@_row(_ATEN.all)
def _all(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any) -> Value:
    x = w.convert(x, torch.bool)
    return w.reshape(w.reduce(x, "and", _dims(x, dim), True), out.shape)


def _where_is(kind: str, w: Writer, x: Value, dim: int) -> tuple[Value, Value]:
    """The extreme along `dim`, and where it is first; both without `dim`."""
    extreme = w.reduce(x, kind, [dim], _end(x.dtype, least=kind == "maximum"))
    others = [d for d in range(len(x.shape)) if d != dim]
    found = w.compare("EQ", x, w.broadcast(extreme, x.shape, others))
    places = w.iota(x.shape, torch.int64, dim)
    last = w.constant(x.shape[dim] - 1, x.shape, torch.int64)
    first = w.reduce(w.select(found, places, last), "minimum", [dim], 2**62)
    return extreme, first


def _arg(kind: str, w: Writer, out: Any, x: Value, dim: Any = None, *_: Any) -> Value:
    if dim is None:
        x, dim = w.reshape(x, [math.prod(x.shape)]), 0
    return w.reshape(_where_is(kind, w, x, dim % len(x.shape))[1], out.shape)


def _with_place(kind: str, w: Writer, outs: Any, x: Value, dim: int, *_: Any) -> list[Value]:
    found = _where_is(kind, w, x, dim % len(x.shape))
    return [w.reshape(value, out.shape) for value, out in zip(found, outs)]


_row(_ATEN.argmax)(functools.partial(_arg, "maximum"))
_row(_ATEN.argmin)(functools.partial(_arg, "minimum"))
_row(_ATEN.max.dim)(functools.partial(_with_place, "maximum"))
_row(_ATEN.min.dim)(functools.partial(_with_place, "minimum"))


@_row(_ATEN.cumsum)
def _cumsum(w: Writer, out: Any, x: Value, dim: int, **_: Any) -> Value:
    return _windows.scan(w, w.convert(x, out.dtype), dim % max(1, len(x.shape)), "add", 0)


@_row(_ATEN.topk)
def _topk(
    w: Writer, outs: Any, x: Value, k: int, dim: int = -1, largest: bool = True, *_: Any
) -> list[Value]:
    if dim % len(x.shape) != len(x.shape) - 1 or not largest:
        raise errors.UnsupportedError("of the largest in the last dimension only")
    results = [(outs[0].shape, x.dtype), (outs[1].shape, torch.int32)]
    kinds = ", ".join(type_text(*result) for result in results)
    values, places = w.operation(
        f"chlo.top_k({{}}, k = {k})", [x], results, f"{x.type} -> ({kinds})"
    )
    return [values, w.convert(places, torch.int64)]


# Products.


@_row(_ATEN.mm)
def _mm(w: Writer, out: Any, a: Value, b: Value) -> Value:
    return w.dot_general(a, b, ([], []), ([1], [0]), out.dtype)


@_row(_ATEN.mv, _ATEN.dot)
def _mv(w: Writer, out: Any, a: Value, b: Value) -> Value:
    return w.dot_general(a, b, ([], []), ([len(a.shape) - 1], [0]), out.dtype)


@_row(_ATEN.bmm)
def _bmm(w: Writer, out: Any, a: Value, b: Value) -> Value:
    return w.dot_general(a, b, ([0], [0]), ([2], [1]), out.dtype)


@_row(_ATEN.addmm)
def _addmm(
    w: Writer, out: Any, bias: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1
) -> Value:
    product = _mm(w, out, a, b)
    if alpha != 1:
        product = _binary("multiply", w, out, product, alpha)
    if beta != 1:
        bias = _binary("multiply", w, out, bias, beta)
    return _binary("add", w, out, product, bias)


@_row(_attention.attention._opoverload, _attention.attention_backward._opoverload)
def _attention(w: Writer, outs: Any, *args: Any) -> list[Value]:
    *tensors, mask, causal, _ = args
    operands = [*tensors, *([] if mask is None else [mask])]
    backward = "_backward" if len(tensors) > 3 else ""
    target = f"meshwright.attention{'_causal' if causal else ''}{backward}"
    names = ", ".join("{}" for _ in operands)
    results = [(out.shape, out.dtype) for out in outs]
    return w.operation(f"stablehlo.custom_call @{target}({names})", operands, results)


# Memory: gathers and scatters.


def _numbers(name: str, dialect: str = "stablehlo", **lists: Any) -> str:
    parts = [f"{key} = {value}" for key, value in lists.items() if value != []]
    return f"{name} = #{dialect}<{', '.join(parts)}>"


def _gathered(
    w: Writer,
    out: Any,
    x: Value,
    indices: Value,
    *,
    indexed: Sequence[int],
    vector: int,
    first: int,
) -> Value:
    """`indices`: along `vector`, if it has that, what each of the `indexed` dimensions is read at; what
    is read lies in the result in front of dimension `first`, and behind what the indices span.
    """
    whole = [d for d in range(len(x.shape)) if d not in indexed]
    span = len(indices.shape) - (vector < len(indices.shape))
    before = [d for d in range(len(out.shape)) if d < first or d >= first + span]
    sizes = [1 if d in indexed else size for d, size in enumerate(x.shape)]
    assert len(before) == len(whole)
    numbers = _numbers(
        "dimension_numbers",
        offset_dims=before,
        collapsed_slice_dims=sorted(indexed),
        start_index_map=list(indexed),
        index_vector_dim=vector,
    ).replace("#stablehlo<", "#stablehlo.gather<")
    text = (
        f'"stablehlo.gather"({{}}, {{}}) <{{{{{numbers}, indices_are_sorted = false, '
        f"slice_sizes = array<i64{_list(sizes)}>}}}}>"
    )
    return w.operation(text, [x, indices], [(out.shape, x.dtype)])[0]


def _list(sizes: Sequence[int]) -> str:
    return ": " + ", ".join(map(str, sizes)) if sizes else ""


def _scattered(
    w: Writer,
    x: Value,
    indices: Value,
    updates: Value,
    *,
    indexed: Sequence[int],
    vector: int,
    first: int,
    add: bool,
) -> Value:
    span = len(indices.shape) - (vector < len(indices.shape))
    window = [d for d in range(len(updates.shape)) if d < first or d >= first + span]
    numbers = _numbers(
        "scatter_dimension_numbers",
        update_window_dims=window,
        inserted_window_dims=sorted(indexed),
        scatter_dims_to_operand_dims=list(indexed),
        index_vector_dim=vector,
    ).replace("#stablehlo<", "#stablehlo.scatter<")
    text = (
        f'"stablehlo.scatter"({{}}, {{}}, {{}}) <{{{{indices_are_sorted = false, {numbers}, '
        "unique_indices = false}}>"
    )
    body = ("or" if x.dtype == torch.bool else "add") if add else ""
    return w.region(text, [x, indices, updates], [(x.shape, x.dtype)], body, x.dtype)[0]


@_row(_ATEN.embedding)
def _embedding(w: Writer, out: Any, weight: Value, indices: Value, *_: Any) -> Value:
    vector = len(indices.shape)
    return _gathered(w, out, weight, indices, indexed=[0], vector=vector, first=0)


@_row(_ATEN.embedding_dense_backward)
def _embedding_backward(
    w: Writer, out: Any, grad: Value, indices: Value, count: int, padding: int, scale: bool
) -> Value:
    if scale:
        raise errors.UnsupportedError("scale_grad_by_freq")
    if padding >= 0:
        kept = w.compare("NE", indices, w.constant(padding, indices.shape, indices.dtype))
        kept = w.broadcast(kept, grad.shape, range(len(indices.shape)))
        grad = w.select(kept, grad, w.constant(0, grad.shape, grad.dtype))
    zeros = w.constant(0, out.shape, out.dtype)
    vector = len(indices.shape)
    return _scattered(w, zeros, indices, grad, indexed=[0], vector=vector, first=0, add=True)


@_row(_ATEN.index_select)
def _index_select(w: Writer, out: Any, x: Value, dim: int, index: Value) -> Value:
    dim %= len(x.shape)
    return _gathered(w, out, x, index, indexed=[dim], vector=1, first=dim)


def _positions(
    w: Writer, x: Value, indices: Sequence[Any]
) -> tuple[Value, list[int], int, list[int]]:
    """Indices side by side in a last dimension; what they index; where their dimensions come; their shape."""
    indexed = [d for d, index in enumerate(indices) if index is not None]
    given = [indices[d] for d in indexed]
    if any(index.dtype in (torch.bool, torch.uint8) for index in given):
        raise errors.UnsupportedError("an index that is a mask, of which the count is not known")
    shape = list(torch.broadcast_shapes(*(index.shape for index in given)))
    parts = []
    for d, index in zip(indexed, given):
        index = w.convert(index, torch.int64)
        below = w.compare("LT", index, w.constant(0, index.shape, torch.int64))
        size = w.constant(x.shape[d], index.shape, torch.int64)
        index = w.select(below, w.elementwise("add", index, size), index)
        parts.append(w.reshape(w.broadcast(index, shape), [*shape, 1]))
    together = indexed == list(range(indexed[0], indexed[-1] + 1))
    joined = parts[0] if len(parts) == 1 else w.concatenate(parts, len(shape))
    return joined, indexed, indexed[0] if together else 0, shape


@_row(_ATEN.index.Tensor, _ATEN._unsafe_index.Tensor)
def _index(w: Writer, out: Any, x: Value, indices: Sequence[Any]) -> Value:
    joined, indexed, first, shape = _positions(w, x, indices)
    return _gathered(w, out, x, joined, indexed=indexed, vector=len(shape), first=first)


@_row(_ATEN.index_put.default, _ATEN._unsafe_index_put.default)
def _index_put(
    w: Writer, out: Any, x: Value, indices: Sequence[Any], values: Value, accumulate: bool = False
) -> Value:
    joined, indexed, first, shape = _positions(w, x, indices)
    kept = [size for d, size in enumerate(x.shape) if d not in indexed]
    values = w.broadcast(w.convert(values, x.dtype), [*kept[:first], *shape, *kept[first:]])
    return _scattered(
        *(w, x, joined, values),
        indexed=indexed,
        vector=len(shape),
        first=first,
        add=accumulate,
    )


def _along(w: Writer, x: Value, dim: int, index: Value) -> tuple[Value, list[int]]:
    """The part of `x` that `index` spans in other dimensions, and those."""
    others = [d for d in range(len(x.shape)) if d != dim]
    limits = [x.shape[d] if d == dim else index.shape[d] for d in range(len(x.shape))]
    return w.slice(x, [0] * len(limits), limits, [1] * len(limits)), others


@_row(_ATEN.gather)
def _gather(w: Writer, out: Any, x: Value, dim: int, index: Value, **_: Any) -> Value:
    dim %= len(x.shape)
    x, others = _along(w, x, dim, index)
    batch = f"operand_batching_dims = {others}, start_indices_batching_dims = {others}, "
    numbers = (
        f"#stablehlo.gather<collapsed_slice_dims = [{dim}], {batch if others else ''}"
        f"start_index_map = [{dim}], index_vector_dim = {len(index.shape)}>"
    )
    text = (
        f'"stablehlo.gather"({{}}, {{}}) <{{{{dimension_numbers = {numbers}, '
        f"indices_are_sorted = false, slice_sizes = array<i64{_list([1] * len(x.shape))}>}}}}>"
    )
    return w.operation(text, [x, index], [(out.shape, x.dtype)])[0]


def _scatter_along(w: Writer, x: Value, dim: int, index: Value, source: Any, add: bool) -> Value:
    dim %= len(x.shape)
    part, others = _along(w, x, dim, index)
    if part.shape != x.shape:
        raise errors.UnsupportedError("indices that span a part of the other dimensions")
    if isinstance(source, Value):
        source = w.slice(source, [0] * len(index.shape), index.shape, [1] * len(index.shape))
    [source] = _values(w, index.shape, x.dtype, source)
    batch = f"input_batching_dims = {others}, scatter_indices_batching_dims = {others}, "
    numbers = (
        f"#stablehlo.scatter<inserted_window_dims = [{dim}], {batch if others else ''}"
        f"scatter_dims_to_operand_dims = [{dim}], index_vector_dim = {len(index.shape)}>"
    )
    text = (
        f'"stablehlo.scatter"({{}}, {{}}, {{}}) <{{{{indices_are_sorted = false, '
        f"scatter_dimension_numbers = {numbers}, unique_indices = false}}}}>"
    )
    operands = [x, index, source]
    return w.region(text, operands, [(x.shape, x.dtype)], "add" if add else "", x.dtype)[0]


@_row(_ATEN.scatter.src, _ATEN.scatter.value)
def _scatter(w: Writer, out: Any, x: Value, dim: int, index: Value, source: Any) -> Value:
    return _scatter_along(w, x, dim, index, source, add=False)


@_row(_ATEN.scatter_add)
def _scatter_add(w: Writer, out: Any, x: Value, dim: int, index: Value, source: Value) -> Value:
    return _scatter_along(w, x, dim, index, source, add=True)


# What torch's decompositions are made of, beside ATen.

_PRIMS = torch.ops.prims
_row(_PRIMS.convert_element_type.default)(lambda w, out, x, dtype: w.convert(x, dtype))


@_row(_PRIMS.broadcast_in_dim.default)
def _broadcast_in_dim(
    w: Writer, out: Any, x: Value, shape: Sequence[int], dimensions: Sequence[int]
) -> Value:
    return w.broadcast(x, out.shape, dimensions)


@_row(_PRIMS.iota.default)
def _iota(w: Writer, out: Any, length: int, *, start: int, step: int, **_: Any) -> Value:
    return _arange(w, out, start, None, step)


# Convolutions and pools.

_row(_ATEN.convolution.default)(_windows.convolution)
_row(_ATEN.convolution_backward.default)(_windows.convolution_backward)
_row(_ATEN.max_pool2d_with_indices.default)(_windows.max_pool)
_row(_ATEN.max_pool2d_with_indices_backward.default)(_windows.max_pool_backward)
_row(_ATEN.avg_pool2d.default)(_windows.average_pool)
_row(_ATEN.avg_pool2d_backward.default)(_windows.average_pool_backward)
