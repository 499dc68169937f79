#ifndef MESHWRIGHT_HETERO_PROOF_H_
#define MESHWRIGHT_HETERO_PROOF_H_

#include <cstdint>
#include <vector>

#include "meshwright/hetero/at_hand.h"
#include "meshwright/hetero/ledger.h"
#include "meshwright/hetero/planner.h"

namespace meshwright::transformer {

// Goes through all plans of states, stage by stage from the last to the first, over all orders of
// lanes and numbers of layers, as far as a bound on the stages so far and on what must come before
// is of use. What is cut off cannot be better.
class MixedProver {
 public:
  // All must outlive it.
  MixedProver(MixedLedger& ledger, MixedPlanner& planner) : ledger_(ledger), planner_(planner) {}

  // False if it had taken `most` steps in all before all plans were decided.
  bool Prove(const MixedAtHand& family, const MixedState& state, int64_t most);
  int64_t steps() const { return steps_; }

 private:
  void Extend(int64_t layers, const PipelineBound& behind);

  MixedLedger& ledger_;
  MixedPlanner& planner_;
  int64_t steps_ = 0, most_steps_ = 0;
  // Of the state at hand: stages that are open, those decided, by lane; the last stage first.
  MixedAtHand at_;
  const MixedState* state_ = nullptr;
  StageCounts left_ = {};
  std::vector<int64_t> behind_;
  std::vector<MixedStage> reversed_;
  bool exhausted_ = false;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_HETERO_PROOF_H_
