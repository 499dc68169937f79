#include "meshwright/hetero/schedule.h"

#include <algorithm>

namespace meshwright::transformer::hetero {

void PipelineBound::AddInFront(const PipelineStage& stage, double least_send) {
  // The send to the stage behind, and what it takes longer than was known of that stage.
  const double send = stages_ > 0 ? stage.send : 0, longer = send - least_send_;
  const double forward = stage.forward + send, backward = stage.backward + least_send;
  const double both = forward + backward;
  const double behind = stages_ > 0 ? sum_ + longer : 0;  // R
  const double wait = static_cast<double>(std::min(stages_, micro_batches_ - 1));
  const double first = behind - wait * forward, last = behind - wait * backward;
  double waits = std::max({0.0, first, last});
  const int64_t windows = (micro_batches_ - 1) / (stages_ + 1) - 1;  // between first and last
  if (windows >= 0) {
    waits = std::max(0.0, first) + std::max(0.0, last) +
            static_cast<double>(windows) * std::max(0.0, behind - wait * both);
  }
  const int64_t rounds = (micro_batches_ - 1) / (stages_ + 1);
  const int64_t rest = (micro_batches_ - 1) % (stages_ + 1);
  const double turns =
      static_cast<double>(rounds + 1) * (both + behind) + static_cast<double>(rest) * forward;
  const double work = static_cast<double>(micro_batches_) * both;
  // Bounds of a stage behind hold later by this one's passes.
  const double shift = stages_ > 0 ? both + longer : 0;
  seconds_ = std::max({seconds_ + shift, work + waits, turns});
  end_seconds_ = std::max(end_seconds_ + forward, seconds_ + stage.update);
  sum_ = behind + both;
  least_send_ = least_send;
  ++stages_;
}

}  // namespace meshwright::transformer::hetero
