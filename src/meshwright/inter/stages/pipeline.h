#ifndef MESHWRIGHT_INTER_STAGES_PIPELINE_H_
#define MESHWRIGHT_INTER_STAGES_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/inter/schedule/simulate.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/stages/layer_costs.h"
#include "meshwright/intra/planner.h"

// The inter-operator planner: which layers form a stage, which devices run it and how they shard
// it, in how many micro-batches and in which order.

namespace meshwright {

struct PipelineProgress {
  std::string phase;  // "layers", "costs", "stages", "plans"
  int64_t micro_batches = 0;
  double best_seconds = 0;  // 0: none yet
};

struct PipelineRequest {
  std::vector<Cluster> clusters;      // one for each device type; a stage lies within one
  std::vector<int64_t> memory_bytes;  // by cluster: that a device may use
  int64_t micro_batches = 0;          // 0: whatever is best
  int32_t stages = 0;                 // 0: whatever is best
  std::string mesh;                   // of every stage, see ParseMesh; empty: whatever is best
  std::string schedule = "auto";      // of ScheduleTable, or "auto"
  bool recompute = true;              // stages may recompute activations
  std::vector<std::string> data;      // see FindBatch
  MicroBatchRng rng = MicroBatchRng::kExact;
  LayerOptions layers;
  std::function<std::unique_ptr<CostModel>(const Mesh&)> cost_model;
  double deadline_seconds = 60;
  // Seconds since that from which the deadline counts; empty: since PlanPipeline was called.
  std::function<double()> elapsed;
  // Of each search for uneven stages, see StageSearchInput::max_steps: some seconds of work.
  int64_t max_steps = 300'000'000;
  // Leaves nothing out for being most likely of no use: what shortcuts are held against.
  bool exhaustive = false;
  int threads = 2;
  PlannerOptions planner;                                 // space, solver
  std::function<void(const PipelineProgress&)> progress;  // may be empty
};

struct PipelineStage {
  int32_t begin = 0, end = 0;  // layers
  int32_t cluster = 0;
  int64_t first_device = 0;  // of the cluster; the stage has mesh.devices() from there on
  Mesh mesh;
  bool recompute = false;
  int64_t sum_parts = 1;  // see SliceRequest
  int32_t like = -1;      // earlier stage whose slice is alike and whose plan this is, or -1
  std::shared_ptr<const ProgramSlice> slice;  // all phases, for one micro-batch
  std::shared_ptr<const IntraPlan> plan;
  SliceCost cost;        // of that plan, recomputation included
  SliceCost overlapped;  // the same with collectives overlapped, see overlapped.h
  StageTimes times;      // as simulated
};

struct PipelinePlan {
  bool fits = true;  // false: nothing fits; the plan is empty, `smallest_bytes` says what would do
  int64_t smallest_bytes = 0;  // 0: not known
  const ScheduleKind* schedule = nullptr;
  ScheduleShape shape;
  Layers layers;
  BatchSplit batch;
  std::vector<PipelineStage> stages;
  Simulation simulation;
  double seconds = 0;  // of one step, serial: simulation.seconds
  // The same with collectives overlapped and launch overhead. The best single stage is the one
  // of least step_seconds, and taken if it is below that of the best pipeline.
  double step_seconds = 0;
  double launch_seconds = 0;  // of that
  double bound = 0;  // no pipeline of this program on these devices under this schedule takes less
  double gap = 0;
  std::vector<std::string> warnings;
};

// `graph` must come from a module without calls (hlo/inline_calls.h). Errors: a batch that cannot
// be found or divided as asked, more stages than layers, stages that cannot be made up of the
// devices (each says what would do). FailedPrecondition: the program cannot be cut as it is
// written.
absl::StatusOr<PipelinePlan> PlanPipeline(const Graph& graph, const PipelineRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_PIPELINE_H_
