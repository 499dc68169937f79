#ifndef MESHWRIGHT_INTRA_PRICED_PLANNER_H_
#define MESHWRIGHT_INTRA_PRICED_PLANNER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/intra/prepared_problem.h"

namespace meshwright {

// Plans a program at prices of memory instead of within a budget: what is in use when the operator
// `at` runs costs something a byte. For programs that are parts of a larger whole which has the
// budget.
class PricedPlanner {
 public:
  // `graph`, `cost_model` and `options` must outlive the planner; options.budget_bytes plays no
  // part. Errors: see PlanIntra.
  static absl::StatusOr<std::unique_ptr<PricedPlanner>> Make(const Graph& graph,
                                                             const CostModel& cost_model,
                                                             const PlannerOptions& options,
                                                             OpId at);

  // The plan at `seconds_per_byte`. Objective and memory are as PlanIntra says, without the price;
  // the bound is one on the objective without a price, else 0. Errors: out of time.
  absl::StatusOr<IntraPlan> Plan(double seconds_per_byte);

 private:
  PricedPlanner(const PlannerOptions& options, OpId at) : options_(options), at_(at) {}

  const PlannerOptions& options_;
  const OpId at_;
  std::unique_ptr<PreparedProblem> prepared_;
  std::vector<solve::Node> nodes_;  // without a price
  std::vector<int32_t> hint_;       // the last answer
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PRICED_PLANNER_H_
