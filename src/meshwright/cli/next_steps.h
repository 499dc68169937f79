#ifndef MESHWRIGHT_CLI_NEXT_STEPS_H_
#define MESHWRIGHT_CLI_NEXT_STEPS_H_

#include <string>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// What can be done with `plan` now, as commands to copy: explained, drawn, verified, launched.
// `plan_path`: the file that it was written to, "" if it was not; `stages`: the folder with the
// programs of a pipeline's stages, likewise.
std::string NextSteps(const Plan& plan, const std::string& plan_path, const std::string& stages);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_NEXT_STEPS_H_
