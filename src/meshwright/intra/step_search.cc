// The step of a plan (timeline.h) is no sum over operators and moves, but it lies between two: that
// of everything, and that in which every move counts by what cannot be hidden of it
// (overlap_limits.h). Solutions of both are plans, and so are those in between:
//
//   1. The problem under the bound's pricing. Its bound is one of the step.
//   2. Sequential linearisation: every move counts by the share of it that the simulation of the
//      best plan so far left exposed, those that the plan does not make by the mean share or by the
//      least; solved again while that improves.
//   3. Recombination: where two plans differ, their differences fall into connected parts of the
//      problem, each of which may be taken by itself (partition crossover; Whitley et al., 2009).
//   4. Local moves: one node takes another strategy and its neighbours what is cheapest then. By
//      the bound's pricing most strategies cannot lead to a shorter step, and are not tried.
//   5. Where there are few choices, all that the bound's pricing leaves (branch and bound), after
//      which the best is the bound.
//
// Everything is judged by the simulation. A choice fits if its memory, the buffers of reshardings
// included, is within the budget in the order of the problem's schedule. (In the order that the
// simulation follows it may need more; then XLA does not follow it, see DecodeAsRun.)

#include "meshwright/intra/step_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace meshwright {
namespace {

// Rounds of linearisation without improvement that end it.
constexpr int kPatience = 2;
constexpr int kMostRounds = 6;
// Choices of problems that are enumerated: some milliseconds.
constexpr double kMostEnumerated = 3'000;
// Shares of exposure are rounded to one part of this many, so that moves share matrices.
constexpr double kShareSteps = 8;
// How often the limit of a solve is lowered where the buffers of reshardings exceed the budget.
constexpr int kLimitAdjustments = 3;
constexpr int64_t kSimulationsADecode = 3;  // simulations in the time of reading a plan back
constexpr int64_t kCostsAStep = 16;         // looks at a matrix in the time of an elementary step
constexpr double kRoundingShare = 1e-9;     // shares of a step that are no improvement

}  // namespace

StepSearch::StepSearch(const PreparedProblem& prepared, const Overlap& overlap,
                       const Options& options)
    : prepared_(prepared),
      overlap_(overlap),
      options_(options),
      evaluator_(prepared.inputs(), prepared.sets(), prepared.planning(), overlap,
                 prepared.deferred()),
      combined_(prepared.cost_model()),
      costs_(prepared.inputs(), prepared.sets(), &combined_, prepared.ticks()),
      bound_pricing_(
          PricingOfBound(prepared.inputs(), prepared.sets(), prepared.planning(), overlap)),
      bound_problem_(prepared.Priced(costs_, bound_pricing_, /*break_ties=*/false)),
      best_seconds_(std::numeric_limits<double>::infinity()),
      launch_seconds_(
          overlap.LaunchSeconds(prepared.graph(), prepared.cost_model().mesh().cluster)),
      bound_seconds_(launch_seconds_) {
  CollectEdges();
  // Every operator by its fastest strategy, and no collective: a bound that takes no search.
  for (const solve::Node& node : bound_problem_.nodes) {
    const int64_t least = *std::min_element(node.cost.begin(), node.cost.end());
    if (least < solve::kForbidden) bound_seconds_ += static_cast<double>(least) / prepared.ticks();
  }
}

void StepSearch::CollectEdges() {
  edges_of_.resize(bound_problem_.nodes.size());
  for (size_t e = 0; e < bound_problem_.edges.size(); ++e) {
    edges_of_[bound_problem_.edges[e].a.index()].push_back(static_cast<int32_t>(e));
    edges_of_[bound_problem_.edges[e].b.index()].push_back(static_cast<int32_t>(e));
  }
}

bool StepSearch::Stopped() {
  if (work_ >= options_.max_work) return true;
  if (options_.seconds_left() > 0 && !(options_.solver.stop && options_.solver.stop()))
    return false;
  cut_ = true;
  return true;
}

bool StepSearch::Offer(const std::vector<int32_t>& choice) {
  work_ += evaluator_.work();
  if (evaluator_.Seconds(choice) >= best_seconds_ * (1 - kRoundingShare)) return false;
  work_ += kSimulationsADecode * evaluator_.work();
  const IntraPlan plan = prepared_.DecodeAsRun(choice, options_.budget_bytes);
  if (plan.peak.bytes > options_.budget_bytes ||
      plan.step_seconds >= best_seconds_ * (1 - kRoundingShare))
    return false;
  best_ = choice;
  best_seconds_ = plan.step_seconds;
  return true;
}

