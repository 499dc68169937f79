"""How a function is called: its arguments by name, static ones apart, and the leaves of the others.

`jax.jit` compiles a function anew for every structure, shape and dtype of its arguments, and for
every value of those that are static. What is compiled for a plan was compiled for one of each; a
call that is another spelling of that one is brought into its form here, and of any other the first
argument that differs is named.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from meshwright import errors

_MISSING = object()
# Kinds of numpy that JAX narrows where 64-bit types are not enabled.
_INTEGERS = "iu"
_TIMES = "mM"


@dataclasses.dataclass(frozen=True)
class Calling:
    """A call by example: which of its arguments are static, and what they are.

    `args` and `kwargs` hold the static arguments' values, and of the others nothing.
    """

    signature: inspect.Signature | None
    static_argnums: frozenset[int]  # from the front
    static_argnames: frozenset[str]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    @staticmethod
    def of(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Calling:
        """How `function`, jitted or not, is called with these."""
        info = getattr(function, "_jit_info", None)  # JAX has no public way to ask
        numbers = getattr(info, "static_argnums", ()) or ()
        numbers = frozenset(n + len(args) if n < 0 else n for n in numbers)
        names = frozenset(getattr(info, "static_argnames", ()) or ())
        return Calling(
            _signature(function),
            numbers,
            names,
            [value if n in numbers else _MISSING for n, value in enumerate(args)],
            {name: value if name in names else _MISSING for name, value in kwargs.items()},
        )

    def dynamic(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple, dict]:
        """The arguments that are not static."""
        return (
            tuple(value for n, value in enumerate(args) if n not in self.static_argnums),
            {name: value for name, value in kwargs.items() if name not in self.static_argnames},
        )

    def filled(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list, dict]:
        """The dynamic arguments `args` and `kwargs` with the example's static ones between."""
        rest = iter(args)
        return (
            [next(rest) if value is _MISSING else value for value in self.args],
            {name: kwargs.get(name, value) for name, value in self.kwargs.items()},
        )

    def as_example(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The same call with the same arguments by position, by name and by default as the example.

        Raises:
          InvalidArgumentError: it is another call, or a static argument has another value.
        """
        if len(args) != len(self.args) or kwargs.keys() != self.kwargs.keys():
            args, kwargs = self._rewritten(args, kwargs)
        for n in self.static_argnums:
            if n < len(args):
                self._check_static(self.name(n), args[n], self.args[n])
        for name in self.static_argnames & kwargs.keys():
            self._check_static(name, kwargs[name], self.kwargs[name])
        return args, kwargs

    def name(self, position: int) -> str:
        """What the function calls its argument at a position."""
        if self.signature is not None:
            parameters = list(self.signature.parameters.values())
            if position < len(parameters) and parameters[position].kind in _BY_POSITION:
                return parameters[position].name
            for n, parameter in enumerate(parameters):
                if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                    return f"{parameter.name}[{position - n}]"
        return f"args[{position}]"

    def dynamic_names(self) -> tuple[list[str], list[str]]:
        """Names of the arguments that are not static: by position, by keyword."""
        positions = (n for n in range(len(self.args)) if n not in self.static_argnums)
        return [self.name(n) for n in positions], sorted(self.kwargs.keys() - self.static_argnames)

    def _check_static(self, name: str, value: Any, example: Any) -> None:
        if value is example:
            return
        try:
            same = type(value) is type(example) and bool(value == example)
        except Exception:  # an __eq__ that cannot tell
            same = False
        if not same:
            raise errors.InvalidArgumentError(
                f"{name}: found {_shown(value)}, but it is static and the function was planned "
                f"for {_shown(example)}; plan the function for each value"
            )

    def _rewritten(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        unlike = errors.InvalidArgumentError(
            f"found {_counted(args, kwargs)}, the function was planned for "
            f"{_counted(self.args, self.kwargs)}"
        )
        if self.signature is None:
            raise unlike
        example = self.signature.bind(*self.args, **self.kwargs).arguments
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise errors.InvalidArgumentError(f"the arguments do not fit: {error}") from None
        for name, value in bound.arguments.items():
            if name not in example:
                self._check_default(name, value)
        bound.apply_defaults()
        by_name: dict[str, Any] = {}
        by_position: list[Any] = []
        for name, parameter in self.signature.parameters.items():
            value = bound.arguments[name]
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                by_position += value
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                by_name.update(value)
            elif name in self.kwargs:
                by_name[name] = value
            elif name in example:
                by_position.append(value)
        if len(by_position) != len(self.args) or by_name.keys() != self.kwargs.keys():
            raise unlike
        return by_position, by_name

    def _check_default(self, name: str, value: Any) -> None:
        """Whether an argument that the example left out is what it left out."""
        assert self.signature is not None
        default = self.signature.parameters[name].default
        if default is inspect.Parameter.empty:  # *args or **kwargs
            if not value:
                return
            raise errors.InvalidArgumentError(
                f"{name}: was not among the arguments that the function was planned for"
            )
        if value is default or (
            type(value) is type(default)
            and isinstance(value, (bool, int, float, complex, str))
            and value == default
        ):
            return
        raise errors.InvalidArgumentError(
            f"{name}: found {_shown(value)}, but the function was planned with its default "
            f"{_shown(default)}; give it among the example arguments"
        )


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # of a function in C
        return None


def _counted(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    count = f"{len(args)} argument{'s' * (len(args) != 1)} by position"
    return f"{count} and {', '.join(kwargs)} by name" if kwargs else count


def _shown(value: Any) -> str:
    if isinstance(value, (jax.Array, np.ndarray)):
        return type_text(value)
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def leaf_names(calling: Calling | None, tree: Any) -> list[str]:
    """Every leaf of `tree`, the structure of (args, kwargs), as a user would write it."""
    leaves = jax.tree.unflatten(tree, range(tree.num_leaves))
    args, kwargs = leaves
    by_position, _ = calling.dynamic_names() if calling is not None else ([], [])
    names = []
    for path, _ in jax.tree_util.tree_flatten_with_path((tuple(args), dict(kwargs)))[0]:
        place, argument, *inner = path
        if place.idx == 1:
            first = str(argument.key)
        elif argument.idx < len(by_position):
            first = by_position[argument.idx]
        else:
            first = f"args[{argument.idx}]"
        names.append(first + jax.tree_util.keystr(inner))
    return names


def check_examples(calling: Calling, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises InvalidArgumentError for the first argument that JAX cannot trace."""
    leaves, tree = _flattened(calling, args, kwargs)
    for number, leaf in enumerate(leaves):
        why = _why_not_traced(leaf)
        if why is None:
            continue
        name = leaf_names(calling, tree)[number]
        if not why:
            argument = re.split(r"[.\[]", name)[0]
            why = (
                f"found {type(leaf).__name__}, expected an array, a number or a "
                "jax.ShapeDtypeStruct; what is none of these is a static argument: "
                f'jax.jit(function, static_argnames="{argument}")'
            )
        raise errors.InvalidArgumentError(f"{name}: {why}")


def _flattened(
    calling: Calling, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], Any]:
    try:
        return jax.tree.flatten(calling.dynamic(args, kwargs))
    except (TypeError, ValueError):
        positions = ((calling.name(n), value) for n, value in enumerate(args))
        for name, value in (*positions, *kwargs.items()):
            try:
                jax.tree.flatten(value)
            except (TypeError, ValueError) as error:
                reason = f"{error} {error.__cause__ or ''}".strip()
                raise errors.InvalidArgumentError(f"{name}: {' '.join(reason.split())}") from None
        raise


