#include <vector>

#include "meshwright/hlo/op_sharding_rule.h"
#include "meshwright/sharding/call_rule.h"
#include "meshwright/sharding/call_table.h"
#include "meshwright/sharding/given_call_rules.h"
#include "meshwright/sharding/rule_builders.h"

// Operators at the ends of the program (parameters, constants, outputs, random numbers), those that
// stand for control flow, and those about which little or nothing is known.

namespace meshwright::rules {
void Source(RuleBuilder& builder) {
  for (size_t i = 0; i < builder.result_count(); ++i) {
    std::vector<int64_t> dims(i + 1, RuleBuilder::kNoDim);
    for (int64_t d = 0; d < builder.result(i).rank(); ++d) {
      dims[i] = d;
      builder.Parallel({}, dims);
    }
  }
}

void Sink(RuleBuilder& builder) {
  for (size_t i = 0; i < builder.operand_count(); ++i) {
    std::vector<int64_t> dims(i + 1, RuleBuilder::kNoDim);
    for (int64_t d = 0; d < builder.operand(i).rank(); ++d) {
      dims[i] = d;
      builder.Parallel(dims, {});
    }
  }
}

void Join(RuleBuilder& builder) {
  for (int64_t d = 0; d < builder.result(0).rank(); ++d) {
    builder.Parallel(std::vector<int64_t>(builder.operand_count(), d), {d});
  }
}

void Whole(RuleBuilder& builder) {}

void CustomCall(RuleBuilder& builder) {
  for (const auto& [name, text] : builder.instruction().frontend_attributes) {
    if (name != kGivenRuleAttribute) continue;
    const absl::StatusOr<CallRule> rule = ParseCallRule(text, name);
    if (!rule.ok() || !ApplyCallRule(*rule, builder).empty()) builder.Unsupported();
    return;
  }
  if (FindOpShardingRule(builder.instruction()) != nullptr) return Stated(builder);
  const CallRow* row = FindCall(builder.instruction().custom_call_target);
  if (row == nullptr) return Unknown(builder);
  BuildCall(*row, builder);
}

void Unknown(RuleBuilder& builder) { builder.Unsupported(); }

}  // namespace meshwright::rules
