"""Arrays of which each stage has the layers that it computes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from meshwright import errors
from meshwright._calls import type_text
from meshwright.pipeline.moves import put


class StagedArray:
    """An array of something of every layer, cut along `dimension` into one jax.Array for each stage.

    Stages have as many layers as was planned and meshes of their own, which one jax.Array cannot
    have. It is a leaf of a pytree like one: `shape`, `dtype`, `np.asarray`; `parts` has what is on
    devices, `bounds` the range [begin, end) of each.
    """

    def __init__(
        self, dimension: int, bounds: Sequence[tuple[int, int]], parts: Sequence[jax.Array]
    ) -> None:
        self.dimension = dimension
        self.bounds = tuple(bounds)
        self.parts = tuple(parts)

    @property
    def shape(self) -> tuple[int, ...]:
        shape = list(self.parts[0].shape)
        shape[self.dimension] = self.bounds[-1][1]
        return tuple(shape)

    @property
    def dtype(self) -> Any:
        return self.parts[0].dtype

    @property
    def ndim(self) -> int:
        return self.parts[0].ndim

    @property
    def aval(self) -> Any:
        return jax.core.ShapedArray(self.shape, self.dtype)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def is_deleted(self) -> bool:
        return any(part.is_deleted() for part in self.parts if isinstance(part, jax.Array))

    def block_until_ready(self) -> StagedArray:
        jax.block_until_ready(self.parts)
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        parts = [part for part in self.parts if isinstance(part, jax.Array)]
        if not all(part.is_fully_addressable for part in parts):
            raise errors.InvalidArgumentError(
                "parts of this array are on devices of other processes; all processes can call "
                "mw.jax.to_checkpoint, which gives each a part of every array"
            )
        whole = np.concatenate([np.asarray(part) for part in self.parts], self.dimension)
        return whole if dtype is None else whole.astype(dtype)

    def __repr__(self) -> str:
        return f"StagedArray({self.dtype}{list(self.shape)}, dimension {self.dimension} at {self.bounds})"


_PART = re.compile(r"dimension (\d+) from (\d+) to (\d+)")


def to_checkpoint(state: Any) -> Any:
    """A pytree with a dictionary of its parts, jax.Arrays, in place of every StagedArray.

    This is what checkpointers take, Orbax for one. The names of the parts say what they are. With
    several processes, all of which call it, each array is copied to the devices of all, a part to
    each where their number divides one of its dimensions: checkpointers know no arrays of which some
    processes have nothing.
    """

    def parts_of(leaf: Any) -> Any:
        if not isinstance(leaf, StagedArray):
            return _of_all(leaf)
        return {
            f"dimension {leaf.dimension} from {begin} to {end}": _of_all(part)
            for (begin, end), part in zip(leaf.bounds, leaf.parts)
        }

    return jax.tree.map(parts_of, state)


def _of_all(leaf: Any) -> Any:
    if jax.process_count() == 1 or not isinstance(leaf, jax.Array):
        return leaf
    devices = jax.devices()
    divided = [number for number, size in enumerate(leaf.shape) if size % len(devices) == 0]
    spec = PartitionSpec(*[None] * divided[0], "all") if divided else PartitionSpec()
    return put(leaf, NamedSharding(Mesh(np.array(devices), ("all",)), spec))


def from_checkpoint(tree: Any, like: Any) -> Any:
    """What `to_checkpoint` made, as a pytree of the structure of `like`.

    A pipeline of any plan of the same step takes it, and places it as its plan says; for the step
    without a pipeline, `jax.device_get` of it makes ordinary arrays. `tree` may have lists in place of
    tuples, as checkpointers restore them.

    Raises:
      InvalidArgumentError: it is of another state: names the first array that is.
    """

    def is_parted(node: Any) -> bool:
        return isinstance(node, dict) and bool(node) and all(map(_PART.fullmatch, node))

    def join(node: Any) -> Any:
        if not is_parted(node):
            return node
        found = []
        for name, part in node.items():
            match = _PART.fullmatch(name)
            assert match is not None
            dimension, begin, end = map(int, match.groups())
            found.append(((begin, end), dimension, part))
        found.sort(key=lambda row: row[0])
        at = 0
        for (begin, end), dimension, part in found:
            if begin != at or dimension != found[0][1] or part.shape[dimension] != end - begin:
                raise errors.InvalidArgumentError(
                    f"the parts of an array in the checkpoint do not follow each other: {', '.join(node)}"
                )
            at = end
        return StagedArray(found[0][1], [row[0] for row in found], [row[2] for row in found])

    leaves = [join(node) for node in jax.tree.leaves(tree, is_leaf=is_parted)]
    expected, structure = jax.tree_util.tree_flatten_with_path(like)
    if len(leaves) != len(expected):
        raise errors.InvalidArgumentError(
            f"the checkpoint has {len(leaves)} arrays, the state has {len(expected)}"
        )
    for leaf, (path, other) in zip(leaves, expected):
        if np.shape(leaf) != np.shape(other):
            raise errors.InvalidArgumentError(
                f"state{jax.tree_util.keystr(path)}: the checkpoint has {type_text(leaf)}, the state "
                f"has {type_text(other)}"
            )
    return jax.tree.unflatten(structure, leaves)


def part_of(leaf: Any, dimension: int, begin: int, end: int) -> Any:
    """[begin, end) of an array along a dimension: a jax.Array where it was one or is staged."""
    if isinstance(leaf, StagedArray):
        if leaf.dimension == dimension and (begin, end) in leaf.bounds:
            return leaf.parts[leaf.bounds.index((begin, end))]
        return part_of(np.asarray(leaf), dimension, begin, end)  # of another plan
    where: list[slice] = [slice(None)] * leaf.ndim
    where[dimension] = slice(begin, end)
    return leaf[tuple(where)]
