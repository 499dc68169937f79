"""One module of a pipeline's stage, compiled for devices."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.mlir import hlo_to_stablehlo
from jax.interpreters.mlir import make_ir_context
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

from meshwright import _library, errors
from meshwright._lowering import _module_function, numpy_dtype
from meshwright._shardy import from_hlo, parse_tiles
from meshwright.verify.stage_files import Module, Value, read_file


class StageProgram:
    """A module, sharded over `devices` as its annotations say; with one device these are dropped.

    `inputs`, `outputs`: with shape and dtype; `in_shardings`, `out_shardings`: theirs on the devices,
    which may be another process's.
    """

    def __init__(
        self, module: Module, axes: Sequence[tuple[str, int]], devices: Sequence[Any]
    ) -> None:
        self.module = module
        contents = read_file(module.path)
        try:
            self._proto = _library.program_proto(contents)
        except errors.InvalidArgumentError as error:
            raise errors.InvalidArgumentError(f"{module.path}: {error}") from None
        self._axes = axes if len(devices) > 1 else []
        mesh = Mesh(
            np.array(devices).reshape([size for _, size in self._axes] or [1]),
            [name for name, _ in self._axes] or ["one"],
        )
        with make_ir_context():
            parsed = ir.Module.parse(hlo_to_stablehlo(self._proto))  # holds what `main` points to
            main = _main(parsed)
            self.inputs = [_shape(type) for type in main.type.inputs]
            self.outputs = [_shape(type) for type in main.type.results]
            self.in_shardings, self.out_shardings = (
                [NamedSharding(mesh, spec) for spec in _specs(main, key, shapes, self._axes)]
                for key, shapes in (("arg_attrs", self.inputs), ("res_attrs", self.outputs))
            )
        for kind, values, shapes in (
            ("inputs", module.inputs, self.inputs),
            ("outputs", module.outputs, self.outputs),
        ):
            if len(values) != len(shapes):
                raise errors.InvalidArgumentError(
                    f"{module.path} has {len(shapes)} {kind}, the index names {len(values)}"
                )
            for value, shape in zip(values, shapes):
                _check_dimensions(module, value, len(shape.shape))

    def compile(
        self, kept: Sequence[int], summed: Sequence[int] = (), donated: Sequence[int] = ()
    ) -> jax.stages.Compiled:
        """The executable: from totals and inputs to the outputs `kept` and new totals.

        Args:
          summed: outputs that are added to totals, which are donated.
          donated: inputs.
        """
        function = _module_function(from_hlo(self._proto, self._axes), self.inputs, self.outputs)

        def phase(totals: Sequence[Any], *inputs: Any) -> tuple[Sequence[Any], Sequence[Any]]:
            outputs = function(*inputs)
            added = [total + outputs[number] for total, number in zip(totals, summed)]
            return [outputs[number] for number in kept], added

        sums = [self.out_shardings[number] for number in summed]
        jitted = jax.jit(
            phase,
            in_shardings=(sums, *self.in_shardings),
            out_shardings=([self.out_shardings[number] for number in kept], sums),
            donate_argnums=(0, *(1 + number for number in donated)),
            keep_unused=True,
        )
        return jitted.lower([self.outputs[number] for number in summed], *self.inputs).compile()


def stage_devices(
    rows: Sequence[dict[str, Any]], devices: Sequence[Any] | None
) -> list[Sequence[Any]]:
    """Where each of a plan's stages runs.

    On its own devices if there are as many as the plan has; else on the first, one stage after the
    other; a stage that needs more than there are, on one device.
    """
    there = list(jax.devices() if devices is None else np.array(devices).flat)
    all_there = max(max(row["devices"]) for row in rows) < len(there)
    placed: list[Sequence[Any]] = []
    for row in rows:
        count = math.prod(axis["size"] for axis in row["mesh"]["axes"])
        if all_there:
            placed.append([there[number] for number in row["devices"]])
        else:
            placed.append(there[:count] if count <= len(there) else there[:1])
    return placed


def _check_dimensions(module: Module, value: Value, rank: int) -> None:
    for dimension in (value.layer_dimension, value.batch_dimension):
        if dimension is not None and dimension >= rank:
            raise errors.InvalidArgumentError(
                f'{module.path}: "{value.name}" has {rank} dimensions, the index names number '
                f"{dimension}"
            )


def _main(module: Any) -> Any:
    for operation in module.body.operations:
        if operation.operation.name == "func.func" and operation.name.value == "main":
            return operation
    raise errors.InternalError("the converted module has no function main")


def _shape(type: Any) -> jax.ShapeDtypeStruct:
    tensor = ir.RankedTensorType(type)
    return jax.ShapeDtypeStruct(tensor.shape, numpy_dtype(_hlo_name(str(tensor.element_type))))


def _hlo_name(name: str) -> str:
    """HLO's name of MLIR's element type: ui32 is u32, complex<f32> is c64."""
    if name == "i1":
        return "pred"
    if name.startswith("complex<f"):
        return f"c{2 * int(name[9:-1])}"
    return re.sub("^i", "s", re.sub("^ui", "u", name.lower()))


def _specs(
    function: Any,
    key: str,
    shapes: Sequence[jax.ShapeDtypeStruct],
    axes: Sequence[tuple[str, int]],
) -> list[PartitionSpec]:
    if not axes or key not in function.operation.attributes:
        return [PartitionSpec()] * len(shapes)
    specs = []
    for attributes, shape in zip(ir.ArrayAttr(function.operation.attributes[key]), shapes):
        named = {entry.name: entry.attr for entry in ir.DictAttr(attributes)}  # type: ignore[attr-defined]
        text = named.get("mhlo.sharding")
        dims = (
            parse_tiles(ir.StringAttr(text).value, len(shape.shape), axes)
            if text is not None
            else []
        )
        specs.append(PartitionSpec(*[tuple(dim) if dim else None for dim in dims]))
    return specs
