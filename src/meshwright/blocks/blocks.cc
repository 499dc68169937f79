#include "meshwright/blocks/blocks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/blocks/block_growth.h"
#include "meshwright/blocks/parts_in_a_row.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/inter/layers/fingerprint.h"
#include "meshwright/inter/layers/own_micro_batches.h"
#include "meshwright/inter/layers/phases.h"
#include "meshwright/inter/layers/unit_graph.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

// Phases of operators, and which values depend on no data.
struct Roles {
  std::vector<Phase> phases;   // by OpId
  std::vector<bool> constant;  // by ValueId
  std::vector<std::string> warnings;
};

// Without a batch nothing tells data from weights: all is taken for the forward phase, and what
// operands of contractions are layouts of parameters, for weights.
Roles RolesWithoutBatch(const Graph& graph, Origins& origins, const absl::Status& why) {
  // Behind it stands how to name the data, which is for pipelines.
  const absl::string_view message = why.message().substr(0, why.message().find("; "));
  Roles roles{std::vector<Phase>(graph.ops.size(), Phase::kForward),
              std::vector<bool>(graph.values.size(), false),
              {absl::StrCat("gradients are not told from the forward phase: ", message)}};
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Op& op = graph[graph[origins.Of(ValueId(v)).root].producer];
    roles.constant[v] = op.parameter >= 0;
  }
  return roles;
}

Roles FindRoles(const Graph& graph, Origins& origins) {
  const std::vector<int32_t> tied = TiedParameters(graph, /*by_position=*/true);
  const absl::StatusOr<BatchSplit> batch = FindBatch(graph, tied, {});
  if (!batch.ok()) return RolesWithoutBatch(graph, origins, batch.status());
  Roles roles;
  const std::optional<OwnMicroBatches> own = FindOwnMicroBatches(graph, *batch, tied);
  const BatchSplit& split = own.has_value() ? own->batch : *batch;
  const UnitGraph units =
      BuildUnitGraph(graph, split, own.has_value() ? own->loops : std::vector<bool>());
  const std::vector<Phase> phases = FindPhases(graph, split, tied, units);
  for (size_t i = 0; i < graph.ops.size(); ++i) roles.phases.push_back(phases[units.of_op[i]]);
  if (own.has_value()) {
    roles.constant = own->constant;
  } else {
    for (BatchRole role : batch->roles) roles.constant.push_back(role == BatchRole::kConstant);
  }
  return roles;
}

std::vector<int32_t> WeightOperands(const Graph& graph,
                                    const std::vector<Contraction>& contractions,
                                    const std::vector<bool>& constant) {
  std::vector<int32_t> operands;
  for (const Contraction& c : contractions) {
    const Op& op = graph[c.op];
    const bool left = constant[op.operands[0].index()], right = constant[op.operands[1].index()];
    operands.push_back(left == right ? -1 : right ? 1 : 0);
  }
  return operands;
}

}  // namespace

BlockFinder::BlockFinder(const Graph& graph, const Mesh& mesh) : graph_(graph), mesh_(mesh) {
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size == 1) {
      size_of_axis_.push_back(-1);
      continue;
    }
    const auto known = std::find_if(choices_.begin(), choices_.end(),
                                    [&](const AxisChoices& c) { return c.size() == axis.size; });
    size_of_axis_.push_back(static_cast<int32_t>(known - choices_.begin()));
    if (known == choices_.end()) choices_.emplace_back(graph, axis.size);
  }
}

