"""Programs as users have them - files, text, JAX functions - and as the planner takes them."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    in_names: Sequence[str]  # of the leaves, as the caller would write them: state['up']
    weak: Sequence[bool]  # whether a leaf was of a weak type, as Python's numbers are
    calling: Any = None  # of functions: the _calls.Calling that they were lowered for
    # Of functions: the program for other leaves.
    lower: Callable[[Sequence[Any]], bytes] | None = None


@dataclasses.dataclass(frozen=True)
class Callbacks:
    """Python functions that a program calls: known to the process that lowered it, not to its text."""

    functions: Sequence[Callable[..., Any]] = ()  # by the index that the program's text has
    effects: Sequence[Any] = ()  # JAX's, unordered
    ordered: bool = False


@dataclasses.dataclass(frozen=True)
class Program:
    """A program in one of the formats that the planner reads."""

    contents: bytes
    name: str  # for errors, and in the plan
    signature: Signature | None = None  # of programs that came from JAX
    callbacks: Callbacks = Callbacks()
    examples: Examples | None = None  # the arguments that it was lowered for
    # What runs in place of calls of kernels, by pattern of what is called; see _stand_ins.
    stand_ins: Mapping[str, Callable[..., Any]] = dataclasses.field(default_factory=dict)


class Examples:
    """Example arguments, for `verify`: those of the program's parameters that are arrays.

    What is large is not kept alive: a plan must not hold a model's state in memory twice.
    """

    KEPT = 64 << 20  # bytes

    def __init__(self, leaves: Sequence[Any]) -> None:
        size = sum(getattr(leaf, "nbytes", 0) for leaf in leaves)
        self._leaves = [_reference(leaf, weak=size > self.KEPT) for leaf in leaves]

    def __iter__(self) -> Iterator[Any]:
        """The leaves; None for what was abstract, or is gone or donated since."""
        for reference in self._leaves:
            leaf = reference()
            deleted = getattr(leaf, "is_deleted", None)
            yield None if deleted is not None and deleted() else leaf


def _reference(leaf: Any, weak: bool) -> Callable[[], Any]:
    if not hasattr(leaf, "__array__") and not isinstance(leaf, (bool, int, float, complex)):
        return lambda: None  # a jax.ShapeDtypeStruct, or a tracer's
    if weak:
        try:
            return weakref.ref(leaf)
        except TypeError:  # a number
            pass
    return lambda: leaf


def read_file(path: str | os.PathLike[str]) -> bytes:
    """What a file that a user names holds."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise errors.NotFoundError(f"cannot open {os.fspath(path)}: {error.strerror}") from None
    except OSError as error:
        raise errors.InvalidArgumentError(
            f"cannot read {os.fspath(path)}: {error.strerror}"
        ) from None


def read_program(program: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Program:
    """Whatever a user calls a program.

    A path; text of several lines or bytes; a function, which is lowered for `args` and `kwargs`
    (arrays or jax.ShapeDtypeStruct); and what JAX makes of functions before it compiles them: a
    jax.stages.Traced or Lowered, a jax.export.Exported.
    """
    if hasattr(program, "plan") and hasattr(program, "compiled"):
        raise errors.InvalidArgumentError(
            "found what mw.jax.shard returned, which has its plan (.plan); pass the function itself"
        )
    kind = stage(program)
    if kind == "Exported":
        _no_arguments(args, kwargs, "an exported function")
        return from_exported(program)
    if kind == "Traced":
        _no_arguments(args, kwargs, "a traced function")
        return from_lowered(program.lower())
    if kind == "Compiled":
        raise errors.InvalidArgumentError(
            "found a compiled function (jax.stages.Compiled), whose program is XLA's already; pass "
            "the function, or what jax.jit(function).lower(...) returns"
        )
    if kind == "Lowered":
        _no_arguments(args, kwargs, "a lowered program")
        return from_lowered(_lowered(program))
    if callable(program):
        return lower(program, args, kwargs)
    _no_arguments(args, kwargs, "a program in a file or as text")
    if isinstance(program, (bytes, bytearray, memoryview)):
        return Program(bytes(program), "program")
    if isinstance(program, str) and "\n" in program:
        return Program(program.encode(), "program")
    if isinstance(program, (str, os.PathLike)):
        return Program(read_file(program), os.fspath(program))
    raise errors.InvalidArgumentError(
        f"found {type(program).__name__}, expected a program: a path, text, bytes, a function or a "
        "jax.stages.Lowered"
    )


def _no_arguments(args: Sequence[Any], kwargs: Mapping[str, Any], what: str) -> None:
    if args or kwargs:
        raise errors.InvalidArgumentError(
            f"example arguments go with a function; {what} has them already"
        )


def stage(program: Any) -> str:
    """Which of JAX's stages of a function this is; "" if none. flax and equinox wrap some of them."""
    if isinstance(program, (str, bytes, os.PathLike)) or "jax" not in sys.modules:
        return ""
    import jax
    from jax import export

    kinds = {
        "Exported": export.Exported,
        "Traced": jax.stages.Traced,
        "Compiled": jax.stages.Compiled,
        "Lowered": jax.stages.Lowered,
    }
    for name, kind in kinds.items():
        if isinstance(program, kind) or isinstance(getattr(program, name.lower(), None), kind):
            return name
    return ""


def _lowered(program: Any) -> Any:
    """The jax.stages.Lowered that this is, or wraps."""
    import jax

    if isinstance(program, jax.stages.Lowered):
        return program
    wrapped = getattr(program, "lowered", None)
    if isinstance(wrapped, jax.stages.Lowered):
        return wrapped
    raise errors.InvalidArgumentError(
        f"lower() of the function gives a {type(program).__name__}, expected a jax.stages.Lowered; "
        "pass a function that jax.jit takes"
    )


def lower(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], **jit_options: Any) -> Program:
    """Lowers `fn`, which may be jitted already (then its own options hold)."""
    import jax

    from meshwright import _calls, _jax_version  # noqa: F401

    if hasattr(getattr(fn, "__self__", None), "_jit_info"):
        raise errors.InvalidArgumentError(
            f"found {fn.__name__}, a method of a jitted function; pass the function, or what "
            "function.lower(...) returns"
        )
    try:
        jitted = fn if hasattr(fn, "lower") else jax.jit(fn, keep_unused=True, **jit_options)
    except ValueError as error:  # of an argument's number that the function has not
        raise errors.InvalidArgumentError(errors.one_line(error)) from None
    calling = _calls.Calling.of(jitted, args, kwargs)
    if hasattr(jitted, "_jit_info"):
        _calls.check_examples(calling, args, kwargs)
    try:
        lowered = jitted.lower(*args, **kwargs)
    except TypeError:
        _check_call(fn, args, kwargs)
        raise
    if not isinstance(lowered, jax.stages.Lowered):  # of another library, with arguments of its own
        return from_lowered(_lowered(lowered))

    def again(leaves: Sequence[Any]) -> bytes:
        """The program's text, without names, for leaves of other weak types."""
        args, kwargs = calling.filled(*jax.tree.unflatten(lowered.in_tree, leaves))
        return jitted.lower(*args, **kwargs).as_text().encode()

    leaves = jax.tree.leaves(calling.dynamic(args, kwargs))
    return dataclasses.replace(from_lowered(lowered, calling, again), examples=Examples(leaves))


