#ifndef MESHWRIGHT_HETERO_SCHEDULE_H_
#define MESHWRIGHT_HETERO_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "meshwright/inter/schedule/one_f_one_b.h"

namespace meshwright::transformer::hetero {

using PipelineStage = StageSeconds;

// Seconds of a step under 1F1B as Megatron-LM, the only framework that plans over groups are
// launched with, runs it: stages wait for their sends.
inline double PipelineSeconds(const std::vector<PipelineStage>& stages, int64_t micro_batches) {
  return OneForwardOneBackwardSeconds(stages, micro_batches, Sends::kExchanged);
}

// A lower bound of pipelines of these stages; stages may be added in front singly.
//
// No stage does less than if a send to the next stage were part of its forward pass, one to the
// stage before part of its backward pass, and receiving took no time: what a stage waits for then,
// it waits for in an exchange too. F and B are such passes from here on. Stage j, with the sum P of
// both passes of those before it and R of those behind, does
// its first min(w + 1, M) of M forward passes, w being the number of stages behind it, and can then
// start with the first backward pass no earlier than R later than the first forward pass ended; so
// it is done no earlier than P + R + M (F + B) - u F, u = min(w, M - 1). By the same argument at
// the end, P + R + M (F + B) - u B. Where M is at least w + 2 both waits add up, and between these
// two others: from every w + 1st forward pass to its backward pass R goes by, in which the stage
// does w other pairs of passes and so waits for R - w (F + B). And it takes P + M (F + B) in any
// case. All that is before its own last backward pass ends, but for the backward
// part of P; so its update can end that much earlier.
class PipelineBound {
 public:
  explicit PipelineBound(int64_t micro_batches) : micro_batches_(micro_batches) {}

  // `stage.send` is that to the stage added before; `least_send` is of the one from the stage that
  // will be added next, at least, and 0 if there is none.
  void AddInFront(const PipelineStage& stage, double least_send);
  // The time of the stages so far, up to the first one's last backward pass and its send.
  double seconds() const { return seconds_; }
  // ... up to the end of the last update, the first stage's included.
  double end_seconds() const { return end_seconds_; }
  double sum() const { return sum_; }  // of their passes and sends, of one micro-batch
  // Of seconds(), end_seconds() and sum(), the first stage's send to the one that comes before it.
  double least_send() const { return least_send_; }
  int64_t stages() const { return stages_; }

 private:
  int64_t micro_batches_;
  int64_t stages_ = 0;
  double sum_ = 0, seconds_ = 0, end_seconds_ = 0, least_send_ = 0;
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_SCHEDULE_H_
