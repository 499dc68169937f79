"""The table's type, and what rows of several families share.

A row is a function of the writer, of what the operator gives (fake tensors), and of its arguments,
with values for tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from meshwright.torch._stablehlo import Value, Writer

Row = Callable[..., Any]
TABLE: dict[Any, Row] = {}


def row(*operators: Any) -> Callable[[Row], Row]:
    """Enters a function for operators: of those that are given without an overload, for all that a traced
    graph may have.
    """

    def add(row: Row) -> Row:
        for operator in operators:
            if isinstance(operator, torch._ops.OpOverload):
                TABLE[operator] = row
                continue
            for name in operator.overloads():
                if _is_traced(overload := getattr(operator, name)):
                    TABLE[overload] = row
        return row

    return add


def _is_traced(overload: Any) -> bool:
    """Whether it computes tensors without writing into any, and dimensions have no names."""
    schema = overload._schema
    kinds = " ".join(str(argument.type) for argument in schema.arguments)
    returns = " ".join(str(value.type) for value in schema.returns)
    return not schema.is_mutable and "Tensor" in returns and "Dimname" not in kinds


def values(w: Writer, shape: Sequence[int], dtype: torch.dtype, *args: Any) -> list[Value]:
    """Tensors and numbers as values of one type."""
    found = []
    for arg in args:
        if isinstance(arg, Value):
            found.append(w.broadcast(w.convert(arg, dtype), shape))
        else:
            found.append(w.constant(arg, shape, dtype))
    return found


def binary(name: str, w: Writer, out: Any, a: Any, b: Any, *, alpha: Any = 1) -> Value:
    """An operation of two tensors or numbers, the second times `alpha`, in the result's type."""
    a, b = values(w, out.shape, out.dtype, a, b)
    if alpha != 1:
        [scale] = values(w, out.shape, out.dtype, alpha)
        b = w.elementwise("multiply", b, scale)
    return w.elementwise(name, a, b)
