#include "meshwright/plan/make/op_roles.h"

#include <utility>

#include "meshwright/cost/fusion.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/inter/layers/phases.h"
#include "meshwright/inter/layers/unit_graph.h"

namespace meshwright {

OpRoles FindRoles(const Graph& graph, const std::vector<int32_t>& tied) {
  OpRoles roles;
  roles.layer.assign(graph.ops.size(), -1);
  roles.phase.resize(graph.ops.size());
  roles.batch_dimension.assign(graph.values.size(), -1);
  absl::StatusOr<BatchSplit> batch = FindBatch(graph, tied, {});
  if (!batch.ok()) return roles;
  absl::StatusOr<Layers> layers = FindLayers(graph, AnalyzeFusion(graph), *batch, tied, {});
  if (layers.ok()) {
    roles.layer = std::move(layers->layer);
    roles.phase.assign(layers->phase.begin(), layers->phase.end());
  } else {
    const UnitGraph units = BuildUnitGraph(graph, *batch);
    const std::vector<Phase> phases = FindPhases(graph, *batch, tied, units);
    for (size_t i = 0; i < graph.ops.size(); ++i) roles.phase[i] = phases[units.of_op[i]];
  }
  roles.batch_dimension = std::move(batch->dimension);
  return roles;
}

OpRoles RolesOfStage(const PipelinePlan& pipeline, const PipelineStage& stage,
                     const Graph& whole_program) {
  const ProgramSlice& slice = *stage.slice;
  const Graph& graph = slice.graph;
  OpRoles roles;
  roles.layer.assign(graph.ops.size(), -1);
  roles.phase.assign(slice.phase.begin(), slice.phase.end());
  roles.batch_dimension.assign(graph.values.size(), -1);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!slice.origin[i].valid()) continue;
    roles.layer[i] = pipeline.layers.layer[slice.origin[i].index()];
    const Op& origin = whole_program[slice.origin[i]];
    for (size_t r = 0; r < graph.ops[i].results.size() && r < origin.results.size(); ++r) {
      roles.batch_dimension[graph.ops[i].results[r].index()] =
          pipeline.batch.dimension[origin.results[r].index()];
    }
  }
  for (size_t i = 0; i < slice.inputs.size(); ++i) {
    const int32_t dimension = slice.inputs[i].dimension;
    if (dimension >= 0) roles.batch_dimension[InputOf(slice, i).index()] = dimension;
  }
  return roles;
}

}  // namespace meshwright
