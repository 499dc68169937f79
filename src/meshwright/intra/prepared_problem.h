#ifndef MESHWRIGHT_INTRA_PREPARED_PROBLEM_H_
#define MESHWRIGHT_INTRA_PREPARED_PROBLEM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/cost/liveness.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/intra/groups.h"
#include "meshwright/intra/pins.h"
#include "meshwright/intra/planner.h"
#include "meshwright/intra/problem_builder.h"
#include "meshwright/intra/problem_costs.h"
#include "meshwright/solve/solver.h"

namespace meshwright {

// A program on a mesh, ready to be solved, and what reading an answer back needs.
class PreparedProblem {
 public:
  // `graph`, `cost_model` and `options` must outlive the result. Errors: see PlanIntra.
  static absl::StatusOr<std::unique_ptr<PreparedProblem>> Make(const Graph& graph,
                                                               const CostModel& cost_model,
                                                               const PlannerOptions& options);

  // To be solved; the limit and the costs may be changed in between.
  solve::Problem& problem() { return planning_.problem; }
  // Cost of the problem for one of the cost model's unit.
  double ticks() const { return planning_.ticks; }
  const Graph& graph() const { return graph_; }
  const Schedule& schedule() const { return schedule_; }
  const std::vector<Interval>& intervals() const { return intervals_; }
  // What there is to say about the program and about `plan`, a plan of it.
  std::vector<std::string> WarningsOf(const IntraPlan& plan) const;
  // Every sharding follows from those that were given, and XLA's own scheduler is to be judged.
  bool propagated() const { return propagated_; }

  // Choices that a search may start from (joined_axes.h). Each gets a share of what `solver` may
  // spend.
  std::vector<std::vector<int32_t>> ChoicesToStartFrom(const solve::SolverOptions& solver) const;

  // Take from the problem every other choice than that `op` works by `strategy`, that a value is
  // kept, an entry parameter stored or an output left in `sharding`. False, and nothing is taken
  // away, where there is no such choice; so it is for operators and values that take no decision of
  // their own. Parameters that nobody uses and outputs that replace parameters give true.
  bool ForceStrategy(OpId op, const Strategy& strategy);
  bool ForceValue(ValueId value, const Sharding& sharding);
  bool ForceParameter(int32_t parameter, const Sharding& sharding);  // position in the graph
  bool ForceOutput(int32_t output, const Sharding& sharding);        // likewise

  // Why the solver found no assignment: that there is none, with what shows it, that it was told to
  // stop, or that its time (`timed_out`) or its work ended.
  absl::Status NoAnswer(const solve::Solution& solution, bool timed_out) const;

  IntraPlan Decode(const std::vector<int32_t>& choice) const;
  // The same as XLA runs it. Where there are collectives to hide, its scheduler lets everything
  // that no matmul waits for run last (DeferUnneeded) if the peak of that is within the memory
  // there is, `budget_bytes` and the device's; if it is not, the order is that of Decode and the
  // step the slower one's, so that more memory makes no plan slower. See
  // ProblemInputs::as_compiled.
  IntraPlan DecodeAsRun(const std::vector<int32_t>& choice, int64_t budget_bytes) const;

  // What the search for the shortest step needs (step_search.h).
  const ProblemInputs& inputs() const { return *inputs_; }
  const CandidateSets& sets() const { return *sets_; }
  const PlanningProblem& planning() const { return planning_; }
  const CostModel& cost_model() const { return cost_model_; }
  // The order of DecodeAsRun where memory allows it: by it a step takes no longer than by the
  // other.
  const Schedule& deferred() const { return deferred_; }
  // The problem with costs by `pricing`; what was taken away from it stays so.
  solve::Problem Priced(ProblemCosts& costs, const MovePricing& pricing, bool break_ties) const;

 private:
  PreparedProblem(const Graph& graph, const CostModel& cost_model, const PlannerOptions& options);
  absl::Status Build();
  // Leaves the strategies of a node that `keep` holds for, by index into its set; false: none.
  bool Force(solve::NodeId node, absl::FunctionRef<bool(int32_t strategy)> keep);
  // What users know a node's operator, parameter, output or value by.
  std::string NameOf(solve::NodeId id) const;
  ProblemInputs Inputs(const std::vector<Interval>& intervals) const;

  const Graph& graph_;
  const PlannerOptions& options_;
  const bool propagated_;
  const std::unique_ptr<CostModel> partitioner_;  // if propagated_: moves values as XLA does
  const CostModel& cost_model_;
  FusionInfo fusion_;
  Schedule schedule_, deferred_;
  std::vector<Interval> intervals_, deferred_intervals_;
  std::vector<int32_t> tied_;
  Pins pins_;
  Groups groups_;
  std::unique_ptr<CandidateSets> sets_;
  std::optional<ProblemInputs> inputs_;
  PlanningProblem planning_;
  std::vector<std::string> warnings_;
};

// Whether the solver found an assignment.
bool HasAnswer(const solve::Solution& solution);
// The error if it did not for want of time.
absl::Status OutOfTime();

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PREPARED_PROBLEM_H_
