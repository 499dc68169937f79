#ifndef MESHWRIGHT_INTER_STAGES_SINGLE_STAGE_H_
#define MESHWRIGHT_INTER_STAGES_SINGLE_STAGE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/infinity.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/inter/stages/search_time.h"
#include "meshwright/inter/stages/stage_coster.h"
#include "meshwright/inter/stages/submeshes.h"

// All layers as one stage that runs the whole batch at once: sharding alone, the intra-operator
// planner's work.

namespace meshwright {

struct SingleStage {
  // The best, if it beats the step that was to be beaten.
  std::optional<PipelineStage> stage;
  int32_t submesh = 0;
  double seconds = 0;       // one operator after the other
  double step_seconds = 0;  // with collectives overlapped where the cost model knows that
  // No single stage takes less, one operator after the other; infinite: none is possible.
  double bound = kInfinity;
  size_t not_searched = 0;  // meshes that time left out, or cut off
  // That would do for a device, where the memory is not enough; the largest value: not known.
  int64_t smallest_bytes = std::numeric_limits<int64_t>::max();
};

struct SingleStageInput {
  const Graph& graph;
  const Slicer& slicer;            // of `graph`
  const PipelineRequest& request;  // with one cluster
  const Layers& layers;
  const std::vector<Submesh>& submeshes;
  const StageCoster& coster;
  const ScheduleKind& schedule;
  const std::vector<LayerTable>& tables;  // one operator after the other
  double step_seconds = kInfinity;        // to be beaten
  const SearchTime& time;  // meshes whose turn comes when this is over are only bounded
};

// Tries every mesh of all devices that is among `submeshes` or CandidateMeshes, first bounded by
// what its layers take at least. An error if the program cannot be cut as it is written.
absl::StatusOr<SingleStage> PlanSingleStage(const SingleStageInput& input);

// The matmuls of `graph` alone, spread evenly over all devices at the vendors' peaks.
double ArithmeticSeconds(const Graph& graph, const std::vector<Cluster>& clusters);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_SINGLE_STAGE_H_
