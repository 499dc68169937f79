#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/hlo/partitioned.h"
#include "meshwright/hlo/stablehlo/lowering.h"

// Shardy's operations: what they say of shardings is kept, and none computes anything.

namespace meshwright {
namespace {

// `sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]>`
absl::Status LowerConstraint(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction constraint, l.Prepare(operation, opcode));
  constraint.custom_call_target = "Sharding";
  const MlirAttribute* sharding = operation.Find("sharding");
  if (sharding == nullptr && !operation.unnamed.empty()) sharding = &operation.unnamed.back();
  if (sharding == nullptr) return l.Error(operation, "lacks its sharding, <@mesh, [...]>");
  MW_ASSIGN_OR_RETURN(constraint.sharding, l.SdySharding(*sharding));
  if (constraint.sharding.empty()) {  // leaves everything open
    l.Bind(operation.results[0], constraint.operands[0]);
    return absl::OkStatus();
  }
  return l.Emit(operation, std::move(constraint));
}

// Marks for propagation: the result is the operand.
absl::Status LowerForward(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(const InstructionId operand, l.Operand(operation, operation.operands[0]));
  l.Bind(operation.results[0], operand);
  return absl::OkStatus();
}

absl::Status LowerNothing(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  return l.Expect(operation, -1, 0, 0);
}

absl::Status RefuseManual(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  return l.ErrorAt(operation.position, ManualMessage(operation.name));
}

constexpr StablehloOperation kSdyOperations[] = {
    {"sdy.data_flow_edge", Opcode::kCopy, LowerForward},
    {"sdy.func_data_flow_edge", Opcode::kCopy, LowerForward},
    {"sdy.manual_computation", Opcode::kCustomCall, RefuseManual},
    {"sdy.propagation_barrier", Opcode::kCopy, LowerForward},
    {"sdy.reshard", Opcode::kCustomCall, LowerConstraint},
    {"sdy.sharding_constraint", Opcode::kCustomCall, LowerConstraint},
    {"sdy.sharding_group", Opcode::kCopy, LowerNothing},
};

}  // namespace

absl::Span<const StablehloOperation> SdyOperations() { return kSdyOperations; }

}  // namespace meshwright
