"""Matmuls and attention."""

from __future__ import annotations

from typing import Any

import torch

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


@row(_attention.attention._opoverload, _attention.attention_backward._opoverload)
def _attended(w: Writer, outs: Any, *args: Any) -> list[Value]:
    *tensors, mask, causal, _ = args
    operands = [*tensors, *([] if mask is None else [mask])]
    backward = "_backward" if len(tensors) > 3 else ""
    target = f"meshwright.attention{'_causal' if causal else ''}{backward}"
    names = ", ".join("{}" for _ in operands)
    results = [(out.shape, out.dtype) for out in outs]
    return w.operation(f"stablehlo.custom_call @{target}({names})", operands, results)
