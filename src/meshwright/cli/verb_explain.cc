#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "meshwright/answer/explain_request.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/progress.h"
#include "meshwright/cli/verb.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

struct ExplainCommand {
  std::string plan;
  ExplainAsked asked;
  Options rows;  // of `asked`
  bool json = false;
};

absl::Status RunExplain(const ExplainCommand& command) {
  if (command.plan == "-" && command.asked.program == "-")
    return absl::InvalidArgumentError("PLAN and --program cannot both be standard input");
  MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(command.plan));
  MW_ASSIGN_OR_RETURN(const Plan plan, ParsePlanJson(text, command.plan));
  std::optional<ProgressLine> line;
  std::function<void(const ProgramProgress&)> show;
  if (!command.asked.why_not.empty() && isatty(STDERR_FILENO) != 0) {
    line.emplace();
    show = [&line](const ProgramProgress& progress) { line->Show(progress); };
  }
  MW_ASSIGN_OR_RETURN(const Explanation answer, Explain(plan, command.asked, show));
  line.reset();
  MW_ASSIGN_OR_RETURN(const std::string shown, command.json ? answer.json() : answer.text());
  return command.json ? PrintOutput(shown) : PrintScreen(shown);
}

}  // namespace

Action AddExplainVerb(CLI::App& app) {
  auto command = std::make_shared<ExplainCommand>();
  command->rows = ExplainOptionRows(command->asked);
  app.add_option("PLAN", command->plan, "plan.json; - for standard input")
      ->required()
      ->check(IsFileOf(WantedFile::kPlan));
  AddOptions(app, command->rows);
  app.add_flag("--json", command->json, "print JSON instead of words");
  return [command, &app] {
    command->asked.given = GivenOf(app, command->rows);
    return RunExplain(*command);
  };
}

}  // namespace meshwright
