#include "meshwright/cli/reproduce_runs.h"

#include "absl/strings/str_format.h"
#include "meshwright/base/csv.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/export/quoting.h"
#include "meshwright/published/runs/runs.h"
#include "meshwright/request/asked_of_run.h"

namespace meshwright {
namespace {

// A command a line, behind a comment with what it will say.
std::string CommandsText(const std::vector<transformer::RunPrediction>& predictions) {
  std::string text;
  for (const transformer::RunPrediction& one : predictions) {
    if (!one.run.has_value()) continue;
    AskedRun run = AskedOfRun(*one.run);
    absl::StrAppendFormat(&text, "# line %d, %s: %.17g s, %.17g GiB\n", one.line,
                          CommentText(one.source), one.predicted_seconds, *one.predicted_gib);
    if (!run.description.empty())
      StrAppend(&text, "printf '%s\\n' ", ShellWord(run.description), " | ");
    StrAppend(&text, "meshwright plan ", run.model);
    AskedOptions usual;
    for (const std::vector<std::string>& words :
         OptionWords(PlanOptionRows(run.asked), PlanOptionRows(usual))) {
      for (const std::string& word : words) StrAppend(&text, " ", ShellWord(word));
    }
    StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace

absl::Status ReproduceRuns(const std::vector<std::string>& files,
                           const ReproduceRunsOptions& options) {
  const std::string& parameters = options.parameters;
  if (files.size() != 1) {
    return absl::InvalidArgumentError(
        StrCat("reproduce runs takes one table, not ", files.size(), " files"));
  }
  std::vector<std::string> inputs = files;
  if (!parameters.empty()) inputs.push_back(parameters);
  const OutputFile predicted{"-o", options.output};
  MW_RETURN_IF_ERROR(CheckOutputs({predicted}, inputs));
  transformer::CostParameters cost_parameters = transformer::BuiltinCostParameters();
  if (!parameters.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(parameters));
    MW_ASSIGN_OR_RETURN(cost_parameters, transformer::ParseCostParameters(text, parameters));
  }
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFileMaybeGzip(files[0]));
  MW_ASSIGN_OR_RETURN(const CsvTable table, ParseCsv(text, files[0]));
  MW_ASSIGN_OR_RETURN(const std::vector<transformer::RunPrediction> predictions,
                      transformer::PredictRuns(table, files[0], cost_parameters));
  if (!options.output.empty()) {
    MW_RETURN_IF_ERROR(WriteOutput(predicted, transformer::PredictedCsv(table, predictions)));
  }
  if (options.commands) return PrintOutput(CommandsText(predictions));
  if (!options.rank) {
    return options.json ? PrintOutput(transformer::RunsJson(predictions))
                        : PrintScreen(transformer::RunsReport(predictions));
  }
  const std::vector<transformer::RankedRun> ranks =
      transformer::RankRuns(predictions, cost_parameters, options.threads);
  return options.json ? PrintOutput(transformer::RanksJson(ranks))
                      : PrintScreen(transformer::RanksReport(ranks));
}

}  // namespace meshwright
