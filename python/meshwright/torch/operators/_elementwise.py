"""Operators of one element of each operand."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from meshwright.torch._stablehlo import Value, Writer
from meshwright.torch.operators._table import TABLE, Row, binary, row, values

_ATEN = torch.ops.aten


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
    [x] = values(w, out.shape, out.dtype, x)
    return w.elementwise(name, x)


def _common_type(*args: Any) -> torch.dtype:
    values = [arg.dtype for arg in args if isinstance(arg, Value)]
    dtype = functools.reduce(torch.promote_types, values)
    if any(isinstance(arg, float) for arg in args) and not dtype.is_floating_point:
        return torch.get_default_dtype()
    return dtype


def _compared(direction: str, w: Writer, out: Any, a: Any, b: Any) -> Value:
    return w.compare(direction, *values(w, out.shape, _common_type(a, b), a, b))


for _name, _operation in _UNARY.items():
    row(getattr(_ATEN, _name).default)(functools.partial(_unary, _operation))
for _name, _operation in _BINARY.items():
    row(getattr(_ATEN, _name))(functools.partial(binary, _operation))
for _name, _operation in _COMPARED.items():
    row(getattr(_ATEN, _name))(functools.partial(_compared, _operation))


@row(_ATEN.rsub)
def _rsub(w: Writer, out: Any, a: Any, b: Any, alpha: Any = 1) -> Value:
    return binary("subtract", w, out, b, a, alpha=alpha)


@row(_ATEN.reciprocal.default)
def _reciprocal(w: Writer, out: Any, x: Value) -> Value:
    return binary("divide", w, out, 1, x)


@row(_ATEN.relu.default)
def _relu(w: Writer, out: Any, x: Value) -> Value:
    return binary("maximum", w, out, x, 0)


@row(_ATEN.div)
def _div(w: Writer, out: Any, a: Any, b: Any, *, rounding_mode: str | None = None) -> Value:
    if rounding_mode is None or out.dtype.is_floating_point:
        quotient = binary("divide", w, out, a, b)
        if rounding_mode == "floor":
            return w.elementwise("floor", quotient)
        return quotient if rounding_mode is None else _trunc(w, out, quotient)
    if rounding_mode == "trunc":
        return binary("divide", w, out, a, b)
    x, y = values(w, out.shape, out.dtype, a, b)
    quotient = w.elementwise("divide", x, y)
    zero = w.constant(0, out.shape, out.dtype)
    remainder = w.elementwise("remainder", x, y)
    signs = w.elementwise("xor", w.compare("LT", x, zero), w.compare("LT", y, zero))
    below = w.elementwise("and", w.compare("NE", remainder, zero), signs)
    one = w.constant(1, out.shape, out.dtype)
    return w.select(below, w.elementwise("subtract", quotient, one), quotient)


@row(_ATEN.floor_divide)
def _floor_divide(w: Writer, out: Any, a: Any, b: Any) -> Value:
    return _div(w, out, a, b, rounding_mode="floor")


@row(_ATEN.remainder)
def _remainder(w: Writer, out: Any, a: Any, b: Any) -> Value:
    x, y = values(w, out.shape, out.dtype, a, b)
    rest = w.elementwise("remainder", x, y)
    zero = w.constant(0, out.shape, out.dtype)
    signs = w.elementwise("xor", w.compare("LT", rest, zero), w.compare("LT", y, zero))
    moved = w.elementwise("and", w.compare("NE", rest, zero), signs)
    return w.select(moved, w.elementwise("add", rest, y), rest)


@row(_ATEN.trunc.default)
def _trunc(w: Writer, out: Any, x: Value) -> Value:
    zero = w.constant(0, x.shape, x.dtype)
    return w.select(w.compare("LT", x, zero), w.elementwise("ceil", x), w.elementwise("floor", x))


@row(_ATEN.isnan.default)
def _isnan(w: Writer, out: Any, x: Value) -> Value:
    return w.compare("NE", x, x)


@row(_ATEN.isinf.default)
def _isinf(w: Writer, out: Any, x: Value) -> Value:
    infinite = w.constant(math.inf, x.shape, x.dtype)
    return w.compare("EQ", w.elementwise("abs", x), infinite)


def _of_truths(row: Row, w: Writer, out: Any, *args: Any) -> Value:
    """A row for numbers by what they are as truths: whether they are not zero."""
    return row(w, out, *(w.convert(x, torch.bool) if isinstance(x, Value) else x for x in args))


for _name in ("logical_not", "logical_and", "logical_or", "logical_xor"):
    _operator = getattr(_ATEN, _name).default
    TABLE[_operator] = functools.partial(_of_truths, TABLE[_operator])


@row(_ATEN.where.self, _ATEN.where.ScalarOther, _ATEN.where.ScalarSelf, _ATEN.where.Scalar)
def _where(w: Writer, out: Any, condition: Value, a: Any, b: Any) -> Value:
    [condition] = values(w, out.shape, torch.bool, condition)
    return w.select(condition, *values(w, out.shape, out.dtype, a, b))


@row(_ATEN.masked_fill)
def _masked_fill(w: Writer, out: Any, x: Value, mask: Value, value: Any) -> Value:
    return _where(w, out, mask, value, x)


@row(_ATEN.clamp, _ATEN.clamp_min, _ATEN.clamp_max)
def _clamp(w: Writer, out: Any, x: Value, min: Any = None, max: Any = None) -> Value:
    [x] = values(w, out.shape, out.dtype, x)
    if min is not None:
        x = binary("maximum", w, out, x, min)
    return x if max is None else binary("minimum", w, out, x, max)


@row(_ATEN.hardtanh.default)
def _hardtanh(w: Writer, out: Any, x: Value, least: Any = -1, most: Any = 1) -> Value:
    return _clamp(w, out, x, least, most)


TABLE[_ATEN.clamp_max.default] = TABLE[_ATEN.clamp_max.Tensor] = lambda w, out, x, max: _clamp(
    w, out, x, None, max
)


@row(
    *(_ATEN._to_copy, _ATEN.clone, _ATEN.alias, _ATEN.detach, _ATEN.lift_fresh_copy),
    *(_ATEN.lift_fresh, _ATEN.lift, _ATEN.contiguous),
)
def _same(w: Writer, out: Any, x: Value, **_: Any) -> Value:
    return w.convert(x, out.dtype)


@row(_ATEN.copy.default)
def _copy(w: Writer, out: Any, _: Value, x: Value, non_blocking: bool = False) -> Value:
    [x] = values(w, out.shape, out.dtype, x)
    return x


row(torch.ops.prims.convert_element_type.default)(lambda w, out, x, dtype: w.convert(x, dtype))
