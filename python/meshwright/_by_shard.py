"""Operators that XLA computes on gathered operands, although each shard could be computed alone.

XLA's partitioner does not shard them along the dimensions named here, and would gather whatever is.
Where the plan shards such dimensions of the result, the operator is put into a manual computation
over their axes: every device computes its own part, as planned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

# For each operand: which dimension of the result each of its dimensions is, if any. All results of
# an operator have the same ones.
Dimensions = list[list["int | None"]]


def _rank(value: Any) -> int:
    return ir.RankedTensorType(value.type).rank


def _all_but_the_last(operation: ir.Operation) -> Dimensions:
    rank = _rank(operation.operands[0])
    return [[*range(rank - 1), None]]


def _solved(operation: ir.Operation) -> Dimensions:
    """Those of a batch, and that of several right-hand sides."""
    rank = _rank(operation.operands[0])
    batch = list(range(rank - 2))
    is_left = ir.BoolAttr(operation.attributes["left_side"]).value
    sides = [None, rank - 1] if is_left else [rank - 2, None]
    return [[*batch, None, None], [*batch, *sides]]


_OPERATORS: dict[str, Callable[[ir.Operation], Dimensions]] = {
    "chlo.top_k": _all_but_the_last,
    "mhlo.topk": _all_but_the_last,
    "stablehlo.triangular_solve": _solved,
}


def compute_by_shard(module: ir.Module) -> None:
    """Rewrites the operators meant in an annotated module."""
    meshes: dict[str, dict[str, int]] = {}
    found: list[ir.Operation] = []

    def visit(view: Any) -> ir.WalkResult:
        operation = view.operation
        if operation.name == "sdy.mesh":
            axes = map(sdy.MeshAxisAttr, sdy.MeshAttr(operation.attributes["mesh"]).axes)
            name = ir.StringAttr(operation.attributes["sym_name"]).value
            meshes[name] = {axis.name: axis.size for axis in axes}
        elif operation.name in _OPERATORS:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in found:
        _rewrite(operation, meshes)


def _rewrite(operation: ir.Operation, meshes: Mapping[str, Mapping[str, int]]) -> None:
    kept = constraint(operation)
    if kept is None:
        return
    sharding = sdy.TensorShardingAttr(kept.attributes["sharding"])
    mesh = ir.FlatSymbolRefAttr(sharding.mesh_or_ref).value
    sizes = meshes[mesh]
    axes = [
        [sdy.AxisRefAttr(axis).name for axis in sdy.DimensionShardingAttr(dimension).axes]
        for dimension in sharding.dimension_shardings
    ]
    used = [name for name in sizes if any(name in dimension for dimension in axes)]
    operands = _OPERATORS[operation.name](operation)
    known = {dimension for dimensions in operands for dimension in dimensions}
    if not used or any(listed and number not in known for number, listed in enumerate(axes)):
        return
    everything: list[int | None] = list(range(len(axes)))
    shards = [math.prod(sizes[name] for name in listed) for listed in axes]
    values = [
        *zip(operation.operands, operands, strict=True),
        *((result, everything) for result in operation.results),
    ]
    locals_ = [_local(value.type, dimensions, shards) for value, dimensions in values]
    if None in locals_:
        return
    count = len(operands)

    def per_value(some: Sequence[tuple[Any, list[int | None]]]) -> ir.Attribute:
        texts = []
        for _, dimensions in some:
            listed = ([] if number is None else axes[number] for number in dimensions)
            entries = ("{" + ", ".join(f'"{name}"' for name in names) + "}" for names in listed)
            texts.append(f"<@{mesh}, [{', '.join(entries)}]>")
        return ir.Attribute.parse(f"#sdy.sharding_per_value<[{', '.join(texts)}]>")

    manual_axes = ", ".join(f'"{name}"' for name in used)
    # By number: what iterating gives depends on the version.
    attributes = [operation.attributes[i] for i in range(len(operation.attributes))]
    with operation.location, ir.InsertionPoint(operation):
        manual = sdy.ManualComputationOp(
            [result.type for result in operation.results],
            list(operation.operands),
            per_value(values[:count]),
            per_value(values[count:]),
            ir.Attribute.parse(f"#sdy<manual_axes{{{manual_axes}}}>"),
        )
        block = manual.operation.regions[0].blocks.append(*locals_[:count])
        with ir.InsertionPoint(block):
            inner = ir.Operation.create(
                operation.name,
                results=locals_[count:],
                operands=list(block.arguments),
                attributes={entry.name: entry.attr for entry in attributes},
            )
            sdy.ReturnOp(list(inner.results))
    for result, replacement in zip(operation.results, manual.operation.results, strict=True):
        result.replace_all_uses_with(replacement)
    operation.erase()


def constraint(operation: ir.Operation) -> ir.Operation | None:
    """What says how the operator computes its results."""
    for result in operation.results:
        for use in result.uses:
            if use.owner.operation.name == "sdy.sharding_constraint":
                return use.owner.operation
    return None


def _local(
    type: ir.Type, dimensions: Sequence[int | None], shards: Sequence[int]
) -> ir.Type | None:
    """The type of a shard; none if it is cut unevenly."""
    ranked = ir.RankedTensorType(type)
    shape = list(ranked.shape)
    for i, number in enumerate(dimensions):
        if number is None:
            continue
        if shape[i] % shards[number]:
            return None
        shape[i] //= shards[number]
    return ir.RankedTensorType.get(shape, ranked.element_type)
