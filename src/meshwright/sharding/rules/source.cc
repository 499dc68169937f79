#include <string_view>
#include <vector>

#include "meshwright/hlo/op_sharding_rule.h"
#include "meshwright/sharding/rule_builders.h"

// Operators at the ends of the program (parameters, constants, outputs, random numbers), those that
// stand for control flow, and those about which little or nothing is known.

namespace meshwright::rules {
namespace {

struct CustomCallRow {
  std::string_view target;
  void (*build)(RuleBuilder&);
};

constexpr CustomCallRow kCustomCalls[] = {
    {"Sharding", Forward},
    {"xla.sdy.FuncResultSharding", Forward},
    {"xla.sdy.PropagationBarrier", Forward},
    {"MoveToHost", Forward},
    {"MoveToDevice", Forward},
    {"LayoutConstraint", Forward},
    {"annotate_device_placement", Forward},
    {"TopK", TopK},
    {"__gpu$TopK", TopK},
};

}  // namespace

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
  if (FindOpShardingRule(builder.instruction()) != nullptr) return Stated(builder);
  for (const CustomCallRow& row : kCustomCalls) {
    if (row.target == builder.instruction().custom_call_target) return row.build(builder);
  }
  Unknown(builder);
}

void Unknown(RuleBuilder& builder) { builder.Unsupported(); }

}  // namespace meshwright::rules
