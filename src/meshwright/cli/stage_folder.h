#ifndef MESHWRIGHT_CLI_STAGE_FOLDER_H_
#define MESHWRIGHT_CLI_STAGE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/cli/output.h"
#include "meshwright/plan/make/stage_modules.h"

// The folder that `plan --pipeline --emit` fills: it holds one emission and nothing else, so that
// no program of an earlier one is taken for a stage of the plan.

namespace meshwright {

// Before long work: whether WriteStageFolder can write `folder`, which is made if only its parent
// is there. Errors: a place that cannot be written; a folder with files that no earlier emission's
// index names; `plan_file` or one of `inputs` (paths) in it.
absl::Status CheckStageFolder(const std::string& folder, const OutputFile& plan_file,
                              const std::vector<std::string>& inputs);

// Puts `files` in the place of what an earlier emission left there. Until all are written, nothing
// of that is touched.
absl::Status WriteStageFolder(const std::string& folder, const std::vector<StageFile>& files);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_STAGE_FOLDER_H_
