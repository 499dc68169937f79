#include "meshwright/request/asked_of_run.h"

#include "absl/strings/str_join.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/plan/make/plan_model.h"
#include "meshwright/request/asked_framework.h"

namespace meshwright {

AskedRun AskedOfRun(const transformer::Run& run) {
  AskedRun all;
  const transformer::BuiltinModel* const builtin = transformer::FindBuiltinModel(run.model.name);
  if (builtin != nullptr && builtin->config == run.description) {
    all.model = builtin->name;
  } else {
    all.model = "-";
    all.description = run.description;
  }
  AskedOptions& asked = all.asked;
  asked.cluster =
      StrCat(run.cluster.nodes, "x", run.cluster.devices_per_node, "x", run.cluster.device.name);
  // With as many digits as it takes to read the same number back.
  if (run.network_gbits.has_value())
    asked.network = StrCat(Json(*run.network_gbits).dump(), "Gbit/s");
  asked.memory = "unlimited";
  asked.top = 1;
  asked.global_batch = run.workload.global_batch;
  asked.sequence = run.workload.sequence;
  asked.dtype = std::string(transformer::PrecisionName(run.configuration.precision));
  if (run.mtp.has_value()) asked.mtp = *run.mtp;
  AskFramework(run.framework, run.model, asked);
  asked.launch_targets = kNoTarget;
  asked.fixes = {absl::StrJoin(AllFixTexts(run.configuration, run.model), ",")};
  return all;
}

}  // namespace meshwright
