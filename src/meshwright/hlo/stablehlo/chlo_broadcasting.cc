#include <utility>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/lowering.h"

// chlo.broadcast_add and its kind: operands are broadcast to the shape of the result first, the
// last dimensions of the smaller one against the last of the larger one unless
// `broadcast_dimensions` says otherwise.

namespace meshwright {
namespace {

// The dimensions of `to` that those of `from` stand for.
absl::StatusOr<std::vector<int64_t>> BroadcastDimensions(StablehloLowering& l,
                                                         const MlirOperation& operation,
                                                         const Shape& from, const Shape& to) {
  std::vector<int64_t> dims;
  const int64_t missing = to.rank() - from.rank();
  for (int64_t d = 0; d < from.rank(); ++d) dims.push_back(missing + d);
  if (missing > 0) {
    MW_ASSIGN_OR_RETURN(dims, l.Integers(operation, {"broadcast_dimensions"}, from.rank(), dims));
  }
  bool fits = missing >= 0;
  for (size_t d = 0; fits && d < dims.size(); ++d) {
    fits = dims[d] >= 0 && dims[d] < to.rank() && (d == 0 || dims[d - 1] < dims[d]) &&
           (from.dims[d] == 1 || from.dims[d] == to.dims[static_cast<size_t>(dims[d])]);
  }
  if (fits) return dims;
  return l.Error(operation,
                 StrCat("cannot broadcast ", from.ToString(false), " to ", to.ToString(false)));
}

// Operands of `instruction` as they are after broadcasting.
absl::Status BroadcastOperands(StablehloLowering& l, const MlirOperation& operation,
                               Instruction& instruction) {
  MW_RETURN_IF_ERROR(l.ExpectArray(operation, operation.results[0]));
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    MW_RETURN_IF_ERROR(l.ExpectArray(operation, operation.operands[i]));
    const Shape& from = l.OperandType(operation, i);
    if (from.dims == instruction.shape.dims) continue;
    MW_ASSIGN_OR_RETURN(const std::vector<int64_t> dims,
                        BroadcastDimensions(l, operation, from, instruction.shape));
    Shape to = instruction.shape;
    to.type = from.type;
    instruction.operands[i] =
        l.builder().AddBroadcastInDim(instruction.operands[i], to, dims, instruction.metadata);
  }
  return absl::OkStatus();
}

absl::Status LowerBroadcasting(StablehloLowering& l, const MlirOperation& operation,
                               Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, OpcodeArity(opcode), 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction instruction, l.Prepare(operation, opcode));
  MW_RETURN_IF_ERROR(BroadcastOperands(l, operation, instruction));
  return l.Emit(operation, std::move(instruction));
}

absl::Status LowerBroadcastingCompare(StablehloLowering& l, const MlirOperation& operation,
                                      Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction compare, l.Prepare(operation, opcode));
  MW_RETURN_IF_ERROR(ReadComparison(l, operation, compare));
  MW_RETURN_IF_ERROR(BroadcastOperands(l, operation, compare));
  return l.Emit(operation, std::move(compare));
}

absl::Status LowerBroadcastingMap(StablehloLowering& l, const MlirOperation& operation,
                                  Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction map, l.Prepare(operation, opcode));
  MW_RETURN_IF_ERROR(BroadcastOperands(l, operation, map));
  constexpr std::string_view kPrefix = "chlo.broadcast_";
  return LowerAsMap(l, operation, StrCat("chlo.", operation.name.substr(kPrefix.size())),
                    std::move(map));
}

constexpr StablehloOperation kBroadcastingOperations[] = {
    {"chlo.broadcast_add", Opcode::kAdd, LowerBroadcasting},
    {"chlo.broadcast_and", Opcode::kAnd, LowerBroadcasting},
    {"chlo.broadcast_atan2", Opcode::kAtan2, LowerBroadcasting},
    {"chlo.broadcast_compare", Opcode::kCompare, LowerBroadcastingCompare},
    {"chlo.broadcast_complex", Opcode::kComplex, LowerBroadcasting},
    {"chlo.broadcast_divide", Opcode::kDivide, LowerBroadcasting},
    {"chlo.broadcast_maximum", Opcode::kMaximum, LowerBroadcasting},
    {"chlo.broadcast_minimum", Opcode::kMinimum, LowerBroadcasting},
    {"chlo.broadcast_multiply", Opcode::kMultiply, LowerBroadcasting},
    {"chlo.broadcast_next_after", Opcode::kMap, LowerBroadcastingMap},
    {"chlo.broadcast_or", Opcode::kOr, LowerBroadcasting},
    {"chlo.broadcast_polygamma", Opcode::kMap, LowerBroadcastingMap},
    {"chlo.broadcast_power", Opcode::kPower, LowerBroadcasting},
    {"chlo.broadcast_remainder", Opcode::kRemainder, LowerBroadcasting},
    {"chlo.broadcast_select", Opcode::kSelect, LowerBroadcasting},
    {"chlo.broadcast_shift_left", Opcode::kShiftLeft, LowerBroadcasting},
    {"chlo.broadcast_shift_right_arithmetic", Opcode::kShiftRightArithmetic, LowerBroadcasting},
    {"chlo.broadcast_shift_right_logical", Opcode::kShiftRightLogical, LowerBroadcasting},
    {"chlo.broadcast_subtract", Opcode::kSubtract, LowerBroadcasting},
    {"chlo.broadcast_xor", Opcode::kXor, LowerBroadcasting},
    {"chlo.broadcast_zeta", Opcode::kMap, LowerBroadcastingMap},
};

}  // namespace

absl::Span<const StablehloOperation> ChloBroadcastingOperations() {
  return kBroadcastingOperations;
}

}  // namespace meshwright
