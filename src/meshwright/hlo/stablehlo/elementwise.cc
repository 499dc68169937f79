#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/stablehlo/lowering.h"

namespace meshwright {

absl::Status LowerAsMap(StablehloLowering& l, const MlirOperation& operation, std::string_view name,
                        Instruction map) {
  ComputationBuilder builder;
  Instruction function;
  function.opcode = Opcode::kCustomCall;
  function.custom_call_target = std::string(name);
  function.shape = Shape::Array(map.shape.type, {});
  for (const InstructionId operand : map.operands) {
    const Shape& shape = l.builder()[operand].shape;
    if (!shape.is_array() || shape.dims != map.shape.dims) {
      return l.Error(operation, StrCat("takes tensors of the size of its result, found ",
                                       shape.ToString(false)));
    }
    function.operands.push_back(builder.AddParameter(Shape::Array(shape.type, {}), {}, ""));
  }
  if (function.operands.empty()) return l.Error(operation, "has no operands");
  function.place = operation.place;
  const InstructionId root = builder.AddAsIs(std::move(function));
  std::vector<InstructionId> moved;
  map.called = {l.AddComputation(builder.Finish(l.ComputationName(name), root, l.names(), &moved))};
  for (int64_t d = 0; d < map.shape.rank(); ++d) map.dimensions.push_back(d);
  return l.Emit(operation, std::move(map));
}

absl::Status LowerPlain(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, OpcodeArity(opcode), 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction instruction, l.Prepare(operation, opcode));
  return l.Emit(operation, std::move(instruction));
}

absl::Status ReadComparison(StablehloLowering& l, const MlirOperation& operation,
                            Instruction& compare) {
  const std::vector<MlirAttribute>& words = operation.unnamed;
  const MlirAttribute* direction = operation.Find("comparison_direction");
  const MlirAttribute* type = operation.Find("compare_type");
  if (direction == nullptr && !words.empty()) direction = &words[0];
  if (type == nullptr && words.size() > 1) type = &words[1];
  compare.direction = l.Word(direction);
  constexpr std::string_view kDirections = " EQ NE GE GT LE LT ";
  if (compare.direction.empty() ||
      kDirections.find(StrCat(" ", compare.direction, " ")) == std::string_view::npos) {
    return l.Error(operation, StrCat("direction ", QuoteForError(compare.direction),
                                     "; there are EQ, NE, GE, GT, LE, LT"));
  }
  const std::string name = l.Word(type);
  constexpr std::string_view kTypes = " NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED ";
  if (!name.empty() && kTypes.find(StrCat(" ", name, " ")) == std::string_view::npos) {
    return l.Error(operation, StrCat("compare type ", QuoteForError(name),
                                     "; there are FLOAT, TOTALORDER, SIGNED, UNSIGNED, NOTYPE"));
  }
  if (!name.empty() && name != "NOTYPE" &&
      name != DefaultComparison(l.OperandType(operation, 0).type)) {
    compare.other.emplace_back("type", name);
  }
  return absl::OkStatus();
}

namespace {

absl::Status LowerCompare(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction compare, l.Prepare(operation, opcode));
  MW_RETURN_IF_ERROR(ReadComparison(l, operation, compare));
  return l.Emit(operation, std::move(compare));
}

// Scalars among the operands of select and clamp count for every element; HLO wants them broadcast.
absl::Status LowerWithScalars(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 3, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction instruction, l.Prepare(operation, opcode));
  for (InstructionId& operand : instruction.operands) {
    Shape shape = l.builder()[operand].shape;
    if (!shape.is_array() || !shape.dims.empty() || instruction.shape.dims.empty()) continue;
    shape.dims = instruction.shape.dims;
    operand = l.builder().AddBroadcastInDim(operand, shape, {}, instruction.metadata);
  }
  return l.Emit(operation, std::move(instruction));
}

absl::Status LowerSquare(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction multiply, l.Prepare(operation, opcode));
  multiply.operands.push_back(multiply.operands[0]);
  return l.Emit(operation, std::move(multiply));
}

// chlo.conj: complex(real(x), -imag(x)); of a real number itself.
absl::Status LowerConj(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction complex, l.Prepare(operation, opcode));
  const ElementType part = ComplexComponent(complex.shape.type);
  if (part == ElementType::kInvalid) {
    l.Bind(operation.results[0], complex.operands[0]);
    return absl::OkStatus();
  }
  const auto add = [&](Opcode step, InstructionId operand) {
    Instruction instruction;
    instruction.opcode = step;
    instruction.operands = {operand};
    instruction.shape = Shape::Array(part, complex.shape.dims);
    instruction.metadata = complex.metadata;
    return l.builder().Add(std::move(instruction));
  };
  const InstructionId operand = complex.operands[0];
  complex.operands = {add(Opcode::kReal, operand),
                      add(Opcode::kNegate, add(Opcode::kImag, operand))};
  return l.Emit(operation, std::move(complex));
}

