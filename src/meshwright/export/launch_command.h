#ifndef MESHWRIGHT_EXPORT_LAUNCH_COMMAND_H_
#define MESHWRIGHT_EXPORT_LAUNCH_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/export/command_text.h"
#include "meshwright/plan/document/plan.h"

// The command that writes the launch of a plan of a model into the folder `launch`.

namespace meshwright {

// Of the plan in the file `plan_path`, for `target`, which launches it (TargetsThatLaunch).
std::vector<CommandWords> LaunchCommand(const Plan& plan, const std::string& plan_path,
                                        std::string_view target);
// The same in one line.
std::string LaunchCommandLine(const Plan& plan, const std::string& plan_path,
                              std::string_view target);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_LAUNCH_COMMAND_H_
