#include "meshwright/hetero/archive.h"

#include <algorithm>
#include <utility>

namespace meshwright::transformer::hetero {
namespace {

constexpr size_t kMostSubClusters = 10'000;  // that are listed

// Factors of rounding on equal figures, less and more.
constexpr double kLess = 1 - 2 * kBoundRounding, kMore = 1 + 2 * kBoundRounding;

}  // namespace

bool BetterChoice(Objective objective, const Choice& a, const Choice& b) {
  const bool by_cost = objective == Objective::kCost;
  const double first = by_cost ? a.step_dollars() : a.seconds,
               other_first = by_cost ? b.step_dollars() : b.seconds;
  const double then = by_cost ? a.seconds : a.dollars_per_hour,
               other_then = by_cost ? b.seconds : b.dollars_per_hour;
  if (first < other_first * kLess || (first < other_first && then <= other_then)) return true;
  return first <= other_first * kMore && then < other_then * kLess;
}

Archive::Archive(const SearchOptions& options) : options_(options) {
  if (options.most_seconds.has_value()) most_seconds_ = *options.most_seconds / options.steps;
  if (options.most_dollars.has_value()) most_dollars_ = *options.most_dollars / options.steps;
}

double Archive::Cutoff(double dollars_per_hour) const {
  double cutoff = most_seconds_;
  const double rate = dollars_per_hour / 3600;
  if (rate > 0) cutoff = std::min(cutoff, most_dollars_ / rate);
  // Limits may be met exactly.
  cutoff *= kMore;
  // In which a plan at this price costs as much as another.
  const auto for_as_much = [&](const Choice& choice) {
    if (rate > 0) return choice.step_dollars() / rate;
    return choice.dollars_per_hour > 0 ? std::numeric_limits<double>::infinity() : choice.seconds;
  };
  for (const Choice& choice : front_) {
    switch (options_.objective) {
      case Objective::kTime:
        // As fast will do on cheaper nodes.
        cutoff = std::min(
            cutoff, choice.seconds * (dollars_per_hour < choice.dollars_per_hour ? kMore : 1));
        break;
      case Objective::kCost:
        // As cheap will do in less time, which more expensive nodes take then.
        cutoff = std::min(
            cutoff, for_as_much(choice) * (dollars_per_hour > choice.dollars_per_hour ? kMore : 1));
        break;
      case Objective::kPareto:
        cutoff = std::min(cutoff, std::max(choice.seconds, for_as_much(choice)));
    }
  }
  return cutoff;
}

double Archive::LargestCutoff() const {
  const bool known = options_.objective == Objective::kTime ||
                     (by_cost() && !front_.empty() && front_[0].dollars_per_hour == 0);
  return known ? Cutoff(0) : std::numeric_limits<double>::infinity();
}

bool Archive::Useful(double seconds, double dollars) const {
  if (seconds > most_seconds_ || dollars > most_dollars_) return false;
  return std::none_of(front_.begin(), front_.end(), [&](const Choice& choice) {
    if (choice.seconds <= seconds && choice.step_dollars() <= dollars) return true;
    if (pareto()) return false;
    return by_cost() ? choice.step_dollars() * kMore < dollars : choice.seconds * kMore < seconds;
  });
}

void Archive::Add(const State& state, Choice choice) {
  if (pareto()) {
    SubCluster* const cluster = Record(state);
    const bool better = cluster != nullptr &&
                        (!cluster->best.has_value() || choice.seconds < cluster->best->seconds);
    if (better) cluster->best = choice;
  }
  if (choice.seconds >= Cutoff(choice.dollars_per_hour)) return;
  if (!pareto()) {
    if (!front_.empty() && !BetterChoice(options_.objective, choice, front_[0])) return;
    front_.clear();
  }
  front_.erase(std::remove_if(front_.begin(), front_.end(),
                              [&](const Choice& other) {
                                return other.seconds >= choice.seconds &&
                                       other.step_dollars() >= choice.step_dollars();
                              }),
               front_.end());
  const auto place = std::find_if(front_.begin(), front_.end(), [&](const Choice& other) {
    return other.seconds > choice.seconds;
  });
  front_.insert(place, std::move(choice));
}

void Archive::LeaveOpen(double seconds, double dollars) {
  LeaveOut(seconds);
  const double rounding = 1 - kBoundRounding;
  if (!Useful(seconds * rounding, dollars * rounding)) return;
  proven_ = false;
  open_bound_ = std::min(open_bound_, by_cost() ? dollars : seconds);
}

bool Archive::recording() const { return pareto() && sub_clusters_.size() < kMostSubClusters; }

SubCluster* Archive::Record(const State& state) {
  const auto found = sub_clusters_.find(state.nodes);
  if (found != sub_clusters_.end()) return &found->second;
  if (!recording()) return nullptr;
  SubCluster& cluster = sub_clusters_[state.nodes];
  cluster.nodes = state.nodes;
  cluster.dollars_per_hour = state.dollars_per_hour;
  cluster.bound_seconds = std::numeric_limits<double>::infinity();
  return &cluster;
}

void Archive::RecordBound(const State& state) {
  SubCluster* const cluster = Record(state);
  if (cluster == nullptr) return LeaveOut(state.bound);
  cluster->bound_seconds = std::min(cluster->bound_seconds, state.bound);
}

double Archive::bound() const {
  double bound = open_bound_;
  for (const Choice& choice : front_) {
    bound = std::min(bound, by_cost() ? choice.step_dollars() : choice.seconds);
  }
  return bound;
}

void Archive::Finish(Result* result) {
  result->front = front_;
  result->proven = proven_;
  result->bound = bound();
  for (auto& [nodes, cluster] : sub_clusters_) {
    // A plan that takes less than the cutoff would be of use, and so be on a front that is exact.
    if (proven_) {
      cluster.bound_seconds = std::max(cluster.bound_seconds, Cutoff(cluster.dollars_per_hour));
    }
    cluster.listed_seconds = cluster.bound_seconds;
    cluster.bound_seconds = std::min(cluster.bound_seconds, left_out_);
    result->sub_clusters.push_back(std::move(cluster));
  }
}

}  // namespace meshwright::transformer::hetero
