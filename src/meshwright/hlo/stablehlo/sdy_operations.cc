#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/hlo/partitioned.h"
#include "meshwright/hlo/stablehlo/lowering.h"

// Shardy's operations: what they say of shardings is kept, and none computes anything.

namespace meshwright {

absl::Status StablehloLowering::LowerNamedComputation(const MlirOperation& operation) {
  MW_RETURN_IF_ERROR(Expect(operation, -1, -1, 1));
  const MlirRegion& region = operation.regions[0];
  if (region.arguments.size() != operation.operands.size()) {
    return Error(operation, "has other arguments than operands");
  }
  // `value` in the sharding that the attribute `name` has for number `i`.
  const auto sharded = [&](std::string_view name, size_t i,
                           InstructionId value) -> absl::StatusOr<InstructionId> {
    const MlirAttribute* const list = operation.Find(name);
    if (list == nullptr) return value;
    if (i >= list->list.size()) return ErrorAt(list->position, "fewer shardings than values");
    Instruction constraint;
    MW_ASSIGN_OR_RETURN(constraint.sharding, SdySharding(list->list[i]));
    if (constraint.sharding.empty()) return value;
    constraint.opcode = Opcode::kCustomCall;
    constraint.custom_call_target = "Sharding";
    constraint.operands = {value};
    constraint.shape = builder()[value].shape;
    constraint.metadata = MetadataOf(operation);
    constraint.place = operation.place;
    return builder().AddAsIs(std::move(constraint));
  };
  for (size_t i = 0; i < operation.operands.size(); ++i) {
    if (Type(region.arguments[i]) != OperandType(operation, i)) {
      return Error(operation, "has arguments of other types than its operands");
    }
    MW_ASSIGN_OR_RETURN(InstructionId value, Operand(operation, operation.operands[i]));
    MW_ASSIGN_OR_RETURN(value, sharded("in_shardings", i, value));
    Bind(region.arguments[i], value);
  }
  MW_RETURN_IF_ERROR(LowerInPlace(operation, region));
  for (size_t r = 0; r < operation.results.size(); ++r) {
    MW_ASSIGN_OR_RETURN(InstructionId value, Operand(operation, operation.results[r]));
    MW_ASSIGN_OR_RETURN(value, sharded("out_shardings", r, value));
    Bind(operation.results[r], value);
  }
  return absl::OkStatus();
}

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

absl::Status LowerNamed(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  return l.LowerNamedComputation(operation);
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
    {"sdy.named_computation", Opcode::kCopy, LowerNamed},
    {"sdy.propagation_barrier", Opcode::kCopy, LowerForward},
    {"sdy.reshard", Opcode::kCustomCall, LowerConstraint},
    {"sdy.sharding_constraint", Opcode::kCustomCall, LowerConstraint},
    {"sdy.sharding_group", Opcode::kCopy, LowerNothing},
};

}  // namespace

absl::Span<const StablehloOperation> SdyOperations() { return kSdyOperations; }

}  // namespace meshwright
