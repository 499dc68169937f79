#ifndef MESHWRIGHT_DEGREES_STAGE_MEMORY_H_
#define MESHWRIGHT_DEGREES_STAGE_MEMORY_H_

#include <cstdint>

#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/degrees/stage_costs.h"

// The memory of a pipeline group.

namespace meshwright::transformer {

// Bytes of a parameter's master copy. It is gathered and multiplied in ElementBytes; f32's has no
// copy beside that.
inline constexpr double kMasterBytes = 4;
inline double MasterCopyBytes(Precision precision) {
  return precision == Precision::kF32 ? 0 : kMasterBytes;
}

// Bytes on one GPU of a pipeline group at its peak.
struct StageMemory {
  int64_t weights = 0, gradients = 0, optimizer = 0;
  int64_t activations = 0;  // of all micro-batches in flight
  int64_t logits = 0;
  int64_t communication = 0;  // buffers
  int64_t framework = 0;      // CUDA context, NCCL, allocator
  int64_t host = 0;           // in the host's memory, and not part of the total
  int64_t total() const {
    return weights + gradients + optimizer + activations + logits + communication + framework;
  }
  friend bool operator==(const StageMemory&, const StageMemory&) = default;
};

// Degrees as numbers, of one configuration.
struct Degrees {
  Degrees(const Configuration& c, const Workload& workload);

  double pp, micro_batches;
  double stages;  // that a group runs
  int64_t replicas, expert_replicas;
  // ZeRO's groups. Experts have other replicas, of which only a divisor can share.
  int64_t shard, expert_shard;

  // Bytes of parameters, with each spread over ZeRO's groups.
  double Sharded(const GroupCost& g) const;
};

// The shares of optimizer state and of what a group's backward phase needs in the host's memory.
double OffloadedState(const Configuration& c);
double OffloadedActivations(const Configuration& c, const GroupCost& g);

// Bytes that Adam reads and writes for a parameter: its gradient, the master copy and two moments
// both ways, and the weight.
double OptimizerTraffic(const StateOptions& state, Precision precision);

// Memory of the group at `position`, which costs `g`.
StageMemory MemoryOf(const Configuration& c, const Degrees& d, const GroupCost& g, int64_t position,
                     const StateOptions& state, const FrameworkParameters& framework);

// No more than it takes with any ZeRO over any group, however much of what `c` offloads is.
int64_t LeastBytes(const Configuration& c, const Workload& workload, const GroupCost& g,
                   int64_t position, const StateOptions& state,
                   const FrameworkParameters& framework);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_STAGE_MEMORY_H_
