"""Barriers that keep XLA from compiling a sharded program wrongly.

XLA turns a scatter of one index into a slice and an update of a slice, and merges the slice with the one
that cuts the operand to a device's shard, without clamping the inner start: devices that the index does
not point at would get a row of another device's (https://github.com/openxla/xla/issues/49121). A
barrier between the two slices keeps them apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.dialects import stablehlo as hlo

from meshwright._by_shard import constraint


def guard_scatters(module: ir.Module) -> None:
    """Puts barriers before the scatters meant in an annotated module."""
    found: list[ir.Operation] = []

    def visit(view: Any) -> ir.WalkResult:
        if view.operation.name == "stablehlo.scatter":
            found.append(view.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in found:
        if _has_one_index(operation) and _is_cut_where_it_points(operation):
            _guard(operation)


def _dimensions(operation: ir.Operation) -> hlo.ScatterDimensionNumbers:
    return hlo.ScatterDimensionNumbers(operation.attributes["scatter_dimension_numbers"])


def _has_one_index(operation: ir.Operation) -> bool:
    indices = ir.RankedTensorType(operation.operands[len(operation.results)].type)
    vector = _dimensions(operation).index_vector_dim
    return bool(np.prod([size for i, size in enumerate(indices.shape) if i != vector]) == 1)


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
