#ifndef MESHWRIGHT_INTER_SCHEDULE_ALPA_SCHEDULES_H_
#define MESHWRIGHT_INTER_SCHEDULE_ALPA_SCHEDULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

// Recorded schedules of Alpa:
//
//   [{"cls": "GpipeSchedule", "PipeDreamFlush", "OverlapFriendlyPipeDreamSchedule" or
//     "InferenceSchedule", "num_mesh": n, "num_microbatch": m, "num_clock": clocks of the table,
//     "table": [clock][mesh] of null or [micro-batch, stage]}, ...]
//
// Stages 0..n-1 are forward, n..2n-1 backward (stage 2n-1-i belongs to mesh i), 2n..3n-1 apply the
// gradients, in the last clock and under the number of the last micro-batch; for inference that
// clock is idle. Other members are ignored.

namespace meshwright {

// By clock and mesh: (micro-batch, stage), or nothing.
using ClockTable = std::vector<std::vector<std::optional<std::pair<int32_t, int32_t>>>>;

enum class AlpaSchedule {
  kGpipe,
  k1F1B,
  k1F1BOverlap,  // forward phases run ahead by one more for each mesh behind, so that transfers
                 // have a clock of their own
  kInference,    // forward phases only
};

struct RecordedSchedule {
  std::string name;
  AlpaSchedule schedule = AlpaSchedule::kGpipe;
  int32_t meshes = 1, micro_batches = 1;
  ClockTable table;
};

// Every phase takes one clock, runs as soon as what it needs ran in an earlier one, and each mesh
// keeps to the order of its schedule.
ClockTable MakeClockTable(AlpaSchedule schedule, int32_t meshes, int32_t micro_batches);

// `text` may be gzip data; `name` stands for it in errors, which name the member.
absl::StatusOr<std::vector<RecordedSchedule>> ParseRecordedSchedules(std::string text,
                                                                     std::string_view name);
absl::StatusOr<std::vector<RecordedSchedule>> ReadRecordedSchedules(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SCHEDULE_ALPA_SCHEDULES_H_