absl::Status LowerMapped(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction map, l.Prepare(operation, opcode));
  return LowerAsMap(l, operation, operation.name, std::move(map));
}

// A tensor of the result's type filled with 1.
absl::StatusOr<InstructionId> Ones(StablehloLowering& l, const MlirOperation& operation,
                                   const Instruction& like) {
  std::string one;
  if (!AppendElement(like.shape.type, "1", one)) {
    return l.Error(operation,
                   StrCat("is for real numbers, not for ", ElementTypeName(like.shape.type)));
  }
  return l.builder().AddFilled(like.shape, std::move(one), like.metadata);
}

bool IsComplex(StablehloLowering& l, const MlirOperation& operation) {
  return ComplexComponent(l.Type(operation.results[0]).type) != ElementType::kInvalid;
}

// atan(x) = atan2(x, 1)
absl::Status LowerAtan(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  if (IsComplex(l, operation)) return LowerMapped(l, operation, Opcode::kMap);
  MW_ASSIGN_OR_RETURN(Instruction atan2, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(atan2.operands.emplace_back(), Ones(l, operation, atan2));
  return l.Emit(operation, std::move(atan2));
}

// erfc(x) = 1 - erf(x)
absl::Status LowerErfc(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  if (IsComplex(l, operation)) return LowerMapped(l, operation, Opcode::kMap);
  MW_ASSIGN_OR_RETURN(Instruction subtract, l.Prepare(operation, opcode));
  Instruction erf = subtract;
  erf.opcode = Opcode::kErf;
  erf.sharding.clear();
  MW_ASSIGN_OR_RETURN(const InstructionId ones, Ones(l, operation, subtract));
  subtract.operands = {ones, l.builder().Add(std::move(erf))};
  return l.Emit(operation, std::move(subtract));
}

absl::Status LowerReducePrecision(StablehloLowering& l, const MlirOperation& operation,
                                  Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction instruction, l.Prepare(operation, opcode));
  const std::string format = l.Word(operation.Find("format"));  // "e8m7"
  const size_t m = format.find('m');
  if (m != std::string::npos && format.starts_with("e")) {
    instruction.other.emplace_back("exponent_bits", format.substr(1, m - 1));
    instruction.other.emplace_back("mantissa_bits", format.substr(m + 1));
    return l.Emit(operation, std::move(instruction));
  }
  for (const std::string_view name : {"exponent_bits", "mantissa_bits"}) {
    MW_ASSIGN_OR_RETURN(const int64_t bits, l.Integer(operation, {name}));
    instruction.other.emplace_back(name, StrCat(bits));
  }
  return l.Emit(operation, std::move(instruction));
}

