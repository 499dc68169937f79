#include "meshwright/cli/reproduce_runs.h"

#include "meshwright/base/csv.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/published/runs/runs.h"

namespace meshwright {

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
