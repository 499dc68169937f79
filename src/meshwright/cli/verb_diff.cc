#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/explain/plan_difference.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

struct DiffCommand {
  std::string before, after;
  bool json = false;
};

absl::StatusOr<Plan> ReadPlan(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  return ParsePlanJson(text, path);
}

absl::Status RunDiff(const DiffCommand& command) {
  if (command.before == "-" && command.after == "-")
    return absl::InvalidArgumentError("only one of the plans can be standard input");
  MW_ASSIGN_OR_RETURN(const Plan before, ReadPlan(command.before));
  MW_ASSIGN_OR_RETURN(const Plan after, ReadPlan(command.after));
  const PlanDifference difference = DiffPlans(before, after);
  return command.json ? PrintOutput(DiffJson(difference))
                      : PrintScreen(DiffText(before, after, difference));
}

}  // namespace

Action AddDiffVerb(CLI::App& app) {
  auto command = std::make_shared<DiffCommand>();
  app.add_option("BEFORE", command->before, "a plan; - for standard input")
      ->required()
      ->check(IsFileOf(WantedFile::kPlan));
  app.add_option("AFTER", command->after, "another plan; - for standard input")
      ->required()
      ->check(IsFileOf(WantedFile::kPlan));
  app.add_flag("--json", command->json, "print JSON instead of tables");
  return [command] { return RunDiff(*command); };
}

}  // namespace meshwright
