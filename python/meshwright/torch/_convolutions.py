"""Convolutions and pools on DTensors: run on each device's part where the parts fit.

DTensor runs convolutions by splitting images, whatever is asked, and of pools few. Here a convolution
with its bias and its backward pass are first taken apart into operators of one result, then each is
run on parts along samples and features, or groups of features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard

_CONVOLUTION = torch.ops.aten.convolution.default
_BACKWARD = torch.ops.aten.convolution_backward.default


def _open(x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Any:
    if bias is None:
        return NotImplemented
    return _CONVOLUTION(x, weight, None, *how) + bias.view(-1, *[1] * (x.dim() - 2))


def _open_backward(grad: Tensor, x: Tensor, weight: Tensor, bias_sizes: Any, *rest: Any) -> Any:
    *how, wanted = rest
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

# How two operands and the result may lie along one axis of the mesh. A kernel is [o, i], that of a
# transposed convolution [i, o]; with groups, which are cut like features, [o, i/g] and [i, o/g].
_R, _0, _1, _SUM = Replicate(), Shard(0), Shard(1), Partial()
_Rows = tuple[tuple[Placement, Placement, Placement], ...]
_SAMPLES: _Rows = ((_R, _R, _R), (_0, _R, _0))
_OF_WEIGHT: _Rows = ((_R, _R, _R), (_0, _0, _SUM))


def _rows(target: Any, towards_x: bool, transposed: bool, grouped: bool) -> _Rows:
    """Of images [b, i] and the kernel; of the result's gradient [b, o] and the kernel; or of that
    gradient and the images.
    """
    if target is _BACKWARD and not towards_x:
        if grouped:
            return (*_OF_WEIGHT, (_1, _1, _0))
        out, features = (_1, _0) if transposed else (_0, _1)
        return (*_OF_WEIGHT, (_1, _R, out), (_R, _1, features))
    if grouped:
        return (*_SAMPLES, (_1, _0, _1))
    # A transposed convolution computes what the backward pass of another does, and the reverse.
    contracted, made = (_0, _1) if transposed is (target is _CONVOLUTION) else (_1, _0)
    return (*_SAMPLES, (_1, contracted, _SUM), (_R, made, _1))


# Operators that compute every feature of every sample by itself.
_ATEN = torch.ops.aten
_POOLS = {
    *(_ATEN.avg_pool2d.default, _ATEN.avg_pool2d_backward.default),
    *(_ATEN.max_pool2d_with_indices.default, _ATEN.max_pool2d_with_indices_backward.default),
}


def _pool(target: Any, args: Sequence[Any], like: Any) -> Any:
    images = [x for x in args if isinstance(x, DTensor)]
    tensors = [x for x in args if isinstance(x, Tensor)]
    if len(images) < len(tensors) or any(x.dim() != 4 for x in images):
        return None
    mesh, found = images[0].device_mesh, images[0].placements
    if any(x.placements != found for x in images) or not {*found} <= {_R, _0, _1}:
        return None
    for dimension in (0, 1):
        parts = math.prod(mesh.size(axis) for axis, p in enumerate(found) if p == Shard(dimension))
        if images[0].shape[dimension] % parts:
            return None
    result = target(*(x.to_local() if isinstance(x, DTensor) else x for x in args))

    def placed(local: Tensor, like: Tensor) -> DTensor:
        return DTensor.from_local(
            local, mesh, found, run_check=False, shape=like.shape, stride=like.stride()
        )

    return pytree.tree_map(placed, result, like)


def run(target: Any, args: Sequence[Any], like: Any) -> Any:
    """What the operator gives on DTensors, or None if their parts do not fit. `like`: it, fake."""
    if target in _POOLS:
        return _pool(target, args, like)
    if target is _CONVOLUTION:
        towards_x, first, second, how = False, args[0], args[1], list(args[3:])
    elif target is _BACKWARD:
        towards_x = args[-1][0]
        first, second, how = args[0], args[2] if towards_x else args[1], list(args[4:])
        like = like[0 if towards_x else 1]
    else:
        return None
    if not (isinstance(first, DTensor) and isinstance(second, DTensor)):
        return None
    transposed, groups = how[3], how[5]
    rows = _rows(target, towards_x, transposed, groups > 1)
    found = []
    shape = list(like.shape)
    for size, *pair in zip(first.device_mesh.shape, first.placements, second.placements):
        results = [row[2] for row in rows if [row[0], row[1]] == pair]
        if not results:
            return None
        found.append(results[0])
        if isinstance(results[0], Shard):
            if shape[results[0].dim] % size:
                return None
            shape[results[0].dim] //= size
        if how[5] > 1 and pair[0] == _1:
            if how[5] % size:
                return None
            how[5] //= size
    a, b = first.to_local(), second.to_local()
    if target is _CONVOLUTION:
        local = target(a, b, None, *how)
    elif towards_x:
        local = target(a, a.new_empty(shape), b, None, *how)[0]
    else:
        local = target(a, b, a.new_empty(shape), None, *how)[1]
    result = DTensor.from_local(
        local, first.device_mesh, found, run_check=False, shape=like.shape, stride=like.stride()
    )
    if target is _CONVOLUTION:
        return result
    return (result, None, None) if towards_x else (None, result, None)
