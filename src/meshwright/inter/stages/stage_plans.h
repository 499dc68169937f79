#ifndef MESHWRIGHT_INTER_STAGES_STAGE_PLANS_H_
#define MESHWRIGHT_INTER_STAGES_STAGE_PLANS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/inter/stages/pipeline_search.h"
#include "meshwright/inter/stages/stage_coster.h"
#include "meshwright/inter/stages/submeshes.h"

namespace meshwright {

// Stages planned as wholes. What their layers promised may not hold: then the first group of
// devices whose stages take more memory than a device has.
struct StagePlans {
  std::vector<PipelineStage> stages;  // all but first_device filled
  struct Shortage {
    int32_t cluster = 0;
    int64_t bytes = 0;  // needed on a device; 0: everything fits
  } shortage;
};

// Plans every stage of `pipeline`, found in `table`, each as a whole, at the multiplier of memory
// that its layers were planned at, a larger one where that does not fit. Alike stages are planned
// once. `memory_bytes`: of a device, by cluster; the search for the pipeline may have been
// constrained to less.
absl::StatusOr<StagePlans> PlanStages(const Slicer& slicer, const PipelineRequest& request,
                                      const std::vector<Submesh>& submeshes, const Layers& layers,
                                      const StageCoster& coster, const LayerTable& table,
                                      const FoundPipeline& pipeline,
                                      const std::vector<int64_t>& memory_bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_STAGE_PLANS_H_
