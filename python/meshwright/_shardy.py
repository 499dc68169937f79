"""Annotated programs as StableHLO modules that jax.export can call, for Shardy to partition.

The planner annotates StableHLO in its own text. HLO goes through XLA's conversion to StableHLO,
which keeps each instruction's sharding as text
(`mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"`), which Shardy ignores once a
module has a mesh; here every such text becomes a constraint over the plan's axes.
"""

from __future__ import annotations

import dataclasses
import io
import math
import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from jax.extend.mlir import hlo_to_stablehlo, serialize_portable_artifact
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.dialects import stablehlo as hlo

from meshwright import (
    _jax_version,  # noqa: F401  before what older versions have not
    errors,
)
from meshwright._by_shard import compute_by_shard
from meshwright._expansions import expand_operators, restore_operators
from meshwright._guards import guard_slices
from meshwright._platforms import bind_platform
from meshwright._stand_ins import StandIns, replace_calls

_MESH = "mesh"
_ONE_DEVICE = "maximal_mesh_0"  # the name that JAX gives it
_TEXT = "mhlo.sharding"
_SHARDING = "sdy.sharding"
_FRONTEND = "mhlo.frontend_attributes"  # where Shardy's annotations travel through HLO
_UNREDUCED = "meshwright.unreduced"  # the planner's own among them
_CONSTRAINTS = ("Sharding", "xla.sdy.FuncResultSharding")
_TILES = re.compile(
    r"\{devices=\[([0-9,]+)\](?:<=\[([0-9,]+)\](?:T\(([0-9,]+)\))?|([0-9,]+))"
    r"(?: last_tile_dim_replicate)?\}"
)

Axes = Sequence[tuple[str, int]]


def from_text(text: bytes, stand_ins: StandIns = MappingProxyType({})) -> bytes:
    """An annotated StableHLO program as a serialized module."""
    with make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text.decode())
        bind_platform(module)
        for function in module.body.operations:
            _keep_argument_attributes(function, (_SHARDING,))
        _place_callbacks(module)
        compute_by_shard(module)
        expand_operators(module)
        guard_slices(module)
        replace_calls(module, stand_ins)
        return _serialized(module)


def without_shardings(text: bytes, stand_ins: StandIns = MappingProxyType({})) -> bytes:
    """A StableHLO program as a serialized module without whatever shardings it has."""
    with make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text.decode())
        bind_platform(module)
        for function in module.body.operations:
            _keep_argument_attributes(function, ())
        operations: list[ir.Operation] = []
        module.operation.walk(lambda op: _collect(op.operation, operations))
        for operation in operations:
            for name in (_TEXT, _SHARDING, _FRONTEND):
                if name in operation.attributes:
                    del operation.attributes[name]
            if operation.name == "sdy.sharding_constraint" or _is_constraint(operation):
                operation.results[0].replace_all_uses_with(operation.operands[0])
                operation.erase()
            elif operation.name == "sdy.mesh":
                operation.erase()
        guard_slices(module)
        replace_calls(module, stand_ins)
        return _serialized(module)


def without_identities(text: bytes) -> str:
    """A StableHLO program without conversions of a type to itself, to be compared with others."""
    with make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text.decode())
        operations: list[ir.Operation] = []
        module.operation.walk(lambda op: _collect(op.operation, operations))
        for operation in operations:
            if operation.name != "stablehlo.convert":
                continue
            if operation.operands[0].type == operation.results[0].type:
                operation.results[0].replace_all_uses_with(operation.operands[0])
                operation.erase()
        return str(module)


def from_hlo(proto: bytes, axes: Axes, stand_ins: StandIns = MappingProxyType({})) -> bytes:
    """An annotated HloModuleProto as a serialized StableHLO module, sharded over a mesh of `axes`.

    Without axes the annotations are dropped.
    """
    with make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(hlo_to_stablehlo(proto))
        restore_operators(module)
        for function in module.body.operations:
            _annotate_signature(function, axes)
        operations: list[ir.Operation] = []
        module.operation.walk(lambda op: _collect(op.operation, operations))
        for operation in operations:
            _annotate(operation, axes)
        if axes:
            _place_callbacks(module)
            sizes = ", ".join(f'"{name}"={size}' for name, size in axes)
            with ir.InsertionPoint.at_block_begin(module.body):
                sdy.MeshOp(_MESH, ir.Attribute.parse(f"#sdy.mesh<[{sizes}]>"))
            compute_by_shard(module)
        guard_slices(module)
        replace_calls(module, stand_ins)
        return _serialized(module)


@dataclasses.dataclass(frozen=True)
class CallbackUse:
    """A call of a Python function."""

    index: int | None  # among the functions of its computation; None: it is called by address
    results: bool
    effect: bool  # it is called for what it does, not only for its results
    place: str  # in the source, "step.py:12: ", or empty


_CALLBACK = re.compile(
    r"xla_ffi(_partitioned)?_python_(cpu|gpu)_callback|xla_python_(cpu|gpu)_callback"
)


