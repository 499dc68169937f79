#ifndef MESHWRIGHT_INTRA_STEP_EVALUATOR_H_
#define MESHWRIGHT_INTRA_STEP_EVALUATOR_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/cost/liveness.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/intra/problem_builder.h"
#include "meshwright/intra/timeline.h"

namespace meshwright {

// The step of many choices of one planning problem: IntraPlan::step_seconds as DecodeAsRun has it,
// without making the plan, in one order. Of problems in which not every value has a given sharding,
// of models in seconds.
class StepEvaluator {
 public:
  // The step follows `schedule`, which, and all else, must outlive the evaluator.
  StepEvaluator(const ProblemInputs& inputs, const CandidateSets& sets,
                const PlanningProblem& planning, const Overlap& overlap, const Schedule& schedule);

  double Seconds(const std::vector<int32_t>& choice);

  // Of the last step: the share of each move's time that is hidden; -1 of those that took none.
  struct Hidden {
    std::vector<double> nodes, edges;  // by NodeId and by index into PlanningProblem::edges
    double mean = 0;                   // over all, weighted by time
  };
  Hidden HiddenShares() const;

  // Elementary steps that a call of Seconds takes.
  int64_t work() const { return work_; }

 private:
  // Moves are parameters' gatherings, by node, and then edges.
  struct MoveRef {
    bool edge = false;
    int32_t index = 0;
    OpId user;
  };
  void AddMove(const MoveRef& move, ValueId value, const Sharding& from, const Sharding& to,
               double runs);
  void AddEdge(const MoveRef& move, const std::vector<int32_t>& choice);

  const ProblemInputs& in_;
  const CandidateSets& sets_;
  const PlanningProblem& planning_;
  StepSimulation simulation_;
  const Schedule& schedule_;
  std::vector<MoveRef> moves_;  // in the order in which DecodePlan meets them
  std::vector<int32_t> shape_;  // by value: number of its shape
  std::vector<bool> fused_;     // by value: it is stored if it is moved
  int64_t work_ = 0;

  std::vector<double> kernels_;
  std::vector<int64_t> stored_;  // by value: the call of Seconds that stored it last
  int64_t calls_ = 0;
  std::vector<int64_t> moved_call_;  // by value: the call that moved_to_ is of
  // By value: for users in which branch it was moved, and to what.
  std::vector<std::vector<std::pair<int32_t, Sharding>>> moved_to_;
  std::vector<StepCollective> found_, collectives_;  // as met, and in the order of their users
  std::vector<MoveRef> found_move_, move_of_;        // by collective
  std::vector<int32_t> order_;
  absl::flat_hash_map<std::pair<int32_t, std::pair<Sharding, Sharding>>,
                      std::vector<StepCollective>>
      known_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_STEP_EVALUATOR_H_
