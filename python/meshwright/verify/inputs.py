"""Random inputs on which training steps behave: finite results that do not hang on rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from meshwright._lowering import numpy_dtype

# Integers are often indices (tokens, labels) into axes that are not known here; few have less than
# two entries.
_INTEGERS = 2


def random_inputs(parameters: Sequence[Mapping[str, Any]], seed: int) -> list[np.ndarray]:
    """An array for each of a plan's `parameters`; equal seeds give equal arrays.

    Floating-point values are normal; those of weights are scaled so that a product with them stays
    near one. (In a program without a training step weights show as inputs, and all are scaled.)
    Those of an optimizer's state are positive, as second moments are: an update that divides by
    their root must neither fail nor turn on the sign of a rounding error. 32-bit unsigned integers
    may be random keys and take any value.
    """
    generator = np.random.default_rng(seed)
    trains = any(row["category"] == "parameters" for row in parameters)
    return [
        _random(generator, row, scaled=row["category"] != "inputs" or not trains)
        for row in parameters
    ]


def _random(generator: np.random.Generator, row: Mapping[str, Any], scaled: bool) -> np.ndarray:
    dtype = numpy_dtype(row["dtype"])
    shape = tuple(row["shape"])
    if row["dtype"] == "pred":
        return generator.integers(0, 2, shape).astype(dtype)
    if row["dtype"] == "u32":
        return generator.integers(0, 2**32, shape, np.uint32)
    if row["dtype"][0] in "su":
        return generator.integers(0, _INTEGERS, shape).astype(dtype)
    scale = 1 / math.sqrt(max(shape[-2:], default=1)) if scaled else 1.0
    if row["category"] == "optimizer_state":
        return np.asarray(scale * generator.uniform(0.5, 1.0, shape)).astype(dtype)
    values = scale * generator.standard_normal(shape)
    if row["dtype"][0] == "c":
        values = values + 1j * scale * generator.standard_normal(shape)
    return np.asarray(values).astype(dtype)
