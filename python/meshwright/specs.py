"""Shardings in words: a plan's specs, the notation of fixes, and JAX's classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from meshwright import errors

# One list of axis names for each dimension, as plans hold them.
Spec = Sequence[Sequence[str]]


def mesh_text(mesh: Any) -> str:
    """What `mesh` says as the planner reads it: "auto", 8, (2, 4), {"x": 2, "y": 4}, a jax Mesh."""
    if isinstance(mesh, str):
        return mesh
    if isinstance(mesh, Integral):  # numpy's too
        return str(int(mesh))
    shape = getattr(mesh, "shape", mesh)  # of a jax Mesh: a mapping
    if isinstance(shape, Mapping) and shape:
        return ",".join(f"{name}={size}" for name, size in shape.items())
    if isinstance(shape, Sequence) and shape and all(isinstance(size, Integral) for size in shape):
        return "x".join(str(int(size)) for size in shape)
    raise errors.InvalidArgumentError(
        f'mesh: found {mesh!r}, expected "auto", "2x4", (2, 4), {{"x": 2, "y": 4}} or a jax Mesh'
    )


def partition_entries(spec: Spec) -> list[Any]:
    """The arguments of the PartitionSpec that says the same."""
    entries: list[Any] = []
    for axes in spec:
        entries.append(None if not axes else axes[0] if len(axes) == 1 else tuple(axes))
    return entries


def spec_text(spec: Any) -> str:
    """A sharding in the notation of fixes: text as it is, a PartitionSpec or what has a `spec`."""
    if spec is None:
        return "replicated"
    if isinstance(spec, str):
        return spec
    if hasattr(spec, "spec"):  # NamedSharding
        spec = spec.spec
    elif getattr(spec, "is_fully_replicated", False):
        return "replicated"
    try:
        entries = tuple(spec)
    except TypeError:
        raise errors.InvalidArgumentError(
            f"found {spec!r}, expected a sharding: a PartitionSpec, a NamedSharding or text like "
            "[x,_]"
        ) from None
    dims = []
    for entry in entries:
        axes = () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)
        if not all(isinstance(axis, str) for axis in axes):
            raise errors.InvalidArgumentError(f"{spec!r} leaves dimensions open: name their axes")
        dims.append("_" if not axes else axes[0] if len(axes) == 1 else f"({','.join(axes)})")
    return f"[{','.join(dims)}]"


def fix_texts(fixes: Any, *, degrees: bool = False) -> list[str]:
    """Fixes as a list of "NAME=SPEC"; given so, or as a mapping from names to shardings.

    `degrees`: numbers may be given as well, as models take them.
    """
    if fixes is None:
        return []
    if isinstance(fixes, Mapping):
        numbers = int if degrees else ()
        return [
            f"{name}={spec if isinstance(spec, numbers) else spec_text(spec)}"
            for name, spec in fixes.items()
        ]
    if isinstance(fixes, str):
        return [fixes]
    try:
        return list(fixes)
    except TypeError:
        raise errors.InvalidArgumentError(
            f'found {fixes!r}, expected fixes: texts "NAME=SPEC", or a mapping from names to '
            "shardings"
        ) from None
