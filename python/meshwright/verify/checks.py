"""The comparisons, each from plain figures to a Check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from meshwright.verify import causes
from meshwright.verify.collectives import Move
from meshwright.verify.report import (
    EXPLAINED,
    FAILED,
    PASSED,
    SHOWN,
    Check,
    bytes_text,
    seconds_text,
)

# Largest error of an output, by the narrowest floating-point type that the program computes in.
# Sums in another order differ by some units in the last place for each layer they pass through; a
# wrong sharding is off by factors. f32 allows for the TF32 of GPUs' matmuls.
TOLERANCES = {"f64": 1e-6, "f32": 5e-3, "f16": 2e-2, "bf16": 5e-2}

# How much further than by rounding the inputs (roundoff.py) a result may move by compiling the program
# otherwise, which rounds every operation otherwise.
ROUNDOFF_FACTOR = 4

# Of a cause, in the report as text; JSON has them all.
NAMES_SHOWN = 12
MEMORY_TOLERANCE = 0.10
TIME_TOLERANCE = 0.25
# What no plan predicts: the workspace of cuBLAS, 32 MiB on Hopper (cuBLAS's documentation,
# cublasSetWorkspace), and the start of a step from Python, some 0.4 ms under JAX 0.11.2 on an H200.
# A plan so small that these alone exceed the tolerance is shown and not judged. So is one of many
# small kernels: the host takes up to 10 us to start one (LLaMA's example, 2 H200 under JAX 0.11.2:
# 2.1 ms of work in 12 ms), which only large ones hide.
WORKSPACE_BYTES = 32 << 20
DISPATCH_SECONDS = 0.5e-3
LAUNCH_SECONDS = 10e-6

# Elements of an array that are compared at a time: wide copies of them stay in a processor's cache, those
# of a whole weight would be written to memory a dozen times.
_BLOCK = 1 << 15


def output_error(got: np.ndarray, expected: np.ndarray, base: np.ndarray | None) -> float:
    """The distance of two results relative to what the program changed.

    `base`: the value that the output replaces; a new weight is compared by its update, which the
    weight itself would hide. Infinite where an infinite value is not the same in both, and where one
    is NaN, which agrees with nothing: what made it one may have been different each time.
    """
    given = [got, expected] if base is None else [got, expected, base]
    if any(array.shape != expected.shape for array in given):
        return float("inf")
    squares = [(0.0, 0.0, 0.0), *_blockwise(_squares, *given)]
    difference, change, whole = np.sqrt(np.sum(squares, axis=0))
    # The update itself is known only to the rounding of the value.
    scale = max(float(change), float(np.finfo(np.float32).eps * whole))
    if np.isinf(difference):
        return float("inf")
    return float(difference) / scale if scale else float(difference)


def _squares(
    got: np.ndarray, expected: np.ndarray, base: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Of the difference, of what the program changed and of the result, all finite: the sums of squares.

    The first is infinite where what is not finite differs.
    """
    finite = np.isfinite(expected)
    if not finite.all() or not np.isfinite(got).all():
        same = np.array_equal(finite, np.isfinite(got))
        if not same or not np.array_equal(
            got[~finite], expected[~finite]
        ):  # NaN is not equal to itself
            return float("inf"), 0.0, 0.0
        got, expected = got[finite], expected[finite]
        base = None if base is None else base[finite]
    change = expected if base is None else expected - base
    return _square(got - expected), _square(change), _square(expected)


def _square(array: np.ndarray) -> float:
    """Not by BLAS, whose own threads would wait for each other among those of `_blockwise`."""
    parts = array.view(np.float64)
    return float(np.einsum("i,i", parts, parts))


