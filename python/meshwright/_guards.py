"""Barriers that keep XLA from compiling a sharded program wrongly.

XLA merges a slice with the one that cuts an array to a device's shard, without clamping the inner start
(https://github.com/openxla/xla/issues/49121). It turns a scatter of one index into a slice and an update
of a slice: devices that the index does not point at would get a row of another device's. And a slice
whose start is beyond the last that fits, which is clamped, would be cut at other places than on one
device, and so would one of two slices that a program makes of one array, on one device too. A barrier
between the two slices keeps them apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.dialects import stablehlo as hlo

from meshwright._by_shard import constraint


def guard_slices(module: ir.Module) -> None:
    """Puts barriers before the scatters and behind the slices meant in a module, annotated or not."""
    found: list[ir.Operation] = []

    def visit(view: Any) -> ir.WalkResult:
        if view.operation.name in ("stablehlo.scatter", *_SLICES):
            found.append(view.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in found:
        if operation.name in _SLICES:
            if _may_be_cut_again(operation):
                _guard_result(operation)
        elif _has_one_index(operation) and _is_cut_where_it_points(operation):
            _guard(operation)


# What XLA computes as a slice that starts where the program says, clamped.
_SLICES = ("stablehlo.dynamic_slice", "stablehlo.gather")


def _may_be_cut_again(operation: ir.Operation) -> bool:
    """Whether it takes more than one element of a dimension and less than all, from a place not known yet."""
    shape = ir.RankedTensorType(operation.operands[0].type).shape
    sizes = ir.DenseI64ArrayAttr(operation.attributes["slice_sizes"])
    parts = [number for number, size in enumerate(sizes) if 1 < size < shape[number]]
    if operation.name == "stablehlo.gather":
        numbers = hlo.GatherDimensionNumbers(operation.attributes["dimension_numbers"])
        indices = ir.RankedTensorType(operation.operands[1].type)
        return bool(parts) and _is_one(indices, numbers.index_vector_dim)
    return any(not _is_constant(operation.operands[1 + number]) for number in parts)


def _is_constant(value: ir.Value) -> bool:
    owner = value.owner
    return isinstance(owner, ir.Operation) and owner.name == "stablehlo.constant"


def _is_one(indices: ir.RankedTensorType, vector: int) -> bool:
    return bool(np.prod([size for i, size in enumerate(indices.shape) if i != vector]) == 1)


def _guard_result(operation: ir.Operation) -> None:
    result = operation.results[0]
    users = [(use.owner, use.operand_number) for use in result.uses]
    with operation.location, ir.InsertionPoint(operation):
        barrier = hlo.OptimizationBarrierOp([result])
    barrier.operation.move_after(operation)
    for user, number in users:
        user.operands[number] = barrier.results[0]


def _dimensions(operation: ir.Operation) -> hlo.ScatterDimensionNumbers:
    return hlo.ScatterDimensionNumbers(operation.attributes["scatter_dimension_numbers"])


def _has_one_index(operation: ir.Operation) -> bool:
    indices = ir.RankedTensorType(operation.operands[len(operation.results)].type)
    return _is_one(indices, _dimensions(operation).index_vector_dim)


def _is_cut_where_it_points(operation: ir.Operation) -> bool:
    kept = constraint(operation)
    if kept is None:
        return False
    sharding = sdy.TensorShardingAttr(kept.attributes["sharding"])
    dimensions = [sdy.DimensionShardingAttr(one) for one in sharding.dimension_shardings]
    return any(
        len(dimensions[number].axes) > 0
        for number in _dimensions(operation).scattered_dims_to_operand_dims
    )


def _guard(operation: ir.Operation) -> None:
    with operation.location, ir.InsertionPoint(operation):
        for number in range(len(operation.results)):
            barrier = hlo.OptimizationBarrierOp([operation.operands[number]])
            operation.operands[number] = barrier.results[0]
