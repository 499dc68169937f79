#include "meshwright/hetero/schedule.h"

#include <algorithm>

namespace meshwright::transformer::hetero {
namespace {

// The state of one stage, in the order in which 1F1B goes through its passes.
struct StageState {
  double free = 0;           // done with its last pass
  double input = 0;          // the next micro-batch's activations have arrived
  double gradient = 0;       // the next micro-batch's gradients have arrived
  double link_forward = 0;   // to the next stage: done with the last send
  double link_backward = 0;  // from the next stage
  int64_t warm_up = 0;       // forward passes before the first backward pass but one
};

class OneForwardOneBackward {
 public:
  OneForwardOneBackward(const std::vector<PipelineStage>& stages, int64_t micro_batches)
      : stages_(stages), micro_batches_(micro_batches), states_(stages.size()) {
    for (size_t i = 0; i < stages.size(); ++i) {
      states_[i].warm_up = std::min(static_cast<int64_t>(stages.size() - 1 - i), micro_batches);
    }
  }

  double Run() {
    const size_t count = stages_.size();
    for (int64_t m = 0; m < states_[0].warm_up; ++m) {
      for (size_t i = 0; i < count && m < states_[i].warm_up; ++i) Forward(i);
    }
    // A stage's next activations came in the round before, so the last stage goes first; its next
    // gradients come in the same round.
    for (int64_t j = 0; j < micro_batches_; ++j) {
      for (size_t i = count; i-- > 0;) {
        if (j + states_[i].warm_up < micro_batches_) Forward(i);
      }
      for (size_t i = count; i-- > 0;) Backward(i);
    }
    double end = 0;
    for (size_t i = 0; i < count; ++i) end = std::max(end, states_[i].free + stages_[i].update);
    return end;
  }

 private:
  void Forward(size_t i) {
    StageState& state = states_[i];
    state.free = std::max(state.free, state.input) + stages_[i].forward;
    if (i + 1 == stages_.size()) return;
    state.link_forward = std::max(state.link_forward, state.free) + stages_[i].send;
    states_[i + 1].input = state.link_forward;
  }

  void Backward(size_t i) {
    StageState& state = states_[i];
    state.free = std::max(state.free, state.gradient) + stages_[i].backward;
    if (i == 0) return;
    StageState& before = states_[i - 1];
    before.link_backward = std::max(before.link_backward, state.free) + stages_[i - 1].send;
    before.gradient = before.link_backward;
  }

  const std::vector<PipelineStage>& stages_;
  const int64_t micro_batches_;
  std::vector<StageState> states_;
};

}  // namespace

double PipelineSeconds(const std::vector<PipelineStage>& stages, int64_t micro_batches) {
  return OneForwardOneBackward(stages, micro_batches).Run();
}

void PipelineBound::AddInFront(const PipelineStage& stage) {
  const double behind = stages_ > 0 ? sum_ + 2 * stage.send : 0;  // R
  const double wait = static_cast<double>(std::min(stages_, micro_batches_ - 1));
  const double first = behind - wait * stage.forward, last = behind - wait * stage.backward;
  double waits = std::max({0.0, first, last});
  const int64_t windows = (micro_batches_ - 1) / (stages_ + 1) - 1;  // between first and last
  if (windows >= 0) {
    waits = std::max(0.0, first) + std::max(0.0, last) +
            static_cast<double>(windows) * std::max(0.0, behind - wait * stage.both());
  }
  const int64_t rounds = (micro_batches_ - 1) / (stages_ + 1);
  const int64_t rest = (micro_batches_ - 1) % (stages_ + 1);
  const double turns = static_cast<double>(rounds + 1) * (stage.both() + behind) +
                       static_cast<double>(rest) * stage.forward;
  const double work = static_cast<double>(micro_batches_) * stage.both();
  // Bounds of a stage behind hold later by this one's passes and sends.
  const double shift = stage.both() + (stages_ > 0 ? 2 * stage.send : 0);
  const double forward_shift = stage.forward + (stages_ > 0 ? stage.send : 0);
  seconds_ = std::max({seconds_ + (stages_ > 0 ? shift : 0), work + waits, turns});
  end_seconds_ = std::max(end_seconds_ + forward_shift, seconds_ + stage.update);
  sum_ = behind + stage.both();
  ++stages_;
}

}  // namespace meshwright::transformer::hetero
