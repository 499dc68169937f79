"""Operators that XLA computes on gathered operands, although each shard could be computed alone.

XLA's partitioner does not shard them along the dimensions named here, and would gather whatever is.
Where the plan shards such dimensions of the result, the operator is put into a manual computation
over their axes: every device computes its own part, as planned. So are calls of kernels, which the
planner marks where it shards them (plan/annotate/annotate_stablehlo.h).
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.dialects import stablehlo as hlo

# For each operand: which dimensions of the result each of its dimensions is, major to minor. All
# results of an operator have the same ones.
Dimensions = list[list[tuple[int, ...]]]


def _rank(value: Any) -> int:
    return ir.RankedTensorType(value.type).rank


def _all_but_the_last(operation: ir.Operation) -> Dimensions:
    rank = _rank(operation.operands[0])
    return [[*((number,) for number in range(rank - 1)), ()]]


def _transformed(operation: ir.Operation) -> Dimensions:
    """Those before the transformed ones."""
    rank = _rank(operation.operands[0])
    count = len(ir.DenseI64ArrayAttr(operation.attributes["fft_length"]))
    return [[*((number,) for number in range(rank - count)), *[()] * count]]


def _solved(operation: ir.Operation) -> Dimensions:
    """Those of a batch, and that of several right-hand sides."""
    rank = _rank(operation.operands[0])
    batch = [(number,) for number in range(rank - 2)]
    is_left = ir.BoolAttr(operation.attributes["left_side"]).value
    sides = [(), (rank - 1,)] if is_left else [(rank - 2,), ()]
    return [[*batch, (), ()], [*batch, *sides]]


def _grouped(operation: ir.Operation) -> Dimensions | None:
    """A convolution of groups of features, or of a batch: of both operands each device has its groups."""
    dims = hlo.ConvDimensionNumbers(operation.attributes["dimension_numbers"])
    features = ir.IntegerAttr(operation.attributes["feature_group_count"]).value
    batches = ir.IntegerAttr(operation.attributes["batch_group_count"]).value
    if features == batches == 1:
        return None
    batch, feature = (dims.output_batch_dimension,), (dims.output_feature_dimension,)
    image, kernel = ([()] * _rank(operand) for operand in operation.operands)
    kernel[dims.kernel_output_feature_dimension] = feature
    if batches > 1:
        image[dims.input_batch_dimension] = feature + batch
    else:
        image[dims.input_batch_dimension] = batch
        image[dims.input_feature_dimension] = feature
    return [image, kernel]


_OPERATORS: dict[str, Callable[[ir.Operation], Dimensions | None]] = {
    "chlo.top_k": _all_but_the_last,
    "mhlo.topk": _all_but_the_last,
    "stablehlo.convolution": _grouped,
    "stablehlo.fft": _transformed,
    "stablehlo.triangular_solve": _solved,
}


# Axes of each dimension.
Axes = list[list[str]]

_MARK = "meshwright_by_shard"


@dataclasses.dataclass
class _Parts:
    """How an operator is computed shard by shard."""

    mesh: str
    operands: list[Axes]
    results: list[Axes]
    summed: list[list[str]]  # axes along which parts of each result are summed


def compute_by_shard(module: ir.Module) -> None:
    """Rewrites the operators meant in an annotated module."""
    meshes: dict[str, dict[str, int]] = {}
    found: list[ir.Operation] = []
    marked: list[ir.Operation] = []

    def visit(view: Any) -> ir.WalkResult:
        operation = view.operation
        if operation.name == "sdy.mesh":
            axes = map(sdy.MeshAxisAttr, sdy.MeshAttr(operation.attributes["mesh"]).axes)
            name = ir.StringAttr(operation.attributes["sym_name"]).value
            meshes[name] = {axis.name: axis.size for axis in axes}
        elif operation.name in _OPERATORS or operation.name == "stablehlo.custom_call":
            found.append(operation)
        elif _MARK in operation.attributes:
            marked.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in found:
        call = operation.name == "stablehlo.custom_call"
        parts = _parts_of_call(operation) if call else _parts_of_operator(operation)
        if parts is not None:
            _rewrite(operation, parts, meshes[parts.mesh])
    for operation in marked:
        del operation.attributes[_MARK]


def _parts_of_operator(operation: ir.Operation) -> _Parts | None:
    kept = constraint(operation)
    if kept is None:
        return None
    mesh, axes = _sharding(kept)
    operands = _OPERATORS[operation.name](operation)
    if operands is None:
        return None
    known = {number for dimensions in operands for numbers in dimensions for number in numbers}
    if any(listed and number not in known for number, listed in enumerate(axes)):
        return None
    taken = [
        [[axis for number in numbers for axis in axes[number]] for numbers in dimensions]
        for dimensions in operands
    ]
    sums = operation.name == "stablehlo.convolution"
    if sums and not all(map(_is_taken_as, operation.operands, taken)):
        return None
    return _Parts(
        mesh,
        taken,
        [axes] * len(operation.results),
        [[]] * len(operation.results),
    )


def _is_taken_as(operand: Any, axes: Axes) -> bool:
    """Whether no other dimensions are cut than by `axes`: sums over those are left to XLA."""
    maker = operand.owner
    if isinstance(maker, ir.Block):
        function = maker.owner.operation
        if function.name != "func.func" or "arg_attrs" not in function.attributes:
            return False
        attributes = ir.ArrayAttr(function.attributes["arg_attrs"])
        given = ir.DictAttr(attributes[ir.BlockArgument(operand).arg_number])
        made = given if "sdy.sharding" in given else None
    else:
        made = maker.attributes if maker.name == "sdy.sharding_constraint" else None
    if made is None:
        return True  # made wherever it is needed
    attribute = made["sdy.sharding" if isinstance(maker, ir.Block) else "sharding"]
    kept = _axes(sdy.TensorShardingAttr(attribute))
    return all(not cut or cut == wanted for cut, wanted in zip(kept, axes, strict=True))


def _parts_of_call(operation: ir.Operation) -> _Parts | None:
    marks = [made for result in operation.results if (made := _constraint_of(result)) is not None]
    if not marks or _MARK not in marks[0].attributes:
        return None
    reduced = [name for name in ir.StringAttr(marks[0].attributes[_MARK]).value.split(",") if name]
    mesh = _sharding(marks[0])[0]
    parts = _Parts(mesh, [], [], [])
    for operand in operation.operands:
        maker = None if isinstance(operand.owner, ir.Block) else operand.owner.operation
        if _rank(operand) == 0:
            parts.operands.append([])
        elif maker is not None and maker.name == "sdy.sharding_constraint":
            parts.operands.append(_sharding(maker)[1])
        else:
            return None
    for result in operation.results:
        made = _constraint_of(result)
        if made is None and (any(True for _ in result.uses) or _elements(result) > 0):
            return None
        axes = _sharding(made)[1] if made is not None else [[]] * _rank(result)
        parts.results.append(axes)
        used = any(True for _ in result.uses)
        parts.summed.append([a for a in reduced if used and not any(a in dim for dim in axes)])
    return parts


def _elements(value: Any) -> int:
    return math.prod(ir.RankedTensorType(value.type).shape)


def _sharding(made: ir.Operation) -> tuple[str, Axes]:
    """The mesh of a constraint, and the axes of each dimension."""
    sharding = sdy.TensorShardingAttr(made.attributes["sharding"])
    return ir.FlatSymbolRefAttr(sharding.mesh_or_ref).value, _axes(sharding)


def _axes(sharding: sdy.TensorShardingAttr) -> Axes:
    return [
        [sdy.AxisRefAttr(axis).name for axis in sdy.DimensionShardingAttr(dimension).axes]
        for dimension in sharding.dimension_shardings
    ]


def _rewrite(operation: ir.Operation, parts: _Parts, sizes: Mapping[str, int]) -> None:
    listed = [*parts.operands, *parts.results, parts.summed]
    used = [name for name in sizes if any(name in dim for axes in listed for dim in axes)]
    if not used:
        return
    values = [*operation.operands, *operation.results]
    axes = [*parts.operands, *parts.results]
    locals_ = [_local(v.type, a, sizes) for v, a in zip(values, axes, strict=True)]
    if None in locals_:
        return
    if operation.name == "stablehlo.convolution" and _groups(operation, *locals_) is None:
        return
    count = len(operation.operands)

    def per_value(some: Sequence[Axes]) -> ir.Attribute:
        texts = []
        for dims in some:
            entries = ("{" + ", ".join(f'"{name}"' for name in names) + "}" for names in dims)
            texts.append(f"<@{parts.mesh}, [{', '.join(entries)}]>")
        return ir.Attribute.parse(f"#sdy.sharding_per_value<[{', '.join(texts)}]>")

    manual_axes = ", ".join(f'"{name}"' for name in used)
    # By number: what iterating gives depends on the version.
    attributes = [operation.attributes[i] for i in range(len(operation.attributes))]
    with operation.location, ir.InsertionPoint(operation):
        manual = sdy.ManualComputationOp(
            [result.type for result in operation.results],
            list(operation.operands),
            per_value(parts.operands),
            per_value(parts.results),
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
            _localize_attention(inner)
            _localize_groups(inner)
            sdy.ReturnOp(
                [
                    _summed(result, names, sizes) if names else result
                    for result, names in zip(inner.results, parts.summed, strict=True)
                ]
            )
    for result, replacement in zip(operation.results, manual.operation.results, strict=True):
        result.replace_all_uses_with(replacement)
    operation.erase()


def _summed(value: Any, names: Sequence[str], sizes: Mapping[str, int]) -> Any:
    """The sum of what the devices along the axes `names` have."""
    tensor = ir.RankedTensorType(value.type)
    scalar = ir.RankedTensorType.get([], tensor.element_type)
    groups: dict[tuple[int, ...], list[int]] = {}
    for device, place in enumerate(itertools.product(*(range(size) for size in sizes.values()))):
        at = dict(zip(sizes, place, strict=True))
        groups.setdefault(tuple(at[n] for n in sizes if n not in names), []).append(device)
    rows = list(groups.values())
    text = f"dense<{rows}> : tensor<{len(rows)}x{len(rows[0])}xi64>"
    reduced = ir.Operation.create(
        "stablehlo.all_reduce",
        results=[value.type],
        operands=[value],
        attributes={
            "replica_groups": ir.Attribute.parse(text),
            "channel_handle": ir.Attribute.parse("#stablehlo.channel_handle<handle = 1, type = 1>"),
            "use_global_device_ids": ir.UnitAttr.get(),
        },
        regions=1,
    )
    block = reduced.regions[0].blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        added = ir.Operation.create(
            "stablehlo.add", results=[scalar], operands=list(block.arguments)
        )
        ir.Operation.create("stablehlo.return", operands=[added.result])
    return reduced.result


def _groups(convolution: ir.Operation, *types: Any) -> tuple[str, int] | None:
    """Of which kind a convolution's groups are, and how many are in a part of such operands and result.

    None: it is no part of whole groups, nor a part of one.
    """
    dims = hlo.ConvDimensionNumbers(convolution.attributes["dimension_numbers"])
    image, kernel, result = (ir.RankedTensorType(type).shape for type in types)
    if ir.IntegerAttr(convolution.attributes["batch_group_count"]).value == 1:
        size, one = image[dims.input_feature_dimension], kernel[dims.kernel_input_feature_dimension]
        return None if size % one else ("feature_group_count", size // one)
    size, one = image[dims.input_batch_dimension], result[dims.output_batch_dimension]
    whole = ir.RankedTensorType(convolution.results[0].type).shape[dims.output_batch_dimension]
    if size % one or (one < whole and size > one):
        return None
    return "batch_group_count", size // one


def _localize_groups(operation: ir.Operation) -> None:
    if operation.name != "stablehlo.convolution":
        return
    values = [*operation.operands, *operation.results]
    found = _groups(operation, *(value.type for value in values))
    assert found is not None
    type = ir.IntegerType.get_signless(64)
    operation.attributes[found[0]] = ir.IntegerAttr.get(type, found[1])


def _localize_attention(call: ir.Operation) -> None:
    """cuDNN's configuration has the shape of the scores: [samples, heads, queries, keys]."""
    name = "mhlo.backend_config" if "mhlo.backend_config" in call.attributes else "backend_config"
    if name not in call.attributes or not isinstance(call.attributes[name], ir.StringAttr):
        return
    text = ir.StringAttr(call.attributes[name]).value
    if "cudnn_fmha_backend_config" not in text:
        return
    config = json.loads(text)
    scores = config["cudnn_fmha_backend_config"].get("intermediate_tensor_shape", {})
    if "dimensions" in scores:
        made = ir.RankedTensorType(call.results[0].type).shape  # [samples, heads, queries, depth]
        scores["dimensions"] = [*map(str, made[:3]), scores["dimensions"][3]]
        call.attributes[name] = ir.StringAttr.get(json.dumps(config))


def constraint(operation: ir.Operation) -> ir.Operation | None:
    """What says how the operator computes its results."""
    for result in operation.results:
        if (made := _constraint_of(result)) is not None:
            return made
    return None


def _constraint_of(result: Any) -> ir.Operation | None:
    for use in result.uses:
        if use.owner.operation.name == "sdy.sharding_constraint":
            return use.owner.operation
    return None


def _local(type: ir.Type, axes: Axes, sizes: Mapping[str, int]) -> ir.Type | None:
    """The type of a shard; none if it is cut unevenly."""
    ranked = ir.RankedTensorType(type)
    shape = list(ranked.shape)
    for i, names in enumerate(axes):
        shards = math.prod(sizes[name] for name in names)
        if shape[i] % shards:
            return None
        shape[i] //= shards
    return ir.RankedTensorType.get(shape, ranked.element_type)
