"""Operators that read and write at indices: gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from meshwright import errors
from meshwright.torch._stablehlo import Value, Writer
from meshwright.torch.operators._table import row, values

_ATEN = torch.ops.aten


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


@row(_ATEN.embedding)
def _embedding(w: Writer, out: Any, weight: Value, indices: Value, *_: Any) -> Value:
    vector = len(indices.shape)
    return _gathered(w, out, weight, indices, indexed=[0], vector=vector, first=0)


@row(_ATEN.embedding_dense_backward)
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


@row(_ATEN.index_select)
def _index_select(w: Writer, out: Any, x: Value, dim: int, index: Value) -> Value:
    dim %= len(x.shape)
    return _gathered(w, out, x, index, indexed=[dim], vector=1, first=dim)


def _positions(
    w: Writer, x: Value, indices: Sequence[Any]
) -> tuple[Value, list[int], int, list[int]]:
    """Indices joined along a last dimension; what they index; where their dimensions come; their shape."""
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


@row(_ATEN.index.Tensor, _ATEN._unsafe_index.Tensor)
def _index(w: Writer, out: Any, x: Value, indices: Sequence[Any]) -> Value:
    joined, indexed, first, shape = _positions(w, x, indices)
    return _gathered(w, out, x, joined, indexed=indexed, vector=len(shape), first=first)


@row(_ATEN.index_put.default, _ATEN._unsafe_index_put.default)
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


@row(_ATEN.gather)
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
    [source] = values(w, index.shape, x.dtype, source)
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


@row(_ATEN.scatter.src, _ATEN.scatter.value)
def _scatter(w: Writer, out: Any, x: Value, dim: int, index: Value, source: Any) -> Value:
    return _scatter_along(w, x, dim, index, source, add=False)


@row(_ATEN.scatter_add)
def _scatter_add(w: Writer, out: Any, x: Value, dim: int, index: Value, source: Value) -> Value:
    return _scatter_along(w, x, dim, index, source, add=True)
