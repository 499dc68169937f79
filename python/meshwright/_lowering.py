"""From an annotated program to something that JAX traces, compiles and runs.

JAX runs StableHLO modules through jax.export.Exported. A function of the right signature is
exported, and its module replaced by the planned program, whose operators carry Shardy's
annotations; they stay in force inside whatever the result is called from.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from meshwright import _library, errors
from meshwright._shardy import from_hlo, from_text, without_shardings
from meshwright.document import Plan
from meshwright.program import Program

# Python functions that a program calls are known to the process that lowered it, not to its text.
_CALLBACKS = re.compile(rb"ffi_python|python_[a-z]+_callback")


def uses_callbacks(program: Program) -> bool:
    return _CALLBACKS.search(program.contents) is not None


def planned_function(
    program: Program, plan: Plan, *, sharded: bool = True
) -> Callable[..., Sequence[Any]]:
    """A function from the leaves of the program's arguments to those of its results.

    If the program has no signature, its parameters are the leaves. JAX can trace the function.
    `sharded`: with the plan's shardings inside; else the program as it is.
    """
    module = _module(program, plan, sharded)
    call = _module_function(module, _shapes(plan.parameters), _shapes(plan.outputs))
    signature = program.signature

    # One name for all: JAX's compilation cache knows a module by its name too.
    def planned(*arguments: Any) -> Sequence[Any]:
        if signature is None:
            return call(*arguments)
        results = call(*(_raw(arguments[index]) for index in signature.kept))
        return [_like(result, leaf) for result, leaf in zip(results, signature.out_leaves)]

    return planned


def _module(program: Program, plan: Plan, sharded: bool) -> bytes:
    # Fails if they do not go together.
    annotated = _library.annotated_to_run(program.contents, plan.to_json().encode())
    if _library.program_format(program.contents) == "stablehlo":
        if sharded:
            return from_text(annotated)
        return without_shardings(_library.stablehlo_text(program.contents))
    return from_hlo(annotated, list(plan.mesh_shape.items()) if sharded else [])


def _shapes(rows: Sequence[dict[str, Any]]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(row["shape"], numpy_dtype(row["dtype"])) for row in rows]


def numpy_dtype(name: str) -> Any:
    """NumPy's type for HLO's element type: s32 is int32, f8e4m3fn float8_e4m3fn."""
    if name == "pred":
        return jnp.bool_
    if name == "bf16":
        return jnp.bfloat16
    if match := re.fullmatch(r"([sufc])(\d+)", name):
        kind = {"s": "int", "u": "uint", "f": "float", "c": "complex"}[match[1]]
        return jnp.dtype(f"{kind}{match[2]}")
    if match := re.fullmatch(r"f(\d+)(e\d+m\d+\w*)", name):
        return jnp.dtype(getattr(jnp, f"float{match[1]}_{match[2]}"))
    raise errors.UnsupportedError(f"JAX has no type for {name}")


def _module_function(
    module: bytes, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Callable[..., Sequence[Any]]:
    @jax.jit
    def signature(*arguments: Any) -> Sequence[Any]:
        return [jnp.zeros(out.shape, out.dtype) for out in outputs]

    exported = export.export(jax.jit(signature, keep_unused=True))(*inputs)
    planned = dataclasses.replace(exported, mlir_module_serialized=module)
    return planned.call


def _raw(value: Any) -> Any:
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(value)
    return value


def _like(value: Any, leaf: Any) -> Any:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(value, impl=str(leaf.dtype._impl.name))
    return value
