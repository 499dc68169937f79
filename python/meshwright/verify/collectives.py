"""The collectives that a compiled program executes, counted as a plan counts them.

Backends write them otherwise than plans do: XLA combines several into one, a CPU has no
reduce-scatter (an all-reduce is followed by a slice), no bf16 arithmetic (it is done in f32).
Each such difference is undone here and noted.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from meshwright.verify.groups import group_axes
from meshwright.verify.hlo import (
    Computation,
    Instruction,
    Module,
    array_bytes,
    called_by,
    element_bits,
)

_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
# What hands a value on without using it up.
_TRANSPARENT = ("bitcast", "copy", "convert", "reshape", "transpose", "optimization-barrier")

Key = tuple[str, tuple[str, ...]]  # kind, axes


@dataclasses.dataclass
class Tally:
    count: int = 0
    bytes: int = 0


@dataclasses.dataclass
class Compiled:
    """By kind and axes; `notes` say what was undone."""

    tallies: dict[Key, Tally]
    notes: list[str]


def planned(collectives: Sequence[Mapping[str, Any]], mesh: Mapping[str, int]) -> dict[Key, Tally]:
    tallies: dict[Key, Tally] = {}
    for row in collectives:
        axes = tuple(name for name in mesh if name in row["axes"])
        tally = tallies.setdefault((row["kind"], axes), Tally())
        tally.count += row["count"]
        tally.bytes += row["bytes_per_device"]
    return tallies


def compiled(text: str, mesh: Mapping[str, int], backend: str) -> Compiled:
    """Counts those in `text`, a compiled module whose devices are numbered along `mesh`."""
    module = Module(text)
    tallies: dict[Key, Tally] = {}
    noted: Counter[str] = Counter()
    for computation, instruction, times in module.executions():
        kind = instruction.opcode.removesuffix("-start")
        if kind not in _KINDS:
            continue
        axes, size = group_axes(instruction.attributes, mesh)
        if not axes:
            continue  # groups of one device
        if len(instruction.operands) > 1 and kind != "all-to-all":
            noted[f"XLA combined {len(instruction.operands)} {kind}s into one"] += times
        parts = _parts(computation, instruction, kind, size)
        scattered = _scattered(module, computation, instruction) if kind == "all-reduce" else set()
        for index, (operand, part_bytes) in enumerate(parts):
            actual = kind
            if index in scattered:
                actual = "reduce-scatter"
                noted[f"{backend} all-reduces and slices where a reduce-scatter would do"] += times
            if _widened(module, computation, instruction, operand):
                part_bytes //= 2
                noted[f"{backend} moves bf16 values as f32 ({kind})"] += times
            tally = tallies.setdefault((actual, tuple(axes)), Tally())
            tally.count += times
            tally.bytes += times * part_bytes
    notes = [text if count == 1 else f"{text} ({count} times)" for text, count in noted.items()]
    return Compiled(tallies, notes)


def _parts(
    computation: Computation, instruction: Instruction, kind: str, size: int
) -> list[tuple[str, int]]:
    """Operands and bytes of the full buffers; the pieces of one all-to-all belong together."""
    parts = []
    for operand in instruction.operands:
        made = computation.instructions[operand]
        count = sum(map(array_bytes, made.arrays))
        parts.append((operand, count * size if kind == "all-gather" else count))
    if kind == "all-to-all" and parts:
        return [(parts[0][0], sum(count for _, count in parts))]
    return parts


def _scattered(module: Module, computation: Computation, instruction: Instruction) -> set[int]:
    """Which results of an all-reduce each device uses only its own piece of."""
    if len(instruction.arrays) == 1:
        return {0} if _only_sliced(module, computation, instruction.name) else set()
    found = set()
    users = computation.users[instruction.name]
    for index in range(len(instruction.arrays)):
        elements = [user for user in users if user.attribute("index") == str(index)]
        if elements and all(_only_sliced(module, computation, user.name) for user in elements):
            found.add(index)
    return found


def _only_sliced(module: Module, computation: Computation, name: str) -> bool:
    users = computation.users[name]
    if not users or computation.instructions[name].is_root:
        return False
    for user in users:
        if user.opcode == "dynamic-slice" and user.operands[0] == name:
            continue
        if user.opcode in (*_TRANSPARENT, "all-reduce-done"):
            if not _only_sliced(module, computation, user.name):
                return False
        elif user.opcode == "fusion":
            body = module.computations[called_by(user)[0]]
            for number, operand in enumerate(user.operands):
                if operand == name and not _only_sliced(module, body, body.parameter(number)):
                    return False
        else:
            return False
    return True


def _widened(
    module: Module, computation: Computation, instruction: Instruction, operand: str
) -> bool:
    """Whether an f32 operand is a bf16 value that the backend widened to handle it."""
    made = computation.instructions[operand]
    if not made.arrays or made.arrays[0][0] != "f32":
        return False
    if any("promoted" in name for name in called_by(instruction)):
        return True
    return _comes_from_bf16(module, computation, made, 8)


def _comes_from_bf16(
    module: Module, computation: Computation, made: Instruction, depth: int
) -> bool:
    """Follows what hands a value on back to a conversion from bf16 (rounding included)."""
    if depth == 0:
        return False
    if made.opcode == "fusion":
        body = module.computations[called_by(made)[0]]
        root = next(i for i in body.instructions.values() if i.is_root)
        return _comes_from_bf16(module, body, root, depth - 1)
    if not made.operands or made.operands[0] not in computation.instructions:
        return False
    source = computation.instructions[made.operands[0]]
    if made.opcode == "convert":
        return bool(source.arrays) and element_bits(source.arrays[0][0]) == 16
    if made.opcode in _TRANSPARENT or made.opcode in ("slice", "broadcast"):
        return _comes_from_bf16(module, computation, source, depth - 1)
    return False
