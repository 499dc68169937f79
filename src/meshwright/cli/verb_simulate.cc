#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "meshwright/answer/simulate_request.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

struct SimulateCommand {
  std::string plan;
  SimulateAsked asked;
  bool json = false;
};

absl::Status RunSimulate(const SimulateCommand& command) {
  const OutputFile trace = {"--trace", command.asked.trace};
  MW_RETURN_IF_ERROR(CheckOutputs({trace}, {command.plan}));
  MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(command.plan));
  MW_ASSIGN_OR_RETURN(const Plan plan, ParsePlanJson(text, command.plan));
  MW_ASSIGN_OR_RETURN(const SimulationAnswer answer, Simulate(plan, command.asked));
  if (!trace.path.empty()) {
    MW_RETURN_IF_ERROR(WriteOutput(trace, answer.trace()));
    if (!answer.warning.empty()) PrintWarning(answer.warning);
  }
  return command.json ? PrintOutput(answer.json()) : PrintScreen(answer.table());
}

}  // namespace

Action AddSimulateVerb(CLI::App& app) {
  auto command = std::make_shared<SimulateCommand>();
  app.add_option("PLAN", command->plan, "plan of a program; - for standard input")
      ->required()
      ->check(IsFileOf(WantedFile::kPlan));
  AddOptions(app, SimulateOptionRows(command->asked));
  app.add_flag("--json", command->json, "print JSON instead of a table");
  return [command] { return RunSimulate(*command); };
}

}  // namespace meshwright
