#include "meshwright/cli/sweep_planning.h"

#include <string>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/staged_outputs.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/model_sweep.h"
#include "meshwright/plan/text/sweep_text.h"

namespace meshwright {

absl::Status RunSweepPlanning(const PlanningOptions& options, const ModelPlanningOptions& model,
                              const ModelRequest& request) {
  if (options.explain) {
    return absl::InvalidArgumentError(
        "--explain is of one plan; a --sweep has one for each number of devices");
  }
  if (request.objective == ModelObjective::kGpus) {
    return absl::InvalidArgumentError(
        "--objective gpus finds the fewest GPUs, --sweep plans on each number of them; give one");
  }
  MW_ASSIGN_OR_RETURN(const SweepRange range, ParseSweep(model.sweep));
  MW_ASSIGN_OR_RETURN(const std::vector<SweepRow> rows, SweepModel(request, range, model.weak));
  const std::vector<std::string> notes = SweepNotes(rows, request.cluster);
  const bool want_json = options.json || !options.plan_path.empty();
  std::string json;
  if (want_json) {
    Plan plan = SweptPlan(rows);
    plan.warnings.insert(plan.warnings.end(), notes.begin(), notes.end());
    json = PlanToJson(plan);
  }
  StagedOutputs outputs;
  MW_RETURN_IF_ERROR(outputs.Add({"--csv", model.csv_path}, SweepCsv(rows)));
  MW_RETURN_IF_ERROR(outputs.Add(
      {"--plot", model.mixed.plot_path},
      SweepPlot(rows, StrCat(request.model.name, " on nodes of ", request.cluster.name))));
  MW_RETURN_IF_ERROR(outputs.Add({"-o", options.plan_path}, json));
  MW_RETURN_IF_ERROR(outputs.Commit());
  if (options.json) return PrintOutput(json);
  std::string text = SweepTable(rows);
  for (const std::string& note : notes) StrAppend(&text, Hanging("note: ", note));
  return PrintScreen(text);
}

}  // namespace meshwright
