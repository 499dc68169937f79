"""One module of a pipeline's stage, compiled for devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.mlir import hlo_to_stablehlo
from jax.interpreters.mlir import make_ir_context
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

from meshwright import _library, errors
from meshwright._lowering import _module_function
from meshwright._shardy import from_hlo, parse_tiles
from meshwright.verify.stage_files import Module, Value, read_file
from meshwright.verify.stage_signature import main_of, shape_of
from meshwright.verify.stage_split import split


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
        self.mesh = mesh = Mesh(
            np.array(devices).reshape([size for _, size in self._axes] or [1]),
            [name for name, _ in self._axes] or ["one"],
        )
        with make_ir_context():
            parsed = ir.Module.parse(hlo_to_stablehlo(self._proto))  # holds what `main` points to
            main = main_of(parsed)
            self.inputs = [shape_of(type) for type in main.type.inputs]
            self.outputs = [shape_of(type) for type in main.type.results]
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
        """The executable: from totals and inputs to the outputs `kept`, new totals, and `done`.

        Args:
          summed: outputs that are added to totals, which are donated.
          donated: inputs.

        `done` is a number of no meaning, there when the phase has ended and never donated.
        """
        function = _module_function(self._module(), self.inputs, self.outputs)

        def both(inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
            outputs = function(*inputs)
            return [outputs[number] for number in kept], [outputs[number] for number in summed]

        return self._compile(
            both,
            (self.inputs, self.in_shardings),
            [self.out_shardings[number] for number in kept],
            summed,
            donated,
        )

    def compile_split(
        self, kept: Sequence[int], summed: Sequence[int]
    ) -> tuple[jax.stages.Compiled | None, jax.stages.Compiled, Sequence[int]]:
        """The same in two, for a backward phase of which the weights' gradients come later.

        Returns: an executable from no totals and inputs to the outputs `kept` and values that the
        second needs, None where nothing is kept; the second, from totals, some inputs and these
        values to no outputs and new totals; and which inputs those are.
        """
        parts = split(self._module(), kept)
        first, shardings = None, []
        if kept:
            outputs = [*(self.outputs[number] for number in kept), *parts.between]
            function = _module_function(parts.first, self.inputs, outputs)
            first = self._compile(
                lambda inputs: (function(*inputs), []),
                (self.inputs, self.in_shardings),
                [*(self.out_shardings[number] for number in kept), *[None] * len(parts.between)],
            )
            shardings = list(first.output_shardings[0])[len(kept) :]
        others = [number for number in range(len(self.outputs)) if number not in set(kept)]
        inputs = [*(self.inputs[number] for number in parts.needed), *parts.between]
        late = _module_function(parts.second, inputs, [self.outputs[number] for number in others])

        def terms(given: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
            outputs = dict(zip(others, late(*given), strict=True))
            return [], [outputs[number] for number in summed]

        second = self._compile(
            terms,
            (inputs, [*(self.in_shardings[number] for number in parts.needed), *shardings]),
            [],
            summed,
        )
        return first, second, parts.needed

    def _module(self) -> bytes:
        return from_hlo(self._proto, self._axes)

    def _compile(
        self,
        function: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]],
        inputs: tuple[Sequence[Any], Sequence[Any]],
        out_shardings: Sequence[Any],
        summed: Sequence[int] = (),
        donated: Sequence[int] = (),
    ) -> jax.stages.Compiled:
        """`function`: from inputs to outputs and what is added to totals; `inputs`: types, shardings."""
        types, in_shardings = inputs

        def phase(totals: Sequence[Any], *given: Any) -> Any:
            outputs, terms = function(given)
            added = [total + term for total, term in zip(totals, terms, strict=True)]
            return outputs, added, jnp.zeros((), jnp.int8)

        sums = [self.out_shardings[number] for number in summed]
        jitted = jax.jit(
            phase,
            in_shardings=(sums, *in_shardings),
            out_shardings=(list(out_shardings), sums, NamedSharding(self.mesh, PartitionSpec())),
            donate_argnums=(0, *(1 + number for number in donated)),
            keep_unused=True,
        )
        return jitted.lower([self.outputs[number] for number in summed], *types).compile()


def stage_devices(
    rows: Sequence[dict[str, Any]], devices: Sequence[Any] | None
) -> list[Sequence[Any]]:
    """Where each of a plan's stages runs.

    On its own devices if there are as many as the plan has; else on the first, one stage after the
    other; a stage that needs more than there are, on one device.

    Raises:
      InvalidArgumentError: `devices` has none, one twice, or something else.
    """
    there = list(jax.devices() if devices is None else np.array(devices, object).flat)
    others = [device for device in there if not isinstance(device, jax.Device)]
    if not there or others or len(set(there)) < len(there):
        what = type(others[0]).__name__ if others else "one twice" if there else "none"
        raise errors.InvalidArgumentError(
            f"devices: found {what}, expected different devices, as jax.devices() has them"
        )
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
