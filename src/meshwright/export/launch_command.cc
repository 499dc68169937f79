#include "meshwright/export/launch_command.h"

#include "meshwright/base/strings.h"
#include "meshwright/export/launch_filter.h"
#include "meshwright/export/quoting.h"
#include "meshwright/export/target.h"

namespace meshwright {

std::vector<CommandWords> LaunchCommand(const Plan& plan, const std::string& plan_path,
                                        std::string_view target) {
  std::vector<CommandWords> words = {{"meshwright", "export", plan_path},
                                     {"--to", std::string(target)}};
  const absl::StatusOr<const ExportTarget*> row = FindExportTarget(target);
  if (row.ok() && RunsOwnProgram(plan, **row)) words.push_back({"--script", "YOUR_PROGRAM.py"});
  words.push_back({"-o", "launch"});
  return words;
}

std::string LaunchCommandLine(const Plan& plan, const std::string& plan_path,
                              std::string_view target) {
  std::string line;
  for (const CommandWords& together : LaunchCommand(plan, plan_path, target)) {
    for (const std::string& word : together)
      StrAppend(&line, line.empty() ? "" : " ", ShellWord(word));
  }
  return line;
}

}  // namespace meshwright
