#ifndef MESHWRIGHT_PLAN_MAKE_OP_ROLES_H_
#define MESHWRIGHT_PLAN_MAKE_OP_ROLES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/stages/pipeline.h"

namespace meshwright {

// What part operators and values play in training, as far as that is known.
struct OpRoles {
  std::vector<int32_t> layer;               // by OpId; -1: none, or every one of a loop over layers
  std::vector<std::optional<Phase>> phase;  // by OpId
  std::vector<int32_t> batch_dimension;     // by ValueId: that runs over the batch; -1: none
};

// Of a whole program. `tied`: see TiedParameters. A program that shows no batch has no roles, one
// that shows no layers has no layers.
OpRoles FindRoles(const Graph& graph, const std::vector<int32_t>& tied);

// Of the slice that a stage of `pipeline` runs.
OpRoles RolesOfStage(const PipelinePlan& pipeline, const PipelineStage& stage,
                     const Graph& whole_program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_OP_ROLES_H_