def callback_uses(serialized: bytes) -> list[CallbackUse]:
    """The calls of Python functions in a serialized module."""
    if b"_callback" not in serialized:
        return []
    with make_ir_context():
        module = hlo.deserialize_portable_artifact(ir.Context.current, serialized)
        operations: list[ir.Operation] = []
        module.operation.walk(lambda op: _collect(op.operation, operations))
        return [_callback_use(op) for op in operations if _is_callback(op)]


def _place_callbacks(module: ir.Module) -> None:
    """Callbacks that do something and give results run on one device, as JAX has it.

    XLA refuses to run them everywhere.
    """
    operations: list[ir.Operation] = []
    module.operation.walk(lambda op: _collect(op.operation, operations))
    placed = [op for op in operations if _is_callback(op) and _has_effect(op) and op.results]
    if not placed:
        return
    if not any(op.name == "sdy.mesh" and _symbol(op) == _ONE_DEVICE for op in operations):
        with ir.InsertionPoint.at_block_begin(module.body):
            sdy.MeshOp(_ONE_DEVICE, ir.Attribute.parse("#sdy.mesh<[], device_ids=[0]>"))
    for operation in placed:
        each = ", ".join([f"<@{_ONE_DEVICE}, []>"] * len(operation.results))
        operation.attributes[_SHARDING] = ir.Attribute.parse(f"#sdy.sharding_per_value<[{each}]>")


def _drop_lost_callbacks(module: ir.Module) -> None:
    """HLO text of JAX before 0.9 does not say which function is called; without results none needs to be."""
    operations: list[ir.Operation] = []
    module.operation.walk(lambda op: _collect(op.operation, operations))
    for operation in operations:
        if not _is_callback(operation):
            continue
        use = _callback_use(operation)
        if use.index is None and not use.results:
            operation.erase()


def _symbol(operation: ir.Operation) -> str:
    return ir.StringAttr(operation.attributes["sym_name"]).value


def _has_effect(operation: ir.Operation) -> bool:
    attributes = operation.attributes
    return "has_side_effect" in attributes and ir.BoolAttr(attributes["has_side_effect"]).value


def _is_callback(operation: ir.Operation) -> bool:
    if operation.name != "stablehlo.custom_call":
        return False
    target = ir.StringAttr(operation.attributes["call_target_name"]).value
    return _CALLBACK.fullmatch(target) is not None


def _callback_use(operation: ir.Operation) -> CallbackUse:
    attributes = operation.attributes
    index = None
    for name in ("mhlo.backend_config", "backend_config"):
        if name in attributes and isinstance(attributes[name], ir.DictAttr):
            config = ir.DictAttr(attributes[name])
            if "index" in config:
                index = ir.IntegerAttr(config["index"]).value
    place = re.search(r'"([^"]+)":(\d+)', str(operation.location))
    return CallbackUse(
        index,
        any(str(result.type) != "tuple<>" for result in operation.results),
        _has_effect(operation),
        f"{place[1]}:{place[2]}: " if place else "",
    )


def _serialized(module: ir.Module) -> bytes:
    _drop_lost_callbacks(module)
    # Aliases and entry layouts: those of a module that runs by itself, this one will be called.
    for entry in list(module.operation.attributes):
        name = getattr(entry, "name", entry)  # attributes before JAX 0.9, names since
        if name.startswith(("mhlo.", "jax.")):
            del module.operation.attributes[name]
    bytecode = io.BytesIO()  # older versions of JAX take no modules
    module.operation.write_bytecode(bytecode)
    # The last argument: other dialects than StableHLO, Shardy's here, are kept as they are.
    return serialize_portable_artifact(bytecode.getvalue(), hlo.get_current_version(), True)


def _keep_argument_attributes(function: Any, names: Sequence[str]) -> None:
    """Takes donation, names and the like off arguments and results."""
    if function.operation.name != "func.func":
        return
    for key in ("arg_attrs", "res_attrs"):
        if key not in function.operation.attributes:
            continue
        lists = []
        for attributes in ir.ArrayAttr(function.operation.attributes[key]):
            entries = ir.DictAttr(attributes)
            lists.append(
                ir.DictAttr.get(
                    {entry.name: entry.attr for entry in entries if entry.name in names}
                )  # type: ignore[attr-defined]
            )
        function.operation.attributes[key] = ir.ArrayAttr.get(lists)


def _collect(operation: ir.Operation, operations: list[ir.Operation]) -> ir.WalkResult:
    operations.append(operation)
    return ir.WalkResult.ADVANCE


def _annotate(operation: ir.Operation, axes: Axes) -> None:
    """Takes annotations off an operation and puts the plan's in their place."""
    attributes = operation.attributes
    text = ir.StringAttr(attributes[_TEXT]).value if _TEXT in attributes else None
    unreduced = _unreduced(attributes)
    for name in (_TEXT, _FRONTEND):
        if name in attributes:
            del attributes[name]
    if text is not None and axes and not _is_filled(operation):
        texts = _parts(text)
        if len(texts) == len(operation.results):
            _constrain(operation, texts, axes, unreduced)
    # The program's own constraints name meshes that are not there; the plan has its say above.
    if _is_constraint(operation):
        operation.results[0].replace_all_uses_with(operation.operands[0])
        operation.erase()


