"""How large whole numbers among a program's parameters may be: what they index says so.

Tokens are looked up in a table, labels are compared with an iota or pick an entry of a row. From each
parameter of a whole-number type its uses are followed, through what only moves or selects it, to
gathers, scatters, dynamic slices and comparisons with an iota; the smallest axis that it reaches
there is the number of values that it may take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

# Operations whose result holds the values of their operands at these positions (None: of all).
_MOVES: dict[str, Callable[[int], bool]] = {
    "stablehlo.reshape": lambda position: True,
    "stablehlo.broadcast_in_dim": lambda position: True,
    "stablehlo.transpose": lambda position: True,
    "stablehlo.convert": lambda position: True,
    "stablehlo.slice": lambda position: True,
    "stablehlo.reverse": lambda position: True,
    "stablehlo.concatenate": lambda position: True,
    "stablehlo.optimization_barrier": lambda position: True,
    "stablehlo.pad": lambda position: position == 0,
    "stablehlo.dynamic_slice": lambda position: position == 0,
    "stablehlo.gather": lambda position: position == 0,
    "stablehlo.select": lambda position: position > 0,
    "stablehlo.clamp": lambda position: position == 1,
}
_ENDS = ("stablehlo.return", "func.return")


def index_ranges(serialized: bytes) -> list[int | None]:
    """For each parameter of a serialized module the number of values that it may take, if known."""
    with make_ir_context():
        module = hlo.deserialize_portable_artifact(ir.Context.current, serialized)
        functions = {
            ir.StringAttr(op.attributes["sym_name"]).value: op
            for op in module.body.operations
            if op.operation.name == "func.func"
        }
        search = _Search(functions)
        main = functions["main"]
        return [search.range_of(argument) for argument in main.body.blocks[0].arguments]


class _Search:
    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions
        self._calls: dict[str, list[ir.Operation]] = {name: [] for name in functions}
        for function in functions.values():
            function.operation.walk(self._note_call)

    def _note_call(self, op: Any) -> ir.WalkResult:
        operation = op.operation
        if operation.name == "func.call":
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            self._calls.setdefault(callee, []).append(operation)
        return ir.WalkResult.ADVANCE

    def range_of(self, argument: Any) -> int | None:
        if not _is_whole(argument.type):
            return None
        found: list[int] = []
        seen: set[Any] = set()
        waiting = [argument]
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            for use in value.uses:
                operation = use.owner.operation
                found += _sizes(operation, use.operand_number)
                waiting += self._moved(operation, use.operand_number)
        return max(1, min(found)) if found else None

    def _moved(self, operation: ir.Operation, position: int) -> Iterator[Any]:
        """Values that hold those of an operand."""
        name = operation.name
        if name in _MOVES:
            if _MOVES[name](position) and _is_whole(operation.results[0].type):
                which = position if name == "stablehlo.optimization_barrier" else 0
                yield operation.results[which]
        elif name == "func.call":
            callee = self._functions.get(ir.FlatSymbolRefAttr(operation.attributes["callee"]).value)
            if callee is not None:
                yield callee.body.blocks[0].arguments[position]
        elif name == "stablehlo.while":
            yield operation.results[position]
            for region in operation.regions:
                yield region.blocks[0].arguments[position]
        elif name in _ENDS:
            parent = operation.parent.operation
            if parent.name == "func.func":
                for call in self._calls.get(ir.StringAttr(parent.attributes["sym_name"]).value, ()):
                    yield call.results[position]
            elif parent.name in ("stablehlo.case", "stablehlo.if"):
                yield parent.results[position]
            elif parent.name == "stablehlo.while" and position < len(parent.results):
                yield parent.results[position]
                yield parent.regions[1].blocks[0].arguments[position]


def _sizes(operation: ir.Operation, position: int) -> Iterator[int]:
    """Sizes of the axes that an operand indexes."""
    name, operands = operation.name, operation.operands
    if name == "stablehlo.gather" and position == 1:
        numbers = hlo.GatherDimensionNumbers(operation.attributes["dimension_numbers"])
        pieces = _integers(operation.attributes["slice_sizes"])
        shape = operands[0].type.shape
        yield from (shape[dim] - pieces[dim] + 1 for dim in numbers.start_index_map)
    elif name == "stablehlo.scatter" and position == (len(operands) - 1) // 2:
        numbers = hlo.ScatterDimensionNumbers(operation.attributes["scatter_dimension_numbers"])
        shape = operands[0].type.shape
        yield from (shape[dim] for dim in numbers.scattered_dims_to_operand_dims)
    elif name == "stablehlo.dynamic_slice" and position > 0:
        pieces = _integers(operation.attributes["slice_sizes"])
        yield operands[0].type.shape[position - 1] - pieces[position - 1] + 1
    elif name == "stablehlo.dynamic_update_slice" and position > 1:
        whole, piece = operands[0].type.shape, operands[1].type.shape
        yield whole[position - 2] - piece[position - 2] + 1
    elif name == "stablehlo.compare":
        size = _iota_size(operands[1 - position])
        if size is not None:
            yield size


def _iota_size(value: Any) -> int | None:
    """The size of an iota, moved or not."""
    while not isinstance(value.owner, ir.Block):
        operation = value.owner.operation
        if operation.name == "stablehlo.iota":
            dim = ir.IntegerAttr(operation.attributes["iota_dimension"]).value
            return value.type.shape[dim]
        if operation.name not in _MOVES or not len(operation.operands):
            return None
        value = operation.operands[0]
    return None


def _integers(attribute: Any) -> list[int]:
    return list(ir.DenseI64ArrayAttr(attribute))


def _is_whole(kind: Any) -> bool:
    if not isinstance(kind, ir.RankedTensorType):
        return False
    element = kind.element_type
    return isinstance(element, ir.IntegerType) and element.width > 1 and math.prod(kind.shape) > 0
