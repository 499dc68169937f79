"""Compiled HLO text, as far as finding collectives and who uses their results needs it."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) (?:\(.*\) -> .*)?\{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r" *([a-z][a-z0-9\-]*)\(")
_ARRAY = re.compile(r"\b([a-z][a-z0-9]*)\[([0-9,<=]*)\]")
_NAME = re.compile(r"%([\w.\-]+)")
_CALLED = re.compile(
    r"(?:to_apply|calls|body|condition|branch_computations|called_computations)="
    r"(\{[^}]*\}|%?[\w.\-]+)"
)
_TRIP_COUNT = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')

Array = tuple[str, tuple[int, ...]]  # element type, dimensions


@dataclasses.dataclass
class Instruction:
    name: str
    opcode: str
    arrays: list[Array]  # of the result, tuples taken apart
    operands: list[str]
    attributes: str
    is_root: bool

    def attribute(self, name: str) -> str | None:
        match = re.search(rf"\b{name}=(\S+?)(?:, |$)", self.attributes)
        return match[1] if match else None


class Computation:
    def __init__(self, name: str) -> None:
        self.name = name
        self.instructions: dict[str, Instruction] = {}
        self.users: dict[str, list[Instruction]] = defaultdict(list)

    def add(self, instruction: Instruction) -> None:
        self.instructions[instruction.name] = instruction
        for operand in dict.fromkeys(instruction.operands):
            self.users[operand].append(instruction)

    def parameter(self, number: int) -> str:
        for instruction in self.instructions.values():
            if instruction.opcode == "parameter" and instruction.operands == [str(number)]:
                return instruction.name
        raise KeyError(f"{self.name} has no parameter {number}")


class Module:
    """A module by computation."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, Computation] = {}
        self.entry = ""
        current: Computation | None = None
        for line in text.splitlines():
            if current is None:
                if match := _COMPUTATION.match(line):
                    current = self.computations[match[2]] = Computation(match[2])
                    if match[1]:
                        self.entry = match[2]
            elif line.startswith("}"):
                current = None
            elif match := _INSTRUCTION.match(line):
                current.add(_instruction(match[2], line[match.end() :], bool(match[1])))

    def executions(self) -> Iterator[tuple[Computation, Instruction, int]]:
        """Every instruction that runs, with how often; loops whose trip count is unknown: once."""
        work = [(self.entry, 1)]
        while work:
            name, count = work.pop()
            computation = self.computations[name]
            for instruction in computation.instructions.values():
                yield computation, instruction, count
                trips = _TRIP_COUNT.search(instruction.attributes)
                rounds = int(trips[1]) if instruction.opcode == "while" and trips else 1
                if instruction.opcode not in ("reduce", "all-reduce", "reduce-scatter", "scatter"):
                    work.extend((called, count * rounds) for called in called_by(instruction))


def called_by(instruction: Instruction) -> list[str]:
    names: list[str] = []
    for match in _CALLED.finditer(instruction.attributes):
        names.extend(name.strip().lstrip("%") for name in match[1].strip("{}").split(","))
    return [name for name in names if name]


def _closing(text: str, start: int) -> int:
    """Where the parenthesis that opens at `start` closes."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index
    return len(text) - 1


def _instruction(name: str, text: str, is_root: bool) -> Instruction:
    end = _closing(text, 0) + 1 if text.startswith("(") else text.find(" ")
    opcode = _OPCODE.match(text, end)
    if opcode is None:
        return Instruction(name, "", _arrays(text[:end]), [], "", is_root)
    close = _closing(text, opcode.end() - 1)
    inside = text[opcode.end() : close]
    operands = [inside.strip()] if opcode[1] == "parameter" else _NAME.findall(inside)
    return Instruction(
        name, opcode[1], _arrays(text[:end]), operands, text[close + 1 :].lstrip(", "), is_root
    )


def _arrays(text: str) -> list[Array]:
    arrays = []
    for dtype, dims in _ARRAY.findall(text):
        arrays.append((dtype, tuple(int(d.lstrip("<=")) for d in dims.split(",") if d)))
    return arrays


def array_bytes(array: Array) -> int:
    dtype, dims = array
    count = 1
    for dim in dims:
        count *= dim
    return (count * element_bits(dtype) + 7) // 8


def element_bits(dtype: str) -> int:
    if dtype == "pred":
        return 8
    if match := re.match(r"[a-z]+(\d+)", dtype):
        return int(match[1])
    return 0  # tokens
