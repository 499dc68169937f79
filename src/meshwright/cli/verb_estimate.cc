#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/cli/planning_command.h"
#include "meshwright/cli/verb.h"
#include "meshwright/request/program_request.h"

namespace meshwright {

// Planning with most of the answer given. Memory is not limited by default: what a sharding would
// need is part of what the user asks.
Action AddEstimateVerb(CLI::App& app) {
  const std::shared_ptr<PlanningCommand> command = AddPlanning(
      app,
      "HLO text, HloModuleProto, StableHLO text or bytecode, gzipped or not; - for standard input",
      WantedFile::kProgram, &EstimateOptionRows);
  return [command]() -> absl::Status {
    MW_ASSIGN_OR_RETURN(ProgramRequest request,
                        ToProgramRequest({.name = command->subject}, command->asked));
    return RunPlanning(*command, std::move(request));
  };
}

}  // namespace meshwright
