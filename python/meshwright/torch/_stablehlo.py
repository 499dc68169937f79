"""A function in StableHLO's text, written operation by operation, and what each operation reads."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

import torch

from meshwright import errors

_TYPES = {
    torch.bool: "i1",
    torch.uint8: "ui8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
}


def type_text(shape: Sequence[int], dtype: torch.dtype) -> str:
    if dtype not in _TYPES:
        raise errors.UnsupportedError(f"StableHLO has no type for {dtype}")
    return f"tensor<{''.join(f'{size}x' for size in shape)}{_TYPES[dtype]}>"


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """A result of an operation, or a parameter."""

    name: str  # in the text
    shape: tuple[int, ...]
    dtype: torch.dtype
    operation: int  # position in Writer.operations; -1: a parameter
    index: int = 0  # which of its results, or which parameter

    @property
    def type(self) -> str:
        return type_text(self.shape, self.dtype)


@dataclasses.dataclass
class Operation:
    """An operation that was written."""

    label: str  # its name in metadata; unique in the function
    operands: list[Value]


class Writer:
    """Writes operations. Each gets a label of its own, by which a plan's instructions are found again:
    `scope`, and where several operations have that, a number behind it.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.scope = ""
        self.source: tuple[str, int] | None = None
        self._lines: list[str] = []
        self._labels: dict[str, int] = {}
        self._reshaped_of: dict[str, Value] = {}  # by name of a reshape's result, what it reshapes

    def parameter(self, index: int, shape: Sequence[int], dtype: torch.dtype) -> Value:
        return Value(f"%arg{index}", tuple(shape), dtype, -1, index)

    def function(
        self,
        parameters: Sequence[tuple[str, Value, int | None]],
        results: Sequence[tuple[str, Value]],
    ) -> str:
        """The module: parameters with their names and the results that take their buffers, and results."""
        arguments = []
        for name, value, alias in parameters:
            donated = "" if alias is None else f" {{tf.aliasing_output = {alias} : i32}}"
            arguments.append(f"{value.name}: {value.type}{donated} loc({json.dumps(name)})")
        types = [
            f"{value.type} {{jax.result_info = {json.dumps(name)}}}" for name, value in results
        ]
        names = ", ".join(value.name for _, value in results)
        plain = ", ".join(value.type for _, value in results)
        body = "\n".join(self._lines)
        return (
            "module @step {\n"
            f"  func.func public @main({', '.join(arguments)}) -> ({', '.join(types)}) {{\n"
            f"{body}\n    return {names} : {plain}\n  }}\n}}\n"
        )

    def operation(
        self,
        text: str,
        operands: Sequence[Value],
        results: Sequence[tuple[Sequence[int], torch.dtype]],
        signature: str | None = None,
    ) -> list[Value]:
        """Writes `text`, in which {} stand for the operands, behind it the types."""
        label = self._label()
        index = len(self.operations)
        self.operations.append(Operation(label, list(operands)))
        name = f"%{index}"
        if signature is None:
            result_types = ", ".join(type_text(*result) for result in results)
            many = f"({result_types})" if len(results) != 1 else result_types
            signature = f"({', '.join(operand.type for operand in operands)}) -> {many}"
        place = "unknown"
        if self.source is not None:
            place = f"{json.dumps(self.source[0])}:{self.source[1]}:1"
        called = text.format(*(operand.name for operand in operands))
        count = f":{len(results)}" if len(results) > 1 else ""
        self._lines.append(
            f"    {name}{count} = {called} : {signature} loc({json.dumps(label)}({place}))"
            if self.source is not None
            else f"    {name}{count} = {called} : {signature} loc({json.dumps(label)})"
        )
        if len(results) == 1:
            return [Value(name, tuple(results[0][0]), results[0][1], index)]
        return [
            Value(f"{name}#{i}", tuple(shape), dtype, index, i)
            for i, (shape, dtype) in enumerate(results)
        ]

    def _label(self) -> str:
        count = self._labels.get(self.scope, 0)
        self._labels[self.scope] = count + 1
        return f"{self.scope}.{count}" if count else self.scope

    # Constants and elementwise operations.

    def constant(self, value: Any, shape: Sequence[int], dtype: torch.dtype) -> Value:
        """A number in every element."""
        if dtype == torch.bool:
            text = "true" if value else "false"
        elif dtype.is_complex:
            number = complex(value)
            text = f"({_float(number.real, torch.float64)}, {_float(number.imag, torch.float64)})"
        elif dtype.is_floating_point:
            text = _float(float(value), dtype)
        else:
            text = str(int(value))
        [result] = self.operation(
            f"stablehlo.constant dense<{text}>", [], [(shape, dtype)], type_text(shape, dtype)
        )
        return result

    def elementwise(self, name: str, *operands: Value, dtype: torch.dtype | None = None) -> Value:
        """Of operands of one shape; `dtype`: of the result, where it differs."""
        first = operands[0]
        kind = name if "." in name else f"stablehlo.{name}"
        text = f'"{kind}"({", ".join("{}" for _ in operands)})'
        [result] = self.operation(text, operands, [(first.shape, dtype or first.dtype)])
        return result

    def compare(self, direction: str, a: Value, b: Value) -> Value:
        kind = "FLOAT" if a.dtype.is_floating_point or a.dtype.is_complex else "SIGNED"
        if a.dtype in (torch.bool, torch.uint8):
            kind = "UNSIGNED"
        [result] = self.operation(
            f"stablehlo.compare {direction}, {{}}, {{}}, {kind}", [a, b], [(a.shape, torch.bool)]
        )
        return result

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self._plain("stablehlo.select {}, {}, {}", [condition, a, b], a)

    def _plain(self, text: str, operands: Sequence[Value], like: Value) -> Value:
        signature = f"{operands[0].type}, {like.type}"
        [result] = self.operation(text, operands, [(like.shape, like.dtype)], signature)
        return result

    def convert(self, value: Value, dtype: torch.dtype) -> Value:
        if value.dtype == dtype:
            return value
        if dtype == torch.bool:
            return self.compare("NE", value, self.constant(0, value.shape, value.dtype))
        [result] = self.operation("stablehlo.convert {}", [value], [(value.shape, dtype)])
        return result

    def iota(self, shape: Sequence[int], dtype: torch.dtype, dimension: int) -> Value:
        text = f"stablehlo.iota dim = {dimension}"
        [result] = self.operation(text, [], [(shape, dtype)], type_text(shape, dtype))
        return result

    # Shapes.

    def broadcast(
        self, value: Value, shape: Sequence[int], dimensions: Sequence[int] | None = None
    ) -> Value:
        """To a larger shape, aligned at the last dimension if `dimensions` do not say which ones."""
        if dimensions is None:
            dimensions = range(len(shape) - len(value.shape), len(shape))
        if tuple(shape) == value.shape:
            return value
        text = f"stablehlo.broadcast_in_dim {{}}, dims = {list(dimensions)}"
        return self._reshaped(text, value, shape)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """The planner folds reshapes of reshapes: the operation that made a value of this shape is named, so
        that what the plan says of it is found.
        """
        source = self._reshaped_of.get(value.name, value)
        for same in (value, source):
            if same.shape == tuple(shape):
                return same
        result = self._reshaped("stablehlo.reshape {}", source, shape)
        self._reshaped_of[result.name] = source
        return result

    def transpose(self, value: Value, permutation: Sequence[int]) -> Value:
        permutation = [p % len(value.shape) for p in permutation]
        if permutation == list(range(len(permutation))):
            return value
        shape = [value.shape[p] for p in permutation]
        return self._reshaped(f"stablehlo.transpose {{}}, dims = {permutation}", value, shape)

    def slice(
        self, value: Value, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int]
    ) -> Value:
        shape = [max(0, -(-(b - a) // s)) for a, b, s in zip(starts, limits, steps)]
        if tuple(shape) == value.shape:
            return value
        ranges = ", ".join(f"{a}:{b}:{s}" for a, b, s in zip(starts, limits, steps))
        return self._reshaped(f"stablehlo.slice {{}} [{ranges}]", value, shape)

    def reverse(self, value: Value, dimensions: Sequence[int]) -> Value:
        return self._reshaped(
            f"stablehlo.reverse {{}}, dims = {list(dimensions)}", value, value.shape
        )

    def _reshaped(self, text: str, value: Value, shape: Sequence[int]) -> Value:
        [result] = self.operation(text, [value], [(shape, value.dtype)])
        return result

    def pad(
        self,
        value: Value,
        filler: Value,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int] | None = None,
    ) -> Value:
        inner = list(interior or [0] * len(low))
        shape = [
            size + a + b + max(0, size - 1) * c
            for size, a, b, c in zip(value.shape, low, high, inner)
        ]
        text = (
            f"stablehlo.pad {{}}, {{}}, low = {list(low)}, high = {list(high)}, interior = {inner}"
        )
        [result] = self.operation(text, [value, filler], [(shape, value.dtype)])
        return result

    def concatenate(self, values: Sequence[Value], dimension: int) -> Value:
        shape = list(values[0].shape)
        shape[dimension] = sum(value.shape[dimension] for value in values)
        names = ", ".join("{}" for _ in values)
        text = f"stablehlo.concatenate {names}, dim = {dimension}"
        [result] = self.operation(text, values, [(shape, values[0].dtype)])
        return result

    # Sums, products and memory.

    def reduce(self, value: Value, kind: str, dimensions: Sequence[int], initial: Any) -> Value:
        """Without `dimensions`; `kind`: add, maximum, ..."""
        gone = {d % len(value.shape) for d in dimensions} if value.shape else set()
        if not gone:
            return value
        shape = [size for d, size in enumerate(value.shape) if d not in gone]
        zero = self.constant(initial, (), value.dtype)
        text = f"stablehlo.reduce({{}} init: {{}}) applies stablehlo.{kind} across dimensions = {sorted(gone)}"
        [result] = self.operation(text, [value, zero], [(shape, value.dtype)])
        return result

    def dot_general(
        self,
        a: Value,
        b: Value,
        batch: tuple[Sequence[int], Sequence[int]],
        contracted: tuple[Sequence[int], Sequence[int]],
        dtype: torch.dtype,
    ) -> Value:
        shape = [a.shape[d] for d in batch[0]]
        for value, mine in ((a, {*batch[0], *contracted[0]}), (b, {*batch[1], *contracted[1]})):
            shape += [size for d, size in enumerate(value.shape) if d not in mine]
        text = "stablehlo.dot_general {}, {}, "
        if batch[0]:
            text += f"batching_dims = {list(batch[0])} x {list(batch[1])}, "
        text += f"contracting_dims = {list(contracted[0])} x {list(contracted[1])}"
        [result] = self.operation(text, [a, b], [(shape, dtype)])
        return result

    def region(
        self,
        text: str,
        operands: Sequence[Value],
        results: Sequence[tuple[Sequence[int], torch.dtype]],
        body: str,
        element: torch.dtype,
    ) -> list[Value]:
        """An operation of two numbers to one, `body`, as reducers and scatters have it."""
        kind = type_text((), element)
        inner = "replace" if body == "" else body
        lines = (
            f"stablehlo.return %y : {kind}"
            if inner == "replace"
            else f"%z = stablehlo.{inner} %x, %y : {kind}\n      stablehlo.return %z : {kind}"
        )
        block = f"({{{{\n    ^bb0(%x: {kind}, %y: {kind}):\n      {lines}\n    }}}})"
        return self.operation(f"{text} {block}", operands, results)


def _float(value: float, dtype: torch.dtype) -> str:
    if math.isfinite(value):
        return repr(value) if "e" in repr(value) or "." in repr(value) else f"{value:e}"
    bits = {
        torch.float64: ("0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000"),
        torch.float16: ("0x7C00", "0xFC00", "0x7E00"),
        torch.bfloat16: ("0x7F80", "0xFF80", "0x7FC0"),
    }.get(dtype, ("0x7F800000", "0xFF800000", "0x7FC00000"))
    return bits[2] if math.isnan(value) else bits[0] if value > 0 else bits[1]
