#ifndef MESHWRIGHT_PUBLISHED_FASOP_SCHEDULE_H_
#define MESHWRIGHT_PUBLISHED_FASOP_SCHEDULE_H_

#include <cstdint>
#include <vector>

namespace meshwright::transformer::fasop {

// One stage for one micro-batch.
struct StageTimes {
  double forward = 0, backward = 0;            // seconds of computation
  double send_forward = 0, send_backward = 0;  // seconds of sends, in the schedule
};

// When each stage ends its last backward pass under 1F1B; sends block sender and receiver.
std::vector<double> StageEnds(const std::vector<StageTimes>& stages, int64_t micro_batches);

}  // namespace meshwright::transformer::fasop

#endif  // MESHWRIGHT_PUBLISHED_FASOP_SCHEDULE_H_
