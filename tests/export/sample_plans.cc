#include "tests/export/sample_plans.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "meshwright/base/status.h"
#include "meshwright/export/launch_filter.h"
#include "meshwright/export/target.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/plan/make/plan_model.h"

namespace meshwright {

absl::StatusOr<Plan> TrySamplePlanOf(const SampleRequest& request) {
  ModelRequest wanted;
  const transformer::BuiltinModel* const builtin = transformer::FindBuiltinModel(request.model);
  wanted.description = builtin != nullptr ? builtin->config : request.model;
  if (builtin != nullptr) {
    MW_ASSIGN_OR_RETURN(wanted.model,
                        transformer::ReadHuggingFaceConfig(builtin->config, builtin->name));
  } else {
    MW_ASSIGN_OR_RETURN(wanted.model, transformer::ReadShortForm(request.model, "short"));
  }
  const int64_t longest = wanted.model.max_sequence;
  wanted.workload = {
      .sequence = longest > 0 ? std::min(longest, request.sequence) : request.sequence,
      .global_batch = request.global_batch};
  MW_ASSIGN_OR_RETURN(wanted.cluster, ParseCluster(request.cluster));
  if (!request.fixes.empty()) {
    MW_ASSIGN_OR_RETURN(wanted.fixes, transformer::ParseFixes({request.fixes}));
  }
  // Of every layer or none, which all targets can; what says otherwise is asked for.
  if (!wanted.fixes.recompute_layers.has_value()) wanted.fixes.recompute_layers = 0;
  wanted.fixes = transformer::LaunchableFixes(wanted.fixes);
  MW_ASSIGN_OR_RETURN(wanted.precision, transformer::ParsePrecision(request.precision));
  wanted.top = request.top;
  wanted.threads = 1;
  if (!request.targets.empty()) {
    MW_ASSIGN_OR_RETURN(const std::vector<const ExportTarget*> targets,
                        ParseLaunchTargets(request.targets));
    wanted.taken_by = "--for " + request.targets;
    ModelLaunch launch;
    launch.model = wanted.model;
    launch.SetDescription(wanted.description);
    launch.workload = wanted.workload;
    MW_ASSIGN_OR_RETURN(wanted.takes, LaunchFilter(targets, std::move(launch)));
  }
  return PlanModel(wanted);
}

Plan SamplePlanOf(const SampleRequest& request) {
  absl::StatusOr<Plan> plan = TrySamplePlanOf(request);
  EXPECT_TRUE(plan.ok()) << request.model << ": " << plan.status();
  return plan.ok() ? *std::move(plan) : Plan();
}

ExportOptions CompleteOptions() {
  ExportOptions options;
  options.framework = "/opt/framework";
  options.data_path = "/data/corpus";
  options.tokenizer = "/data/tokenizer";
  options.steps = 100;
  options.learning_rate = "3e-4";
  return options;
}

absl::StatusOr<Artefacts> ExportTo(const std::string& target, const Plan& plan,
                                   const ExportOptions& options, int64_t alternative) {
  MW_ASSIGN_OR_RETURN(const ExportTarget* const found, FindExportTarget(target));
  return ExportPlan(plan, *found, alternative, options);
}

std::string ContentsOf(const Artefacts& files, const std::string& name) {
  for (const Artefact& file : files) {
    if (file.name == name) return file.contents;
  }
  ADD_FAILURE() << "there is no " << name;
  return "";
}

}  // namespace meshwright
