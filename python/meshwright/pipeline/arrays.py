"""Arrays of which each stage has the layers that it computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


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

    def is_deleted(self) -> bool:
        return any(part.is_deleted() for part in self.parts)

    def block_until_ready(self) -> StagedArray:
        jax.block_until_ready(self.parts)
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        whole = np.concatenate([np.asarray(part) for part in self.parts], self.dimension)
        return whole if dtype is None else whole.astype(dtype)

    def __repr__(self) -> str:
        return f"StagedArray({self.dtype}{list(self.shape)}, dimension {self.dimension} at {self.bounds})"


def part_of(leaf: Any, dimension: int, begin: int, end: int) -> Any:
    """[begin, end) of an array along a dimension: a jax.Array where it was one or is staged."""
    if isinstance(leaf, StagedArray):
        if leaf.dimension == dimension and (begin, end) in leaf.bounds:
            return leaf.parts[leaf.bounds.index((begin, end))]
        return part_of(np.asarray(leaf), dimension, begin, end)  # of another plan
    where: list[slice] = [slice(None)] * leaf.ndim
    where[dimension] = slice(begin, end)
    return leaf[tuple(where)]
