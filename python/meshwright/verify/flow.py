"""Where values of a compiled program come from and go to, through what only hands them on."""

from __future__ import annotations

import functools
from collections.abc import Callable

from meshwright.verify.hlo import Computation, Instruction, Module, called_by, element_bits

# What hands a value on without using it up.
_TRANSPARENT = ("bitcast", "copy", "convert", "reshape", "transpose", "optimization-barrier")
_DONE = ("all-reduce-done", "all-gather-done", "collective-permute-done")

# Judges a user of a value by the user's instruction and the value's name.
Judge = Callable[[Instruction, str], bool]


def sliced(user: Instruction, name: str) -> bool:
    return user.opcode == "dynamic-slice" and user.operands[0] == name


def added(user: Instruction, name: str) -> bool:
    return user.opcode == "add"


def narrowed(user: Instruction, name: str) -> bool:
    """Converted to a type of 16 bits."""
    return user.opcode == "convert" and element_bits(user.arrays[0][0]) == 16


def only_reaches(
    module: Module,
    computation: Computation,
    name: str,
    judge: Judge,
    fusion_users: Callable[[], bool] = lambda: False,
) -> bool:
    """Whether every user of a value, be it in a fusion, is one that `judge` accepts.

    `fusion_users`: of a value in a fusion, whether this is so of users of the fusion's result.
    """
    users = computation.users[name]
    if computation.instructions[name].is_root:
        return not users and fusion_users()
    if not users:
        return False
    for user in users:
        if judge(user, name):
            continue
        if user.opcode in (*_TRANSPARENT, *_DONE):
            if not only_reaches(module, computation, user.name, judge, fusion_users):
                return False
        elif user.opcode == "fusion":
            body = module.computations[called_by(user)[0]]
            after = functools.partial(
                only_reaches, module, computation, user.name, judge, fusion_users
            )
            for number, operand in enumerate(user.operands):
                if operand == name and not only_reaches(
                    module, body, body.parameter(number), judge, after
                ):
                    return False
        else:
            return False
    return True


def results(computation: Computation, instruction: Instruction, index: int) -> list[str]:
    """The names under which result `index` of an instruction goes on."""
    if len(instruction.arrays) == 1:
        return [instruction.name]
    return [
        user.name
        for user in computation.users[instruction.name]
        if user.opcode == "get-tuple-element" and user.attribute("index") == str(index)
    ]


def comes_from_bf16(
    module: Module, computation: Computation, made: Instruction, depth: int = 8
) -> bool:
    """Follows what hands a value on back to a conversion from bf16 (rounding included)."""
    if depth == 0:
        return False
    if made.opcode == "fusion":
        body = module.computations[called_by(made)[0]]
        root = next(i for i in body.instructions.values() if i.is_root)
        return comes_from_bf16(module, body, root, depth - 1)
    if not made.operands or made.operands[0] not in computation.instructions:
        return False
    source = computation.instructions[made.operands[0]]
    if made.opcode == "convert":
        return bool(source.arrays) and element_bits(source.arrays[0][0]) == 16
    if made.opcode in _TRANSPARENT or made.opcode in ("slice", "broadcast"):
        return comes_from_bf16(module, computation, source, depth - 1)
    return False
