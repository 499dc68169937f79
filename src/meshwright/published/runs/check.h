#ifndef MESHWRIGHT_PUBLISHED_RUNS_CHECK_H_
#define MESHWRIGHT_PUBLISHED_RUNS_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/words.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/published/runs/row.h"
#include "meshwright/published/runs/runs.h"

// What rows of tables of runs say in words, or twice. Errors are why a row is not taken: what was
// found, and what would be valid.

namespace meshwright::transformer {

// Column fsdp_shard: empty, "0" or "no"; "yes"; or over how many dp replicas weights are sharded.
struct FsdpShard {
  bool sharded = false;
  int64_t group = 0;  // Configuration::shard
};
absl::StatusOr<FsdpShard> FsdpShardOf(const RowReader& row, const Configuration& c);

// Column recompute; nullopt if empty.
absl::StatusOr<std::optional<Recompute>> RecomputeOf(const RowReader& row);

// Column sequence_parallel.
enum class Switch { kOff, kOn };

// Columns dp and vpp against the degrees of `c`, which follow from the others.
absl::Status CheckGivenDegrees(RowReader& row, const Model& model, const Configuration& c);

// Column grad_accum against batch and micro-batch. Frameworks count steps of accumulation
// differently (of micro-batches, or of larger local batches that a pipeline cuts again), so a
// number that cuts a replica's batch into whole sequences is taken for one of these. Returns a note
// where it is not the number of micro-batches, "" where it is.
absl::StatusOr<std::string> CheckAccumulation(RowReader& row, const Workload& workload,
                                              const Configuration& c);

// Time and memory that were measured: a step takes at least what its products with weights take at
// the GPUs' peak, and at most kLongestMeasuredStep; memory is at most that of the device.
inline constexpr double kLongestMeasuredStep = 1e7;  // seconds
absl::Status CheckMeasured(const Run& run);

}  // namespace meshwright::transformer

namespace meshwright {
template <>
inline constexpr auto kWords<transformer::Switch> = std::to_array<std::string_view>({"off", "on"});
}  // namespace meshwright

#endif  // MESHWRIGHT_PUBLISHED_RUNS_CHECK_H_
