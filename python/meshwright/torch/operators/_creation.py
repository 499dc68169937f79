"""Operators that make tensors anew: filled ones, ranges, random numbers."""

from __future__ import annotations

import functools
from typing import Any

import torch

from meshwright.torch._stablehlo import Value, Writer, type_text
from meshwright.torch.operators._table import TABLE, binary, row, values

_ATEN = torch.ops.aten


def _filled(value: Any, w: Writer, out: Any, *_: Any, **__: Any) -> Value:
    return w.constant(value, out.shape, out.dtype)


for _names, _fill in (("zeros empty new_zeros new_empty", 0), ("ones new_ones", 1)):
    for _name in _names.split():
        row(getattr(_ATEN, _name))(functools.partial(_filled, _fill))
for _name, _fill in (("zeros_like", 0), ("empty_like", 0), ("ones_like", 1)):
    row(getattr(_ATEN, _name))(functools.partial(_filled, _fill))
row(_ATEN.empty_permuted, _ATEN.empty_strided, _ATEN.new_empty_strided)(
    functools.partial(_filled, 0)
)


@row(_ATEN.full, _ATEN.full_like, _ATEN.fill)
def _full(w: Writer, out: Any, _: Any, value: Any, **__: Any) -> Value:
    return values(w, out.shape, out.dtype, value)[0]


TABLE[_ATEN.new_full.default] = lambda w, out, _, size, value: _full(w, out, size, value)


@row(_ATEN.scalar_tensor.default)
def _scalar_tensor(w: Writer, out: Any, value: Any, **_: Any) -> Value:
    return w.constant(value, (), out.dtype)


@row(_ATEN.arange.start_step)
def _arange(w: Writer, out: Any, start: Any, end: Any, step: Any = 1, **_: Any) -> Value:
    numbers = w.iota(out.shape, out.dtype, 0)
    if step != 1:
        numbers = binary("multiply", w, out, numbers, step)
    return numbers if start == 0 else binary("add", w, out, numbers, start)


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


@row(_ATEN.rand, _ATEN.rand_like)
def _rand(w: Writer, out: Any, *_: Any, **__: Any) -> Value:
    return _random(w, out, 0.0, 1.0, "UNIFORM")


@row(_ATEN.uniform)
def _uniform(w: Writer, out: Any, _: Any, low: float = 0.0, high: float = 1.0, **__: Any) -> Value:
    return _random(w, out, low, high, "UNIFORM")


@row(_ATEN.randn, _ATEN.randn_like)
def _randn(w: Writer, out: Any, *_: Any, **__: Any) -> Value:
    return _random(w, out, 0.0, 1.0, "NORMAL")


@row(_ATEN.bernoulli.p)
def _bernoulli(w: Writer, out: Any, _: Any, p: float = 0.5, **__: Any) -> Value:
    drawn = _random(w, out, 0.0, 1.0, "UNIFORM")
    below = w.compare("LT", drawn, w.constant(p, drawn.shape, drawn.dtype))
    return w.convert(below, out.dtype)


@row(torch.ops.prims.iota.default)
def _iota(w: Writer, out: Any, length: int, *, start: int, step: int, **_: Any) -> Value:
    return _arange(w, out, start, None, step)
