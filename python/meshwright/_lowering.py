"""From an annotated program to something that JAX traces, compiles and runs.

JAX runs StableHLO modules through jax.export.Exported. A function of the right signature is
exported, and its module replaced by the planned program, whose operators carry Shardy's
annotations; they stay in force inside whatever the result is called from.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.extend.core import Primitive
from jax.interpreters import mlir

from meshwright import _library, errors
from meshwright._shardy import callback_uses, from_hlo, from_text, without_shardings
from meshwright.document import Plan
from meshwright.program import Callbacks, Program


def planned_function(
    program: Program, plan: Plan, *, dry: bool = False
) -> Callable[..., Sequence[Any]]:
    """The program as a function, with the plan's shardings inside. See module_function."""
    return module_function(_module(program, plan, sharded=True), program, plan, dry=dry)


def module_function(
    module: bytes, program: Program, plan: Plan, *, dry: bool = False
) -> Callable[..., Sequence[Any]]:
    """A function from the leaves of the program's arguments to those of its results.

    If the program has no signature, its parameters are the leaves. JAX can trace the function, but
    not differentiate or batch it.

    Args:
      module: the program, as whole_module gives it or with shardings.
      dry: callbacks that are there for what they do - print, log, save - are not called.

    Raises:
      UnsupportedError: it has callbacks that cannot be called.
    """
    callbacks = _runnable_callbacks(module, program.callbacks, dry)
    call = _module_function(module, _shapes(plan.parameters), _shapes(plan.outputs), callbacks)
    signature = program.signature

    # One name for all: JAX's compilation cache knows a module by its name too.
    def planned(*arguments: Any) -> Sequence[Any]:
        if signature is None:
            return call(*arguments)
        results = call(*(_raw(arguments[index]) for index in signature.kept))
        return [_like(result, leaf) for result, leaf in zip(results, signature.out_leaves)]

    return planned


def _module(program: Program, plan: Plan, sharded: bool) -> bytes:
    _check_types(program, plan)
    # Fails if they do not go together.
    annotated = _library.annotated_to_run(program.contents, plan.to_json().encode())
    if _library.program_format(program.contents) == "stablehlo":
        if sharded:
            return from_text(annotated, program.stand_ins)
        return without_shardings(_library.stablehlo_text(program.contents), program.stand_ins)
    axes = list(plan.mesh_shape.items()) if sharded else []
    return from_hlo(annotated, axes, program.stand_ins)


def _check_types(program: Program, plan: Plan) -> None:
    """Whether arguments and results have the types that were planned: all else may be alike."""
    rows = _library.read_program(program.contents)
    for kind, planned in (("parameters", plan.parameters), ("outputs", plan.outputs)):
        for row, other in zip(rows[kind], planned):
            found, wanted = _type_text(row), _type_text(other)
            if found != wanted:
                raise errors.InvalidArgumentError(
                    f"the plan is of another program: {other['name']} is {wanted} there and {found} "
                    "here; plan the function for these arguments"
                )


def _type_text(row: dict[str, Any]) -> str:
    return f"{row['dtype']}[{','.join(map(str, row['shape']))}]"


def whole_module(program: Program, plan: Plan) -> bytes:
    """The program as a serialized module for one device."""
    return _module(program, plan, sharded=False)


def is_packed(like: Any) -> bool:
    """Whether an array's elements are of less than a byte."""
    dtype = np.dtype(like.dtype) if jnp.issubdtype(like.dtype, jnp.number) else None
    return dtype is not None and dtype.name.endswith(("int4", "int2", "e2m1fn"))


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
    module: bytes,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    callbacks: Callbacks = Callbacks(),
) -> Callable[..., Sequence[Any]]:
    @jax.jit
    def signature(*arguments: Any) -> Sequence[Any]:
        return [jnp.zeros(out.shape, out.dtype) for out in outputs]

    with own_mesh(None):
        exported = export.export(jax.jit(signature, keep_unused=True))(*inputs)
    planned = dataclasses.replace(
        exported,
        mlir_module_serialized=module,
        unordered_effects=tuple(callbacks.effects),
        _get_vjp=_no_gradient,  # else that of the function which only lent its signature
    )
    if not callbacks.functions:
        return planned.call

    def call(*arguments: Any) -> Sequence[Any]:
        first, *rest = arguments or (jnp.zeros(()),)
        first = _with_callbacks.bind(first, functions=tuple(callbacks.functions))
        return planned.call(*([first, *rest] if arguments else []))

    return call


def _no_gradient(_: Any) -> Any:
    raise errors.UnsupportedError(NO_TRANSFORMATION)


NO_TRANSFORMATION = (
    "a sharded function cannot be differentiated or mapped (grad, vmap): a plan is of the whole step; "
    "put grad or vmap inside the function and shard that"
)


@contextlib.contextmanager
def own_mesh(mesh: Any) -> Iterator[None]:
    """Within it, a mesh that the user set for the program (jax.set_mesh) is not: `mesh` is.

    None: one of a single device.
    """
    if jax.sharding.get_abstract_mesh().empty:
        yield
        return
    if mesh is None:
        mesh = jax.sharding.Mesh(jax.devices()[:1], ("one",))
    with jax.set_mesh(mesh):
        yield


# A module calls Python functions by their index among those of the computation that it is compiled
# with. This puts them there.
_with_callbacks = Primitive("meshwright_with_callbacks")
_with_callbacks.def_abstract_eval(lambda value, *, functions: value)


def _lower_with_callbacks(ctx: Any, value: Any, *, functions: Sequence[Any]) -> Sequence[Any]:
    if ctx.module_context.host_callbacks:
        raise errors.UnsupportedError(
            "a sharded function with callbacks cannot be called inside a jitted function that has "
            "callbacks too; call it outside"
        )
    for function in functions:
        ctx.module_context.add_host_callback(function)
    return [value]


mlir.register_lowering(_with_callbacks, _lower_with_callbacks)


def _runnable_callbacks(module: bytes, known: Callbacks, dry: bool) -> Callbacks:
    """The functions that the module's callbacks are to call.

    Raises:
      UnsupportedError: one has results that are wanted, and cannot be called.
    """
    uses = callback_uses(module)
    if not uses:
        return Callbacks()
    if known.ordered:
        raise errors.UnsupportedError(
            "the function has ordered callbacks, which JAX runs on one device only; leave out "
            "ordered=True"
        )
    functions = list(known.functions)
    for use in uses:
        if use.index is None or use.index >= len(functions) and (use.results or not dry):
            raise errors.UnsupportedError(
                f"{use.place}the program calls back into Python, which only the process that lowered "
                "it can do: pass the function instead of its text"
            )
        if dry and use.results and use.effect:
            raise errors.UnsupportedError(
                f"{use.place}the function takes results from io_callback, which may give others each "
                "time: there is nothing to compare; use pure_callback if it does not"
            )
        while len(functions) <= use.index:
            functions.append(_does_nothing)
        if dry and not use.results:
            functions[use.index] = _does_nothing
    return dataclasses.replace(known, functions=tuple(functions))


def _does_nothing(*_: Any) -> tuple[()]:
    return ()


def _raw(value: Any) -> Any:
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(value)
    return value


def _like(value: Any, leaf: Any) -> Any:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(value, impl=str(leaf.dtype._impl.name))
    return value
