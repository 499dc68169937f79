"""The collectives of a plan and of the program compiled from it, each in the same terms.

Backends write them otherwise than plans do: XLA combines several into one, a CPU has no
reduce-scatter (an all-reduce is followed by a slice), no bf16 arithmetic (it is done in f32).
Each such difference is undone here and stands in `Move.undone`.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from meshwright.verify import flow
from meshwright.verify.groups import group_axes
from meshwright.verify.hlo import Computation, Instruction, Module, array_bytes, called_by

_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
# "dot_general.12", "call/dot_general.12" and jax's "jit(f)/transpose/dot_general" are dot_general.
_BASE = re.compile(r"([^/]*?)(?:\.\d+)*(?:\{[\d,]*\})?$")
_WIDENED = "moves bf16 values as f32"


@dataclasses.dataclass(frozen=True)
class Move:
    """One array that one collective moves."""

    name: str  # of the planned operator that needs it; of the compiled instruction
    operator: str  # what it belongs to in the source: "dot_general"
    kind: str
    axes: tuple[str, ...]  # that a group spans, in the order of the mesh
    times: int  # executions a step
    bytes: int  # of the full buffers, of one execution
    value: str = ""  # what is moved: a planned operator's result; a compiled instruction
    undone: tuple[str, ...] = ()  # how the backend writes it otherwise
    traits: frozenset[str] = frozenset()  # of compiled ones: where all users of the result lie
    # Of a planned all-gather behind which each device keeps only a piece: the bytes of one.
    piece_bytes: int = 0

    @property
    def is_widened(self) -> bool:
        """Whether it is an f32 value that was counted as bf16, as that is what it was made from."""
        return any(cause.endswith(_WIDENED) for cause in self.undone)

    def as_moved(self) -> Move:
        """With the bytes that were moved, where it is_widened."""
        undone = tuple(cause for cause in self.undone if not cause.endswith(_WIDENED))
        return dataclasses.replace(self, bytes=2 * self.bytes, undone=undone)

    @property
    def total_bytes(self) -> int:
        return self.times * self.bytes

    def __str__(self) -> str:
        count = f" x{self.times}" if self.times > 1 else ""
        return f"{self.name} ({self.kind} {','.join(self.axes)}{count})"


def planned(instructions: Sequence[Mapping[str, Any]], mesh: Mapping[str, int]) -> list[Move]:
    """Those of a plan's `instructions`."""
    moves = []
    for row in instructions:
        for one in row["collective"]:
            axes = tuple(name for name in mesh if name in one["axes"])
            times = max(one["count"], 1)
            size = one["bytes_per_device"] // times
            operator = _operator(row["name"])
            value = one.get("value", "")
            cut = one["kind"] == "all-gather" and _is_cut(row, value, axes, instructions)
            piece = size // math.prod(mesh[name] for name in axes) if cut else 0
            moves.append(
                Move(
                    row["name"], operator, one["kind"], axes, times, size, value, piece_bytes=piece
                )
            )
    return moves


def _is_cut(
    row: Mapping[str, Any],
    value: str,
    axes: Sequence[str],
    instructions: Sequence[Mapping[str, Any]],
) -> bool:
    """Whether `axes` cut `value` where `row`, which moves it, wants it: along another dimension."""
    targets = [row["spec"]] if value == row["name"] else []
    operands = row.get("operands", [])
    # What only hands a value on, as a loop's parameter, needs it as it is kept itself.
    needed = row.get("operand_specs") or [row["spec"] for _ in operands]
    for operand, spec in zip(operands, needed):
        if instructions[operand]["name"] == value:
            targets.append(spec)
    return bool(targets) and all(
        {*axes} <= {axis for dim in spec for axis in dim} for spec in targets
    )


def compiled(text: str, mesh: Mapping[str, int], backend: str) -> list[Move]:
    """Those of `text`, a compiled module whose devices are numbered along `mesh`."""
    module = Module(text)
    moves = []
    for computation, instruction, times in module.executions():
        kind = instruction.opcode.removesuffix("-start")
        if kind not in _KINDS:
            continue
        axes, size = group_axes(instruction.attributes, mesh)
        if not axes:
            continue  # groups of one device
        named = _OP_NAME.search(instruction.attributes)
        operator = _operator(named[1]) if named else ""
        parts = _parts(computation, instruction, kind, size)
        for index, (operand, part_bytes) in enumerate(parts):
            undone = []
            if len(parts) > 1:
                undone.append("XLA combined several into one")
            users = flow.results(computation, instruction, index)
            traits = frozenset(
                name
                for name, judge in _TRAITS.items()
                if users and all(flow.only_reaches(module, computation, u, judge) for u in users)
            )
            actual = kind
            if kind == "all-reduce" and "sliced" in traits:
                actual = "reduce-scatter"
                undone.append(f"{backend} all-reduces and slices where a reduce-scatter would do")
            if _widened(module, computation, instruction, operand):
                part_bytes //= 2
                undone.append(f"{backend} {_WIDENED}")
            name = instruction.name if len(parts) == 1 else f"{instruction.name}[{index}]"
            moves.append(
                Move(
                    name,
                    operator,
                    actual,
                    tuple(axes),
                    times,
                    part_bytes,
                    f"{computation.name}/{operand}",
                    tuple(undone),
                    traits,
                )
            )
    return moves


_TRAITS: dict[str, flow.Judge] = {
    "sliced": flow.sliced,  # each device uses only its own piece
    "added": flow.added,
    "narrowed": flow.narrowed,
}


def _operator(name: str) -> str:
    match = _BASE.search(name.rstrip("/"))
    return match[1] if match else name


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


def _widened(
    module: Module, computation: Computation, instruction: Instruction, operand: str
) -> bool:
    """Whether an f32 operand is a bf16 value that the backend widened to handle it."""
    made = computation.instructions[operand]
    if not made.arrays or made.arrays[0][0] != "f32":
        return False
    if any("promoted" in name for name in called_by(instruction)):
        return True
    return flow.comes_from_bf16(module, computation, made)
