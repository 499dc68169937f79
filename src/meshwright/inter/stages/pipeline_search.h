#ifndef MESHWRIGHT_INTER_STAGES_PIPELINE_SEARCH_H_
#define MESHWRIGHT_INTER_STAGES_PIPELINE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/inter/stages/stage_coster.h"
#include "meshwright/inter/stages/stage_search.h"
#include "meshwright/inter/stages/submeshes.h"

// The best pipeline for a number of micro-batches and a schedule: stages, judged by simulation.

namespace meshwright {

struct FoundPipeline {
  double seconds = 0;  // of a step, as simulated
  const ScheduleKind* schedule = nullptr;
  ScheduleShape shape;
  std::vector<ChosenStage> stages;          // in the order of the layers; empty: none
  std::vector<StageVariant> variants = {};  // of the stages
  // By stage, on one device: micro-batches in flight at most, and the bytes that it may take of its
  // group's memory.
  std::vector<int64_t> in_flight = {}, memory_bytes = {};
};

// All arguments must outlive it. Once `request.planner.solver.stop` says true, the best so far
// counts.
class PipelineSearch {
 public:
  PipelineSearch(const PipelineRequest& request, const Layers& layers,
                 const std::vector<Submesh>& submeshes, const StageCoster& coster)
      : request_(request), layers_(layers), submeshes_(submeshes), coster_(coster) {}

  // Puts what is faster than `best` there, of pipelines whose stages have equally many devices of
  // one type: a schedule with chunks is tried with every number of groups and of stages a group,
  // the others with every grid, stages of one mesh.
  void ImproveUniform(const LayerTable& table, const ScheduleKind& schedule,
                      FoundPipeline* best) const;

  // The same of pipelines with any stages, for schedules without chunks. The search counts
  // transfers in full, so that it may pass over a grid that is better when simulated. Returns the
  // steps that it took, at most `max_steps` (StageSearchInput::max_steps).
  int64_t ImproveUneven(const LayerTable& table, const ScheduleKind& schedule, int64_t max_steps,
                        FoundPipeline* best) const;

  // No pipeline of `table` under any of `schedules` takes less; looked for only below `below`.
  double Bound(const LayerTable& table, const std::vector<const ScheduleKind*>& schedules,
               double below) const;

 private:
  // Whether `schedule` is searched with one stage a group: where all schedules are, the one with
  // chunks leaves that to the others.
  bool HasOneStageAGroup(const ScheduleKind& schedule) const;
  bool Stopped() const;
  StageSearchInput Input(const LayerTable& table) const;
  double StagesBound(const LayerTable& table, double below, int64_t micro_batches) const;
  double BusiestBound(const LayerTable& table) const;
  double ChunksBound(const LayerTable& table) const;
  // Equal groups of devices, each a submesh, that a schedule with chunks may have; 0: none.
  int64_t GroupsOf(const LayerTable& table, size_t submesh) const;
  // Seconds that one micro-batch takes at least through all layers on such submeshes.
  double LeastWork(const LayerTable& table, size_t submesh) const;
  void ImproveWithChunks(const LayerTable& table, const ScheduleKind& schedule,
                         FoundPipeline* best) const;
  void ImproveWithGrids(const LayerTable& table, const ScheduleKind& schedule,
                        FoundPipeline* best) const;
  // The stages' options are those of OptionsOf with `mesh`.
  void Consider(const LayerTable& table, const ScheduleKind& schedule, const ScheduleShape& shape,
                const std::vector<ChosenStage>& stages, int32_t mesh, FoundPipeline* best) const;

  const PipelineRequest& request_;
  const Layers& layers_;
  const std::vector<Submesh>& submeshes_;
  const StageCoster& coster_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_PIPELINE_SEARCH_H_
