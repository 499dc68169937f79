#include "meshwright/intra/problem_costs.h"

#include <algorithm>
#include <cmath>

namespace meshwright {
namespace {

double AfterDiscount(double seconds, const MoveTerms& terms) {
  return terms.share * (seconds - terms.discount * std::min(seconds, terms.most_hidden));
}

}  // namespace

ProblemCosts::ProblemCosts(const ProblemInputs& inputs, const CandidateSets& sets,
                           const CostModel* combined, double ticks)
    : in_(inputs),
      sets_(sets),
      combined_(combined),
      ticks_(ticks),
      costs_(inputs.cost_model, sets.lists(), ticks) {
  if (combined != nullptr)
    combined_costs_ = std::make_unique<EdgeCosts>(*combined, sets.lists(), ticks);
}

double ProblemCosts::NodeCost(const PlanningNode& node, const MoveTerms& terms, int32_t s) {
  const double cost = node.set->cost[s];
  if (node.kind != PlanningNode::Kind::kParameter || terms == MoveTerms()) return cost;
  const auto seconds_by = [&](bool combined) {
    std::vector<double>& known = gathering_[{node.set, combined}];
    if (known.empty()) {
      const CostModel& model = combined ? *combined_ : in_.cost_model;
      const std::vector<Sharding>& stored = sets_.lists()[node.set->stored];
      const std::vector<Sharding>& seen = sets_.lists()[node.set->results[0]];
      for (size_t i = 0; i < stored.size(); ++i)
        known.push_back(model.Reshard(in_.graph[node.value].shape, stored[i], seen[i]).seconds);
    }
    return known[s];
  };
  return cost - seconds_by(false) + AfterDiscount(seconds_by(terms.combined), terms);
}

// Slicing is free, so without more a replicated input costs what a sharded one does. Among equals
// the smaller is preferred, then the one cut along the earlier dimension: a microsecond for a
// gigabyte, and a picosecond for a strategy, which never outweigh a real difference. Not part of
// any reported cost.
int64_t ProblemCosts::TieBreakTicks(const PlanningNode& node, int32_t s) const {
  if (node.kind != PlanningNode::Kind::kParameter || !in_.cost_model.in_seconds()) return 0;
  constexpr double kSecondsPerByte = 1e-15;
  const Sharding& stored = sets_.lists()[node.set->stored][s];
  const int64_t bytes = BytesPerDevice(in_.graph[node.value].shape, stored, in_.cost_model.mesh());
  return costs_.Ticks(static_cast<double>(bytes) * kSecondsPerByte) + s;
}

ProblemCosts::SharedMatrix ProblemCosts::Discounted(const SharedMatrix& matrix,
                                                    const MoveTerms& terms) {
  if (terms.share == 1 && (terms.discount == 0 || terms.most_hidden <= 0)) return matrix;
  int64_t largest = 0;
  for (int64_t cost : matrix->cost) {
    if (cost < solve::kForbidden) largest = std::max(largest, cost);
  }
  // Limits that do not matter make no matrices of their own.
  const double most = terms.most_hidden * ticks_;
  const double limit =
      most >= static_cast<double>(largest) ? std::numeric_limits<double>::infinity() : most;
  SharedMatrix& found = discounted_[DiscountKey{matrix, terms.share, terms.discount, limit}];
  if (found != nullptr) return found;
  auto fresh = std::make_shared<solve::Matrix>(*matrix);
  for (int64_t& cost : fresh->cost) {
    if (cost >= solve::kForbidden) continue;
    const auto ticks = static_cast<double>(cost);
    cost = static_cast<int64_t>(
        std::llround(terms.share * (ticks - terms.discount * std::min(ticks, limit))));
  }
  found = std::move(fresh);
  return found;
}

void ProblemCosts::Fill(const PlanningProblem& planning, const MovePricing& pricing,
                        bool break_ties, solve::Problem* problem) {
  problem->nodes.resize(planning.nodes.size());
  for (size_t i = 0; i < planning.nodes.size(); ++i) {
    const PlanningNode& node = planning.nodes[i];
    const double multiplicity = node.op.valid() ? in_.graph[node.op].multiplicity : 1;
    const MoveTerms terms = pricing.nodes.empty() ? MoveTerms() : pricing.nodes[i];
    std::vector<int64_t>& cost = problem->nodes[i].cost;
    cost.clear();
    for (int32_t s : node.allowed) {
      cost.push_back(costs_.Ticks(NodeCost(node, terms, s) * multiplicity) +
                     (break_ties ? TieBreakTicks(node, s) : 0));
    }
  }
  problem->edges.clear();
  for (size_t e = 0; e < planning.edges.size(); ++e) {
    const PlanningEdge& edge = planning.edges[e];
    const std::vector<int32_t>& rows = planning.nodes[edge.from.node.index()].allowed;
    const std::vector<int32_t>& columns = planning.nodes[edge.to.node.index()].allowed;
    const MoveTerms terms = pricing.edges.empty() ? MoveTerms() : pricing.edges[e];
    EdgeCosts& costs = terms.combined ? *combined_costs_ : costs_;
    const SharedMatrix matrix =
        Discounted(costs.MatrixFor(in_.graph[edge.value].shape, edge, rows, columns), terms);
    if (edge.from.node == edge.to.node) {
      std::vector<int64_t>& cost = problem->nodes[edge.from.node.index()].cost;
      for (size_t s = 0; s < cost.size(); ++s) {
        cost[s] = std::min(solve::kForbidden,
                           cost[s] + matrix->at(static_cast<int32_t>(s), static_cast<int32_t>(s)));
      }
    } else if (std::any_of(matrix->cost.begin(), matrix->cost.end(),
                           [](int64_t c) { return c != 0; })) {
      problem->edges.push_back({edge.from.node, edge.to.node, matrix});
    }
  }
}

}  // namespace meshwright
