#ifndef MESHWRIGHT_INTER_SCHEDULE_SIMULATE_H_
#define MESHWRIGHT_INTER_SCHEDULE_SIMULATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/inter/schedule/schedule.h"

namespace meshwright {

// What one stage takes. Seconds are of one micro-batch unless said otherwise.
struct StageTimes {
  double forward = 0, backward = 0;
  double weight_gradient = 0;   // of `backward`, the share that is off the critical path
  double update = 0;            // once a step: gradient synchronisation and optimizer
  double send_forward = 0;      // activations to the next stage
  double send_backward = 0;     // their gradients to the stage before
  int64_t fixed_bytes = 0;      // on one device, whatever is in flight
  int64_t bytes_in_flight = 0;  // on one device, for each micro-batch in flight
};

struct SimulatedTask {
  ScheduledTask task;
  int32_t group = 0;
  double start = 0, end = 0;
};

struct SimulatedTransfer {
  int32_t from = 0, to = 0;  // stages
  int32_t micro_batch = 0;
  bool backward = false;
  double start = 0, end = 0;
};

struct Simulation {
  double seconds = 0;                // of the step
  std::vector<SimulatedTask> tasks;  // by group, in order
  std::vector<SimulatedTransfer> transfers;
  std::vector<double> busy_seconds;     // by group
  double bubble_share = 0;              // of all groups' time, the part in which they do nothing
  std::vector<int64_t> peak_bytes;      // by group, on one device
  std::vector<int64_t> peak_in_flight;  // by group
};

// Runs `schedule` event by event. `stages.size()` must be groups * chunks. Groups that wait for
// their sends (Sends) have one stage each. Errors: see CheckShape; a schedule whose tasks wait for
// each other in a circle (our own bug, reported as internal).
absl::StatusOr<Simulation> Simulate(const ScheduleKind& schedule, const ScheduleShape& shape,
                                    const std::vector<StageTimes>& stages,
                                    Sends sends = Sends::kOverlapped);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SCHEDULE_SIMULATE_H_
