#ifndef MESHWRIGHT_HETERO_PROOF_H_
#define MESHWRIGHT_HETERO_PROOF_H_

#include <cstdint>
#include <vector>

#include "meshwright/hetero/archive.h"
#include "meshwright/hetero/family_cache.h"
#include "meshwright/hetero/planner.h"

namespace meshwright::transformer::hetero {

// Goes through all plans of states, stage by stage from the last to the first, over all orders of
// stage classes and numbers of layers, as far as a bound on the stages so far and on what must come
// before is of use. What is cut off cannot be better.
class Prover {
 public:
  // All must outlive it.
  Prover(const Problem& problem, const SearchOptions& options, Archive& archive, Planner& planner)
      : problem_(problem), options_(options), archive_(archive), planner_(planner) {}

  // False if it had taken `most` steps in all before all plans were decided, or was stopped.
  bool Prove(const FamilyCache& family, const State& state, int64_t most);
  int64_t steps() const { return steps_; }

 private:
  void Extend(int64_t layers, const PipelineBound& behind);

  const Problem& problem_;
  const SearchOptions& options_;
  Archive& archive_;
  Planner& planner_;
  int64_t steps_ = 0, most_steps_ = 0, next_look_ = 0;
  // The current state: stages that are open, those decided, by stage class; the last stage first.
  FamilyCache at_;
  const State* state_ = nullptr;
  StageCounts left_ = {};
  std::vector<int64_t> behind_;
  std::vector<Stage> reversed_;
  bool exhausted_ = false;
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_PROOF_H_
