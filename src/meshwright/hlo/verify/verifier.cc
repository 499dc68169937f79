#include "meshwright/hlo/verify/verifier.h"

#include <array>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/verify/shape_inference.h"

namespace meshwright {
namespace {

struct RuleOfOpcode {
  Opcode opcode;
  TypingRule rule;
};

// Opcodes without a row are checked as elementwise ones where they are, and others, such as
// collectives, not beyond their number of operands.
constexpr RuleOfOpcode kRules[] = {
    {Opcode::kAbs, CheckSameDimensions},
    {Opcode::kComplex, CheckSameDimensions},
    {Opcode::kConvert, CheckSameDimensions},
    {Opcode::kImag, CheckSameDimensions},
    {Opcode::kIsFinite, CheckSameDimensions},
    {Opcode::kReal, CheckSameDimensions},
    {Opcode::kStochasticConvert, CheckSameDimensions},

    {Opcode::kCompare, CheckCompare},
    {Opcode::kSelect, CheckSelect},
    {Opcode::kClamp, CheckClamp},
    {Opcode::kMap, CheckMap},

    {Opcode::kAddDependency, CheckSameAsFirst},
    {Opcode::kCholesky, CheckSameAsFirst},
    {Opcode::kCopy, CheckSameAsFirst},
    {Opcode::kDomain, CheckSameAsFirst},
    {Opcode::kOptimizationBarrier, CheckSameAsFirst},

    {Opcode::kBroadcast, CheckBroadcast},
    {Opcode::kConcatenate, CheckConcatenate},
    {Opcode::kIota, CheckIota},
    {Opcode::kPad, CheckPad},
    {Opcode::kReshape, CheckReshape},
    {Opcode::kReverse, CheckReverse},
    {Opcode::kSlice, CheckSlice},
    {Opcode::kTranspose, CheckTranspose},

    {Opcode::kConvolution, CheckConvolution},
    {Opcode::kDot, CheckDot},
    {Opcode::kFft, CheckFft},

    {Opcode::kReduce, CheckReduce},
    {Opcode::kReduceWindow, CheckReduceWindow},
    {Opcode::kSelectAndScatter, CheckSelectAndScatter},
    {Opcode::kSort, CheckSort},

    {Opcode::kDynamicSlice, CheckDynamicSlice},
    {Opcode::kDynamicUpdateSlice, CheckDynamicUpdateSlice},
    {Opcode::kGather, CheckGather},
    {Opcode::kScatter, CheckScatter},

    {Opcode::kCall, CheckCall},
    {Opcode::kConditional, CheckConditional},
    {Opcode::kCustomCall, CheckCustomCall},
    {Opcode::kFusion, CheckCall},
    {Opcode::kGetTupleElement, CheckGetTupleElement},
    {Opcode::kTuple, CheckTuple},
    {Opcode::kWhile, CheckWhile},
};

// The row of each opcode, nullptr where there is none.
constexpr std::array<TypingRule, kOpcodeCount> kRuleOf = [] {
  std::array<TypingRule, kOpcodeCount> rules = {};
  for (const RuleOfOpcode& row : kRules) rules[static_cast<size_t>(row.opcode)] = row.rule;
  return rules;
}();

}  // namespace

TypingRule TypingRuleOf(Opcode opcode) {
  const TypingRule rule = kRuleOf[static_cast<size_t>(opcode)];
  return rule == nullptr && IsElementwise(opcode) ? &CheckElementwise : rule;
}

namespace {

Problem FindProblem(const TypedInstruction& i) {
  for (const ComputationId id : i->called) {
    if (!id.valid()) return "lacks one of the computations it calls";
  }
  const int arity = OpcodeArity(i->opcode);
  if (arity >= 0 && i.operand_count() != static_cast<size_t>(arity)) {
    return StrCat(OpcodeName(i->opcode), " takes ", arity, arity == 1 ? " operand" : " operands",
                  ", found ", i.operand_count());
  }
  const TypingRule rule = TypingRuleOf(i->opcode);
  return rule == nullptr ? Problem() : rule(i);
}

}  // namespace

std::optional<VerifierError> FindVerifierError(const Module& module) {
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const Computation& computation = module.computations[c];
    for (size_t k = 0; k < computation.instructions.size(); ++k) {
      const Instruction& instruction = computation.instructions[k];
      const Problem problem = FindProblem({module, computation, instruction});
      if (problem.empty()) continue;
      return VerifierError{ComputationId(c), InstructionId(k),
                           StrCat(instruction.name, ": ", problem)};
    }
  }
  return std::nullopt;
}

absl::Status VerifyModule(const Module& module, std::string_view file_name) {
  const std::optional<VerifierError> error = FindVerifierError(module);
  if (!error.has_value()) return absl::OkStatus();
  const SourcePlace& place = module[error->computation][error->instruction].place;
  return absl::InvalidArgumentError(StrCat(file_name, place.Suffix(), ": ", error->message));
}

}  // namespace meshwright
