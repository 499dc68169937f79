#include "meshwright/solve/proximal_bundle.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr size_t kMostPlanes = 60;
// Share of the expected rise that makes a point the new centre, and that makes steps longer.
constexpr double kSerious = 0.1, kGood = 0.5;
constexpr double kLongerStep = 2, kShorterStep = 0.5;
constexpr int kBundlePatience = 3;  // points without a rise before steps get shorter
constexpr int kMostLengthened = 2;  // times that steps get longer by this at once
constexpr double kLengthen = 4;
constexpr int kMostShifts = 3000;
constexpr double kWeightPrecision = 1e-6;  // of the height that is to be gained

double Rise(const std::vector<double>& slope, const std::vector<double>& from,
            const std::vector<double>& to) {
  double sum = 0;
  for (size_t r = 0; r < slope.size(); ++r) sum += slope[r] * (to[r] - from[r]);
  return sum;
}

}  // namespace

ProximalBundle::ProximalBundle(const Model& model, double target)
    : model_(model), target_(target), centre_(model.rows(), 0.0) {}

double ProximalBundle::Scale(size_t row) const {
  return std::max(1.0, static_cast<double>(model_.capacity[row]));
}

void ProximalBundle::Add(const std::vector<double>& multipliers, double value, Choice choice) {
  const size_t rows = centre_.size();
  Plane plane;
  plane.choice = std::move(choice);
  const std::vector<Number> usage = RowUsage(model_, plane.choice);
  plane.slope.resize(rows);
  std::vector<double> at(rows);
  for (size_t r = 0; r < rows; ++r) {
    at[r] = multipliers[r] * Scale(r);
    plane.slope[r] =
        (static_cast<double>(usage[r]) - static_cast<double>(model_.capacity[r])) / Scale(r);
  }
  if (planes_.empty()) {
    centre_ = at;
    best_ = plane.height = value;
    const double most = *std::max_element(plane.slope.begin(), plane.slope.end());
    double norm = most > 0 ? most * most : 0;
    for (size_t r = 0; r < rows; ++r) {
      if (at[r] > 0 && plane.slope[r] < most) norm += plane.slope[r] * plane.slope[r];
    }
    if (norm > 0) length_ = std::max(1.0, target_ - value) / norm;
  } else if (value > best_ && value - best_ >= kSerious * expected_) {
    for (Plane& other : planes_) other.height += Rise(other.slope, centre_, at);
    if (value - best_ >= kGood * expected_) length_ *= kLongerStep;
    centre_ = at;
    best_ = plane.height = value;
    failures_ = 0;
  } else {
    plane.height = value + Rise(plane.slope, at, centre_);
    if (++failures_ % kBundlePatience == 0) length_ *= kShorterStep;
  }
  planes_.push_back(std::move(plane));
  if (planes_.size() > kMostPlanes) DropPlane();
}

void ProximalBundle::DropPlane() {
  // The newest stays; of the others the one that weighs least, and is highest among those.
  const auto least =
      std::min_element(planes_.begin(), planes_.end() - 1, [](const Plane& a, const Plane& b) {
        return std::pair(a.weight, -a.height) < std::pair(b.weight, -b.height);
      });
  planes_.erase(least);
}

std::vector<double> ProximalBundle::Next(double worthwhile) {
  Weigh();
  for (int i = 0; i < kMostLengthened && expected_ < worthwhile; ++i) {
    length_ *= kLengthen;
    Weigh();
  }
  return MultipliersAt(next_);
}

std::vector<double> ProximalBundle::best_multipliers() const { return MultipliersAt(centre_); }

std::vector<double> ProximalBundle::MultipliersAt(std::vector<double> scaled) const {
  for (size_t r = 0; r < scaled.size(); ++r) scaled[r] /= Scale(r);
  return scaled;
}

// The dual of the step's problem: weights on the planes, from which the multipliers follow as
// centre plus length times the average slope, at least 0. Weight is shifted between the two planes
// that are lowest and highest at those multipliers, the pair that helps most, until they meet.
void ProximalBundle::Weigh() {
  // In the other rows multipliers are and stay zero. Only the most exceeded row of a plane gets a
  // multiplier: for a plateau one will do, and parts of the model that see equal multipliers stay
  // equal.
  std::vector<size_t> active;
  for (size_t r = 0; r < centre_.size(); ++r) {
    if (centre_[r] > 0) active.push_back(r);
  }
  for (const Plane& plane : planes_) {
    const auto most = std::max_element(plane.slope.begin(), plane.slope.end());
    if (*most > 0) active.push_back(static_cast<size_t>(most - plane.slope.begin()));
  }
  std::sort(active.begin(), active.end());
  active.erase(std::unique(active.begin(), active.end()), active.end());
  double sum = 0;
  for (const Plane& plane : planes_) sum += plane.weight;
  if (sum <= 0) planes_.back().weight = sum = 1;
  std::vector<double> average(active.size(), 0.0);
  for (Plane& plane : planes_) {
    plane.weight /= sum;
    for (size_t i = 0; i < active.size(); ++i) average[i] += plane.weight * plane.slope[active[i]];
  }
  next_.assign(centre_.size(), 0.0);
  for (int shift = 0;; ++shift) {
    for (size_t i = 0; i < active.size(); ++i)
      next_[active[i]] = std::max(0.0, centre_[active[i]] + length_ * average[i]);
    Plane *low = nullptr, *high = nullptr;
    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
    for (Plane& plane : planes_) {
      double height = plane.height;
      for (size_t r : active) height += plane.slope[r] * (next_[r] - centre_[r]);
      if (height < lowest) {
        lowest = height;
        low = &plane;
      }
      if (plane.weight > 0 && height > highest) {
        highest = height;
        high = &plane;
      }
    }
    expected_ = std::max(0.0, lowest - best_);
    if (shift == kMostShifts || highest - lowest <= kWeightPrecision * (1 + expected_)) return;
    double curvature = 0;
    for (size_t r : active) {
      const double difference = low->slope[r] - high->slope[r];
      curvature += difference * difference;
    }
    const double resistance = length_ * curvature;
    const double share =
        resistance > 0 ? std::min(high->weight, (highest - lowest) / resistance) : high->weight;
    low->weight += share;
    high->weight -= share;
    for (size_t i = 0; i < active.size(); ++i)
      average[i] += share * (low->slope[active[i]] - high->slope[active[i]]);
  }
}

std::vector<Choice> ProximalBundle::Weighted() const {
  std::vector<const Plane*> weighted;
  for (const Plane& plane : planes_) {
    if (plane.weight > 0) weighted.push_back(&plane);
  }
  std::stable_sort(weighted.begin(), weighted.end(),
                   [](const Plane* a, const Plane* b) { return a->weight < b->weight; });
  std::vector<Choice> choices;
  for (const Plane* plane : weighted) choices.push_back(plane->choice);
  return choices;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
