#ifndef MESHWRIGHT_INTER_STAGES_STAGE_COSTER_H_
#define MESHWRIGHT_INTER_STAGES_STAGE_COSTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/stages/layer_costs.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/inter/stages/stage_search.h"
#include "meshwright/inter/stages/submeshes.h"

// What stages cost, from what their layers do.

namespace meshwright {

// A variant of a stage: which mesh of the submesh, which variant of MeshCosts, recomputation.
struct StageVariant {
  int32_t mesh = 0, variant = 0;
  bool recompute = false;
  SliceCost cost;
  StageOption stage;
};

// The cost of layers that recompute their activations, one at a time, for the backward phase.
SliceCost Recomputed(SliceCost cost);

// What the layers before each one cost in one variant on one mesh, so that a range takes no time to
// add up. `working_bytes` is a maximum, not a sum: see StageCoster::SumOf.
struct LayerSums {
  std::vector<SliceCost> before;    // by layer, and of all
  std::vector<int32_t> impossible;  // of them, those that cannot run in this variant
};

// Everything about one number of micro-batches.
struct LayerTable {
  int64_t micro_batches = 1;
  std::shared_ptr<const KindsByParts> kinds;
  // By submesh and mesh; without value: the layers cannot be planned there.
  std::vector<std::vector<std::optional<MeshCosts>>> costs;
  // By submesh, mesh, and variant * 2 + whether activations are recomputed.
  std::vector<std::vector<std::vector<LayerSums>>> sums;
  std::vector<std::vector<std::vector<double>>> bounds_before;  // by submesh, mesh, layer
};

// `table`, not summed, with collectives overlapped. What a layer takes at least is then only what
// it takes in the variants that there are.
LayerTable Beside(const LayerTable& table);

// `layers`, `submeshes` and `request` must outlive it.
class StageCoster {
 public:
  StageCoster(const Layers& layers, const std::vector<Submesh>& submeshes,
              const PipelineRequest& request);

  // Fills `sums` and `bounds_before` from `costs`. False if no layer can be planned anywhere.
  bool Sum(LayerTable* table) const;

  // Seconds to hand `bytes` of each device of a submesh on to the next stage.
  double SendSeconds(const Submesh& submesh, int64_t bytes) const;

  StageTimes TimesOf(const Submesh& submesh, const SliceCost& cost,
                     const ScheduleKind& schedule) const;

  // The cost of layers [begin, end) in one variant; forward < 0: impossible.
  SliceCost SumOf(const LayerTable& table, int32_t begin, int32_t end, size_t submesh, size_t mesh,
                  size_t variant, bool recompute) const;

  // The variants of layers [begin, end) on a submesh that fit into memory with one micro-batch in
  // flight, without those that another is as good as in every respect. `mesh`: of the submesh's, or
  // kAnyMesh. `chunks`: stages that share a device's memory.
  static constexpr int32_t kAnyMesh = -1;
  std::vector<StageVariant> OptionsOf(const LayerTable& table, int32_t begin, int32_t end,
                                      int32_t submesh, int32_t mesh = kAnyMesh,
                                      int64_t chunks = 1) const;

 private:
  const Layers& layers_;
  const std::vector<Submesh>& submeshes_;
  const PipelineRequest& request_;
  std::vector<int32_t> run_end_;  // by layer: the next one of another kind
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_STAGE_COSTER_H_
