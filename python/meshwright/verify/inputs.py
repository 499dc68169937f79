"""Inputs on which training steps behave: finite results that do not hang on rounding.

Those are the arguments that the plan was made with, where they were arrays and are still there, but for
an optimizer's state that has not seen a step. The others are random, each as suits what it is.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from meshwright._lowering import numpy_dtype

# Whole numbers of which nothing says what they index; few axes have less than two entries.
_INTEGERS = 2

_BLOCK = 1 << 15  # numbers that are drawn at a time


@dataclasses.dataclass
class Inputs:
    """An array for each of a program's parameters, of which so many are the plan's own arguments."""

    arrays: list[np.ndarray]
    given: int

    @property
    def remark(self) -> str:
        if not self.given:
            return ""
        count = len(self.arrays)
        every = "" if self.given == count else f"{self.given} of {count} of "
        return f"on {every}the plan's example arguments"


def step_inputs(
    parameters: Sequence[Mapping[str, Any]],
    seed: int,
    examples: Sequence[Any],
    ranges: Sequence[int | None],
    carried: Collection[str],
) -> Iterator[Inputs]:
    """What to run a step on: the first of these on which its results are finite.

    Random inputs on which results are not finite say little; the second's have nothing negative among
    what goes from step to step. There is one alone where all arrays are given.

    Args:
      examples: for each parameter an array to run on, or None; fewer: the rest has none.
      ranges, carried: as random_inputs takes them.
    """
    given = [None if leaf is None else _host(leaf, row) for leaf, row in zip(examples, parameters)]
    given += [None] * (len(parameters) - len(given))
    fresh = fresh_states(parameters, given, carried)
    given = [None if new else array for array, new in zip(given, fresh)]
    count = sum(array is not None for array in given)

    def filled(arrays: Sequence[np.ndarray]) -> Inputs:
        return Inputs([new if old is None else old for old, new in zip(given, arrays)], count)

    random = random_inputs(parameters, seed, ranges=ranges, carried=carried)
    yield filled(random)
    if count < len(parameters):
        yield filled(
            [
                np.abs(array) if row["name"] in carried and row["dtype"][0] in "bf" else array
                for row, array in zip(parameters, random)
            ]
        )


def _host(leaf: Any, row: Mapping[str, Any]) -> np.ndarray:
    if isinstance(leaf, jax.Array):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        return gathered(leaf)
    return np.asarray(leaf).astype(numpy_dtype(row["dtype"]))


def gathered(array: jax.Array) -> np.ndarray:
    """All of an array of which this process may have a part."""
    if array.is_fully_addressable:
        return np.asarray(array)
    from jax.experimental import multihost_utils

    return np.asarray(multihost_utils.process_allgather(array, tiled=True))


def random_inputs(
    parameters: Sequence[Mapping[str, Any]],
    seed: int,
    *,
    ranges: Sequence[int | None] | None = None,
    carried: Collection[str] = (),
) -> list[np.ndarray]:
    """An array for each of a plan's `parameters`; equal seeds give equal arrays.

    Floating-point values are normal; those of weights are scaled so that a product with them stays
    near one. (In a program without a training step weights show as inputs, and all are scaled.)
    Those of an optimizer's state are positive, as second moments are: an update that divides by
    their root must neither fail nor turn on the sign of a rounding error; whole numbers there count
    steps, and are 1 or more. 32-bit unsigned integers may be random keys and take any value.

    Args:
      ranges: for each parameter the number of values that its whole numbers may take, where they
        index something (`index_ranges`).
      carried: names of parameters that go from step to step; those that are no weights are state.
    """
    generator = np.random.default_rng(seed)
    trains = any(row["category"] == "parameters" for row in parameters)
    states = _states(parameters, carried) if trains else [False] * len(parameters)
    return [
        _random(
            generator,
            row,
            scaled=row["category"] != "inputs" or not trains,
            state=states[number],
            count=ranges[number] if ranges is not None else None,
        )
        for number, row in enumerate(parameters)
    ]


def fresh_states(
    parameters: Sequence[Mapping[str, Any]],
    arrays: Sequence[np.ndarray | None],
    carried: Collection[str],
) -> list[bool]:
    """Which of `arrays` are an optimizer's state before its first step: nothing but zeros.

    There an update divides a gradient by its own size: of one that is near zero the sign decides,
    which is a matter of rounding.
    """
    trains = any(row["category"] == "parameters" for row in parameters)
    return [
        trains and state and row["dtype"][0] in "bf" and array is not None and not array.any()
        for row, array, state in zip(parameters, arrays, _states(parameters, carried))
    ]


def _states(parameters: Sequence[Mapping[str, Any]], carried: Collection[str]) -> list[bool]:
    """Which of the parameters an optimizer keeps from step to step.

    Not all of it is known as that: moments that are kept by row and column have no weight of their
    shape. But they are leaves of an argument that has others which are, or are replaced by a result.
    """
    known = [row["category"] == "optimizer_state" for row in parameters]
    names = [row.get("name", "") for row in parameters]
    roots = {_root(name) for name, state in zip(names, known) if state} - {""}
    return [
        row["category"] != "parameters" and (state or name in carried or _root(name) in roots)
        for row, name, state in zip(parameters, names, known)
    ]


def _root(name: str) -> str:
    """The argument that a leaf is of: state of state['up']; of a name without a path nothing."""
    match = re.match(r"(\w+)[.\[]", name)
    return match[1] if match else ""


def _random(
    generator: np.random.Generator,
    row: Mapping[str, Any],
    *,
    scaled: bool,
    state: bool,
    count: int | None,
) -> np.ndarray:
    dtype = numpy_dtype(row["dtype"])
    shape = tuple(row["shape"])
    if row["dtype"] == "pred":
        return generator.integers(0, 2, shape).astype(dtype)
    if row["dtype"] == "u32" and count is None:
        return generator.integers(0, 2**32, shape, np.uint32)
    if row["dtype"][0] in "su":
        lowest = 1 if state and count is None else 0
        most = min(lowest + (count or _INTEGERS), int(jnp.iinfo(dtype).max) + 1)
        return generator.integers(min(lowest, most - 1), most, shape).astype(dtype)
    scale = 1 / math.sqrt(max((1, *shape[-2:]))) if scaled else 1.0
    if state:
        return _drawn(lambda size: scale * generator.uniform(0.5, 1.0, size), shape, dtype)
    values = _drawn(lambda size: scale * generator.standard_normal(size), shape, dtype)
    if row["dtype"][0] == "c":
        values.imag = scale * generator.standard_normal(shape)
    return values


def _drawn(draw: Callable[[int], np.ndarray], shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Block by block, as generators make wide numbers, and all of a weight's would take memory's time."""
    values = np.empty(math.prod(shape), dtype)
    for begin in range(0, values.size, _BLOCK):
        part = values[begin : begin + _BLOCK]
        part[:] = draw(part.size)
    return values.reshape(shape)
