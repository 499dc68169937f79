#include <algorithm>
#include <utility>
#include <vector>

#include "meshwright/hlo/op_sharding_rule.h"
#include "meshwright/sharding/rule_builders.h"

// Calls for which the program states the rule (Shardy's op_sharding_rule). A factor that passes
// through is kParallel, a reduced one leaves sums, as Shardy says; what is inside of the call is
// taken to follow the rule, as XLA does.

namespace meshwright::rules {
namespace {

std::vector<const Shape*> ShapesOf(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<const Shape*> shapes;
  for (ValueId v : values) shapes.push_back(&graph[v].shape);
  return shapes;
}

Factor FactorOf(const OpShardingRule& rule, int32_t f) {
  constexpr int32_t kLetters = 'z' - 'i' + 1;
  Factor factor{.size = rule.factor_sizes[f],
                .label = f < kLetters ? static_cast<char>('i' + f) : '?'};
  if (HasFactor(rule.reduction, f)) {
    factor.kind = FactorKind::kReduction;
    factor.reduction = Reduction::kSum;
  } else if (HasFactor(rule.need_replication, f)) {
    factor.kind = FactorKind::kWhole;
  }
  factor.exchanges = HasFactor(rule.permutation, f);
  factor.spreads = !HasFactor(rule.blocked_propagation, f);
  return factor;
}

// Factors of a dimension whose size they do not make, as Shardy allows where something is padded:
// nothing can be said about where the pieces of such a dimension begin, so they stay whole.
void FindUneven(const OpShardingRule& rule, const std::vector<OpShardingRule::Mapping>& mappings,
                const std::vector<const Shape*>& shapes, std::vector<bool>* uneven) {
  for (size_t i = 0; i < mappings.size(); ++i) {
    for (size_t d = 0; d < mappings[i].size(); ++d) {
      if (FactorProduct(rule, mappings[i][d]) == shapes[i]->dims[d]) continue;
      for (int32_t f : mappings[i][d]) (*uneven)[f] = true;
    }
  }
}

// Factors that no tensor of `mappings` has.
std::vector<bool> Missing(const OpShardingRule& rule,
                          const std::vector<OpShardingRule::Mapping>& mappings) {
  std::vector<bool> missing(rule.factor_sizes.size(), true);
  for (const OpShardingRule::Mapping& mapping : mappings) {
    for (const auto& dim : mapping) {
      for (int32_t f : dim) missing[static_cast<size_t>(f)] = false;
    }
  }
  return missing;
}

std::vector<TensorFactors> TensorsOf(const OpShardingRule& rule,
                                     const std::vector<OpShardingRule::Mapping>& mappings,
                                     const std::vector<const Shape*>& shapes,
                                     const std::vector<FactorIndex>& index) {
  std::vector<TensorFactors> tensors(mappings.size());
  for (size_t i = 0; i < mappings.size(); ++i) {
    for (size_t d = 0; d < mappings[i].size(); ++d) {
      auto& dim = tensors[i].dims.emplace_back();
      if (FactorProduct(rule, mappings[i][d]) != shapes[i]->dims[d]) continue;
      for (int32_t f : mappings[i][d]) {
        if (index[f] != kNoFactor) dim.push_back(index[f]);
      }
    }
  }
  return tensors;
}

}  // namespace

void Stated(RuleBuilder& builder) {
  const absl::StatusOr<OpShardingRule> rule =
      ParseOpShardingRule(*FindOpShardingRule(builder.instruction()), kShardingRuleAttribute);
  const std::vector<const Shape*> operands = ShapesOf(builder.graph(), builder.op().operands);
  const std::vector<const Shape*> results = ShapesOf(builder.graph(), builder.op().results);
  // Modules that were read have been checked (hlo/verify/verifier.h).
  if (!rule.ok() || !FindOpShardingRuleProblem(*rule, operands, results).empty())
    return builder.Unsupported();
  std::vector<bool> uneven(rule->factor_sizes.size(), false);
  FindUneven(*rule, rule->operands, operands, &uneven);
  FindUneven(*rule, rule->results, results, &uneven);
  // JAX gives each dimension that a call of LAPACK needs whole a factor of its own. A device that
  // is given a part of such a dimension has no corresponding part of a result to compute, unless
  // it may leave a partial sum.
  const std::vector<bool> no_operand = Missing(*rule, rule->operands);
  const std::vector<bool> no_result = Missing(*rule, rule->results);
  std::vector<Factor> factors;
  std::vector<FactorIndex> index(rule->factor_sizes.size(), kNoFactor);
  for (size_t f = 0; f < index.size(); ++f) {
    if (rule->factor_sizes[f] == 1) continue;
    Factor factor = FactorOf(*rule, static_cast<int32_t>(f));
    const bool one_sided = no_operand[f] || (no_result[f] && factor.kind == FactorKind::kParallel);
    if (uneven[f] || one_sided) {
      factor.kind = FactorKind::kWhole;
      factor.reduction = Reduction::kNone;
    }
    index[f] = static_cast<FactorIndex>(factors.size());
    factors.push_back(factor);
  }
  builder.State(std::move(factors), TensorsOf(*rule, rule->operands, operands, index),
                TensorsOf(*rule, rule->results, results, index));
}

}  // namespace meshwright::rules
