#ifndef MESHWRIGHT_INTER_SCHEDULE_ONE_F_ONE_B_H_
#define MESHWRIGHT_INTER_SCHEDULE_ONE_F_ONE_B_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/inter/schedule/schedule.h"

namespace meshwright {

// One stage of a pipeline under 1F1B, in seconds.
struct StageSeconds {
  double forward = 0, backward = 0;  // of a micro-batch
  double send = 0;    // activations to the next stage, and as long their gradients back from it
  double update = 0;  // once, behind the last backward pass and its send

  double both() const { return forward + backward; }
};

// 1F1B whose stages wait for what they send and receive, as Megatron-LM (kExchanged) and DeepSpeed
// (kInTurn) launch it: the same as Simulate's (simulate.h), and quicker for this one schedule, as
// memory is a number a stage and micro-batches that take as long as the one before are not gone
// through. Not for kOverlapped. Not falling in any stage's seconds.
//
// `ends`: by stage, when it is done with its last pass and send. At least one stage and one
// micro-batch.
void OneForwardOneBackwardEnds(absl::Span<const StageSeconds> stages, int64_t micro_batches,
                               Sends sends, std::vector<double>* ends);

// The end of the last update.
double OneForwardOneBackwardSeconds(absl::Span<const StageSeconds> stages, int64_t micro_batches,
                                    Sends sends);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SCHEDULE_ONE_F_ONE_B_H_
