#include "meshwright/hlo/verify/infer_shape.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/verify/shape_inference.h"

// Most types are what the typing rules expect; the table below has those that the rules leave open.

namespace meshwright {
namespace {

using Infer = Problem (*)(const TypedInstruction& i);

// An array of operand 0's dimensions whose element type is made of its.
template <ElementType (*kType)(ElementType)>
Problem Converted(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 1); !p.empty()) return p;
  return CheckResult(i, i.operand(0).dims, kType(i.operand(0).type));
}

ElementType ToPred(ElementType) { return ElementType::kPred; }

template <size_t kOperand>
Problem LikeOperand(const TypedInstruction& i) {
  return CheckResult(i, i.operand(kOperand));
}

template <ElementType kType>
Problem Scalar(const TypedInstruction& i) {
  return CheckResult(i, Shape::Array(kType, {}));
}

Problem Token(const TypedInstruction& i) {
  Shape token;
  token.type = ElementType::kToken;
  return CheckResult(i, token);
}

// The element type is that of what the called computation returns.
Problem Mapped(const TypedInstruction& i) {
  if (i->called.size() != 1) return "calls one computation";
  if (Problem p = CheckMap(i); !p.empty()) return p;
  const Computation& called = i.called(0);
  return CheckResult(i, i.operand(0).dims, called[called.root].shape.type);
}

// What is not indexed by `feature_index` is reduced.
Problem BatchNorm(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 2); !p.empty()) return p;
  return CheckResult(i, Shape::Tuple({i.operand(0), i.operand(1), i.operand(1)}));
}

Problem TopK(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 1); !p.empty()) return p;
  const std::string* const k = FindAttribute(i.instruction, "k");
  Shape values = i.operand(0);
  if (values.dims.empty() || k == nullptr || !absl::SimpleAtoi(*k, &values.dims.back())) {
    return "needs k= and an operand with dimensions";
  }
  Shape indices = values;
  indices.type = ElementType::kS32;
  return CheckResult(i, Shape::Tuple({std::move(values), std::move(indices)}));
}

// Batch, rows and columns, as a product whose result has no further dimension of groups.
Problem RaggedDot(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 3); !p.empty()) return p;
  const Shape& lhs = i.operand(0);
  const Shape& rhs = i.operand(1);
  const DotDimensions& dot = i->dot;
  std::vector<int64_t> rhs_used = Joined(dot.rhs_batch, dot.rhs_contracting);
  std::vector<int64_t> ragged, groups;
  for (const auto& [name, list] :
       {std::pair("lhs_ragged_dims", &ragged), std::pair("rhs_group_dims", &groups)}) {
    if (FindAttribute(i.instruction, name) == nullptr) continue;
    std::optional<std::vector<int64_t>> numbers = FindIntegers(i.instruction, name);
    if (!numbers.has_value()) return StrCat("needs a list of integers as ", name, "=");
    *list = *std::move(numbers);
  }
  const std::vector<int64_t> lhs_used = Joined(dot.lhs_batch, dot.lhs_contracting);
  rhs_used = Joined(std::move(rhs_used), groups);
  if (Problem p = CheckDimensionList(lhs_used, lhs.rank(), "lhs batch and contracting dims");
      !p.empty()) {
    return p;
  }
  if (Problem p = CheckDimensionList(rhs_used, rhs.rank(), "rhs batch, contracting and group dims");
      !p.empty()) {
    return p;
  }
  std::vector<int64_t> dims;
  // Where what is contracted is ragged, every group gives a product of its own.
  const bool by_group = std::any_of(ragged.begin(), ragged.end(),
                                    [&](int64_t d) { return Contains(dot.lhs_contracting, d); });
  if (by_group) {
    if (i.operand(2).dims.empty()) return "operand 2, the sizes of groups, must have dimensions";
    dims.push_back(i.operand(2).dims.back());
  }
  for (const int64_t d : dot.lhs_batch) dims.push_back(lhs.dims[static_cast<size_t>(d)]);
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (!Contains(lhs_used, d)) dims.push_back(lhs.dims[static_cast<size_t>(d)]);
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (!Contains(rhs_used, d)) dims.push_back(rhs.dims[static_cast<size_t>(d)]);
  }
  return CheckResult(i, dims, lhs.type);
}