constexpr StablehloOperation kElementwiseOperations[] = {
    {"stablehlo.abs", Opcode::kAbs, LowerPlain},
    {"stablehlo.add", Opcode::kAdd, LowerPlain},
    {"stablehlo.and", Opcode::kAnd, LowerPlain},
    {"stablehlo.atan2", Opcode::kAtan2, LowerPlain},
    {"stablehlo.bitcast_convert", Opcode::kBitcastConvert, LowerPlain},
    {"stablehlo.cbrt", Opcode::kCbrt, LowerPlain},
    {"stablehlo.ceil", Opcode::kCeil, LowerPlain},
    {"stablehlo.clamp", Opcode::kClamp, LowerWithScalars},
    {"stablehlo.compare", Opcode::kCompare, LowerCompare},
    {"stablehlo.complex", Opcode::kComplex, LowerPlain},
    {"stablehlo.convert", Opcode::kConvert, LowerPlain},
    {"stablehlo.copy", Opcode::kCopy, LowerPlain},
    {"stablehlo.cosine", Opcode::kCos, LowerPlain},
    {"stablehlo.count_leading_zeros", Opcode::kClz, LowerPlain},
    {"stablehlo.divide", Opcode::kDivide, LowerPlain},
    {"stablehlo.exponential", Opcode::kExp, LowerPlain},
    {"stablehlo.exponential_minus_one", Opcode::kExpm1, LowerPlain},
    {"stablehlo.floor", Opcode::kFloor, LowerPlain},
    {"stablehlo.imag", Opcode::kImag, LowerPlain},
    {"stablehlo.is_finite", Opcode::kIsFinite, LowerPlain},
    {"stablehlo.log", Opcode::kLog, LowerPlain},
    {"stablehlo.log_plus_one", Opcode::kLog1p, LowerPlain},
    {"stablehlo.logistic", Opcode::kLogistic, LowerPlain},
    {"stablehlo.maximum", Opcode::kMaximum, LowerPlain},
    {"stablehlo.minimum", Opcode::kMinimum, LowerPlain},
    {"stablehlo.multiply", Opcode::kMultiply, LowerPlain},
    {"stablehlo.negate", Opcode::kNegate, LowerPlain},
    {"stablehlo.not", Opcode::kNot, LowerPlain},
    {"stablehlo.or", Opcode::kOr, LowerPlain},
    {"stablehlo.popcnt", Opcode::kPopulationCount, LowerPlain},
    {"stablehlo.power", Opcode::kPower, LowerPlain},
    {"stablehlo.real", Opcode::kReal, LowerPlain},
    {"stablehlo.reduce_precision", Opcode::kReducePrecision, LowerReducePrecision},
    {"stablehlo.remainder", Opcode::kRemainder, LowerPlain},
    {"stablehlo.round_nearest_afz", Opcode::kRoundNearestAfz, LowerPlain},
    {"stablehlo.round_nearest_even", Opcode::kRoundNearestEven, LowerPlain},
    {"stablehlo.rsqrt", Opcode::kRsqrt, LowerPlain},
    {"stablehlo.select", Opcode::kSelect, LowerWithScalars},
    {"stablehlo.shift_left", Opcode::kShiftLeft, LowerPlain},
    {"stablehlo.shift_right_arithmetic", Opcode::kShiftRightArithmetic, LowerPlain},
    {"stablehlo.shift_right_logical", Opcode::kShiftRightLogical, LowerPlain},
    {"stablehlo.sign", Opcode::kSign, LowerPlain},
    {"stablehlo.sine", Opcode::kSin, LowerPlain},
    {"stablehlo.sqrt", Opcode::kSqrt, LowerPlain},
    {"stablehlo.subtract", Opcode::kSubtract, LowerPlain},
    {"stablehlo.tan", Opcode::kTan, LowerPlain},
    {"stablehlo.tanh", Opcode::kTanh, LowerPlain},
    {"stablehlo.xor", Opcode::kXor, LowerPlain},
    {"chlo._asin_acos_kernel", Opcode::kMap, LowerMapped},
    {"chlo.acos", Opcode::kAcos, LowerPlain},
    {"chlo.acosh", Opcode::kAcosh, LowerPlain},
    {"chlo.asin", Opcode::kAsin, LowerPlain},
    {"chlo.asinh", Opcode::kAsinh, LowerPlain},
    {"chlo.atan", Opcode::kAtan2, LowerAtan},
    {"chlo.atanh", Opcode::kAtanh, LowerPlain},
    {"chlo.bessel_i1e", Opcode::kMap, LowerMapped},
    {"chlo.conj", Opcode::kComplex, LowerConj},
    {"chlo.cosh", Opcode::kCosh, LowerPlain},
    {"chlo.digamma", Opcode::kMap, LowerMapped},
    {"chlo.erf", Opcode::kErf, LowerPlain},
    {"chlo.erf_inv", Opcode::kMap, LowerMapped},
    {"chlo.erfc", Opcode::kSubtract, LowerErfc},
    {"chlo.is_inf", Opcode::kMap, LowerMapped},
    {"chlo.is_neg_inf", Opcode::kMap, LowerMapped},
    {"chlo.is_pos_inf", Opcode::kMap, LowerMapped},
    {"chlo.lgamma", Opcode::kMap, LowerMapped},
    {"chlo.mulhi", Opcode::kMulhi, LowerPlain},
    {"chlo.next_after", Opcode::kMap, LowerMapped},
    {"chlo.polygamma", Opcode::kMap, LowerMapped},
    {"chlo.sinh", Opcode::kSinh, LowerPlain},
    {"chlo.square", Opcode::kMultiply, LowerSquare},
    {"chlo.tan", Opcode::kTan, LowerPlain},
    {"chlo.zeta", Opcode::kMap, LowerMapped},
};

}  // namespace

absl::Span<const StablehloOperation> StablehloElementwiseOperations() {
  return kElementwiseOperations;
}

}  // namespace meshwright
