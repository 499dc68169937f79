#include "meshwright/cli/next_steps.h"

#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/export/command_text.h"
#include "meshwright/export/launch_command.h"
#include "meshwright/export/target.h"

namespace meshwright {
namespace {

using NextCommand = std::vector<CommandWords>;

// What verifies and what launches a plan of a program. None where the program came by standard
// input, which is nowhere to be read again, or where the programs of a pipeline's stages were not
// written.
std::vector<NextCommand> CommandsOfProgram(const Plan& plan, const std::string& plan_path,
                                           const std::string& stages) {
  const InputFile* const program = plan.program_file();
  if (program == nullptr || program->path.empty() || program->path == "-" ||
      program->path[0] == '<')
    return {};
  if (!plan.stages().empty() && stages.empty()) return {};
  NextCommand verify = {{"meshwright", "verify", plan_path}, {"--program", program->path}};
  NextCommand launch = {
      {"meshwright", "export", plan_path}, {"--to", "jax"}, {"--program", program->path}};
  for (NextCommand* const command : {&verify, &launch}) {
    if (!stages.empty()) command->push_back({"--stages", stages});
  }
  launch.push_back({"-o", "launch"});
  return {verify, launch};
}

}  // namespace

std::string NextSteps(const Plan& plan, const std::string& plan_path, const std::string& stages) {
  if (plan_path.empty() || plan_path == "-") {
    return Hanging("next      ",
                   "-o plan.json writes the plan, for meshwright explain, report and export");
  }
  std::vector<NextCommand> commands = {
      {{"meshwright", "explain", plan_path}},
      {{"meshwright", "report", plan_path}, {"-o", "report.html"}}};
  std::string note;
  if (!plan.of_model()) {
    const std::vector<NextCommand> more = CommandsOfProgram(plan, plan_path, stages);
    commands.insert(commands.end(), more.begin(), more.end());
  } else if (const std::vector<std::string> targets = TargetsThatLaunch(plan); targets.empty()) {
    note = "no framework launches this plan as it is: plan with --for any, or for one";
  } else {
    commands.push_back(LaunchCommand(plan, plan_path, targets[0]));
    if (targets.size() > 1)
      note = StrCat("or --to ", absl::StrJoin(targets.begin() + 1, targets.end(), ", "));
  }
  std::string text = "next";
  for (const NextCommand& command : commands) StrAppend(&text, CommandText(command));
  return StrCat(text, "\n", note.empty() ? "" : Hanging("    ", note));
}

}  // namespace meshwright
