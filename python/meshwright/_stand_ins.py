"""Functions in place of calls of kernels: to run a program where the kernels are not.

A kernel of cuDNN or Triton is known to GPUs only; with a function that computes the same, the rest of
the program, and how a plan shards the call, can be tried on the host.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import mlir
from jaxlib.mlir import ir

from meshwright import errors

# By pattern of what is called: from the operands to the results, of which the last may be left out.
StandIns = Mapping[str, Callable[..., Any]]

_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
)


def replace_calls(module: ir.Module, stand_ins: StandIns) -> None:
    """Has calls that a pattern of `stand_ins` names run its function instead."""
    found: list[ir.Operation] = []

    def visit(view: Any) -> ir.WalkResult:
        if view.operation.name == "stablehlo.custom_call":
            found.append(view.operation)
        return ir.WalkResult.ADVANCE

    if stand_ins:
        module.operation.walk(visit)
    for number, operation in enumerate(found):
        target = ir.StringAttr(operation.attributes["call_target_name"]).value
        for pattern, function in stand_ins.items():
            if fnmatch.fnmatchcase(target, pattern):
                _replace(module, operation, target, function, f"stand_in_{number}")
                break


def _replace(
    module: ir.Module, operation: ir.Operation, target: str, function: Callable[..., Any], name: str
) -> None:
    types = {str(mlir.dtype_to_ir_type(np.dtype(jnp.dtype(n)))): jnp.dtype(n) for n in _NAMES}

    def shape(value: Any) -> jax.ShapeDtypeStruct:
        ranked = ir.RankedTensorType(value.type)
        return jax.ShapeDtypeStruct(ranked.shape, types[str(ranked.element_type)])

    wanted = [shape(result) for result in operation.results]

    def complete(*operands: Any) -> Sequence[Any]:
        made = jax.tree.leaves(function(*operands))
        made += [jnp.zeros(rest.shape, rest.dtype) for rest in wanted[len(made) :]]
        for result, planned in zip(made, wanted, strict=True):
            if (result.shape, result.dtype) != (planned.shape, planned.dtype):
                raise errors.InvalidArgumentError(
                    f"stand_ins: the function for {target} gives {result.dtype}{result.shape}, "
                    f"expected {planned.dtype}{planned.shape}"
                )
        return made

    text = jax.jit(complete, keep_unused=True).lower(*map(shape, operation.operands)).as_text()
    own = set(re.findall(r"func\.func (?:\w+ )?@([\w.]+)", text))
    text = re.sub(r"@([\w.]+)", lambda m: f"@{name}_{m[1]}" if m[1] in own else m[0], text)
    with ir.InsertionPoint(module.body):
        for made in ir.Module.parse(text).body.operations:
            copy = made.operation.clone()
            copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
            for key in ("arg_attrs", "res_attrs"):
                if key in copy.attributes:
                    del copy.attributes[key]
    with operation.location, ir.InsertionPoint(operation):
        call = ir.Operation.create(
            "func.call",
            results=[result.type for result in operation.results],
            operands=list(operation.operands),
            attributes={"callee": ir.FlatSymbolRefAttr.get(f"{name}_main")},
        )
    for result, replacement in zip(operation.results, call.results, strict=True):
        result.replace_all_uses_with(replacement)
    operation.erase()