void StepSearch::SolveWith(const MovePricing& pricing,
                           const std::vector<std::vector<int32_t>>& hints, bool is_bound) {
  scratch_ = is_bound ? bound_problem_ : prepared_.Priced(costs_, pricing, /*break_ties=*/true);
  scratch_.usage_limit = options_.budget_bytes;
  for (int i = 0; i <= kLimitAdjustments; ++i) {
    if (Stopped()) return;
    solve::SolverOptions solver = options_.solver;
    solver.deadline_seconds = options_.seconds_left();
    solver.hints = hints;
    if (found()) solver.hints.push_back(best_);
    const absl::StatusOr<solve::Solution> solution = solve::Solve(scratch_, solver);
    if (!solution.ok()) return;
    if (is_bound && i == 0) {
      bound_seconds_ =
          std::max(bound_seconds_,
                   launch_seconds_ + static_cast<double>(solution->bound) / prepared_.ticks());
    }
    if (!HasAnswer(*solution)) return;
    candidates_.push_back(solution->choice);
    Offer(solution->choice);
    if (options_.budget_bytes == solve::kUnlimited) return;
    const int64_t excess =
        prepared_.DecodeAsRun(solution->choice, options_.budget_bytes).peak.bytes -
        options_.budget_bytes;
    if (excess <= 0) return;
    scratch_.usage_limit -= excess;
    if (scratch_.usage_limit <= 0) return;
  }
}

// Moves of the best plan count by the share of them that is exposed there; others by the share
// `untaken` of what could be hidden of them.
MovePricing StepSearch::PricingOfHidden(double untaken) const {
  const StepEvaluator::Hidden hidden = evaluator_.HiddenShares();
  const auto rounded = [](double share) { return std::floor(share * kShareSteps) / kShareSteps; };
  MovePricing pricing = bound_pricing_;
  const auto apply = [&](std::vector<MoveTerms>& terms, const std::vector<double>& shares) {
    for (size_t i = 0; i < terms.size(); ++i) {
      const double share = shares[i] >= 0 ? shares[i] : untaken;
      terms[i].discount *= rounded(share);
      terms[i].combined = false;
      terms[i].share = 1;
    }
  };
  apply(pricing.nodes, hidden.nodes);
  apply(pricing.edges, hidden.edges);
  return pricing;
}

void StepSearch::Reprice(const std::vector<std::vector<int32_t>>& hints) {
  int patience = kPatience;
  for (int round = 0; round < kMostRounds && patience > 0 && !Stopped(); ++round) {
    const double before = best_seconds_;
    evaluator_.Seconds(best_);
    const double mean = evaluator_.HiddenShares().mean;
    SolveWith(PricingOfHidden(round % 2 == 0 ? mean : 1), hints, /*is_bound=*/false);
    patience = best_seconds_ < before ? kPatience : patience - 1;
  }
}

void StepSearch::Recombine() {
  const size_t nodes = bound_problem_.nodes.size();
  for (bool improved = true; improved && !Stopped();) {
    improved = false;
    for (size_t c = 0; c < candidates_.size() && !Stopped(); ++c) {
      const std::vector<int32_t>& other = candidates_[c];
      std::vector<bool> seen(nodes, false);
      std::vector<std::vector<int32_t>> parts;
      for (size_t first = 0; first < nodes; ++first) {
        if (seen[first] || other[first] == best_[first]) continue;
        std::vector<int32_t>& part = parts.emplace_back(1, static_cast<int32_t>(first));
        seen[first] = true;
        for (size_t i = 0; i < part.size(); ++i) {
          for (int32_t e : edges_of_[static_cast<size_t>(part[i])]) {
            for (const solve::NodeId end : {bound_problem_.edges[e].a, bound_problem_.edges[e].b}) {
              if (seen[end.index()] || other[end.index()] == best_[end.index()]) continue;
              seen[end.index()] = true;
              part.push_back(end.value);
            }
          }
        }
      }
      if (parts.size() < 2) continue;
      for (const std::vector<int32_t>& part : parts) {
        if (Stopped()) break;
        std::vector<int32_t> mixed = best_;
        for (int32_t node : part) mixed[node] = other[node];
        improved |= Offer(mixed);
      }
    }
  }
}

int64_t StepSearch::LocalCost(const std::vector<int32_t>& choice, int32_t node,
                              int32_t strategy) const {
  solve::Int128 cost = bound_problem_.nodes[node].cost[strategy];
  for (int32_t e : edges_of_[node]) {
    const solve::Edge& edge = bound_problem_.edges[e];
    cost += edge.a.value == node ? edge.matrix->at(strategy, choice[edge.b.index()])
                                 : edge.matrix->at(choice[edge.a.index()], strategy);
  }
  return static_cast<int64_t>(std::min<solve::Int128>(cost, solve::kForbidden));
}

