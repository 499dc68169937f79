"""Operators over whole dimensions: sums, extremes, scans."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from meshwright import errors
from meshwright.torch._stablehlo import Value, Writer, type_text
from meshwright.torch.operators import _windows
from meshwright.torch.operators._table import binary, row

_ATEN = torch.ops.aten


def _dims(x: Value, dim: Any) -> list[int]:
    if dim is None or dim == []:
        return list(range(len(x.shape)))
    return [d % max(1, len(x.shape)) for d in ([dim] if isinstance(dim, int) else dim)]


def _reduced(kind: str, w: Writer, out: Any, x: Value, dim: Any, initial: Any) -> Value:
    x = w.convert(x, out.dtype)
    return w.reshape(w.reduce(x, kind, _dims(x, dim), initial), out.shape)


@row(_ATEN.sum)
def _sum(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any, **__: Any) -> Value:
    return _reduced("add", w, out, x, dim, 0)


@row(_ATEN.mean)
def _mean(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any, **__: Any) -> Value:
    total = _reduced("add", w, out, x, dim, 0)
    count = math.prod(x.shape[d] for d in _dims(x, dim))
    return binary("divide", w, out, total, count)


@row(_ATEN.var.correction, _ATEN.var.dim)
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


@row(_ATEN.var_mean.correction)
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


@row(_ATEN.prod)
def _prod(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any, **__: Any) -> Value:
    return _reduced("multiply", w, out, x, dim, 1)


def _end(dtype: torch.dtype, least: bool) -> Any:
    if dtype == torch.bool:
        return not least
    if dtype.is_floating_point:
        return -math.inf if least else math.inf
    return torch.iinfo(dtype).min if least else torch.iinfo(dtype).max


@row(_ATEN.amax, _ATEN.max.default)
def _amax(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any) -> Value:
    return _reduced("maximum", w, out, x, dim, _end(out.dtype, least=True))


@row(_ATEN.amin, _ATEN.min.default)
def _amin(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any) -> Value:
    return _reduced("minimum", w, out, x, dim, _end(out.dtype, least=False))


@row(_ATEN.any)
def _any(w: Writer, out: Any, x: Value, dim: Any = None, *_: Any) -> Value:
    x = w.convert(x, torch.bool)
    return w.reshape(w.reduce(x, "or", _dims(x, dim), False), out.shape)


@row(_ATEN.all)
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


row(_ATEN.argmax)(functools.partial(_arg, "maximum"))
row(_ATEN.argmin)(functools.partial(_arg, "minimum"))
row(_ATEN.max.dim)(functools.partial(_with_place, "maximum"))
row(_ATEN.min.dim)(functools.partial(_with_place, "minimum"))


@row(_ATEN.cumsum)
def _cumsum(w: Writer, out: Any, x: Value, dim: int, **_: Any) -> Value:
    return _windows.scan(w, w.convert(x, out.dtype), dim % max(1, len(x.shape)), "add", 0)


@row(_ATEN.topk)
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


@row(_ATEN.sort.default)
def _sort(w: Writer, outs: Any, x: Value, dim: int = -1, descending: bool = False) -> list[Value]:
    return _sorted(w, outs, x, stable=False, dim=dim, descending=descending)


@row(_ATEN.sort.stable)
def _sorted(
    w: Writer, outs: Any, x: Value, *, stable: Any, dim: int = -1, descending: bool = False
) -> list[Value]:
    """Values and where they were."""
    dim %= max(1, len(x.shape))
    places = w.iota(x.shape, torch.int64, dim) if x.shape else w.constant(0, (), torch.int64)
    if not x.shape:
        return [x, places]
    kind, place = type_text((), x.dtype), type_text((), torch.int64)
    order = "FLOAT" if x.dtype.is_floating_point else "SIGNED"
    text = (
        f'"stablehlo.sort"({{}}, {{}}) <{{{{dimension = {dim} : i64, is_stable = true}}}}> ({{{{\n'
        f"    ^bb0(%x: {kind}, %y: {kind}, %p: {place}, %q: {place}):\n"
        f"      %z = stablehlo.compare {'GT' if descending else 'LT'}, %x, %y, {order} : "
        f"({kind}, {kind}) -> tensor<i1>\n"
        "      stablehlo.return %z : tensor<i1>\n    }})"
    )
    return w.operation(text, [x, places], [(out.shape, out.dtype) for out in outs])


@row(_ATEN.histc.default)
def _histc(w: Writer, out: Any, x: Value, bins: int = 100, min: Any = 0, max: Any = 0) -> Value:
    """How many elements are in each of `bins` equal parts, the last with its end."""
    if min == max:
        raise errors.UnsupportedError("limits that are those of the data")
    count = math.prod(x.shape)
    x = w.reshape(x, [count])
    real = x.dtype if x.dtype.is_floating_point else torch.float32
    part = w.elementwise("subtract", w.convert(x, real), w.constant(min, [count], real))
    part = w.elementwise("multiply", part, w.constant(bins / (max - min), [count], real))
    last = w.compare("EQ", x, w.constant(max, [count], x.dtype))
    part = w.select(last, w.constant(bins - 1, [count], real), w.elementwise("floor", part))
    whole = w.broadcast(part, [count, bins], [0])
    found = w.compare("EQ", whole, w.iota([count, bins], real, 1))
    return w.reduce(w.convert(found, out.dtype), "add", [0], 0)
