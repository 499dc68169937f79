"""Operators that move elements as they are: views, slices, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from meshwright import errors
from meshwright.torch._stablehlo import Value, Writer
from meshwright.torch.operators._table import row

_ATEN = torch.ops.aten


@row(
    *(_ATEN.view.default, _ATEN._unsafe_view, _ATEN.reshape, _ATEN.squeeze, _ATEN.unsqueeze),
    *(_ATEN.flatten.using_ints, _ATEN.unflatten.int, _ATEN._reshape_alias, _ATEN.view_as),
)
def _reshape(w: Writer, out: Any, x: Value, *_: Any) -> Value:
    return w.reshape(x, out.shape)


@row(_ATEN.expand, _ATEN.expand_copy)
def _expand(w: Writer, out: Any, x: Value, *_: Any, **__: Any) -> Value:
    return w.broadcast(x, out.shape)


@row(_ATEN.as_strided.default)
def _as_strided(
    w: Writer, out: Any, x: Value, size: Sequence[int], stride: Sequence[int], offset: Any = None
) -> Value:
    """Only of all elements in their order, as torch's decompositions ask it."""
    steps = [math.prod(size[d + 1 :]) for d in range(len(size))]
    in_order = all(n == 1 or a == b for n, a, b in zip(size, stride, steps))
    if not in_order or offset or math.prod(size) != math.prod(x.shape):
        raise errors.UnsupportedError("strides that are no view of all elements in their order")
    return w.reshape(x, out.shape)


@row(_ATEN.permute)
def _permute(w: Writer, out: Any, x: Value, dims: Sequence[int]) -> Value:
    return w.transpose(x, dims)


@row(_ATEN.transpose.int)
def _transpose(w: Writer, out: Any, x: Value, a: int, b: int) -> Value:
    order = list(range(len(x.shape)))
    if order:
        order[a], order[b] = order[b], order[a]
    return w.transpose(x, order)


@row(_ATEN.t)
def _t(w: Writer, out: Any, x: Value) -> Value:
    return w.transpose(x, range(len(x.shape))[::-1])


def _slice_of(
    w: Writer, x: Value, dim: int, start: int | None, end: int | None, step: int = 1
) -> Value:
    first, last, step = slice(start, end, step).indices(x.shape[dim])
    starts, limits, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    starts[dim], limits[dim], steps[dim] = first, max(first, last), step
    return w.slice(x, starts, limits, steps)


@row(_ATEN.slice.Tensor)
def _slice(
    w: Writer, out: Any, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    return _slice_of(w, x, dim, start, end, step)


@row(_ATEN.select.int)
def _select(w: Writer, out: Any, x: Value, dim: int, index: int) -> Value:
    index %= x.shape[dim]
    return w.reshape(_slice_of(w, x, dim, index, index + 1), out.shape)


@row(_ATEN.split, _ATEN.split_with_sizes, _ATEN.unbind, _ATEN.chunk)
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


@row(_ATEN.cat)
def _cat(w: Writer, out: Any, tensors: Sequence[Value], dim: int = 0) -> Value:
    kept = [x for x in tensors if len(x.shape) == len(out.shape)]  # others: empty lists of old
    return w.concatenate([w.convert(x, out.dtype) for x in kept], dim % len(out.shape))


@row(_ATEN.stack)
def _stack(w: Writer, out: Any, tensors: Sequence[Value], dim: int = 0) -> Value:
    dim %= len(out.shape)
    shape = [*out.shape[:dim], 1, *out.shape[dim + 1 :]]
    return w.concatenate([w.reshape(w.convert(x, out.dtype), shape) for x in tensors], dim)


@row(_ATEN.slice_backward)
def _slice_backward(
    w: Writer, out: Any, grad: Value, sizes: Any, dim: int, start: int, end: int, step: int
) -> Value:
    first, _, _ = slice(start, end).indices(out.shape[dim])
    return _placed(w, out, grad, dim, first, step)


@row(_ATEN.select_backward)
def _select_backward(w: Writer, out: Any, grad: Value, sizes: Any, dim: int, index: int) -> Value:
    dim %= len(out.shape)
    grad = w.reshape(grad, [*out.shape[:dim], 1, *out.shape[dim + 1 :]])
    return _placed(w, out, grad, dim, index % out.shape[dim], 1)


@row(_ATEN.slice_scatter)
def _slice_scatter(
    w: Writer,
    out: Any,
    x: Value,
    source: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    first, _, _ = slice(start, end, step).indices(out.shape[dim])
    source = w.convert(source, out.dtype)
    there = _placed(w, out, w.constant(True, source.shape, torch.bool), dim, first, step)
    return w.select(there, _placed(w, out, source, dim, first, step), x)


def _placed(w: Writer, out: Any, x: Value, dim: int, start: int, step: int) -> Value:
    """Among zeros."""
    low, high, interior = ([0] * len(out.shape) for _ in range(3))
    taken = start + max(0, (x.shape[dim] - 1) * step + 1)
    low[dim], high[dim], interior[dim] = start, out.shape[dim] - taken, step - 1
    return w.pad(x, w.constant(0, (), x.dtype), low, high, interior)


@row(_ATEN.constant_pad_nd)
def _constant_pad(w: Writer, out: Any, x: Value, pads: Sequence[int], value: Any = 0) -> Value:
    rank = len(x.shape)
    low, high = [0] * rank, [0] * rank
    for i in range(len(pads) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    return w.pad(x, w.constant(value, (), x.dtype), low, high)


@row(_ATEN.flip)
def _flip(w: Writer, out: Any, x: Value, dims: Sequence[int]) -> Value:
    return w.reverse(x, [d % len(x.shape) for d in dims])


@row(torch.ops.prims.broadcast_in_dim.default)
def _broadcast_in_dim(
    w: Writer, out: Any, x: Value, shape: Sequence[int], dimensions: Sequence[int]
) -> Value:
    return w.broadcast(x, out.shape, dimensions)
