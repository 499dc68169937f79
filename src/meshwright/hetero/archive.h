#ifndef MESHWRIGHT_HETERO_ARCHIVE_H_
#define MESHWRIGHT_HETERO_ARCHIVE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "meshwright/hetero/bounds.h"
#include "meshwright/hetero/search.h"

namespace meshwright::transformer::hetero {

// The most that rounding adds to a bound.
inline constexpr double kBoundRounding = 1e-12;

// Whether `a` is better than `b`: by kCost cheaper, or as cheap and faster, and else faster, or as
// fast and of cheaper nodes. What differs by less than rounding is equal.
bool BetterChoice(Objective objective, const Choice& a, const Choice& b);

// Numbers of stages on each stage class, of a family.
struct State {
  size_t family = 0;
  StageCounts stages = {};
  std::vector<int64_t> nodes;  // of each group, that they take
  double dollars_per_hour = 0;
  double bound = 0, estimate = 0;  // seconds

  double least_dollars() const { return bound * dollars_per_hour / 3600; }
};

// The plans that a search has found, with what can still be of use and what it leaves open.
class Archive {
 public:
  // `options` must outlive it.
  explicit Archive(const SearchOptions& options);

  bool by_cost() const { return options_.objective == Objective::kCost; }
  bool pareto() const { return options_.objective == Objective::kPareto; }

  // A plan of use at this price takes less than this.
  double Cutoff(double dollars_per_hour) const;
  // ... at whatever price; infinite where that depends on it.
  double LargestCutoff() const;
  // Whether one can take as little as `bound` says.
  bool Open(double bound, double dollars_per_hour) const {
    return bound * (1 - kBoundRounding) < Cutoff(dollars_per_hour);
  }
  // Whether plans of at least so many seconds and dollars a step can be of use.
  bool Useful(double seconds, double dollars) const;

  // A plan of a state: it is kept if it is of use.
  void Add(const State& state, Choice choice);
  // The search ends without deciding plans of at least that.
  void LeaveOpen(double seconds, double dollars);

  // Whether choices of nodes are still listed. Their bounds must be known then, useful or not.
  bool recording() const;
  // Records what the state's bound says of its nodes.
  void RecordBound(const State& state);
  // Plans on whatever nodes that take at least so many seconds are left out: bounds of nodes are
  // not of them alone.
  void LeaveOut(double seconds) { left_out_ = std::min(left_out_, seconds); }

  const std::vector<Choice>& front() const { return front_; }
  // No plan within the limits takes less: seconds, or by cost dollars; of what was searched so far.
  double bound() const;
  // Fills in the front, what it was compared with, and the bound.
  void Finish(Result* result);

 private:
  SubCluster* Record(const State& state);

  const SearchOptions& options_;
  double most_seconds_ = std::numeric_limits<double>::infinity(), most_dollars_ = most_seconds_;
  std::vector<Choice> front_;
  std::map<std::vector<int64_t>, SubCluster> sub_clusters_;  // by nodes
  bool proven_ = true;
  double left_out_ = std::numeric_limits<double>::infinity();  // see LeaveOut
  double open_bound_ = std::numeric_limits<double>::infinity();
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_ARCHIVE_H_