def _why_not_traced(leaf: Any) -> str | None:
    """None if JAX traces it; else what is wrong with it, or "" where its type says it all."""
    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
        return None
    is_numpy = isinstance(leaf, (np.ndarray, np.generic))
    try:
        if is_numpy or not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            jax.typeof(leaf)
        else:  # JAX takes arrays of other libraries by what they say of themselves
            jax.eval_shape(lambda x: x, leaf)
    except OverflowError as error:
        return str(error)
    except (TypeError, ValueError, AttributeError):
        return _numpy_advice(leaf) if is_numpy else ""
    # JAX gives a time a type, which nothing lowers.
    return _numpy_advice(leaf) if is_numpy and leaf.dtype.kind in _TIMES else None


def _numpy_advice(array: Any) -> str:
    kind = type(array).__name__
    if isinstance(array, np.ma.MaskedArray):
        return f"found {kind}, expected an array without a mask: array.filled()"
    dtype = array.dtype
    if not dtype.isnative:
        return (
            f"found {kind} of dtype {dtype}, which has another byte order than this machine; "
            'convert it: array.astype(array.dtype.newbyteorder("="))'
        )
    return f"found {kind} of dtype {dtype}, expected an array of a dtype that JAX has"


def type_text(value: Any) -> str:
    """An array's type as short as in a plan: f32[64,32]; of what is none, what it is."""
    try:
        shape, dtype = np.shape(value), _type_of(value).dtype
    except (TypeError, ValueError, OverflowError):
        return type(value).__name__
    return f"{_dtype_text(dtype)}[{','.join(map(str, shape))}]"


def _dtype_text(dtype: Any) -> str:
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return str(dtype)
    name = np.dtype(dtype).name
    for long, short in (
        ("bfloat", "bf"),
        ("float", "f"),
        ("uint", "u"),
        ("int", "s"),
        ("complex", "c"),
    ):
        if name.startswith(long):
            return short + name[len(long) :]
    return name


def _type_of(value: Any) -> Any:
    """Shape, dtype and weak type as jax.jit sees them."""
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    return getattr(value, "aval", None) or jax.typeof(value)


def is_weak(value: Any) -> bool:
    return bool(getattr(value, "weak_type", False))


