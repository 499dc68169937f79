#include "meshwright/solve/multiplier_annealing.h"

#include <algorithm>
#include <cmath>
#include <limits>

// The rows that bind differ in scale by orders of magnitude: a spike of one row that exceeds its
// capacity twice over stands beside a plateau of a thousand rows that exceed it by a tenth. A
// subgradient is all spike, so the plateau gets no multiplier until the spike has settled.
// Coordinate ascent has no scales to mix up; its weakness, that it gets stuck where the bound has
// an edge, goes away when the bound is smoothed: nodes take strategies with probabilities
// exp(-reduced cost / T), and a row's multiplier moves to where its expected usage is its capacity
// (Newton, damped). As T falls from the size of typical reduced costs to next to nothing, the
// smoothed maximum moves to that of the bound.
//
// Rows are moved one after another, the most exceeded first, and each sees what earlier ones of the
// round have done to the reduced costs. A row only gets its first multiplier where usage peaks (a
// local maximum over rows), so one row is priced for a plateau, not a thousand.
//
// Messages are not part of the ascent: a round passes them twice, and reduced costs respond to
// multipliers as if they stayed. Neighbours then respond together and overshoot; a row whose steps
// change sign has its damping halved (Riedmiller and Braun, "Rprop", 1993).

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr double kStart = 4, kCooling = 0.94;  // in median reduced costs; per round
constexpr double kDamping = 0.3, kLeastDamping = 0.02, kMostDamping = 0.6;
constexpr double kLongestStep = 20;  // in temperatures per difference of usage
constexpr int kNewtonSteps = 2;
constexpr int kNewRows = 4;  // that get their first multiplier in one round
constexpr double kForbiddenReducedCost = static_cast<double>(kInf) / 1024;
constexpr double kNegligible = 30;  // exp(-30)

}  // namespace

MultiplierAnnealing::MultiplierAnnealing(const Model& model, DualBound* bound)
    : model_(model),
      bound_(bound),
      multipliers_(bound->multipliers()),
      best_multipliers_(bound->multipliers()),
      best_(-kInfCost) {
  for (const ModelNode& node : model.nodes) {
    at_.push_back(reduced_cost_.size());
    reduced_cost_.resize(reduced_cost_.size() + node.cost.size());
  }
}

double MultiplierAnnealing::MedianReducedCost() const {
  std::vector<double> means;
  for (int32_t v = 0; v < model_.size(); ++v) {
    if (model_.nodes[v].segments.empty()) continue;
    double sum = 0;
    int32_t count = 0;
    for (int32_t s = 0; s < model_.strategies(v); ++s) {
      if (const double reduced_cost = reduced_cost_[at_[v] + s];
          reduced_cost < kForbiddenReducedCost) {
        sum += reduced_cost;
        ++count;
      }
    }
    if (sum > 0) means.push_back(sum / count);
  }
  if (means.empty()) return 1;
  const auto middle = means.begin() + static_cast<int64_t>(means.size() / 2);
  std::nth_element(means.begin(), middle, means.end());
  return *middle;
}

MultiplierAnnealing::Row& MultiplierAnnealing::RowAt(int32_t r) {
  const auto [it, fresh] = row_.try_emplace(r);
  Row& row = it->second;
  if (fresh) {
    row.damping = kDamping;
    for (int32_t v = 0; v < model_.size(); ++v) {
      for (const Segment& g : model_.nodes[v].segments) {
        if (r < g.begin || r >= g.end) continue;
        row.users.push_back({v, &g});
        const auto [least, most] = std::minmax_element(g.amount.begin(), g.amount.end());
        row.spread = std::max(row.spread, static_cast<double>(*most - *least));
      }
    }
  }
  return row;
}

