#ifndef MESHWRIGHT_HLO_OP_SHARDING_RULE_H_
#define MESHWRIGHT_HLO_OP_SHARDING_RULE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

// The sharding rule that a program states for a call, Shardy's `#sdy.op_sharding_rule<...>`:
//
//   ([i, k], [k, j])->([i, j]) {i=8, j=16, k=32} reduction={k}, custom
//
// StableHLO has it as the attribute `sdy.sharding_rule`, HLO as the text of a frontend attribute.

namespace meshwright {

// Where HLO keeps the rule of an instruction, in Instruction::frontend_attributes.
inline constexpr std::string_view kShardingRuleAttribute = "xla.sdy.sharding_rule";

struct OpShardingRule {
  // Factors of each dimension of one operand or result, major to minor.
  using Mapping = std::vector<std::vector<int32_t>>;

  std::vector<int64_t> factor_sizes;
  std::vector<Mapping> operands, results;
  // Kinds of factors, each in increasing order. Those in none of the first three pass through.
  std::vector<int32_t> reduction;            // in operands only: sharded, they leave partial sums
  std::vector<int32_t> need_replication;     // the call does not shard them
  std::vector<int32_t> permutation;          // sharded, devices exchange pieces inside of the call
  std::vector<int32_t> blocked_propagation;  // shardings do not spread along them
  bool custom = false;

  friend bool operator==(const OpShardingRule&, const OpShardingRule&) = default;
};

// "i" ... "z", then "z_1", "z_2", ...
std::string ShardingFactorName(int32_t factor);

// The product of the sizes of `factors`; -1 where it is beyond 64 bits.
int64_t FactorProduct(const OpShardingRule& rule, const std::vector<int32_t>& factors);
bool HasFactor(const std::vector<int32_t>& factors, int32_t factor);

// Reads `#sdy.op_sharding_rule<...>` at `position` of `text`. Errors: `file:line:column: what was
// found, what would be valid`.
absl::StatusOr<OpShardingRule> ParseOpShardingRule(std::string_view text,
                                                   std::string_view file_name, size_t position = 0);

// The inverse, spelled as MLIR prints it.
std::string OpShardingRuleText(const OpShardingRule& rule);

// Why `rule` cannot be that of an operator with these operands and results (tuples spread into
// their leaves), in one line; empty if it can. The factors of a dimension multiply to its size,
// unless one of them needs replication or a permutation: those may differ between operands and
// results, as where something is padded.
std::string FindOpShardingRuleProblem(const OpShardingRule& rule,
                                      const std::vector<const Shape*>& operands,
                                      const std::vector<const Shape*>& results);

// The text of the rule that the program states for `instruction`, or nullptr.
const std::string* FindOpShardingRule(const Instruction& instruction);

// Gives the factors of the rule the sizes that they have for these operands and results, whose
// dimensions are parts of those that the rule was written for (a micro-batch's). Of a dimension
// with several factors the major one shrinks. False if no sizes fit.
bool ResizeOpShardingRule(const std::vector<const Shape*>& operands,
                          const std::vector<const Shape*>& results, OpShardingRule* rule);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_OP_SHARDING_RULE_H_
