"""Convolutions on DTensors: one kernel a step, run on each device's part where the parts fit.

DTensor runs those itself by splitting images, whatever is asked. Here a convolution with its bias
and its backward pass are first taken apart into operators of one result, then each is run on parts
along samples and features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

_CONVOLUTION = torch.ops.aten.convolution.default
_BACKWARD = torch.ops.aten.convolution_backward.default


def _open(x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Any:
    if bias is None:
        return NotImplemented
    return _CONVOLUTION(x, weight, None, *how) + bias.view(-1, *[1] * (x.dim() - 2))


def _open_backward(grad: Tensor, x: Tensor, weight: Tensor, bias_sizes: Any, *how: Any) -> Any:
    *how, wanted = how
    if sum(wanted) == 1 and not wanted[2]:
        return NotImplemented
    of_x = of_weight = of_bias = None
    if wanted[0]:
        of_x = _BACKWARD(grad, x, weight, None, *how, [True, False, False])[0]
    if wanted[1]:
        of_weight = _BACKWARD(grad, x, weight, None, *how, [False, True, False])[1]
    if wanted[2]:
        of_bias = grad.sum([0, *range(2, grad.dim())])
    return of_x, of_weight, of_bias


# By operator, into those that are run below.
OPENED = {_CONVOLUTION: _open, _BACKWARD: _open_backward}

# How two operands and the result may lie along one axis of the mesh: convolution of images [b, i] with
# a kernel [o, i], then the gradients of the images (from the result's, [b, o]) and of the kernel.
_R, _0, _1, _SUM = Replicate(), Shard(0), Shard(1), Partial()
_SAMPLES = ((_R, _R, _R), (_0, _R, _0))
_FORWARD = (*_SAMPLES, (_R, _0, _1), (_1, _1, _SUM))
_TOWARDS_X = (*_SAMPLES, (_1, _0, _SUM), (_R, _1, _1))
_TOWARDS_WEIGHT = ((_R, _R, _R), (_0, _0, _SUM), (_1, _R, _0), (_R, _1, _1))


def run(target: Any, args: Sequence[Any], like: Any) -> Any:
    """What the operator gives on DTensors, or None if their parts do not fit. `like`: it, fake."""
    if target is _CONVOLUTION:
        first, second, rows = args[0], args[1], _FORWARD
        transposed, groups = args[6], args[8]
    elif target is _BACKWARD:
        transposed, groups = args[7], args[9]
        towards_x = args[-1][0]
        rows = _TOWARDS_X if towards_x else _TOWARDS_WEIGHT
        first, second = args[0], args[2] if towards_x else args[1]
        like = like[0 if towards_x else 1]
    else:
        return None
    if not (isinstance(first, DTensor) and isinstance(second, DTensor)):
        return None
    if transposed or groups != 1:  # what is features of one operand is not those of the other
        rows = [row for row in rows if _1 not in row and row[1] != _0] + [
            row for row in rows if row == (_0, _0, _SUM)
        ]
    found = []
    for pair in zip(first.placements, second.placements):
        results = [row[2] for row in rows if row[:2] == pair]
        if not results:
            return None
        found.append(results[0])
    shape = list(like.shape)
    for size, placement in zip(first.device_mesh.shape, found):
        if isinstance(placement, Shard):
            if shape[placement.dim] % size:
                return None
            shape[placement.dim] //= size
    a, b = first.to_local(), second.to_local()
    if target is _CONVOLUTION:
        local = target(a, b, *args[2:])
    elif towards_x:
        local = target(a, a.new_empty(shape), b, *args[3:])[0]
    else:
        local = target(a, b, a.new_empty(shape), *args[3:])[1]
    result = DTensor.from_local(
        local, first.device_mesh, found, run_check=False, shape=like.shape, stride=like.stride()
    )
    if target is _CONVOLUTION:
        return result
    return (result, None, None) if towards_x else (None, result, None)
