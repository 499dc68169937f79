"""Planned collectives against compiled ones, pairwise; a cause for each that differs.

First every planned collective takes the compiled one that equals it in kind, axes, bytes and
executions, of the same operator if there is one; of those that move one value for several users,
the first takes precedence. What is left is held against what XLA is known to
do, in the order of the tables below: first pairs of a planned and a compiled one, then single ones.
A cause is given on evidence in the plan and in the compiled program only; what has none stays
unexplained.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from meshwright.verify.collectives import Move

BYTES_TOLERANCE = 0.02
# Bookkeeping of a few numbers (a loss, an overflow flag) is no difference worth failing for.
SMALL_BYTES = 1024

UNEXPLAINED = "unexplained"
_SLICES = "XLA moves the slice that each round of a loop uses"


@dataclasses.dataclass(frozen=True)
class Difference:
    """What a planned collective became, or only one of the two."""

    cause: str  # UNEXPLAINED: none that is known
    planned: Move | None
    compiled: Move | None

    def __str__(self) -> str:
        sides = (
            f"planned {self.planned}" if self.planned else "",
            f"compiled {self.compiled}" if self.compiled else "",
        )
        return " -> ".join(side for side in sides if side)


@dataclasses.dataclass
class Matching:
    matched: list[tuple[Move, Move]]  # equal ones: planned, compiled
    differences: list[Difference]


def match(planned: Sequence[Move], compiled: Sequence[Move]) -> Matching:
    left, repeated = _split_repeated(planned)
    # Those that may have become an exchange leave their equals to the others.
    left.sort(key=lambda move: move.piece_bytes > 0)
    right = list(compiled)
    found = Matching([], [])
    # Bytes that were moved are surer than those of what a value was made from.
    for holds in (_equal_as_moved, _equal):
        for same in (_same_operator, _any_operator):
            found.matched += _pair(left, right, holds, same)
    for same in (_same_operator, _any_operator):
        pairs = _pair(left, right, _widened_by_the_program, same)
        found.matched += [(p, c.as_moved()) for p, c in pairs]
    for cause, holds in _PAIR_CAUSES.items():
        for same in (_same_operator, _any_operator):
            pairs = _pair(left, right, holds, same)
            found.differences += [Difference(cause, p, c) for p, c in pairs]
    for same in (_same_operator, _any_operator):
        found.matched += _pair(repeated, right, _equal, same)
    for move in left + repeated:
        found.differences.append(Difference(_cause(move, found, _PLANNED_CAUSES), move, None))
    for move in right:
        found.differences.append(Difference(_cause(move, found, _COMPILED_CAUSES), None, move))
    return found


def _split_repeated(planned: Sequence[Move]) -> tuple[list[Move], list[Move]]:
    """Those that are the first to move a value in their way, and the others."""
    seen: set[tuple[object, ...]] = set()
    first, repeated = [], []
    for move in planned:
        key = (move.value, move.kind, move.axes, move.times, move.bytes)
        (repeated if move.value and key in seen else first).append(move)
        seen.add(key)
    return first, repeated


PairTest = Callable[[Move, Move], bool]


def _same_operator(p: Move, c: Move) -> bool:
    return bool(p.operator) and p.operator == c.operator


def _any_operator(p: Move, c: Move) -> bool:
    return True


def _pair(
    left: list[Move], right: list[Move], holds: PairTest, same: PairTest
) -> list[tuple[Move, Move]]:
    """Takes pairs that go together out of both lists, in the order of the first."""
    pairs = []
    for move in list(left):
        other = next((one for one in right if same(move, one) and holds(move, one)), None)
        if other is not None:
            left.remove(move)
            right.remove(other)
            pairs.append((move, other))
    return pairs


def _near(planned: int, compiled: int) -> bool:
    return abs(planned - compiled) <= BYTES_TOLERANCE * max(planned, compiled)


def _same_groups(p: Move, c: Move) -> bool:
    return p.kind == c.kind and p.axes == c.axes


def _equal(p: Move, c: Move) -> bool:
    return _same_groups(p, c) and p.times == c.times and _near(p.bytes, c.bytes)


def _equal_as_moved(p: Move, c: Move) -> bool:
    return not c.is_widened and _equal(p, c)


def _widened_by_the_program(p: Move, c: Move) -> bool:
    """What was taken for a backend's f32 of a bf16 value is the program's own conversion."""
    return (
        _same_groups(p, c) and p.times == c.times and c.is_widened and _near(p.bytes, 2 * c.bytes)
    )


def _kept_whole(p: Move, c: Move) -> bool:
    return (
        (p.kind, c.kind) == ("reduce-scatter", "all-reduce")
        and p.axes == c.axes
        and p.times == c.times
        and _near(p.bytes, c.bytes)
    )


def _before_narrowing(p: Move, c: Move) -> bool:
    return (
        _same_groups(p, c)
        and p.times == c.times
        and _near(2 * p.bytes, c.bytes)
        and "narrowed" in c.traits
    )


def _out_of_a_loop(p: Move, c: Move) -> bool:
    return _same_groups(p, c) and p.times > c.times and _near(p.bytes, c.bytes)


def _in_slices(p: Move, c: Move) -> bool:
    """As much in all, in the rounds of a loop that uses a slice in each."""
    return _same_groups(p, c) and p.times < c.times and _near(p.total_bytes, c.total_bytes)


def _gathered_and_sliced(p: Move, c: Move) -> bool:
    return (
        p.kind in ("all-to-all", "collective-permute")
        and c.kind == "all-gather"
        and p.times == c.times
        and "sliced" in c.traits
    )


def _exchanged(p: Move, c: Move) -> bool:
    """Of an array that is cut along another dimension than before, each device needs a piece."""
    return (
        (p.kind, c.kind) == ("all-gather", "all-to-all")
        and p.axes == c.axes
        and p.times == c.times
        and p.piece_bytes > 0
        and _near(p.piece_bytes, c.bytes)
    )


def _summed_where_it_is(p: Move, c: Move) -> bool:
    """Of gradients in parts, which stages add up at the beginning of their update."""
    return (
        (p.kind, c.kind) == ("all-gather", "all-reduce")
        and p.axes == c.axes
        and p.times == c.times
        and p.name.endswith(".sum")
        and p.bytes > c.bytes > 0
        and p.bytes % c.bytes == 0
    )


def _sliced_later(p: Move, c: Move) -> bool:
    """Of terms that several devices have whole, the plan adds up what each of them keeps."""
    return (
        p.kind == c.kind == "reduce-scatter"
        and p.axes == c.axes
        and p.times == c.times
        and "sliced" in c.traits
        and c.bytes > p.bytes > 0
        and c.bytes % p.bytes == 0
    )


def _other_side(p: Move, c: Move) -> bool:
    return _same_operator(p, c) and p.times == c.times and bool({*p.axes} & {*c.axes})


_PAIR_CAUSES: dict[str, PairTest] = {
    "the sum of a reduce-scatter has other users than slices": _kept_whole,
    "XLA moves f32 before the conversion to 16 bits": _before_narrowing,
    "XLA took it out of a loop": _out_of_a_loop,
    _SLICES: _in_slices,
    "XLA gathers and slices to reshard": _gathered_and_sliced,
    "XLA exchanges pieces where the plan gathers and slices": _exchanged,
    "XLA adds up parts of a gradient where they are and reduces the sums": _summed_where_it_is,
    "XLA adds up whole terms and slices the sum": _sliced_later,
    "XLA moves another operand or the result of the operator": _other_side,
}

SingleCause = Callable[[Move, Matching], bool]


def _few_numbers(move: Move, _: Matching) -> bool:
    return move.total_bytes <= SMALL_BYTES


def _shared(move: Move, found: Matching) -> bool:
    """Another operator wants the same value moved the same way, and got it."""
    return bool(move.value) and any(
        p.value == move.value and _same_groups(p, move) for p, _ in _compiled_pairs(found)
    )


def _twice(move: Move, found: Matching) -> bool:
    """The compiled program moves the same value in the same way once more."""
    return any(c.value == move.value and _equal(c, move) for _, c in _compiled_pairs(found))


def _again(move: Move, found: Matching) -> bool:
    """What one loop takes slice by slice, another (the backward pass) does too."""
    return any(
        difference.cause == _SLICES
        and difference.compiled is not None
        and difference.compiled.operator == move.operator
        and _equal(difference.compiled, move)
        for difference in found.differences
    )


def _compiled_pairs(found: Matching) -> list[tuple[Move, Move]]:
    return found.matched + [
        (d.planned, d.compiled) for d in found.differences if d.planned and d.compiled
    ]


def _term(move: Move, found: Matching) -> bool:
    """Its users only add it, and another sum of an array like it is planned and compiled."""
    return (
        move.kind == "all-reduce"
        and "added" in move.traits
        and any(
            c.kind == "all-reduce" and p.axes == move.axes and _near(p.bytes, move.bytes)
            for p, c in _compiled_pairs(found)
        )
    )


_PLANNED_CAUSES: dict[str, SingleCause] = {
    "a few numbers": _few_numbers,
    "XLA moves a value once for all its users": _shared,
}
_COMPILED_CAUSES: dict[str, SingleCause] = {
    "a few numbers": _few_numbers,
    "XLA sums each term before the addition that the plan sums after": _term,
    "XLA moves a slice again instead of keeping it": _again,
    "XLA moves a value again instead of keeping it": _twice,
}


def _cause(move: Move, found: Matching, causes: dict[str, SingleCause]) -> str:
    return next((cause for cause, holds in causes.items() if holds(move, found)), UNEXPLAINED)
