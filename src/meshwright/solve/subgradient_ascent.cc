#include "meshwright/solve/subgradient_ascent.h"

#include <algorithm>

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr double kMemory = 0.4;  // weight of earlier directions
constexpr int kPatience = 10;    // steps without a better bound before they get shorter
constexpr double kShorter = 0.7, kLonger = 1.1;

}  // namespace

SubgradientAscent::SubgradientAscent(const Model& model, DualBound* bound)
    : model_(model),
      bound_(bound),
      best_(-kInfCost),
      best_multipliers_(bound->multipliers()),
      multipliers_(bound->multipliers()),
      direction_(bound->multipliers().size(), 0.0) {}

int64_t SubgradientAscent::Step(Int128 target) {
  const int64_t steps = bound_->Pass() + bound_->Pass();
  const Int128 reached = bound_->bound();
  if (reached > best_) {
    best_ = reached;
    best_multipliers_ = multipliers_;
    failures_ = 0;
    factor_ *= kLonger;
  } else if (++failures_ >= kPatience) {
    factor_ *= kShorter;
    failures_ = 0;
    multipliers_ = best_multipliers_;
  }
  const double gap = std::max(1.0, static_cast<double>(target - best_));
  const std::vector<double> usage = bound_->ExpectedUsage(gap / std::max(1, model_.size()));
  double norm = 1;
  for (size_t r = 0; r < usage.size(); ++r) {
    const double excess = usage[r] - static_cast<double>(model_.capacity[r]);
    direction_[r] = (1 - kMemory) * excess + kMemory * direction_[r];
    // Rows that are free and stay so do not count into the length.
    if (multipliers_[r] > 0 || direction_[r] > 0) norm += direction_[r] * direction_[r];
  }
  const double length = factor_ * gap / norm;
  for (size_t r = 0; r < usage.size(); ++r)
    multipliers_[r] = std::max(0.0, multipliers_[r] + length * direction_[r]);
  bound_->SetMultipliers(multipliers_);
  return steps;
}

void SubgradientAscent::RestoreBest() {
  multipliers_ = best_multipliers_;
  bound_->SetMultipliers(multipliers_);
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