def _blockwise(measure: Callable[..., Any], *arrays: np.ndarray) -> Iterator[Any]:
    """`measure` of every block of arrays of the same shape, in the widest type of their kind."""
    flat = [np.asarray(array).reshape(-1) for array in arrays]

    def measured(begin: int) -> Any:
        return measure(*(_wide(array[begin : begin + _BLOCK]) for array in flat))

    with ThreadPoolExecutor() as pool:
        yield from pool.map(measured, range(0, flat[0].size, _BLOCK))


def _wide(array: np.ndarray) -> np.ndarray:
    complex_ = np.issubdtype(array.dtype, np.complexfloating)
    return array.astype(np.complex128 if complex_ else np.float64)


def finite_share(arrays: Sequence[np.ndarray]) -> float:
    """The fraction of all values that are finite numbers."""
    size = sum(array.size for array in arrays)
    count = lambda block: int(np.isfinite(block).sum())
    finite = sum(sum(_blockwise(count, array)) for array in arrays)
    return finite / size if size else 1.0


def has_nan(array: np.ndarray) -> bool:
    return any(_blockwise(lambda block: bool(np.isnan(block).any()), array))


def is_near(errors: Sequence[float], narrowest: str) -> bool:
    """Whether all results are within the tolerance, whatever rounding does to them."""
    return all(error <= TOLERANCES[narrowest] for error in errors)


def check_numerics(
    names: Sequence[str],
    errors: Sequence[float],
    finite: float,
    narrowest: str,
    inputs: str = "",
    undefined: Sequence[str] = (),
    roundoff: Sequence[float] = (),
) -> Check:
    """Whether results are near enough.

    Args:
      finite: the fraction of results that are finite numbers.
      inputs: what was run on, for the remark: "on the plan's example arguments".
      undefined: names of outputs that have NaN on one device too.
      roundoff: for each output the error that rounding alone makes on one device, where that is known.
    """
    noise = list(roundoff) or [0.0] * len(errors)
    limits = [max(TOLERANCES[narrowest], ROUNDOFF_FACTOR * value) for value in noise]
    worst = int(np.argmax(np.divide(errors, limits))) if len(errors) else -1
    error = errors[worst] if len(errors) else 0.0
    tolerance = limits[worst] if len(errors) else TOLERANCES[narrowest]
    notes = []
    if finite < 0.5:
        notes.append(f"only {finite:.0%} of the results are finite: too few to compare")
    if undefined:
        more = f" and {len(undefined) - 1} more" if len(undefined) > 1 else ""
        notes.append(
            f"{undefined[0]}{more}: NaN on one device too, on these inputs; give mw.plan arguments on "
            "which the step is defined"
        )
    ranked = sorted(zip(names, errors, noise, limits), key=lambda row: -row[1])
    for name, value, rounding, limit in ranked[:5]:
        if value > TOLERANCES[narrowest]:
            remark = f", rounding alone makes {rounding:.2g}" if value <= limit else ""
            notes.append(f"{name}: error {value:.2g}{remark}")
    return Check(
        "numerics",
        FAILED if error > tolerance or finite < 0.5 else PASSED,
        f"<= {tolerance:.3g}",
        f"{error:.2g}",
        f"largest error of {len(errors)} outputs against one device ({narrowest})"
        + (f", {inputs}" if inputs else ""),
        notes,
        {
            "error": error,
            "tolerance": tolerance,
            "worst": names[worst] if names else None,
            "finite": finite,
        },
    )


