#include "meshwright/transformer/mixed_ledger.h"

#include <algorithm>
#include <utility>

namespace meshwright::transformer {
namespace {

constexpr size_t kMostSubClusters = 10'000;  // that are listed

}  // namespace

MixedLedger::MixedLedger(const MixedSearchOptions& options) : options_(options) {
  if (options.most_seconds.has_value()) most_seconds_ = *options.most_seconds / options.steps;
  if (options.most_dollars.has_value()) most_dollars_ = *options.most_dollars / options.steps;
}

double MixedLedger::Cutoff(double dollars_per_hour) const {
  double cutoff = most_seconds_;
  const double rate = dollars_per_hour / 3600;
  if (rate > 0) cutoff = std::min(cutoff, most_dollars_ / rate);
  // Limits may be met exactly.
  cutoff *= 1 + 2 * kMixedBoundRounding;
  switch (options_.objective) {
    case MixedObjective::kTime:
      if (!front_.empty()) cutoff = std::min(cutoff, front_[0].seconds);
      break;
    case MixedObjective::kCost:
      if (!front_.empty()) cutoff = std::min(cutoff, front_[0].step_dollars() / rate);
      break;
    case MixedObjective::kPareto:
      for (const MixedChoice& choice : front_) {
        cutoff = std::min(cutoff, std::max(choice.seconds, choice.step_dollars() / rate));
      }
  }
  return cutoff;
}

double MixedLedger::LargestCutoff() const {
  return options_.objective == MixedObjective::kTime ? Cutoff(0)
                                                     : std::numeric_limits<double>::infinity();
}

bool MixedLedger::Useful(double seconds, double dollars) const {
  if (seconds > most_seconds_ || dollars > most_dollars_) return false;
  return std::none_of(front_.begin(), front_.end(), [&](const MixedChoice& choice) {
    switch (options_.objective) {
      case MixedObjective::kTime:
        return choice.seconds <= seconds;
      case MixedObjective::kCost:
        return choice.step_dollars() <= dollars;
      case MixedObjective::kPareto:
        break;
    }
    return choice.seconds <= seconds && choice.step_dollars() <= dollars;
  });
}

void MixedLedger::Add(const MixedState& state, MixedChoice choice) {
  if (pareto()) {
    SubCluster* const cluster = Record(state);
    const bool better = cluster != nullptr &&
                        (!cluster->best.has_value() || choice.seconds < cluster->best->seconds);
    if (better) cluster->best = choice;
  }
  if (choice.seconds >= Cutoff(choice.dollars_per_hour)) return;
  if (!pareto()) front_.clear();
  front_.erase(std::remove_if(front_.begin(), front_.end(),
                              [&](const MixedChoice& other) {
                                return other.seconds >= choice.seconds &&
                                       other.step_dollars() >= choice.step_dollars();
                              }),
               front_.end());
  const auto place = std::find_if(front_.begin(), front_.end(), [&](const MixedChoice& other) {
    return other.seconds > choice.seconds;
  });
  front_.insert(place, std::move(choice));
}

void MixedLedger::LeaveOpen(double seconds, double dollars) {
  LeaveOut(seconds);
  const double rounding = 1 - kMixedBoundRounding;
  if (!Useful(seconds * rounding, dollars * rounding)) return;
  proven_ = false;
  open_bound_ = std::min(open_bound_, by_cost() ? dollars : seconds);
}

bool MixedLedger::recording() const { return pareto() && sub_clusters_.size() < kMostSubClusters; }

SubCluster* MixedLedger::Record(const MixedState& state) {
  const auto found = sub_clusters_.find(state.nodes);
  if (found != sub_clusters_.end()) return &found->second;
  if (!recording()) return nullptr;
  SubCluster& cluster = sub_clusters_[state.nodes];
  cluster.nodes = state.nodes;
  cluster.dollars_per_hour = state.dollars_per_hour;
  cluster.bound_seconds = std::numeric_limits<double>::infinity();
  return &cluster;
}

void MixedLedger::RecordBound(const MixedState& state) {
  SubCluster* const cluster = Record(state);
  if (cluster == nullptr) return LeaveOut(state.bound);
  cluster->bound_seconds = std::min(cluster->bound_seconds, state.bound);
}

double MixedLedger::bound() const {
  double bound = open_bound_;
  for (const MixedChoice& choice : front_) {
    bound = std::min(bound, by_cost() ? choice.step_dollars() : choice.seconds);
  }
  return bound;
}

void MixedLedger::Finish(MixedResult* result) {
  result->front = front_;
  result->proven = proven_;
  result->bound = bound();
  for (auto& [nodes, cluster] : sub_clusters_) {
    cluster.listed_seconds = cluster.bound_seconds;
    cluster.bound_seconds = std::min(cluster.bound_seconds, left_out_);
    result->sub_clusters.push_back(std::move(cluster));
  }
}

}  // namespace meshwright::transformer