def structure_difference(
    names: Sequence[str], calling: Calling | None, found: Any, expected: Any
) -> str:
    """Where a tree of arguments is not the one that is expected."""
    given = leaf_names(calling, found)
    for what, left, right in (("is missing", names, given), ("is not expected", given, names)):
        others = set(right)
        lost = [name for name in left if name not in others]
        if lost:
            more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
            parts = [name for name in right if name.startswith((f"{lost[0]}[", f"{lost[0]}."))]
            instead = f"; {parts[0]} is in its place" if parts else ""
            return f"{lost[0]}: {what}{more}{instead}"
    return f"the arguments have the structure {found}, the function was planned for {expected}"


def check_leaf(name: str, leaf: Any, like: Any) -> bool:
    """Whether a leaf has the shape and the dtype of `like`; returns whether its type is weak.

    Raises:
      InvalidArgumentError: it has another.
    """
    try:
        kind = getattr(leaf, "aval", None) or _type_of(leaf)  # the first is of JAX's, and fast
    except OverflowError as error:
        raise errors.InvalidArgumentError(f"{name}: {error}") from None
    except (TypeError, ValueError):
        raise errors.InvalidArgumentError(
            f"{name}: found {type(leaf).__name__}, expected an array {type_text(like)}"
        ) from None
    if kind.shape == like.shape and kind.dtype == like.dtype:
        return is_weak(kind)
    found, expected = type_text(leaf), type_text(like)
    advice = "convert it, or plan the function for it too"
    if kind.shape != like.shape:
        advice = "plan the function for that shape too, which makes a second plan"
        if kind.shape[:1] < like.shape[:1] and kind.shape[1:] == like.shape[1:]:
            advice = (
                f"if it is a smaller last batch, drop it or pad it to {like.shape[0]}; or plan the "
                "function for that size too, which makes a second plan"
            )
    raise errors.InvalidArgumentError(
        f"{name}: found {found}, the function was planned for {expected}; {advice}"
    )


def host_array(name: str, leaf: Any, dtype: Any) -> np.ndarray:
    """A number or a numpy array of a type that JAX narrows to `dtype`, narrowed.

    Raises:
      InvalidArgumentError: a whole number is too large, which JAX would cut off; it has no values.
    """
    if isinstance(leaf, jax.ShapeDtypeStruct):
        raise errors.InvalidArgumentError(
            f"{name}: found a ShapeDtypeStruct, expected an array {type_text(leaf)}"
        )
    array = np.asarray(leaf)
    if array.dtype == dtype:
        return array
    if array.dtype.kind in _INTEGERS and np.dtype(dtype).kind in _INTEGERS and array.size:
        bounds = np.iinfo(dtype)
        if array.min() < bounds.min or array.max() > bounds.max:
            worst = array.max() if array.max() > bounds.max else array.min()
            raise errors.InvalidArgumentError(
                f"{name}: {worst} does not fit into {_dtype_text(dtype)}; 64-bit types need "
                "jax_enable_x64"
            )
    return array.astype(dtype)


class Called:
    """What is called like the function that a program was lowered from."""

    def __init__(self, signature: Any) -> None:
        self._signature = signature
        self._weak_types: dict[tuple[bool, ...], bool] = {}  # whether they make no difference

    def _leaves(self, args: Any, kwargs: Any) -> list[Any]:
        calling = self._signature.calling
        if calling is not None:
            args, kwargs = calling.dynamic(*calling.as_example(args, kwargs))
        leaves, tree = jax.tree.flatten((args, kwargs))
        if tree != self._signature.in_tree:
            raise errors.InvalidArgumentError(
                structure_difference(
                    self._signature.in_names, calling, tree, self._signature.in_tree
                )
            )
        return leaves

    def _checked(self, leaves: Sequence[Any]) -> None:
        """Raises an error that names the first leaf which jax.jit would compile anew for."""
        signature = self._signature
        weak = tuple(map(check_leaf, signature.in_names, leaves, signature.in_leaves))
        if weak != tuple(signature.weak) and not self._same_program(weak):
            index = next(i for i, one in enumerate(weak) if one != signature.weak[i])
            kinds = {
                True: "a weak type, as Python numbers have",
                False: "a strong type, as arrays have",
            }
            raise errors.InvalidArgumentError(
                f"{signature.in_names[index]}: found {kinds[weak[index]]}, the function was planned "
                f"for {kinds[not weak[index]]}, and with the other it is another program, as types are "
                "promoted otherwise; convert it, or plan the function for it"
            )

    def _same_program(self, weak: tuple[bool, ...]) -> bool:
        """Whether the function is the same program for leaves of these weak types.

        What was given as lowered or exported is: JAX calls those so too.
        """
        from meshwright._shardy import without_identities

        if weak not in self._weak_types:
            lower = self._signature.lower

            def text(types: Sequence[bool]) -> str:
                assert lower is not None
                likes = self._signature.in_leaves
                leaves = [
                    jax.ShapeDtypeStruct(like.shape, like.dtype, weak_type=one)
                    for like, one in zip(likes, types)
                ]
                return without_identities(lower(leaves))

            same = lower is None or text(weak) == text(self._signature.weak)
            self._weak_types[weak] = same
        return self._weak_types[weak]
