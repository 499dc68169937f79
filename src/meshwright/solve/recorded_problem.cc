#include "meshwright/solve/recorded_problem.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

namespace meshwright::solve {
namespace {

constexpr double kFinestCostScale = 1e6;
// Below what Compile scales down (compile.cc).
constexpr double kMostCost = 4e17, kMostUsage = 0x1p60;
constexpr int kUsageFractionBits = 20;

// Least and largest finite cost, counting 0 in.
std::pair<double, double> Range(const std::vector<double>& costs) {
  std::pair<double, double> range = {0, 0};
  for (double c : costs) {
    if (c == kForbiddenReal) continue;
    range = {std::min(range.first, c), std::max(range.second, c)};
  }
  return range;
}

std::vector<int64_t> Scaled(const std::vector<double>& costs, double scale) {
  const double least = Range(costs).first;
  std::vector<int64_t> scaled;
  scaled.reserve(costs.size());
  for (double c : costs) {
    scaled.push_back(c == kForbiddenReal ? kForbidden : std::llround((c - least) * scale));
  }
  return scaled;
}

// Edges from a node to itself, added to the node.
RealProblem WithoutLoops(const RealProblem& real) {
  RealProblem result = real;
  std::erase_if(result.edges, [](const RealProblem::Edge& e) { return e.a == e.b; });
  for (const RealProblem::Edge& edge : real.edges) {
    if (edge.a != edge.b) continue;
    std::vector<double>& cost = result.nodes[edge.a].cost;
    for (size_t s = 0; s < cost.size(); ++s) cost[s] += edge.cost[s * cost.size() + s];
  }
  return result;
}

void AddCosts(const RealProblem& real, RecordedProblem* recorded) {
  double span = 0;
  const auto measure = [&](const std::vector<double>& costs) {
    const auto [least, most] = Range(costs);
    span += most - least;
    recorded->cost_offset += least;
  };
  for (const RealProblem::Node& node : real.nodes) measure(node.cost);
  for (const RealProblem::Edge& edge : real.edges) measure(edge.cost);
  recorded->cost_scale = kFinestCostScale;
  while (span * recorded->cost_scale > kMostCost) recorded->cost_scale /= 10;
  Problem& problem = recorded->problem;
  for (const RealProblem::Node& node : real.nodes) {
    problem.nodes.push_back({Scaled(node.cost, recorded->cost_scale), {}});
  }
  for (const RealProblem::Edge& edge : real.edges) {
    problem.edges.push_back(
        {NodeId(edge.a), NodeId(edge.b),
         std::make_shared<const Matrix>(Matrix{static_cast<int32_t>(real.nodes[edge.a].cost.size()),
                                               static_cast<int32_t>(real.nodes[edge.b].cost.size()),
                                               Scaled(edge.cost, recorded->cost_scale)})});
  }
}

void AddUsages(const RealProblem& real, Problem* problem) {
  if (!real.usage_limit.has_value()) return;
  double most = 0;
  bool whole = true;
  int64_t usages = 0;
  for (const RealProblem::Node& node : real.nodes) {
    for (const RealProblem::Usage& usage : node.usages) {
      ++usages;
      most += *std::max_element(usage.amount.begin(), usage.amount.end());
      for (double a : usage.amount) whole &= a == std::floor(a);
    }
  }
  if (*real.usage_limit >= most) return;  // never binds
  int bits = whole ? 0 : kUsageFractionBits;
  while (std::ldexp(most, bits) > kMostUsage) --bits;
  problem->usage_limit = static_cast<int64_t>(std::floor(std::ldexp(*real.usage_limit, bits))) +
                         (bits == 0 && whole ? 0 : (usages + 1) / 2);
  for (size_t v = 0; v < real.nodes.size(); ++v) {
    for (const RealProblem::Usage& usage : real.nodes[v].usages) {
      Usage rounded{usage.begin, usage.end, {}};
      for (double a : usage.amount) rounded.amount.push_back(std::llround(std::ldexp(a, bits)));
      problem->nodes[v].usages.push_back(std::move(rounded));
    }
  }
}

}  // namespace

void RealProblem::Follow(size_t node, size_t leader) {
  const size_t k = nodes[node].cost.size();
  Edge same{node, leader, std::vector<double>(k * k, kForbiddenReal)};
  for (size_t s = 0; s < k; ++s) same.cost[s * k + s] = 0;
  edges.push_back(std::move(same));
}

RecordedProblem Record(std::string name, const RealProblem& real, std::optional<double> objective) {
  RecordedProblem recorded;
  recorded.problem.name = recorded.name = std::move(name);
  recorded.objective = objective;
  AddCosts(WithoutLoops(real), &recorded);
  AddUsages(real, &recorded.problem);
  return recorded;
}

double RecordedProblem::Tolerance() const {
  const auto terms = static_cast<double>(problem.nodes.size() + problem.edges.size());
  return terms / cost_scale + 1e-9 * std::abs(objective.value_or(0));
}

absl::StatusOr<Reproduced> Reproduce(const RecordedProblem& recorded,
                                     const SolverOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<Solution> solution = Solve(recorded.problem, options);
  if (!solution.ok()) return solution.status();
  Reproduced result;
  result.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  result.outcome = solution->outcome;
  const bool answered = result.outcome == Outcome::kOptimal || result.outcome == Outcome::kFeasible;
  if (answered) {
    // From the problem alone: the solver's own sum is part of what is being checked.
    const Evaluation evaluation = Evaluate(recorded.problem, solution->choice);
    if (!evaluation.feasible() || evaluation.cost != solution->cost) {
      return absl::InternalError(recorded.name + ": the solver's answer does not stand");
    }
    result.found = recorded.RealCost(evaluation.cost);
  }
  if (result.found.has_value() != recorded.objective.has_value()) {
    result.deviation = std::numeric_limits<double>::infinity();
  } else if (result.found.has_value()) {
    const double difference = std::abs(*result.found - *recorded.objective);
    result.deviation = difference / std::max(1.0, std::abs(*recorded.objective));
    result.agrees = result.outcome == Outcome::kOptimal && difference <= recorded.Tolerance();
  } else {
    result.agrees = result.outcome == Outcome::kInfeasible;
  }
  return result;
}

}  // namespace meshwright::solve
