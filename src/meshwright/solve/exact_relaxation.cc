#include "meshwright/solve/exact_relaxation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/fixed_multipliers.h"
#include "meshwright/solve/reduce.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

// Sums of usage costs beyond this might overflow; no useful ones come near it.
constexpr Int128 kMostUsageCosts = Int128{1} << (kWide ? 89 : 57);

std::vector<Number> Scaled(std::vector<Number> cost, int scale) {
  for (Number& c : cost) c = IsInf(c) ? kInf : c * (Number{1} << scale);
  return cost;
}

}  // namespace

ExactRelaxation::ExactRelaxation(Model model, const OptimiseOptions& options)
    : model_(std::move(model)), options_(options), scale_(CostScale(model_)) {
  options_.multipliers.clear();
  options_.enough = -kInfCost;
  options_.improved = nullptr;
  options_.report = nullptr;
  for (const ModelNode& node : model_.nodes)
    scaled_.nodes.push_back({Scaled(node.cost, scale_), {}});
  absl::flat_hash_map<const Matrix*, MatrixRef> seen;
  for (const ModelEdge& edge : model_.edges) {
    MatrixRef& matrix = seen[edge.matrix.get()];
    if (matrix == nullptr) {
      matrix = std::make_shared<const Matrix>(
          Matrix{edge.matrix->rows, edge.matrix->cols, Scaled(edge.matrix->cost, scale_)});
    }
    scaled_.edges.push_back({edge.a, edge.b, matrix});
  }
}

ExactRelaxation::Minimum ExactRelaxation::At(const std::vector<double>& multipliers,
                                             double precision, int64_t max_steps) const {
  Minimum minimum;
  minimum.bound = -kInfCost;
  const FixedMultipliers fixed(multipliers, model_.capacity, scale_);
  Model relaxed = scaled_;
  Int128 most_usage_costs = 0;
  for (int32_t v = 0; v < model_.size(); ++v) {
    Number most = 0;
    for (int32_t s = 0; s < model_.strategies(v); ++s) {
      const Number usage_cost = fixed.Of(model_.nodes[v].segments, s);
      most = std::max(most, usage_cost);
      relaxed.nodes[v].cost[s] = AddCost(relaxed.nodes[v].cost[s], usage_cost);
    }
    most_usage_costs += most;
  }
  if (most_usage_costs > kMostUsageCosts) return minimum;
  relaxed.constant = fixed.constant() + (model_.constant << scale_);
  const Reduced reduced = Reduce(std::move(relaxed));
  if (reduced.infeasible) return minimum;
  OptimiseOptions options = options_;
  options.target_gap = precision;
  options.max_steps = max_steps;
  const Optimised found = Optimise(reduced.model, options, {});
  minimum.steps = found.steps;
  const Int128 bound = found.complete ? found.cost : found.bound;
  // Rounded up: model costs are integers.
  minimum.bound = bound >> scale_;
  if (minimum.bound << scale_ < bound) ++minimum.bound;
  if (found.cost >= kInfCost) return minimum;
  minimum.choice = reduced.Expand(found.choice);
  minimum.value = std::ldexp(static_cast<double>(found.cost), -scale_);
  minimum.complete = static_cast<double>(found.cost - bound) <=
                     precision * std::abs(static_cast<double>(found.cost));
  return minimum;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
