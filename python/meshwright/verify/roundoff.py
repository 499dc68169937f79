"""How far rounding alone moves the results of a program.

Two ways of computing one program differ by rounding, which most results hardly show. But a result in
which everything cancels (the gradient of a sum that is constant) is nothing but rounding, and no
tolerance relative to the result itself holds there. So the program is run on inputs that are moved by
one unit in the last place, each up or down at random: what that changes of a result, the
program leaves open at the precision of its inputs, or of the narrowest type that it computes in, which
rounds wider inputs on their way. (Parker, Pierce and Eggert, "Monte Carlo
arithmetic: how to gamble with floating point and win", Computing in Science and Engineering 2 (4), 2000;
here on inputs only.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from meshwright._lowering import numpy_dtype
from meshwright.verify import checks

# One draw may leave a small result by chance where it was.
DRAWS = 3

MOST_DIGITS = 52  # of f64


def roundoff(
    run: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]],
    inputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    replaced: Sequence[int | None],
    narrowest: str = "f64",
) -> list[float]:
    """The largest error of each result, as `checks.output_error` has it, in a few draws.

    Args:
      run: the whole program on one device.
      expected: its results on `inputs`.
      replaced: for each result the number of the input that it replaces in the next step.
      narrowest: the type in whose last place inputs of wider ones are moved.
    """
    generator = np.random.default_rng(0)
    digits = int(jnp.finfo(numpy_dtype(narrowest)).nmant)
    worst = [0.0] * len(expected)
    for _ in range(DRAWS):
        moved = [neighbour(array, generator, digits) for array in inputs]
        for number, got in enumerate(run(moved)):
            base = replaced[number]
            error = (
                checks.output_error(got, expected[number], None)
                if base is None
                else checks.output_error(
                    _update(got, moved[base]), _update(expected[number], inputs[base]), None
                )
            )
            # Where one draw overflows and another does not, the tolerance alone decides.
            if np.isfinite(error):
                worst[number] = max(worst[number], error)
    return worst


def neighbour(
    array: np.ndarray, generator: np.random.Generator, digits: int = MOST_DIGITS
) -> np.ndarray:
    """Each floating-point number moved to one beside it, away from zero or towards it; zeros stay.

    In a type of more binary digits behind the point than `digits`, by one unit of the last of these.
    """
    dtype = array.dtype
    if np.issubdtype(dtype, np.complexfloating):
        real, imaginary = (neighbour(part, generator, digits) for part in (array.real, array.imag))
        return (real + 1j * imaginary).astype(dtype)
    if not jnp.issubdtype(dtype, jnp.floating) or dtype.itemsize < 2:
        return array
    bits = np.asarray(array, order="C").view(f"u{dtype.itemsize}")  # a scalar stays one
    step = generator.integers(0, 2, array.shape, np.int8).astype(bits.dtype)
    # The next larger magnitude has the next larger bits; of zero and of the smallest it has not.
    unit = bits.dtype.type(1 << max(int(jnp.finfo(dtype).nmant) - digits, 0))
    moved = np.where(step == 1, bits + unit, bits - unit).view(dtype)
    with np.errstate(invalid="ignore"):  # what is no number is compared, too
        steady = (np.abs(array) <= jnp.finfo(dtype).tiny) | ~np.isfinite(moved)
    return np.where(steady, array, moved)


def _update(new: np.ndarray, old: np.ndarray) -> Any:
    wide = np.complex128 if np.issubdtype(new.dtype, np.complexfloating) else np.float64
    return new.astype(wide) - old.astype(wide)
