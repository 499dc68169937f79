#ifndef MESHWRIGHT_CLI_PLANNING_COMMAND_H_
#define MESHWRIGHT_CLI_PLANNING_COMMAND_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "meshwright/answer/ask_planner.h"
#include "meshwright/hlo/program/file_kind.h"
#include "meshwright/request/plan_options.h"

namespace CLI {
class App;
}

namespace meshwright {

// What `plan` and `estimate` have in common: something to plan, what is asked for, and what becomes
// of the plan.
struct PlanningCommand {
  std::string subject;
  AskedOptions asked;
  Options rows;  // of `asked`
  bool progress = false, quiet = false;
};

// Registers the subject, described so and of the kind that is `wanted`, and `rows` of the command's
// options with `app`. The command is filled when `app` parses.
std::shared_ptr<PlanningCommand> AddPlanning(CLI::App& app, const std::string& subject,
                                             WantedFile wanted,
                                             Options (*rows)(AskedOptions& asked));

// Plans and writes what is asked for: the plan file, the annotated program or the folder of a
// pipeline's stages, tables and charts; and prints a table, the plan, or words. Nothing is written
// if there is any error.
absl::Status RunPlanning(const PlanningCommand& command, PlanningRequest request);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_PLANNING_COMMAND_H_