BlockAnalysis BlockFinder::Find() {
  Origins origins(graph_);
  const Roles roles = FindRoles(graph_, origins);
  const std::vector<Contraction> contractions = FindContractions(graph_, roles.phases, origins);
  BlockContext context{graph_, contractions, std::vector<int32_t>(graph_.ops.size(), -1), origins,
                       choices_};
  for (size_t c = 0; c < contractions.size(); ++c)
    context.contraction_of[contractions[c].op.index()] = static_cast<int32_t>(c);
  const std::vector<int32_t> weight_operands = WeightOperands(graph_, contractions, roles.constant);
  std::vector<GrowingBlock> grown = JoinContractions(context, roles.phases, weight_operands);
  AttachOperators(context, roles.phases, &grown);
  std::sort(grown.begin(), grown.end(), [](const GrowingBlock& a, const GrowingBlock& b) {
    return a.forward[0] < b.forward[0];
  });

  BlockAnalysis analysis;
  analysis.warnings = roles.warnings;
  analysis.notes =
      NotesOnPartsInARow(context, roles.phases, roles.constant, weight_operands, grown);
  analysis.block_of.assign(graph_.ops.size(), -1);
  for (GrowingBlock& from : grown) {
    ParallelBlock block;
    block.contractions = from.forward;
    for (OpId op : from.ops) {
      analysis.block_of[op.index()] = static_cast<int32_t>(analysis.blocks.size());
      const bool listed =
          std::find(from.forward.begin(), from.forward.end(), op) != from.forward.end();
      if (context.contraction_of[op.index()] >= 0 && !listed) block.contractions.push_back(op);
    }
    block.ops = std::move(from.ops);
    block.cuts = std::move(from.cuts);
    block.strategies = StrategiesOf(block);
    analysis.blocks.push_back(std::move(block));
  }
  return analysis;
}

// Combinations of cuts, one an axis, that the block's contractions can express together.
std::vector<absl::InlinedVector<int32_t, 3>> BlockFinder::StrategiesOf(
    const ParallelBlock& block) const {
  std::vector<absl::InlinedVector<int32_t, 3>> all = {{}};
  for (int32_t size : size_of_axis_) {
    std::vector<absl::InlinedVector<int32_t, 3>> longer;
    for (const auto& strategy : all) {
      for (int32_t k = -1; k < static_cast<int32_t>(block.cuts.size()); ++k) {
        if (k >= 0 && block.cuts[k].size_index != size) continue;
        longer.push_back(strategy);
        longer.back().push_back(k);
      }
    }
    all = std::move(longer);
  }
  std::vector<Rule> rules;
  for (OpId op : block.contractions) rules.push_back(RuleFor(graph_, graph_[op]));
  const auto impossible = [&](const absl::InlinedVector<int32_t, 3>& strategy) {
    for (size_t c = 0; c < rules.size(); ++c) {
      const Strategy factors = FactorsOf(block, strategy, block.contractions[c]);
      for (size_t i = 0; i < rules[c].operands.size(); ++i) {
        if (!OperandSharding(rules[c], factors, i, mesh_).has_value()) return true;
      }
      if (!ResultSharding(rules[c], factors, 0, mesh_).has_value()) return true;
    }
    return false;
  };
  all.erase(std::remove_if(all.begin(), all.end(), impossible), all.end());
  return all;
}

Strategy BlockFinder::FactorsOf(const ParallelBlock& block,
                                const absl::InlinedVector<int32_t, 3>& strategy, OpId op) const {
  Strategy factors;
  for (int32_t k : strategy)
    factors.push_back(k < 0 ? kNoFactor : block.cuts[k].choices.at(op)->factor);
  return factors;
}

std::string BlockFinder::StrategyText(const ParallelBlock& block, size_t strategy) const {
  const OpId lead = block.contractions[0];
  const Rule rule = RuleFor(graph_, graph_[lead]);
  return meshwright::StrategyText(rule, FactorsOf(block, block.strategies[strategy], lead), mesh_);
}

double LogOperatorStrategies(const Graph& graph, const Mesh& mesh) {
  OpFingerprints fingerprints(graph);
  std::unordered_map<uint64_t, double> known;
  double sum = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const auto [entry, is_new] = known.try_emplace(fingerprints.Of(OpId(i)));
    if (is_new) {
      const size_t count = EnumerateStrategies(RuleFor(graph, graph.ops[i]), mesh).size();
      entry->second = std::log10(static_cast<double>(count));
    }
    sum += entry->second;
  }
  return sum;
}

}  // namespace meshwright
