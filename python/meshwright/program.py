"""Programs as users have them - files, text, JAX functions - and as the planner takes them."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from meshwright import errors


@dataclasses.dataclass(frozen=True)
class Signature:
    """How the leaves of a JAX function's arguments and results become the program's.

    `kept`: for each of the program's parameters the leaf that it is; a leaf that the function does
    not use may have none.
    """

    in_tree: Any
    out_tree: Any
    in_leaves: Sequence[Any]  # with shape and dtype
    out_leaves: Sequence[Any]
    kept: Sequence[int]
    donated: Sequence[int]  # leaves


@dataclasses.dataclass(frozen=True)
class Program:
    """A program in one of the formats that the planner reads."""

    contents: bytes
    name: str  # for errors, and in the plan
    signature: Signature | None = None  # of programs that came from JAX


def read_program(program: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Program:
    """Whatever a user calls a program.

    A path; text of several lines or bytes; a jax.stages.Lowered; a jax.export.Exported; a
    function, which is lowered for `args` and `kwargs` (arrays or jax.ShapeDtypeStruct).
    """
    if callable(program):
        return lower(program, args, kwargs)
    if hasattr(program, "compiler_ir"):
        _no_arguments(args, kwargs, "a lowered program")
        return from_lowered(program)
    if hasattr(program, "mlir_module_serialized"):
        _no_arguments(args, kwargs, "an exported function")
        return from_exported(program)
    _no_arguments(args, kwargs, "a program in a file or as text")
    if isinstance(program, bytes):
        return Program(program, "program")
    if isinstance(program, str) and "\n" in program:
        return Program(program.encode(), "program")
    if isinstance(program, (str, os.PathLike)):
        path = os.fspath(program)
        try:
            return Program(Path(path).read_bytes(), path)
        except FileNotFoundError as error:
            raise errors.NotFoundError(f"cannot open {path}: {error.strerror}") from None
        except OSError as error:
            raise errors.InvalidArgumentError(f"cannot read {path}: {error.strerror}") from None
    raise errors.InvalidArgumentError(
        f"found {type(program).__name__}, expected a program: a path, text, bytes, a function, a "
        "jax.stages.Lowered or a jax.export.Exported"
    )


def _no_arguments(args: Sequence[Any], kwargs: Mapping[str, Any], what: str) -> None:
    if args or kwargs:
        raise errors.InvalidArgumentError(
            f"example arguments go with a function; {what} has them already"
        )


def lower(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], **jit_options: Any) -> Program:
    """Lowers `fn`, which may be jitted already (then its own options hold)."""
    import jax

    jitted = fn if hasattr(fn, "lower") else jax.jit(fn, keep_unused=True, **jit_options)
    return from_lowered(jitted.lower(*args, **kwargs))


def from_lowered(lowered: Any) -> Program:
    """The program of a jax.stages.Lowered."""
    import jax

    text = lowered.as_text(debug_info=True)  # with the names of arguments
    infos = jax.tree.leaves(lowered.args_info)
    signature = Signature(
        in_tree=lowered.in_tree,
        out_tree=lowered.out_tree,
        in_leaves=[jax.ShapeDtypeStruct(info.shape, info.dtype) for info in infos],
        out_leaves=jax.tree.leaves(lowered.out_info),
        kept=_kept(lowered, len(infos)),
        donated=[i for i, info in enumerate(infos) if info.donated],
    )
    name = re.search(r"module @(\w+)", text)
    return Program(text.encode(), name[1] if name else "program", signature)


def from_exported(exported: Any) -> Program:
    """The program of a jax.export.Exported, a StableHLO portable artifact."""
    if len(exported.platforms) > 1:
        raise errors.InvalidArgumentError(
            f"a function exported for {len(exported.platforms)} platforms "
            f"({', '.join(exported.platforms)}), of which it chooses when it is called; export it "
            "for one, with jax.export.export(f, platforms=[...])"
        )
    sizes = sorted({str(d) for a in exported.in_avals for d in a.shape if not isinstance(d, int)})
    if sizes:
        raise errors.InvalidArgumentError(
            f"a function exported for sizes that are not known ({', '.join(sizes)}); planning "
            "needs sizes, so export it for shapes that are known"
        )
    return Program(exported.mlir_module_serialized, exported.fun_name)


def _kept(lowered: Any, leaves: int) -> list[int]:
    # jit drops unused arguments unless told otherwise; JAX has no public way to ask which.
    arguments = getattr(lowered._lowering, "compile_args", {})
    kept = arguments.get("kept_var_idx")
    return sorted(kept) if kept is not None else list(range(leaves))
