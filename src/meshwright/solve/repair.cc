#include "meshwright/solve/repair.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "meshwright/solve/simd.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

// Sum over rows of penalty * excess of `amount` over the slack, which is at least 0.
MW_SIMD double ExcessPenalty(const double* penalty, const double* slack, double amount,
                             int32_t rows) {
  constexpr int kLanes = 8;  // partial sums, so that the compiler may use vectors
  double sums[kLanes] = {};
  int32_t r = 0;
  for (; r + kLanes <= rows; r += kLanes) {
    for (int i = 0; i < kLanes; ++i) {
      const double free = slack[r + i] > 0 ? slack[r + i] : 0;
      const double excess = amount - free;
      sums[i] += excess > 0 ? excess * penalty[r + i] : 0;
    }
  }
  double sum = 0;
  for (; r < rows; ++r) sum += std::max(0.0, amount - std::max(0.0, slack[r])) * penalty[r];
  for (double s : sums) sum += s;
  return sum;
}

// Slack is in doubles: whether the result fits is for the caller to decide, exactly.
class Repairer {
 public:
  Repairer(const Model& model, const Neighbourhoods& near, Choice start)
      : model_(model),
        near_(near),
        choice_(std::move(start)),
        slack_(model.capacity.begin(), model.capacity.end()) {
    for (int32_t v = 0; v < model.size(); ++v) Take(v, choice_[v], -1);
    double costs = 0, usages = 0;
    for (const ModelNode& node : model.nodes) {
      const auto [least, most] = std::minmax_element(node.cost.begin(), node.cost.end());
      costs += static_cast<double>(IsInf(*most) ? *least : *most);
      for (const Segment& g : node.segments) {
        usages += static_cast<double>(*std::max_element(g.amount.begin(), g.amount.end()));
      }
    }
    forbidden_penalty_ = 10 * (1 + costs / std::max(1, model.size()));
    row_penalty_step_ = (1 + costs) / (1 + usages) / 4;
    row_penalty_.assign(model.rows(), row_penalty_step_);
  }

  // Changes every node once; the number of changes.
  int Sweep() {
    int changes = 0;
    for (int32_t v = 0; v < model_.size(); ++v) changes += ChangeToBest(v);
    return changes;
  }

  // True if nothing is violated; else the penalties of what is violated rise.
  bool RaisePenalties() {
    bool feasible = true;
    for (int32_t r = 0; r < model_.rows(); ++r) {
      if (slack_[r] >= 0) continue;
      feasible = false;
      row_penalty_[r] = row_penalty_[r] * 1.5 + row_penalty_step_;
    }
    if (ModelCost(model_, choice_) == kInfCost) {
      feasible = false;
      forbidden_penalty_ *= 1.5;
    }
    return feasible;
  }

  const Choice& choice() const { return choice_; }

 private:
  void Take(int32_t v, int32_t s, double sign) {
    for (const Segment& g : model_.nodes[v].segments) {
      const double amount = sign * static_cast<double>(g.amount[s]);
      if (amount == 0) continue;
      for (int32_t r = g.begin; r < g.end; ++r) slack_[r] += amount;
    }
  }

  bool ChangeToBest(int32_t v) {
    const auto k = model_.strategies(v);
    const auto penalized = [this](Number cost) {
      return IsInf(cost) ? forbidden_penalty_ : static_cast<double>(cost);
    };
    cost_.resize(k);
    for (int32_t s = 0; s < k; ++s) cost_[s] = penalized(model_.nodes[v].cost[s]);
    for (const Neighbourhoods::Link& link : near_.of(v)) {
      const int32_t theirs = choice_[link.other];
      for (int32_t s = 0; s < k; ++s) cost_[s] += penalized(link.at(s, theirs));
    }
    const int32_t old = choice_[v];
    Take(v, old, 1);
    int32_t best = old;
    double least = cost_[old] + UsagePenalty(v, old);
    for (int32_t s = 0; s < k; ++s) {
      if (cost_[s] >= least) continue;  // usage only adds to it
      const double cost = cost_[s] + UsagePenalty(v, s);
      if (cost < least) {
        least = cost;
        best = s;
      }
    }
    Take(v, best, -1);
    choice_[v] = best;
    return best != old;
  }

  double UsagePenalty(int32_t v, int32_t s) const {
    double sum = 0;
    for (const Segment& g : model_.nodes[v].segments) {
      if (g.amount[s] == 0) continue;
      sum += ExcessPenalty(row_penalty_.data() + g.begin, slack_.data() + g.begin,
                           static_cast<double>(g.amount[s]), g.end - g.begin);
    }
    return sum;
  }

  const Model& model_;
  const Neighbourhoods& near_;
  Choice choice_;
  std::vector<double> slack_, row_penalty_;  // by row
  std::vector<double> cost_;                 // by strategy of the node that is looked at
  double row_penalty_step_ = 0, forbidden_penalty_ = 0;
};

}  // namespace

Choice Repair(const Model& model, const Neighbourhoods& near, Choice start, int max_sweeps,
              const std::function<bool()>& stop) {
  Repairer repairer(model, near, std::move(start));
  Choice best;
  Int128 best_cost = kInfCost;
  for (int sweep = 0; sweep < max_sweeps && !(stop && stop()); ++sweep) {
    const int changes = repairer.Sweep();
    if (repairer.RaisePenalties()) {
      const Int128 cost = ModelCost(model, repairer.choice());
      if (cost < best_cost) {
        best_cost = cost;
        best = repairer.choice();
      }
      if (changes == 0) break;
    }
  }
  return best;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