void StepSearch::Improve() {
  const auto nodes = static_cast<int32_t>(bound_problem_.nodes.size());
  const auto slack_of = [&] {
    const solve::Evaluation evaluation = solve::Evaluate(bound_problem_, best_);
    return (best_seconds_ - launch_seconds_) * prepared_.ticks() -
           static_cast<double>(evaluation.cost);
  };
  // Until a whole round brings no improvement.
  double slack = slack_of();
  std::vector<int32_t> moved = best_;
  int32_t since = 0;
  for (int32_t v = 0; since < nodes && !Stopped(); v = (v + 1) % nodes, ++since) {
    const auto strategies = static_cast<int32_t>(bound_problem_.nodes[v].cost.size());
    work_ += strategies;
    for (int32_t s = 0; s < strategies && !Stopped(); ++s) {
      if (s == best_[v]) continue;
      // What the bound's pricing says of v and the neighbours that adapt to it.
      double more = static_cast<double>(LocalCost(best_, v, s) - LocalCost(best_, v, best_[v]));
      moved[v] = s;
      bool improved = more < slack && Offer(moved);
      if (!improved) {
        bool adapted = false;
        for (int32_t e : edges_of_[v]) {
          const solve::Edge& edge = bound_problem_.edges[e];
          const int32_t u = edge.a.value == v ? edge.b.value : edge.a.value;
          const int64_t now = LocalCost(moved, u, moved[u]);
          const auto [cheapest, cost] = CheapestOf(moved, u);
          if (cost >= now) continue;
          more -= static_cast<double>(now - cost);
          moved[u] = cheapest;
          adapted = true;
        }
        improved = adapted && more < slack && Offer(moved);
      }
      if (improved) {
        slack = slack_of();
        since = 0;
        continue;
      }
      moved[v] = best_[v];
      for (int32_t e : edges_of_[v]) {
        for (const solve::NodeId end : {bound_problem_.edges[e].a, bound_problem_.edges[e].b})
          moved[end.index()] = best_[end.index()];
      }
    }
  }
}

void StepSearch::Enumerate() {
  const size_t nodes = bound_problem_.nodes.size();
  double choices = 1;
  std::vector<solve::Int128> least_left(nodes + 1, 0);  // of the nodes from one on
  for (size_t v = nodes; v-- > 0;) {
    const std::vector<int64_t>& cost = bound_problem_.nodes[v].cost;
    choices *= static_cast<double>(cost.size());
    least_left[v] = least_left[v + 1] + *std::min_element(cost.begin(), cost.end());
  }
  if (choices > kMostEnumerated) return;
  std::vector<int32_t> choice(nodes, 0);
  const auto extend = [&](auto& self, size_t v, solve::Int128 cost) -> void {
    if (Stopped()) return;
    const auto least = static_cast<double>(cost + least_left[v]);
    if (launch_seconds_ + least / prepared_.ticks() >= best_seconds_) return;
    if (v == nodes) {
      Offer(choice);
      return;
    }
    for (size_t s = 0; s < bound_problem_.nodes[v].cost.size(); ++s) {
      choice[v] = static_cast<int32_t>(s);
      solve::Int128 with = cost + bound_problem_.nodes[v].cost[s];
      for (int32_t e : edges_of_[v]) {
        const solve::Edge& edge = bound_problem_.edges[e];
        if (std::max(edge.a.index(), edge.b.index()) == v)
          with += edge.matrix->at(choice[edge.a.index()], choice[edge.b.index()]);
      }
      if (with < solve::kForbidden) self(self, v + 1, with);
    }
  };
  extend(extend, 0, 0);
  if (!Stopped()) bound_seconds_ = best_seconds_;
}

std::pair<int32_t, int64_t> StepSearch::CheapestOf(const std::vector<int32_t>& choice,
                                                   int32_t node) {
  std::pair<int32_t, int64_t> cheapest = {choice[node], LocalCost(choice, node, choice[node])};
  const auto strategies = static_cast<int32_t>(bound_problem_.nodes[node].cost.size());
  work_ += strategies * (static_cast<int64_t>(edges_of_[node].size()) + 1) / kCostsAStep;
  for (int32_t s = 0; s < strategies; ++s) {
    const int64_t cost = LocalCost(choice, node, s);
    if (cost < cheapest.second) cheapest = {s, cost};
  }
  return cheapest;
}

void StepSearch::Run(const std::vector<std::vector<int32_t>>& hints) {
  candidates_.push_back(best_);
  SolveWith(bound_pricing_, hints, /*is_bound=*/true);
  Reprice(hints);
  Recombine();
  Improve();
  Enumerate();
  bound_seconds_ = std::min(bound_seconds_, best_seconds_);
}

}  // namespace meshwright
