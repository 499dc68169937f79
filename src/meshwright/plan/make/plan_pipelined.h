#ifndef MESHWRIGHT_PLAN_MAKE_PLAN_PIPELINED_H_
#define MESHWRIGHT_PLAN_MAKE_PLAN_PIPELINED_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_program.h"

namespace meshwright {

// A plan with a pipeline, and what it was made from.
struct PipelinedProgram {
  Program program;
  std::unique_ptr<const Module> module;  // of the program, without calls
  std::unique_ptr<const Graph> graph;    // of that module; what `pipeline` speaks of
  std::vector<Cluster> clusters;
  PipelinePlan pipeline;  // pipeline.fits false: nothing fits, there is no plan
  // Why the program is planned as one, without stages: it cannot be cut as it is written, and the
  // number of stages was left open. Then `pipeline` is empty. Else "".
  std::string whole_because;
  Plan plan;
};

// Like PlanProgram, with request.pipeline. `request.cluster` may name several, joined by `+`: a
// stage lies within one. Errors: also what cannot be combined with a pipeline (a mesh, fixes); see
// PlanPipeline.
absl::StatusOr<PipelinedProgram> PlanPipelinedProgram(const ProgramRequest& request);

// The clusters that `text` names, joined by `+`; a file among them is added to `inputs`.
absl::StatusOr<std::vector<Cluster>> ParseClusters(const std::string& text,
                                                   std::vector<InputFile>& inputs);

// What to say if nothing fits.
std::string PipelineShortageText(const PipelinedProgram& planned);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_PLAN_PIPELINED_H_