def check_collectives(planned: Sequence[Move], compiled: Sequence[Move]) -> list[Check]:
    """One check for each kind and axes, and one of them pairwise: every difference, by cause."""
    matching = causes.match(planned, compiled)
    compiled = _compiled(matching)
    unexplained = {
        (move.kind, move.axes)
        for difference in matching.differences
        if difference.cause == causes.UNEXPLAINED
        for move in (difference.planned, difference.compiled)
        if move is not None
    }
    checks = []
    keys = sorted({(move.kind, move.axes) for move in (*planned, *compiled)})
    for kind, axes in keys:
        plan, found = (
            [move for move in moves if (move.kind, move.axes) == (kind, axes)]
            for moves in (planned, compiled)
        )
        plan_bytes, found_bytes = (sum(move.total_bytes for move in side) for side in (plan, found))
        plan_count, found_count = (sum(move.times for move in side) for side in (plan, found))
        difference = found_bytes - plan_bytes
        allowed = causes.BYTES_TOLERANCE * max(plan_bytes, found_bytes)
        near = abs(difference) <= max(allowed, causes.SMALL_BYTES)
        relative = f"{difference / plan_bytes:+.1%} bytes" if plan_bytes else "not in the plan"
        outcome = PASSED if near else EXPLAINED
        checks.append(
            Check(
                f"{kind} {','.join(axes)}",
                FAILED if (kind, axes) in unexplained else outcome,
                f"{plan_count} x, {bytes_text(plan_bytes)}",
                f"{found_count} x, {bytes_text(found_bytes)}",
                relative if difference else "",
                [],
                {
                    "planned_bytes": plan_bytes,
                    "compiled_bytes": found_bytes,
                    "planned_count": plan_count,
                    "compiled_count": found_count,
                },
            )
        )
    if not checks:
        return [Check("collectives", PASSED, "none", "none")]
    return [*checks, _pairwise(matching, bool(unexplained), len(planned), len(compiled))]


def _pairwise(matching: causes.Matching, unexplained: bool, planned: int, compiled: int) -> Check:
    by_cause: dict[str, list[str]] = {}
    for difference in matching.differences:
        by_cause.setdefault(difference.cause, []).append(str(difference))
    written: dict[str, list[str]] = {}
    for move in _compiled(matching):
        for cause in move.undone:
            written.setdefault(cause, []).append(str(move))
    outcome = EXPLAINED if by_cause else PASSED
    return Check(
        "pairwise",
        FAILED if unexplained else outcome,
        f"{planned} x",
        f"{compiled} x",
        f"{len(matching.matched)} equal",
        [_note(cause, names) for cause, names in (*by_cause.items(), *written.items())],
        {"equal": len(matching.matched), "differences": by_cause, "written_otherwise": written},
    )


def _compiled(matching: causes.Matching) -> list[Move]:
    moves = [compiled for _, compiled in matching.matched]
    return moves + [d.compiled for d in matching.differences if d.compiled is not None]


def _note(cause: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    rest = f", and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{cause}: {shown}{rest}"


def check_memory(planned: int, measured: int, judged: bool, reason: str) -> Check:
    least = WORKSPACE_BYTES / MEMORY_TOLERANCE
    if judged and planned < least:
        judged, reason = (
            False,
            f"below {bytes_text(int(least))} a workspace may be past the tolerance",
        )
    return _figure("memory", planned, measured, bytes_text, MEMORY_TOLERANCE, judged, reason)


def check_time(
    planned: float, measured: float, judged: bool, reason: str, launches: int = 0
) -> Check:
    """`launches`: kernels and collectives that the host starts in a step."""
    least = (DISPATCH_SECONDS + LAUNCH_SECONDS * launches) / TIME_TOLERANCE
    if judged and planned < least:
        judged, reason = False, f"below {seconds_text(least)} launches may be past the tolerance"
    return _figure("step time", planned, measured, seconds_text, TIME_TOLERANCE, judged, reason)


def _figure(
    name: str,
    planned: float,
    measured: float,
    text: Any,
    tolerance: float,
    judged: bool,
    reason: str,
) -> Check:
    relative = measured / planned - 1 if planned else float("inf") if measured else 0.0
    outcome = SHOWN if not judged else PASSED if abs(relative) <= tolerance else FAILED
    remark = f"{relative:+.0%}, at most {tolerance:.0%}" if judged else f"not judged: {reason}"
    figures = {"planned": planned, "measured": measured, "tolerance": tolerance if judged else None}
    return Check(name, outcome, text(planned), text(measured), remark, [], figures)