// The output's dimensions lie where its labels say.
Problem Convolution(const TypedInstruction& i) {
  const size_t rank = i->convolution.output_spatial.size() + 2;
  Instruction typed = i.instruction;
  typed.shape = Shape::Array(i.operand(0).type, std::vector<int64_t>(rank, 0));
  return CheckConvolution({i.module, i.computation, typed, i.inferred});
}

struct InferRow {
  Opcode opcode;
  Infer infer;
};
constexpr InferRow kInferred[] = {
    {Opcode::kAbs, Converted<RealOf>},
    {Opcode::kAfterAll, Token},
    {Opcode::kBatchNormGrad, BatchNorm},
    {Opcode::kBatchNormInference, LikeOperand<0>},
    {Opcode::kBatchNormTraining, BatchNorm},
    {Opcode::kComplex, Converted<ComplexOf>},
    {Opcode::kConvolution, Convolution},
    {Opcode::kGetDimensionSize, Scalar<ElementType::kS32>},
    {Opcode::kImag, Converted<RealOf>},
    {Opcode::kIsFinite, Converted<ToPred>},
    {Opcode::kMap, Mapped},
    {Opcode::kPartitionId, Scalar<ElementType::kU32>},
    {Opcode::kRaggedDot, RaggedDot},
    {Opcode::kReal, Converted<RealOf>},
    {Opcode::kReplicaId, Scalar<ElementType::kU32>},
    {Opcode::kSetDimensionSize, LikeOperand<0>},
    {Opcode::kTopK, TopK},
    {Opcode::kTriangularSolve, LikeOperand<1>},
};

// Opcodes with a typing rule whose results have more to them than their operands say.
constexpr Opcode kMustBeTyped[] = {
    Opcode::kBroadcast, Opcode::kConvert, Opcode::kCustomCall,      Opcode::kFusion,
    Opcode::kIota,      Opcode::kReshape, Opcode::kReducePrecision, Opcode::kStochasticConvert,
};

// By opcode; nullptr where the type has to be written.
const std::array<Infer, kOpcodeCount>& InferTable() {
  static const auto& table = *[] {
    auto* rows = new std::array<Infer, kOpcodeCount>();
    for (int i = 0; i < kOpcodeCount; ++i) {
      (*rows)[static_cast<size_t>(i)] = TypingRuleOf(static_cast<Opcode>(i));
    }
    for (const InferRow& row : kInferred) (*rows)[static_cast<size_t>(row.opcode)] = row.infer;
    for (const Opcode opcode : kMustBeTyped) (*rows)[static_cast<size_t>(opcode)] = nullptr;
    return rows;
  }();
  return table;
}

void DropLayouts(Shape& shape) {
  shape.minor_to_major.clear();
  shape.has_layout = false;
  shape.layout_suffix.clear();
  for (Shape& element : shape.tuple) DropLayouts(element);
}

}  // namespace

bool CanInferShape(Opcode opcode) { return InferTable()[static_cast<size_t>(opcode)] != nullptr; }

absl::StatusOr<Shape> InferShape(const Module& module, const Computation& computation,
                                 const Instruction& instruction) {
  for (const ComputationId id : instruction.called) {
    if (!id.valid()) return absl::InvalidArgumentError("lacks one of the computations it calls");
  }
  const Infer infer = InferTable()[static_cast<size_t>(instruction.opcode)];
  Shape shape;
  Problem problem = infer == nullptr ? StrCat("the type of ", OpcodeName(instruction.opcode),
                                              " does not follow from its operands")
                                     : infer({module, computation, instruction, &shape});
  if (!problem.empty()) return absl::InvalidArgumentError(problem);
  DropLayouts(shape);
  return shape;
}

}  // namespace meshwright