def _check_call(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuses example arguments that the function cannot be called with at all."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # of a builtin
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name = getattr(fn, "__name__", "the function")
        raise errors.InvalidArgumentError(
            f"{name}{signature}: {error}; example arguments stand behind the function, as it is "
            "called: mw.plan(step, state, batch, cluster=...)"
        ) from None


def from_lowered(
    lowered: Any, calling: Any = None, again: Callable[[Sequence[Any]], bytes] | None = None
) -> Program:
    """The program of a jax.stages.Lowered."""
    import jax

    from meshwright import _calls, _jax_version  # noqa: F401

    try:
        avals = jax.tree.leaves(lowered.in_avals)
    except ValueError:  # JAX makes them arguments that nobody gave
        raise errors.InvalidArgumentError(
            "the function uses values that an outer jax.jit, jax.grad or jax.vmap is tracing; pass "
            "them as arguments"
        ) from None
    text = lowered.as_text(debug_info=True)  # with the names of arguments
    infos = jax.tree.leaves(lowered.args_info)
    signature = Signature(
        in_tree=lowered.in_tree,
        out_tree=lowered.out_tree,
        in_leaves=[jax.ShapeDtypeStruct(info.shape, info.dtype) for info in infos],
        out_leaves=jax.tree.leaves(lowered.out_info),
        kept=_kept(lowered, len(infos)),
        donated=[i for i, info in enumerate(infos) if info.donated],
        in_names=_calls.leaf_names(calling, lowered.in_tree),
        weak=[_calls.is_weak(aval) for aval in avals],
        calling=calling,
        lower=again,
    )
    name = re.search(r"module @(\w+)", text)
    return Program(text.encode(), name[1] if name else "program", signature, _callbacks(lowered))


def from_exported(exported: Any) -> Program:
    """The program of a jax.export.Exported."""
    import jax

    from meshwright import _calls, _platforms

    def shapes(avals: Sequence[Any]) -> list[Any]:
        return [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]

    for aval in (*exported.in_avals, *exported.out_avals):
        if not all(isinstance(size, int) for size in aval.shape):
            raise errors.UnsupportedError(
                f"{exported.fun_name}: was exported for {aval.str_short(True)}, whose sizes are "
                "open; export it for sizes that are known"
            )
    if exported.ordered_effects:
        raise errors.UnsupportedError(f"{exported.fun_name}: {_ORDERED}")
    signature = Signature(
        in_tree=exported.in_tree,
        out_tree=exported.out_tree,
        in_leaves=shapes(exported.in_avals),
        out_leaves=shapes(exported.out_avals),
        kept=list(exported.module_kept_var_idx),
        donated=[],
        in_names=_calls.leaf_names(None, exported.in_tree),
        weak=[False] * len(exported.in_avals),
    )
    if len(exported.platforms) > 1:
        text = _platforms.text_with_platforms(exported)
    else:
        text = exported.mlir_module()
    return Program(text.encode(), exported.fun_name, signature)


_ORDERED = "ordered callbacks (ordered=True) run on one device only; leave out ordered=True"


def _callbacks(lowered: Any) -> Callbacks:
    # JAX has no public way to ask for these either.
    arguments = getattr(lowered._lowering, "compile_args", {})
    return Callbacks(
        tuple(arguments.get("host_callbacks", ())),
        tuple(arguments.get("unordered_effects", ())),
        bool(arguments.get("ordered_effects")),
    )


def _kept(lowered: Any, leaves: int) -> list[int]:
    # jit drops unused arguments unless told otherwise; JAX has no public way to ask which.
    arguments = getattr(lowered._lowering, "compile_args", {})
    kept = arguments.get("kept_var_idx")
    return sorted(kept) if kept is not None else list(range(leaves))
