"""A backward module in two: what other stages wait for, and the weights' gradients after it.

Schedules without bubbles (Qi, Wan, Huang and Lin, "Zero Bubble Pipeline Parallelism", ICLR 2024) run the
two at different times. The first part is what the first outputs depend on; the second is the rest, and
takes those values of the first that it needs. Nothing is computed twice but what only moves or spreads
data, of which the operands are taken, and partial sums, which are no arrays outside of a module. A loop
over layers makes both in each round, and stays in the first part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import jax
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from meshwright._shardy import _serialized
from meshwright.verify.stage_signature import main_of, shape_of

_CHEAP = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "constant", "convert", "iota", "reshape", "transpose")
)
_CONSTRAINT = "sdy.sharding_constraint"


@dataclasses.dataclass(frozen=True)
class Split:
    """`first`: from all inputs to the outputs chosen and the values `between`; `second`: from the
    inputs `needed` and those to all other outputs. Modules as `from_hlo` gives them."""

    first: bytes
    second: bytes
    needed: Sequence[int]
    between: Sequence[jax.ShapeDtypeStruct]


def split(module: bytes, chosen: Sequence[int]) -> Split:
    """Splits a module's `main`; `chosen`: the outputs of the first part, by number."""
    with make_ir_context(), ir.Location.unknown():
        parsed = hlo.deserialize_portable_artifact(ir.Context.current, module)
        block, results = _body(parsed)
        others = [number for number in range(len(results)) if number not in set(chosen)]
        early = _needed([results[number] for number in chosen], block)
        late, taken = _late([results[number] for number in others], block, early)
        arguments = {
            ir.BlockArgument(value).arg_number for value in taken if _producer(value) is None
        }
        between = [value for value in taken if _producer(value) is not None]
        # Operations by their place: the second part is cut out of a copy.
        place = {operation: number for number, operation in enumerate(_operations(block))}
        kept = {place[operation] for operation in late}
        cut = [(place[_producer(value)], ir.OpResult(value).result_number) for value in between]
        types = [shape_of(value.type) for value in between]
        _give(parsed, [results[number] for number in chosen] + between, chosen, len(between))
        first = _serialized(parsed)
        copy = hlo.deserialize_portable_artifact(ir.Context.current, module)
        second = _second(copy, kept, cut, sorted(arguments), others)
        return Split(first, second, sorted(arguments), types)


def _second(
    module: Any,
    kept: set[int],
    cut: Sequence[tuple[int, int]],
    arguments: Sequence[int],
    others: Sequence[int],
) -> bytes:
    block, results = _body(module)
    operations = list(_operations(block))
    values = [operations[place].results[number] for place, number in cut]
    count = len(block.arguments)
    taken = [block.add_argument(value.type, ir.Location.unknown()) for value in values]
    given = [results[number] for number in others]
    replaced = dict(zip(values, taken))
    _give(module, [replaced.get(value, value) for value in given], others, 0)
    for value, argument in replaced.items():
        value.replace_all_uses_with(argument)
    for place in reversed(range(len(operations))):
        if place not in kept:
            operations[place].erase()
    for number in reversed(range(count)):
        if number not in arguments:
            block.erase_argument(number)
    function = main_of(module)
    _choose(function, "arg_attrs", arguments, len(taken))
    _retype(function, block)
    return _serialized(module)


def _body(module: Any) -> tuple[Any, list[Any]]:
    block = main_of(module).body.blocks[0]
    return block, list(_returned(block).operands)


def _returned(block: Any) -> Any:
    return list(block.operations)[-1].operation


def _operations(block: Any) -> Iterable[Any]:
    """All but the return."""
    return [operation.operation for operation in block.operations][:-1]


def _producer(value: Any) -> Any:
    """The operation that makes it; None: it is an argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _operands(operation: Any, block: Any) -> list[Any]:
    """Values of `block` that it takes, within its regions too."""
    found: list[Any] = []

    def collect(inner: Any) -> Any:
        for value in inner.operation.operands:
            owner = value.owner if isinstance(value.owner, ir.Block) else _producer(value).block
            if owner == block:
                found.append(value)
        return ir.WalkResult.ADVANCE

    operation.walk(collect)
    return found


def _needed(values: Sequence[Any], block: Any) -> set[Any]:
    found: set[Any] = set()
    left = [_producer(value) for value in values]
    while left:
        operation = left.pop()
        if operation is None or operation in found:
            continue
        found.add(operation)
        left += [_producer(value) for value in _operands(operation, block)]
    return found


def _late(values: Sequence[Any], block: Any, early: set[Any]) -> tuple[set[Any], list[Any]]:
    """The operations of the second part, and what it takes: arguments, and values of the first."""
    late: set[Any] = set()
    taken: dict[Any, None] = {}  # in order
    # Whether it is to be computed in the second part, whatever it is.
    left = [(value, False) for value in values]
    while left:
        value, forced = left.pop()
        operation = _producer(value)
        if operation is None:
            taken[value] = None
            continue
        partial = operation.name == _CONSTRAINT and "unreduced" in str(
            operation.attributes["sharding"]
        )
        if operation in early and not (forced or partial or _is_cheap(operation)):
            taken[value] = None
        elif operation not in late:
            late.add(operation)
            left += [(operand, partial) for operand in _operands(operation, block)]
    return late, list(taken)


def _is_cheap(operation: Any) -> bool:
    if operation.name != _CONSTRAINT:
        return operation.name in _CHEAP
    made = _producer(operation.operands[0])
    return made is None or _is_cheap(made)


def _give(module: Any, values: Sequence[Any], outputs: Sequence[int], more: int) -> None:
    """Makes `main` return `values`: some of its outputs, and `more` after them."""
    function = main_of(module)
    block = function.body.blocks[0]
    old = _returned(block)
    with ir.InsertionPoint(old):
        ir.Operation.create("func.return", operands=list(values))
    old.erase()
    _choose(function, "res_attrs", outputs, more)
    _retype(function, block)


def _choose(function: Any, key: str, numbers: Sequence[int], more: int) -> None:
    """Leaves the attributes of some arguments or results, with `more` that have none after them."""
    attributes = function.operation.attributes
    if key in attributes:
        given = list(ir.ArrayAttr(attributes[key]))
        none = [ir.DictAttr.get({})] * more
        attributes[key] = ir.ArrayAttr.get([given[number] for number in numbers] + none)


def _retype(function: Any, block: Any) -> None:
    inputs = [argument.type for argument in block.arguments]
    outputs = [value.type for value in _returned(block).operands]
    function.operation.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, outputs)
    )
