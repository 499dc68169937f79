"""The function `main` of a module in StableHLO, and types of its arguments as JAX has them."""

from __future__ import annotations

import re
from typing import Any

import jax
from jaxlib.mlir import ir

from meshwright import errors
from meshwright._lowering import numpy_dtype


def main_of(module: Any) -> Any:
    for operation in module.body.operations:
        if operation.operation.name == "func.func" and operation.name.value == "main":
            return operation
    raise errors.InternalError("the converted module has no function main")


def shape_of(type: Any) -> jax.ShapeDtypeStruct:
    tensor = ir.RankedTensorType(type)
    return jax.ShapeDtypeStruct(tensor.shape, numpy_dtype(_hlo_name(str(tensor.element_type))))


def _hlo_name(name: str) -> str:
    """HLO's name of MLIR's element type: ui32 is u32, complex<f32> is c64."""
    if name == "i1":
        return "pred"
    if name.startswith("complex<f"):
        return f"c{2 * int(name[9:-1])}"
    return re.sub("^i", "s", re.sub("^ui", "u", name.lower()))
