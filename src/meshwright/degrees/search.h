#ifndef MESHWRIGHT_DEGREES_SEARCH_H_
#define MESHWRIGHT_DEGREES_SEARCH_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/space.h"
#include "meshwright/degrees/step_cost.h"

// The best configurations of a space, exactly: what is left out cannot be among them.

namespace meshwright::transformer {

// The cost of a configuration. What one without ZeRO takes beside data_communication,
// host_communication and optimizer, and its activations and logits in each pipeline group, must be
// no more than the same configuration takes in all with any ZeRO, and with less offloaded. Where
// more is offloaded, a GPU must have no more in memory, its host no less, and the step take no less
// time; by offload_percent strictly. That is what is pruned by.
using CostFunction = std::function<StepFigures(const Configuration&)>;

// A lower bound of several configurations, to prune by.
using BoundFunction = std::function<StepBound(const Configuration&)>;

struct CostFunctions {
  CostFunction figures;
  // A bound of those that differ from this one in placement, ZeRO and how much is offloaded only.
  // Has no fewer seconds where more layers are recomputed in the same pipeline groups.
  BoundFunction least;
  // The same of those that have this one's GPUs on each node.
  BoundFunction least_of_units;
  // A bound of those that differ in that recompute range as well.
  BoundFunction least_of_ranges;
  // Seconds that none takes less than of those that differ in recomputation and offloading, too.
  std::function<double(const Configuration&)> least_of_family;
};
// Those of the calibrated model; `model` and `cluster` must outlive them.
CostFunctions CalibratedCosts(const Model& model, const Workload& workload, const Cluster& cluster,
                              const ChosenFramework& framework = {});

// The order of configurations. Equals in the first are told apart by the second, then by the order
// of ConfigurationBefore.
enum class Ranking {
  kTime,    // seconds, then memory
  kMemory,  // peak memory of a GPU, then seconds
};

struct SearchOptions {
  int64_t top = 10;  // at least 1
  Ranking ranking = Ranking::kTime;
  std::optional<int64_t> budget_bytes = std::nullopt;  // that a GPU may use; none: unlimited
  std::optional<int64_t> host_bytes = std::nullopt;    // that a GPU may use of its host's memory
  int threads = 2;
  // Others are left out, costed or not; called by several threads. Null: all may be taken.
  std::function<bool(const Configuration&)> takes = nullptr;
  // Asked often, from any thread: once it is true the search ends with its best. Null: never.
  std::function<bool()> stop = nullptr;
};

struct SearchCounts {
  int64_t legal = 0;      // configurations of the space, as far as `stop` let them be counted
  int64_t evaluated = 0;  // of these, costed
  int64_t fitting = 0;    // of those evaluated, compared with the best: within the budget and taken
  int64_t pruned = 0;     // not evaluated, because a bound shows that they do not fit or are not
                          // among the best
  friend bool operator==(const SearchCounts&, const SearchCounts&) = default;
};

struct RankedConfiguration {
  Configuration configuration;
  double seconds = 0;
  int64_t peak_bytes = 0;
};

struct SearchResult {
  // In order, at most `top`. Of those that differ only in the recompute range and in how much is
  // offloaded there is one, the best.
  std::vector<RankedConfiguration> best;
  SearchCounts counts;
  // False: `stop` ended the search before it was over. Else all legal are evaluated or pruned.
  bool complete = true;
  // A bound of what the search did not come to: none that fits takes less of what is ranked by.
  // Infinite if it is complete.
  StepBound unsearched{std::numeric_limits<double>::infinity(),
                       std::numeric_limits<int64_t>::max()};
};

// `make_costs` is called once a thread. The result, counts included, does not depend on the number
// of threads as long as nothing stops it.
SearchResult Search(const Space& space, const std::function<CostFunctions()>& make_costs,
                    const SearchOptions& options);

// Whether `a` ranks before `b`.
bool RanksBefore(Ranking ranking, const RankedConfiguration& a, const RankedConfiguration& b);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_SEARCH_H_
