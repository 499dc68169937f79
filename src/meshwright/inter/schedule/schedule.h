#ifndef MESHWRIGHT_INTER_SCHEDULE_SCHEDULE_H_
#define MESHWRIGHT_INTER_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// Pipeline schedules: in which order each device group runs which phase of which micro-batch.

namespace meshwright {

enum class TaskKind : uint8_t {
  kForward,
  kBackward,  // for inputs and weights at once, or for inputs only where kWeightGradient follows
  kWeightGradient,  // zero-bubble schedules: the half of the backward phase off the critical path
  kUpdate,          // once, after the last backward
};

struct ScheduledTask {
  TaskKind kind = TaskKind::kForward;
  int32_t micro_batch = 0;
  int32_t stage = 0;  // of all `groups * chunks` stages, in the order of the layers
  friend bool operator==(const ScheduledTask&, const ScheduledTask&) = default;
};

struct ScheduleShape {
  int32_t groups = 1;  // device groups
  int32_t chunks = 1;  // stages a group runs; stage s belongs to group s % groups
  int32_t micro_batches = 1;
  friend bool operator==(const ScheduleShape&, const ScheduleShape&) = default;
};

// How groups hand on to their neighbours what a phase gives.
enum class Sends : uint8_t {
  kOverlapped,  // beside computation, serially on each link between neighbours and direction
  // Both neighbours wait, and what goes either way between two phases goes at once: Megatron-LM,
  // which overlaps interleaved schedules only.
  kExchanged,
  kInTurn,  // both neighbours wait, for one direction after the other: DeepSpeed
};

// One row a schedule.
struct ScheduleKind {
  std::string_view name;         // "gpipe", "1f1b", "interleaved", "zb-h1"
  std::string_view description;  // one line, with its source
  bool chunks = false;           // takes more than one stage a group
  bool splits_backward = false;  // into kBackward and kWeightGradient
  // By group: what it runs, in order.
  std::vector<std::vector<ScheduledTask>> (*order)(const ScheduleShape& shape);
  // Micro-batches whose activations group `group` holds at once, at most, all its stages together.
  int64_t (*in_flight)(const ScheduleShape& shape, int32_t group);
};
const std::vector<ScheduleKind>& ScheduleTable();
// Error: unknown; names what there is.
absl::StatusOr<const ScheduleKind*> FindSchedule(std::string_view name);

// By stage: micro-batches whose activations it holds at once, at most. `shape` must be valid.
std::vector<int64_t> InFlightByStage(const ScheduleKind& schedule, const ScheduleShape& shape);

// Whether `schedule` can have this shape. Errors say what would do.
absl::Status CheckShape(const ScheduleKind& schedule, const ScheduleShape& shape);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SCHEDULE_SCHEDULE_H_
