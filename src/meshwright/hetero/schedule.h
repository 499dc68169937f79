#ifndef MESHWRIGHT_HETERO_SCHEDULE_H_
#define MESHWRIGHT_HETERO_SCHEDULE_H_

#include <cstdint>
#include <vector>

namespace meshwright::transformer::hetero {

// One stage of a pipeline, in seconds.
struct PipelineStage {
  double forward = 0, backward = 0;  // of a micro-batch
  double send = 0;    // activations to the next stage, and their gradients back from it
  double update = 0;  // once, behind the last backward pass

  double both() const { return forward + backward; }
};

// Seconds of a step under 1F1B: stages may differ in everything. Sends overlap with computation,
// one after the other on each link and direction. The same as inter/schedule/simulate.h's, and
// quicker for this one schedule: memory is a few numbers a stage.
double PipelineSeconds(const std::vector<PipelineStage>& stages, int64_t micro_batches);

// A lower bound of pipelines of these stages; stages may be added in front singly.
//
// Stage j, with the sum P of both passes and sends of those before it and R of those behind, does
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

  // `stage.send` is that to the stage added before.
  void AddInFront(const PipelineStage& stage);
  // The time of the stages so far, up to the first one's last backward pass.
  double seconds() const { return seconds_; }
  // ... up to the end of the last update, the first stage's included.
  double end_seconds() const { return end_seconds_; }
  double sum() const { return sum_; }  // of their passes and sends, of one micro-batch
  int64_t stages() const { return stages_; }

 private:
  int64_t micro_batches_;
  int64_t stages_ = 0;
  double sum_ = 0, seconds_ = 0, end_seconds_ = 0;
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_SCHEDULE_H_
