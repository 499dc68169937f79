#ifndef MESHWRIGHT_PLAN_MAKE_STAGE_MODULES_H_
#define MESHWRIGHT_PLAN_MAKE_STAGE_MODULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/make/plan_pipelined.h"

namespace meshwright {

struct StageFile {
  std::string name;  // "stage0.forward.hlo.txt", ...
  std::string contents;
};

// The programs of a pipeline's stages: an annotated HLO module for every stage and phase, and
// "stages.json", which says what their inputs and outputs are (docs/stages.md).
absl::StatusOr<std::vector<StageFile>> StageModules(const PipelinedProgram& planned);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_STAGE_MODULES_H_
