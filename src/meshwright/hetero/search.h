#ifndef MESHWRIGHT_HETERO_SEARCH_H_
#define MESHWRIGHT_HETERO_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hetero/problem.h"

namespace meshwright::transformer::hetero {

enum class Objective {
  kTime,    // of equally fast ones the cheapest, where all prices are known
  kCost,    // of equally cheap ones the fastest
  kPareto,  // everything than which nothing is both faster and cheaper
};

struct SearchOptions {
  Objective objective = Objective::kTime;
  double steps = 1;  // of the whole run, which the limits are of
  std::optional<double> most_seconds = {}, most_dollars = {};
  bool by_stage = true;  // stages of a group may have different degrees
  // How much work goes into listing what there is to plan, into plans, and into showing that there
  // are no better ones, counted in steps of the searches, so that results do not depend on the
  // machine. That is for plans whose groups have the same degrees; a third of it is for those in
  // which groups differ, and a third for those in which stages of a group do.
  int64_t state_effort = 15'000'000;
  int64_t plan_effort = 1'500'000'000;
  int64_t proof_effort = 80'000'000;
  // Ends the search once it says so: what was found by then is the result, and what was not looked
  // at counts as open. Null: never.
  std::function<bool()> stop = {};
  bool stopped() const { return stop && stop(); }
};

struct Choice {
  Plan plan;
  double seconds = 0;           // a step
  double dollars_per_hour = 0;  // 0 where not all prices are known
  std::vector<int64_t> nodes;   // of each group
  double step_dollars() const { return seconds * dollars_per_hour / 3600; }
};

// The nodes that some plans take, and the best found of them.
struct SubCluster {
  std::vector<int64_t> nodes;
  double dollars_per_hour = 0;
  std::optional<Choice> best;  // none: a bound showed that it would be of no use
  double bound_seconds = 0;    // no plan on exactly these nodes takes a step of less
  // Nor do those that were looked at of less than this. The others are no better than the front.
  double listed_seconds = 0;
};

struct Result {
  // The best plan; with kPareto the front, the fastest first. Empty: nothing fits the limits.
  std::vector<Choice> front;
  // No plan within the limits takes less: seconds a step, or with kCost dollars a step.
  double bound = 0;
  double common_bound = 0;    // ... of those whose groups all have the same degrees
  double by_group_bound = 0;  // ... of those with the same degrees on all stages of a group
  bool proven = false;        // the front is exact
  bool stopped = false;       // by SearchOptions::stop
  // Every choice of nodes, with kPareto; those that were looked at first.
  std::vector<SubCluster> sub_clusters;
  int64_t families = 0;   // degrees and choices that all stages have in common
  int64_t states = 0;     // numbers of stages on each stage class, of all families
  int64_t evaluated = 0;  // plans that were simulated
  int64_t proof_steps = 0;
};

// Errors: a price that the objective or a limit needs and nothing gives.
absl::StatusOr<Result> SearchPlans(const Problem& problem, const SearchOptions& options);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_SEARCH_H_
