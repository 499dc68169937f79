#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/progress.h"
#include "meshwright/cli/verb.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/why_not.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

struct ExplainCommand {
  std::string plan, program;
  std::optional<std::string> tensor;
  std::vector<std::string> why_not;
  bool parameters = false, json = false;
};

absl::StatusOr<std::string> WhyNotAnswer(const ExplainCommand& command, const Plan& plan) {
  WhyNotRequest request;
  request.fixes = command.why_not;
  request.program = command.program;
  std::optional<ProgressLine> line;
  if (isatty(STDERR_FILENO) != 0) {
    line.emplace();
    request.progress = [&line](const ProgramProgress& progress) { line->Show(progress); };
  }
  MW_ASSIGN_OR_RETURN(const WhyNot answer, AskWhyNot(plan, request));
  return command.json ? WhyNotJson(plan, request, answer) : WhyNotText(plan, request, answer);
}

absl::StatusOr<std::string> Explanation(const ExplainCommand& command, const Plan& plan) {
  if (!command.why_not.empty()) return WhyNotAnswer(command, plan);
  if (command.tensor.has_value()) {
    if (command.tensor->empty())
      return absl::InvalidArgumentError("--tensor: found \"\", expected a name or pattern");
    return command.json ? ExplainTensorsJson(plan, *command.tensor)
                        : ExplainTensors(plan, *command.tensor);
  }
  if (command.parameters)
    return command.json ? ExplainParametersJson(plan) : ExplainParameters(plan);
  return command.json ? ExplainPlanJson(plan) : ExplainPlan(plan);
}

absl::Status RunExplain(const ExplainCommand& command) {
  if (command.why_not.empty() && !command.program.empty())
    return absl::InvalidArgumentError("--program is for --why-not, which plans it again");
  if (command.plan == "-" && command.program == "-")
    return absl::InvalidArgumentError("PLAN and --program cannot both be standard input");
  MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(command.plan));
  MW_ASSIGN_OR_RETURN(const Plan plan, ParsePlanJson(text, command.plan));
  MW_ASSIGN_OR_RETURN(const std::string answer, Explanation(command, plan));
  return command.json ? PrintOutput(answer) : PrintScreen(answer);
}

}  // namespace

Action AddExplainVerb(CLI::App& app) {
  auto command = std::make_shared<ExplainCommand>();
  app.add_option("PLAN", command->plan, "plan.json; - for standard input")->required();
  CLI::Option* const tensor = app.add_option(
      "--tensor", command->tensor,
      "the placement of every parameter, output or instruction of this name (* and ? match any "
      "characters, {0..3,7} these numbers), who makes it and who moves it");
  CLI::Option* const parameters =
      app.add_flag("--parameters", command->parameters, "the placement of every parameter");
  tensor->excludes(parameters);
  app.add_option("--why-not", command->why_not,
                 "NAME=SPEC as --fix of `meshwright plan`: what it would cost to shard NAME like "
                 "SPEC, everything else planned anew; of a pipeline the stages that have the "
                 "parameter NAME; of a model degrees like tp=4,pp=2; repeatable")
      ->allow_extra_args(false)
      ->excludes(tensor)
      ->excludes(parameters);
  app.add_option("--program", command->program,
                 "with --why-not: the program, if it is not where the plan says");
  app.add_flag("--json", command->json, "print JSON instead of words");
  return [command] { return RunExplain(*command); };
}

}  // namespace meshwright
