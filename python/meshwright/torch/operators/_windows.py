"""Operators over windows in StableHLO: convolutions, pools and scans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from meshwright import errors
from meshwright.torch._stablehlo import Value, Writer
from meshwright.torch.operators._table import row

_ATEN = torch.ops.aten


def _spread(numbers: Sequence[int] | int, rank: int) -> list[int]:
    """One number for each of the spatial dimensions."""
    given = [numbers] if isinstance(numbers, int) else list(numbers)
    return given * rank if len(given) == 1 else given


def _convolve(
    w: Writer,
    x: Value,
    kernel: Value,
    shape: Sequence[int],
    dtype: torch.dtype,
    labels: tuple[str, str, str],
    *,
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    x_dilation: Sequence[int],
    dilation: Sequence[int],
    groups: int = 1,
    batch_groups: int = 1,
) -> Value:
    space = ", ".join(str(d) for d in range(len(stride)))
    dims = [f"[{', '.join(label)}, {space}]" for label in labels]
    text = (
        f"stablehlo.convolution({{}}, {{}}) dim_numbers = {dims[0]}x{dims[1]}->{dims[2]}, "
        f"window = {{{{stride = {list(stride)}, pad = {[list(pad) for pad in pads]}, "
        f"lhs_dilate = {list(x_dilation)}, rhs_dilate = {list(dilation)}}}}} "
        f"{{{{batch_group_count = {batch_groups} : i64, feature_group_count = {groups} : i64}}}}"
    )
    return w.operation(text, [x, kernel], [(shape, dtype)])[0]


def _forward(
    w: Writer, x: Value, weight: Value, shape: Sequence[int], dtype: torch.dtype, *how: Any
) -> Value:
    stride, padding, dilation, groups = how
    ones = [1] * len(stride)
    return _convolve(
        *(w, x, weight, shape, dtype, ("bf", "oi", "bf")),
        stride=stride,
        pads=[(p, p) for p in padding],
        x_dilation=ones,
        dilation=dilation,
        groups=groups,
    )


def _towards_input(
    w: Writer, grad: Value, weight: Value, shape: Sequence[int], dtype: torch.dtype, *how: Any
) -> Value:
    """The gradient of a convolution's input, of `shape`: also what a transposed convolution computes."""
    stride, padding, dilation, groups = how
    rank = len(stride)
    if groups > 1:  # [o, i/g] to [o/g, i]
        out, part, *window = weight.shape
        weight = w.reshape(weight, [groups, out // groups, part, *window])
        weight = w.transpose(weight, [1, 0, 2, *range(3, 3 + rank)])
        weight = w.reshape(weight, [out // groups, groups * part, *window])
    weight = w.reverse(weight, range(2, 2 + rank))
    pads = []
    for d in range(rank):
        reach = dilation[d] * (weight.shape[2 + d] - 1)
        low = reach - padding[d]
        spread = (grad.shape[2 + d] - 1) * stride[d] + 1
        pads.append((low, shape[2 + d] + reach - low - spread))
    return _convolve(
        *(w, grad, weight, shape, dtype, ("bf", "io", "bf")),
        stride=[1] * rank,
        pads=pads,
        x_dilation=stride,
        dilation=dilation,
        groups=groups,
    )


def _towards_weight(
    w: Writer, x: Value, grad: Value, shape: Sequence[int], dtype: torch.dtype, *how: Any
) -> Value:
    stride, padding, dilation, groups = how
    rank = len(stride)
    pads = []
    for d in range(rank):
        reach = (shape[2 + d] - 1) * dilation[d] + (grad.shape[2 + d] - 1) * stride[d] + 1
        pads.append((padding[d], reach - x.shape[2 + d] - padding[d]))
    return _convolve(
        *(w, x, grad, shape, dtype, ("fb", "io", "fb")),
        stride=dilation,
        pads=pads,
        x_dilation=[1] * rank,
        dilation=stride,
        batch_groups=groups,
    )


def _how(x: Value, stride: Any, padding: Any, dilation: Any, groups: int) -> tuple[Any, ...]:
    rank = len(x.shape) - 2
    return (*(_spread(numbers, rank) for numbers in (stride, padding, dilation)), groups)


@row(_ATEN.convolution.default)
def _convolution(
    w: Writer,
    out: Any,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Value:
    how = _how(x, stride, padding, dilation, groups)
    run = _towards_input if transposed else _forward
    result = run(w, x, weight, out.shape, out.dtype, *how)
    if bias is None:
        return result
    return w.elementwise("add", result, w.broadcast(bias, out.shape, [1]))


@row(_ATEN.convolution_backward.default)
def _convolution_backward(
    w: Writer,
    outs: Any,
    grad: Value,
    x: Value,
    weight: Value,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    wanted: Sequence[bool],
) -> list[Value | None]:
    how = _how(x, stride, padding, dilation, groups)
    of_x = of_weight = of_bias = None
    if wanted[0]:
        run = _forward if transposed else _towards_input
        of_x = run(w, grad, weight, x.shape, x.dtype, *how)
    if wanted[1]:
        pair = (grad, x) if transposed else (x, grad)
        of_weight = _towards_weight(w, *pair, weight.shape, weight.dtype, *how)
    if wanted[2]:
        of_bias = w.reduce(grad, "add", [0, *range(2, len(grad.shape))], 0)
    return [of_x, of_weight, of_bias]


def _window(
    w: Writer,
    x: Value,
    shape: Sequence[int],
    kind: str,
    initial: Any,
    *,
    size: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int] | None = None,
) -> Value:
    """A reduction over windows, all lists over all dimensions."""

    def array(numbers: Sequence[int]) -> str:
        return f"array<i64: {', '.join(map(str, numbers))}>"

    rank = len(size)
    text = (
        '"stablehlo.reduce_window"({}, {}) <{{'
        f"padding = dense<{[list(pad) for pad in pads]}> : tensor<{rank}x2xi64>, "
        f"window_dilations = {array(dilation or [1] * rank)}, window_dimensions = {array(size)}, "
        f"window_strides = {array(stride)}}}}}>"
    )
    zero = w.constant(initial, (), x.dtype)
    return w.region(text, [x, zero], [(shape, x.dtype)], kind, x.dtype)[0]


def scan(w: Writer, x: Value, dim: int, kind: str, initial: Any) -> Value:
    """At each position along `dim` what is reduced up to there."""
    if not x.shape:
        return x
    ones = [1] * len(x.shape)
    size, pads = list(ones), [(0, 0)] * len(ones)
    size[dim], pads[dim] = x.shape[dim], (x.shape[dim] - 1, 0)
    return _window(w, x, x.shape, kind, initial, size=size, stride=ones, pads=pads)


def _pool(
    x_shape: Sequence[int],
    shape: Sequence[int],
    size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
) -> tuple[list[int], list[int], list[tuple[int, int]], list[int]]:
    """Sizes, strides, pads and dilations over all dimensions of windows over the last two."""
    size = _spread(size, 2)
    stride = _spread(stride, 2) if stride else size
    padding, dilation = _spread(padding, 2), _spread(dilation, 2)
    before = len(x_shape) - 2
    pads = [(0, 0)] * before
    for d in range(2):
        reach = (shape[before + d] - 1) * stride[d] + (size[d] - 1) * dilation[d] + 1
        pads.append((padding[d], reach - x_shape[before + d] - padding[d]))
    ones = [1] * before
    return [*ones, *size], [*ones, *stride], pads, [*ones, *dilation]


@row(_ATEN.max_pool2d_with_indices.default)
def _max_pool(
    w: Writer,
    outs: Any,
    x: Value,
    size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> list[Value | None]:
    """Where the largest are, only `_max_pool_backward` asks, which finds them itself."""
    shape = outs[0].shape
    window, strides, pads, dilations = _pool(x.shape, shape, size, stride, padding, dilation)
    least = -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    most = _window(
        *(w, x, shape, "maximum", least), size=window, stride=strides, pads=pads, dilation=dilations
    )
    return [most, None]


@row(_ATEN.max_pool2d_with_indices_backward.default)
def _max_pool_backward(
    w: Writer,
    out: Any,
    grad: Value,
    x: Value,
    size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Any,
) -> Value:
    window, strides, pads, dilations = _pool(x.shape, grad.shape, size, stride, padding, dilation)
    if any(d != 1 for d in dilations):
        raise errors.UnsupportedError("windows with holes (dilation)")
    rank = len(window)
    element = f"tensor<{x.type.removeprefix('tensor<').split('x')[-1]}"
    text = (
        '"stablehlo.select_and_scatter"({}, {}, {}) <{{'
        f"padding = dense<{[list(pad) for pad in pads]}> : tensor<{rank}x2xi64>, "
        f"window_dimensions = array<i64: {', '.join(map(str, window))}>, "
        f"window_strides = array<i64: {', '.join(map(str, strides))}>}}}}> ({{{{\n"
        f"    ^bb0(%x: {element}, %y: {element}):\n"
        f"      %z = stablehlo.compare GE, %x, %y, FLOAT : ({element}, {element}) -> tensor<i1>\n"
        "      stablehlo.return %z : tensor<i1>\n    }}, {{\n"
        f"    ^bb0(%x: {element}, %y: {element}):\n"
        f"      %z = stablehlo.add %x, %y : {element}\n"
        f"      stablehlo.return %z : {element}\n    }}}})"
    )
    zero = w.constant(0, (), x.dtype)
    return w.operation(text, [x, grad, zero], [(x.shape, x.dtype)])[0]


def _divisors(padding: Any, counts_pads: bool, ceil_mode: bool, divisor: Any) -> None:
    if ceil_mode or (not counts_pads and any(_spread(padding, 2)) and not divisor):
        raise errors.UnsupportedError("windows that are divided by different numbers")


@row(_ATEN.avg_pool2d.default)
def _average_pool(
    w: Writer,
    out: Any,
    x: Value,
    size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Value:
    _divisors(padding, count_include_pad, ceil_mode, divisor_override)
    window, strides, pads, _ = _pool(x.shape, out.shape, size, stride, padding, 1)
    total = _window(w, x, out.shape, "add", 0, size=window, stride=strides, pads=pads)
    count = w.constant(divisor_override or math.prod(window), out.shape, x.dtype)
    return w.elementwise("divide", total, count)


@row(_ATEN.avg_pool2d_backward.default)
def _average_pool_backward(
    w: Writer,
    out: Any,
    grad: Value,
    x: Value,
    size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> Value:
    _divisors(padding, count_include_pad, ceil_mode, divisor_override)
    window, strides, pads, _ = _pool(x.shape, grad.shape, size, stride, padding, 1)
    count = w.constant(divisor_override or math.prod(window), grad.shape, grad.dtype)
    share = w.elementwise("divide", grad, count)
    low = [n - 1 - pad for n, (pad, _) in zip(window, pads)]
    spread = [(g - 1) * s + 1 for g, s in zip(grad.shape, strides)]
    high = [o + n - 1 - a - b for o, n, a, b in zip(out.shape, window, low, spread)]
    zero = w.constant(0, (), grad.dtype)
    share = w.pad(share, zero, low, high, [s - 1 for s in strides])
    ones = [1] * len(window)
    return _window(
        w, share, out.shape, "add", 0, size=window, stride=ones, pads=[(0, 0)] * len(ones)
    )
