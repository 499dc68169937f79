"""Operators that XLA does not bring back from HLO to StableHLO.

Shardy partitions StableHLO that XLA makes from HLO again, and the upper half of a product comes back as an
operator that is not known: JAX alone does not run it on several devices either.
"""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo


def restore_operators(module: ir.Module) -> None:
    """Puts CHLO's operators in the place of the calls that stand for them in HLO of our own making.

    HLO has no operators for them, and XLA no kernels of these names.
    """
    found: list[ir.Operation] = []

    def visit(view: Any) -> ir.WalkResult:
        if view.operation.name == "stablehlo.custom_call":
            target = ir.StringAttr(view.operation.attributes["call_target_name"]).value
            if target.startswith("chlo."):
                found.append(view.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for call in found:
        target = ir.StringAttr(call.attributes["call_target_name"]).value
        with ir.InsertionPoint(call):
            types = [result.type for result in call.results]
            operation = ir.Operation.create(target, types, call.operands, loc=call.location)
        for old, new in zip(call.results, operation.results):
            old.replace_all_uses_with(new)
        call.erase()


def expand_operators(module: ir.Module) -> None:
    """Writes `chlo.mulhi` as products of halves."""
    found: list[ir.Operation] = []

    def visit(view: Any) -> ir.WalkResult:
        if view.operation.name == "chlo.mulhi":
            found.append(view.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in found:
        with operation.location, ir.InsertionPoint(operation):
            result = _upper_half(*operation.operands)
        operation.results[0].replace_all_uses_with(result)
        operation.erase()


def _upper_half(left: ir.Value, right: ir.Value) -> ir.Value:
    """Warren, Hacker's Delight, 8-2: digits are halves of a word, the upper one with its sign."""
    type = ir.RankedTensorType(left.type)
    element = ir.IntegerType(type.element_type)
    width = element.width // 2

    def constant(number: int) -> ir.Value:
        return hlo.constant(
            ir.DenseElementsAttr.get_splat(type, ir.IntegerAttr.get(element, number))
        )

    bits, mask = constant(width), constant((1 << width) - 1)
    shift = hlo.shift_right_logical if element.is_unsigned else hlo.shift_right_arithmetic
    (a, b), (c, d) = ((shift(v, bits), hlo.and_(v, mask)) for v in (left, right))
    carry = hlo.shift_right_logical(hlo.multiply(b, d), bits)
    first = hlo.add(hlo.multiply(a, d), carry)
    second = hlo.add(hlo.multiply(b, c), hlo.and_(first, mask))
    return hlo.add(
        hlo.add(hlo.multiply(a, c), shift(first, bits)),
        shift(second, bits),
    )
