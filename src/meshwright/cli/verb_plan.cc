#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/planning_command.h"
#include "meshwright/cli/verb.h"

namespace meshwright {

Action AddPlanVerb(CLI::App& app) {
  const std::shared_ptr<PlanningCommand> command = AddPlanning(
      app,
      "HLO text, HloModuleProto, StableHLO text or bytecode, gzipped or not; - for standard input; "
      "or a transformer: config.json, YAML or a name of `meshwright model --list`",
      WantedFile::kProgramOrModel, &PlanOptionRows);
  return [command, &app]() -> absl::Status {
    command->asked.given = GivenOf(app, command->rows);
    MW_ASSIGN_OR_RETURN(PlanningRequest request,
                        MakeRequest({.name = command->subject}, command->asked));
    return RunPlanning(*command, std::move(request));
  };
}

}  // namespace meshwright
