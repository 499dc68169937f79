#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/hlo/op_sharding_rule.h"
#include "meshwright/hlo/verify/shape_inference.h"

// Calls of what lies outside of the program. Any types go in and out, but what the program states
// of them must be about those.

namespace meshwright {
namespace {

void AppendLeaves(const Shape& shape, std::vector<const Shape*>* leaves) {
  ForEachLeaf(shape,
              [&](const std::vector<int64_t>&, const Shape& leaf) { leaves->push_back(&leaf); });
}

}  // namespace

Problem CheckCustomCall(const TypedInstruction& i) {
  const std::string* const text = FindOpShardingRule(i.instruction);
  if (text == nullptr) return "";
  const absl::StatusOr<OpShardingRule> rule = ParseOpShardingRule(*text, kShardingRuleAttribute);
  if (!rule.ok()) return std::string(rule.status().message());
  std::vector<const Shape*> operands, results;
  for (size_t k = 0; k < i.operand_count(); ++k) AppendLeaves(i.operand(k), &operands);
  AppendLeaves(i.result(), &results);
  const std::string problem = FindOpShardingRuleProblem(*rule, operands, results);
  return problem.empty() ? "" : StrCat("its sharding rule ", problem);
}

}  // namespace meshwright