std::vector<int32_t> MultiplierAnnealing::RowsToMove(const std::vector<double>& usage) const {
  const auto excess = [&](int32_t r) {
    const double capacity = std::max<double>(1.0, static_cast<double>(model_.capacity[r]));
    return usage[r] / capacity - 1;
  };
  std::vector<std::pair<double, int32_t>> rows;
  for (int32_t r = 0; r < model_.rows(); ++r) {
    const double mine = excess(r);
    const bool peak = mine > 0 && (r == 0 || mine >= excess(r - 1)) &&
                      (r + 1 == model_.rows() || mine >= excess(r + 1));
    if (peak || multipliers_[r] > 0) rows.emplace_back(-mine, r);
  }
  std::sort(rows.begin(), rows.end());
  std::vector<int32_t> order;
  int fresh = 0;
  for (const auto& [_, r] : rows) {
    if (multipliers_[r] > 0 || fresh++ < kNewRows) order.push_back(r);
  }
  return order;
}

MultiplierAnnealing::Moments MultiplierAnnealing::UsageAt(const Row& row, Number capacity,
                                                          double rise) const {
  double mean = 0, variance = 0;
  for (const User& user : row.users) {
    const std::vector<Number>& amount = user.segment->amount;
    const double* reduced_cost = reduced_cost_.data() + at_[user.node];
    double least = std::numeric_limits<double>::infinity();
    for (size_t s = 0; s < amount.size(); ++s) {
      least = std::min(least, reduced_cost[s] + rise * static_cast<double>(amount[s]));
    }
    double weights = 0, first = 0, second = 0;
    for (size_t s = 0; s < amount.size(); ++s) {
      const auto a = static_cast<double>(amount[s]);
      const double x = (reduced_cost[s] + rise * a - least) / temperature_;
      if (x > kNegligible) continue;
      const double weight = std::exp(-x);
      weights += weight;
      first += weight * a;
      second += weight * a * a;
    }
    first /= weights;
    mean += first;
    variance += std::max(0.0, second / weights - first * first);
  }
  return {mean - static_cast<double>(capacity), variance};
}

int64_t MultiplierAnnealing::MoveMultiplier(int32_t r) {
  Row& row = RowAt(r);
  const double longest = kLongestStep * temperature_ / row.spread;
  double rise = 0;
  int64_t steps = 0;
  for (int i = 0; i < kNewtonSteps; ++i) {
    const Moments usage = UsageAt(row, model_.capacity[r], rise);
    steps += static_cast<int64_t>(row.users.size()) * 16;
    if (i == 0 && multipliers_[r] == 0 && usage.excess <= 0) return steps;
    const double newton = usage.variance > 0 ? usage.excess * temperature_ / usage.variance
                                             : std::copysign(longest, usage.excess);
    rise = std::max(-multipliers_[r], rise + std::clamp(newton, -longest, longest));
  }
  row.damping = rise * row.last_step < 0 ? std::max(kLeastDamping, row.damping * 0.5)
                                         : std::min(kMostDamping, row.damping * 1.2);
  row.last_step = rise;
  rise *= row.damping;
  multipliers_[r] += rise;
  for (const User& user : row.users) {
    double* reduced_cost = reduced_cost_.data() + at_[user.node];
    const std::vector<Number>& amount = user.segment->amount;
    for (size_t s = 0; s < amount.size(); ++s)
      reduced_cost[s] += rise * static_cast<double>(amount[s]);
  }
  return steps;
}

int64_t MultiplierAnnealing::Step() {
  int64_t steps = bound_->Pass() + bound_->Pass();
  if (bound_->bound() > best_) {
    best_ = bound_->bound();
    best_multipliers_ = multipliers_;
  }
  for (int32_t v = 0; v < model_.size(); ++v) {
    for (int32_t s = 0; s < model_.strategies(v); ++s)
      reduced_cost_[at_[v] + s] = bound_->ReducedCost(v, s);
  }
  temperature_ = rounds_ == 0 ? kStart * MedianReducedCost() : temperature_ * kCooling;
  ++rounds_;
  for (int32_t r : RowsToMove(bound_->ExpectedUsage(temperature_))) steps += MoveMultiplier(r);
  bound_->SetMultipliers(multipliers_);
  return steps;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
