#include "meshwright/hetero/proof.h"

#include <algorithm>
#include <numeric>

namespace meshwright::transformer::hetero {
namespace {

// A pass that is simulated takes a fraction of what a stage takes here.
constexpr int64_t kPassesOfStep = 8;
// Between questions whether to stop.
constexpr int64_t kStepsOfLook = 100'000;

}  // namespace

bool Prover::Prove(const FamilyCache& family, const State& state, int64_t most) {
  most_steps_ = most;
  at_ = family;
  state_ = &state;
  left_ = state.stages;
  behind_.assign(at_.costs->stage_classes(), 0);
  reversed_.clear();
  exhausted_ = false;
  Extend(at_.costs->layers(), PipelineBound(at_.costs->micro_batches()));
  return !exhausted_;
}

// Puts every stage that can be of use before those so far; the first `layers` layers are open.
void Prover::Extend(int64_t layers, const PipelineBound& behind) {
  const Costs& costs = *at_.costs;
  const int64_t open = std::accumulate(left_.begin(), left_.end(), int64_t{0});
  if (open == 0) {
    steps_ += costs.micro_batches() * behind.stages() / kPassesOfStep;
    planner_.Try(at_, *state_, {reversed_.rbegin(), reversed_.rend()});
    return;
  }
  const int64_t in_flight = std::min(costs.micro_batches(), behind.stages() + 1);
  for (size_t stage_class = 0; stage_class < costs.stage_classes() && !exhausted_; ++stage_class) {
    if (left_[stage_class] == 0 || !problem_.TakesGroup(open - 1, costs.Group(stage_class)))
      continue;
    double send = 0;
    if (!reversed_.empty()) {
      const int32_t next = reversed_.back().stage_class;
      send = costs.SendSeconds(stage_class, next, behind_[next] - 1);
    }
    --left_[stage_class];
    ++behind_[stage_class];
    // What the other open stages need.
    const int64_t rest = LeastLayersOf(open - 1, behind.stages() + 1);
    const int64_t least = open == 1 ? layers : LeastLayers(open - 1, behind.stages());
    for (int64_t n = least; n <= layers - rest; ++n) {
      if (++steps_ >= most_steps_) exhausted_ = true;
      if (steps_ >= next_look_) {
        next_look_ = steps_ + kStepsOfLook;
        exhausted_ = exhausted_ || options_.stopped();
      }
      const Cell& cell = costs.CellAt(stage_class, {layers - n, n, open == 1, reversed_.empty()});
      if (exhausted_ || cell.most_in_flight < in_flight) break;
      if (!problem_.TakesLayers(open - 1, n)) continue;
      PipelineBound next = behind;
      next.AddInFront({cell.forward, cell.backward, send, cell.update},
                      open > 1 ? costs.least_send() : 0);
      steps_ += open;
      if (!at_.bounds->MayBeat(left_, layers - n, next,
                               archive_.Cutoff(state_->dollars_per_hour))) {
        continue;
      }
      reversed_.push_back({static_cast<int32_t>(stage_class), static_cast<int32_t>(n)});
      Extend(layers - n, next);
      reversed_.pop_back();
    }
    ++left_[stage_class];
    --behind_[stage_class];
  }
}

}  // namespace meshwright::transformer::hetero
