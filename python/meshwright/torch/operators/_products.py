"""Matmuls and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from meshwright import errors
from meshwright.torch import _attention
from meshwright.torch._stablehlo import Value, Writer
from meshwright.torch.operators._table import binary, row

_ATEN = torch.ops.aten


@row(_ATEN.mm.default)
def _mm(w: Writer, out: Any, a: Value, b: Value) -> Value:
    return w.dot_general(a, b, ([], []), ([1], [0]), out.dtype)


@row(_ATEN.mv, _ATEN.dot)
def _mv(w: Writer, out: Any, a: Value, b: Value) -> Value:
    return w.dot_general(a, b, ([], []), ([len(a.shape) - 1], [0]), out.dtype)


@row(_ATEN.bmm.default)
def _bmm(w: Writer, out: Any, a: Value, b: Value) -> Value:
    return w.dot_general(a, b, ([0], [0]), ([2], [1]), out.dtype)


@row(_ATEN.addmm.default)
def _addmm(
    w: Writer, out: Any, bias: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1
) -> Value:
    product = _mm(w, out, a, b)
    if alpha != 1:
        product = binary("multiply", w, out, product, alpha)
    if beta != 1:
        bias = binary("multiply", w, out, bias, beta)
    return binary("add", w, out, product, bias)


@row(_ATEN._grouped_mm.default)
def _grouped_mm(
    w: Writer,
    out: Any,
    a: Value,
    b: Value,
    offsets: Value | None = None,
    bias: Value | None = None,
    out_dtype: Any = None,
) -> Value:
    """`offsets`: where each group ends, of the rows of `a`, the columns of `b`, or what is summed over."""
    if bias is not None:
        raise errors.UnsupportedError("a bias of grouped products")
    if offsets is None:
        return _bmm(w, out, a, b)
    count = offsets.shape[0]
    starts = w.slice(offsets, [0], [count - 1], [1])
    starts = w.pad(starts, w.constant(0, (), offsets.dtype), [1], [0]) if count > 1 else None
    sizes = offsets if starts is None else w.elementwise("subtract", offsets, starts)
    if len(a.shape) == len(b.shape) == 2:
        return _ragged(w, out.shape, out.dtype, (a, b, sizes), (1, 0), rows=1, groups=[])
    if len(a.shape) == 2:
        return _ragged(w, out.shape, out.dtype, (a, b, sizes), (1, 1), rows=0, groups=[0])
    operands = (w.transpose(b, [1, 0]), w.transpose(a, [0, 2, 1]), sizes)
    turned = _ragged(w, out.shape[::-1], out.dtype, operands, (1, 1), rows=0, groups=[0])
    return w.transpose(turned, [1, 0])


def _ragged(
    w: Writer,
    shape: Sequence[int],
    dtype: torch.dtype,
    operands: Sequence[Value],
    contracted: tuple[int, int],
    *,
    rows: int,
    groups: Sequence[int],
) -> Value:
    text = (
        '"chlo.ragged_dot"({}, {}, {}) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<'
        f"lhs_contracting_dimensions = [{contracted[0]}], "
        f"rhs_contracting_dimensions = [{contracted[1]}], lhs_ragged_dimensions = [{rows}]"
        f"{f', rhs_group_dimensions = {list(groups)}' if groups else ''}>}}}}>"
    )
    return w.operation(text, operands, [(shape, dtype)])[0]


@row(_attention.attention._opoverload, _attention.attention_backward._opoverload)
def _attended(w: Writer, outs: Any, *args: Any) -> list[Value]:
    *tensors, mask, causal, _ = args
    operands = [*tensors, *([] if mask is None else [mask])]
    backward = "_backward" if len(tensors) > 3 else ""
    target = f"meshwright.attention{'_causal' if causal else ''}{backward}"
    names = ", ".join("{}" for _ in operands)
    results = [(out.shape, out.dtype) for out in outs]
    return w.operation(f"stablehlo.custom_call @{target}({names})", operands, results)
