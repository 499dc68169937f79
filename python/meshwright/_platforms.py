"""Functions that jax.export exported for several platforms: their first argument says on which they run."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

from meshwright import errors

_PLATFORMS = "meshwright.platforms"  # of a module: as the planner reads it
_CONSTANT = "jax.global_constant"  # of an argument
_INDEX = "_platform_index"


def text_with_platforms(exported: Any) -> str:
    """The program of a jax.export.Exported for several platforms, and which they are."""
    with make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(exported.mlir_module())
        names = [ir.StringAttr.get(platform) for platform in exported.platforms]
        module.operation.attributes[_PLATFORMS] = ir.ArrayAttr.get(names)
        return str(module.operation.get_asm(enable_debug_info=True))


def bind_platform(module: ir.Module) -> None:
    """Has a module run on the platform that is here.

    Raises:
      UnsupportedError: it was not exported for that.
    """
    functions = [op for op in module.body.operations if op.operation.name == "func.func"]
    mains = [op for op in functions if ir.StringAttr(op.attributes["sym_name"]).value == "main"]
    main = (mains or functions)[0]
    position = _index_argument(main)
    if position is None:
        return
    block = main.regions[0].blocks[0]
    argument = block.arguments[position]
    value = ir.DenseElementsAttr.get(
        np.array(_index_here(module), np.int32),
        type=ir.RankedTensorType(argument.type).element_type,
    )
    with ir.InsertionPoint.at_block_begin(block):
        constant = ir.Operation.create(
            "stablehlo.constant", results=[argument.type], attributes={"value": value}
        )
    argument.replace_all_uses_with(constant.results[0])
    block.erase_argument(position)
    inputs = [each for i, each in enumerate(main.type.inputs) if i != position]
    main.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, main.type.results)
    )
    attributes = [each for i, each in enumerate(main.attributes["arg_attrs"]) if i != position]
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def _index_argument(main: Any) -> int | None:
    if "arg_attrs" not in main.attributes:
        return None
    for position, attributes in enumerate(ir.ArrayAttr(main.attributes["arg_attrs"])):
        named = ir.DictAttr(attributes)
        if _CONSTANT in named and ir.StringAttr(named[_CONSTANT]).value == _INDEX:
            return position
    return None


def _index_here(module: ir.Module) -> int:
    attributes = module.operation.attributes
    if _PLATFORMS not in attributes:
        return 0  # as it was planned
    platforms = [ir.StringAttr(each).value for each in ir.ArrayAttr(attributes[_PLATFORMS])]
    here = _platform_here()
    if here not in platforms:
        raise errors.UnsupportedError(
            f"the program was exported for {' and '.join(platforms)}, and this is {here}; export it "
            f"for {here} too"
        )
    return platforms.index(here)


def _platform_here() -> str:
    """The default device's platform as jax.export calls it."""
    client = jax.devices()[0].client
    if client.platform != "gpu":
        return client.platform
    return next((name for name in ("rocm", "oneapi") if name in client.platform_version), "cuda")