def _is_constraint(operation: ir.Operation) -> bool:
    if operation.name != "stablehlo.custom_call":
        return False
    return ir.StringAttr(operation.attributes["call_target_name"]).value in _CONSTRAINTS


def _unreduced(attributes: Any) -> list[str]:
    """The axes along which the planner says that an operation's result is a partial sum."""
    if _FRONTEND not in attributes:
        return []
    named = {entry.name: entry.attr for entry in ir.DictAttr(attributes[_FRONTEND])}  # type: ignore[attr-defined]
    return ir.StringAttr(named[_UNREDUCED]).value.split(",") if _UNREDUCED in named else []


def _constrain(
    operation: ir.Operation, texts: Sequence[str], axes: Axes, unreduced: Sequence[str]
) -> None:
    """Hands the results on through constraints.

    Not as the operation's own `sdy.sharding`: on its way through HLO, XLA keeps shardings of
    arguments, results and constraints only.
    """
    for result, text in zip(operation.results, texts):
        if not isinstance(result.type, ir.RankedTensorType) or not result.type.rank:
            continue
        value = _sharding(text, result.type, axes, unreduced)
        sharding = ir.Attribute.parse(f"#sdy.sharding{value}")
        with ir.InsertionPoint(operation):
            constraint = sdy.ShardingConstraintOp(result, sharding).operation
        constraint.move_after(operation)
        result.replace_all_uses_except(constraint.results[0], constraint)


def _is_filled(operation: ir.Operation) -> bool:
    """Whether every user makes the value anew; one sharding for all would only bind them."""
    if operation.name == "stablehlo.broadcast_in_dim":
        maker = operation.operands[0].owner  # an operation, a view of one, or a block
        return not isinstance(maker, ir.Block) and maker.operation.name == "stablehlo.constant"
    return operation.name in ("stablehlo.constant", "stablehlo.iota")


def _annotate_signature(function: Any, axes: Axes) -> None:
    if function.operation.name != "func.func":
        return
    for key, types in (("arg_attrs", function.type.inputs), ("res_attrs", function.type.results)):
        if key not in function.operation.attributes:
            continue
        lists = []
        for attributes, type in zip(ir.ArrayAttr(function.operation.attributes[key]), types):
            named = {entry.name: entry.attr for entry in ir.DictAttr(attributes)}  # type: ignore[attr-defined]
            text = named.pop(_TEXT, None)
            if text is not None and axes:
                value = _sharding(ir.StringAttr(text).value, type, axes)
                named[_SHARDING] = ir.Attribute.parse(f"#sdy.sharding{value}")
            lists.append(ir.DictAttr.get(named))
        function.operation.attributes[key] = ir.ArrayAttr.get(lists)


def _parts(text: str) -> list[str]:
    """The elements of a tuple's sharding, or the one sharding."""
    return re.findall(r"\{[^{}]*\}", text) if text.startswith("{{") else [text]


def _sharding(text: str, type: ir.Type, axes: Axes, unreduced: Sequence[str] = ()) -> str:
    dims = parse_tiles(text, ir.RankedTensorType(type).rank, axes)
    entries = ", ".join("{" + ", ".join(f'"{axis}"' for axis in dim) + "}" for dim in dims)
    # An axis that cuts a dimension has nothing left to add up.
    partial = ", ".join(f'"{name}"' for name in unreduced if not any(name in dim for dim in dims))
    return f"<@{_MESH}, [{entries}]{', unreduced={' + partial + '}' if partial else ''}>"


def parse_tiles(text: str, rank: int, axes: Axes) -> list[list[str]]:
    """The axes that shard each dimension of an array whose sharding HLO writes as `text`.

    Moving one step along a mesh axis moves along one dimension of the tiles, or along none if the
    axis replicates; device 0's neighbours tell which.
    """
    dims: list[list[tuple[int, str]]] = [[] for _ in range(rank)]
    if text != "{replicated}":
        match = _TILES.fullmatch(text)
        if match is None:
            raise errors.InternalError(f"the planner wrote a sharding that is not tiled: {text}")
        tiles, shape, order, listed = (_integers(group) for group in match.groups())
        if listed:
            devices = np.array(listed)
        else:
            devices = np.arange(math.prod(tiles)).reshape(shape)
            devices = devices.transpose(order) if order else devices
        where = np.argsort(devices, axis=None)  # position among the tiles, by device
        stride = len(where)
        for name, size in axes:
            stride //= size
            if size == 1:
                continue
            steps = np.unravel_index(where[stride], tiles)[:rank]
            for dim, step in enumerate(steps):
                if step:
                    dims[dim].append((int(step), name))
    return [[name for _, name in sorted(dim, reverse=True)] for dim in dims]


def _integers(text: str | None) -> list[int]:
    return [int(number) for number in text.split(",")] if text else []
