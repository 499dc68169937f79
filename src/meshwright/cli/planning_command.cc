#include "meshwright/cli/planning_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/interruption.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/next_steps.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/progress.h"
#include "meshwright/cli/stage_folder.h"
#include "meshwright/cli/staged_outputs.h"
#include "meshwright/explain/explain.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/text/transformer_table.h"

namespace meshwright {
namespace {

std::vector<std::string> Inputs(const PlanningCommand& command) {
  std::vector<std::string> inputs = absl::StrSplit(command.asked.cluster, '+');
  inputs.push_back(command.subject);
  for (const Option& row : command.rows) {
    if (!row.path) continue;
    if (const auto* const path = std::get_if<std::string*>(&row.value); path != nullptr) {
      if (!(*path)->empty()) inputs.push_back(**path);
    } else {
      const auto& paths = *std::get<std::vector<std::string>*>(row.value);
      inputs.insert(inputs.end(), paths.begin(), paths.end());
    }
  }
  return inputs;
}

// The answer, with a line of progress or until an interrupt, as the kind of planning has it.
absl::StatusOr<PlanAnswer> Ask(const PlanningCommand& command, PlanningRequest request) {
  const bool of_model = std::holds_alternative<ModelRequest>(request);
  PlanningHooks hooks;
  ProgressLine line;
  if (command.progress || (!command.quiet && isatty(STDERR_FILENO) != 0))
    hooks.progress = [&line](const ProgramProgress& progress) { line.Show(progress); };
  std::optional<Interruption> interruption;
  if (CanBeStopped(request)) {
    interruption.emplace();
    hooks.stop = [&interruption] { return interruption->Requested(); };
  }
  MW_ASSIGN_OR_RETURN(PlanAnswer answer, AskPlanner(std::move(request), std::move(hooks)));
  if (of_model && interruption->Requested() && SearchWasEnded(*answer.plan)) {
    std::fputs("meshwright: interrupted; this is the best plan found so far\n", stderr);
  }
  return answer;
}

}  // namespace

std::shared_ptr<PlanningCommand> AddPlanning(CLI::App& app, const std::string& subject,
                                             WantedFile wanted,
                                             Options (*rows)(AskedOptions& asked)) {
  auto command = std::make_shared<PlanningCommand>();
  command->rows = rows(command->asked);
  app.add_option("PROGRAM", command->subject, subject)->required()->check(IsFileOf(wanted));
  AddOptions(app, command->rows);
  CLI::Option* const progress = app.add_flag("--progress", command->progress,
                                             "show progress even if standard error is no terminal");
  app.add_flag("--quiet", command->quiet, "show no progress")->excludes(progress);
  return command;
}

absl::Status RunPlanning(const PlanningCommand& command, PlanningRequest request) {
  const AskedOptions& asked = command.asked;
  const OutputFile plan_file = {"-o", asked.plan_path}, emit_file = {"--emit", asked.emit_path},
                   csv_file = {"--csv", asked.csv_path}, plot_file = {"--plot", asked.plot_path};
  const bool cuts = std::holds_alternative<ProgramRequest>(request) &&
                    std::get<ProgramRequest>(request).pipeline.wanted;
  const bool emits = !asked.emit_path.empty();
  std::vector<OutputFile> files = {plan_file, csv_file, plot_file};
  if (!cuts) files.push_back(emit_file);
  if (cuts && emits) {
    MW_RETURN_IF_ERROR(CheckStageFolder(asked.emit_path, plan_file, Inputs(command)));
  }
  MW_RETURN_IF_ERROR(CheckOutputs(files, Inputs(command)));

  MW_ASSIGN_OR_RETURN(const PlanAnswer answer, Ask(command, std::move(request)));
  std::vector<StageFile> stages;
  if (emits && cuts) {
    MW_ASSIGN_OR_RETURN(stages, StagesToEmit(*answer.pipeline));
  }
  const std::string json =
      asked.json || !asked.plan_path.empty() ? PlanToJson(*answer.plan) : std::string();
  StagedOutputs outputs;
  if (!asked.csv_path.empty()) MW_RETURN_IF_ERROR(outputs.Add(csv_file, answer.csv()));
  if (!asked.plot_path.empty()) MW_RETURN_IF_ERROR(outputs.Add(plot_file, answer.plot()));
  if (emits && !cuts) MW_RETURN_IF_ERROR(outputs.Add(emit_file, AnnotatedText(*answer.program)));
  MW_RETURN_IF_ERROR(outputs.Add(plan_file, json));
  if (emits && cuts) {
    MW_RETURN_IF_ERROR(outputs.Commit([&] { return WriteStageFolder(asked.emit_path, stages); }));
  } else {
    MW_RETURN_IF_ERROR(outputs.Commit());
  }
  if (asked.json) return PrintOutput(json);
  std::string screen = asked.explain ? ExplainPlan(*answer.plan) : answer.table();
  if (answer.plan.has_value())
    StrAppend(&screen, NextSteps(*answer.plan, asked.plan_path, cuts ? asked.emit_path : ""));
  return PrintScreen(screen);
}

}  // namespace meshwright
