#include "meshwright/explain/planned_groups.h"

#include <optional>
#include <string>
#include <utility>

#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/cluster/units.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/explain/why_not_inputs.h"
#include "meshwright/model/model_reader.h"

namespace meshwright {
namespace {

absl::StatusOr<std::optional<int64_t>> BytesOfMemory(const std::string& memory) {
  if (memory == "unlimited") return std::optional<int64_t>();
  const absl::StatusOr<int64_t> bytes = ParseBytes(memory);
  if (bytes.ok()) return std::optional<int64_t>(*bytes);
  return absl::InvalidArgumentError(
      StrCat("$.options.memory: found \"", memory, "\", expected device, unlimited or bytes"));
}

absl::StatusOr<transformer::Model> PlannedModel(const PlanTransformer& part) {
  const bool json = !part.description.empty() && part.description[0] == '{';
  MW_ASSIGN_OR_RETURN(
      transformer::Model model,
      transformer::ParseModel(
          part.description, json ? "$.transformer.description" : "$.transformer.description.yaml"));
  model.name = part.model;
  return model;
}

}  // namespace

absl::StatusOr<PlannedWorkload> PlannedWorkloadOf(const Plan& plan) {
  const PlanTransformer& part = *plan.transformer;
  PlannedWorkload planned;
  MW_ASSIGN_OR_RETURN(planned.model, PlannedModel(part));
  planned.description = part.description;
  planned.workload = {.sequence = part.sequence, .global_batch = part.global_batch};
  planned.precision = part.configuration.precision;
  MW_ASSIGN_OR_RETURN(planned.cluster, PlannedCluster(plan));
  planned.inputs = plan.inputs;
  return planned;
}

absl::StatusOr<MixedRequest> PlannedGroupsRequest(const Plan& plan) {
  const PlanTransformer& part = *plan.transformer;
  const PlanOverGroups& over = *part.over_groups;
  MixedRequest request;
  transformer::hetero::Problem& problem = request.problem;
  MW_ASSIGN_OR_RETURN(PlannedWorkload planned, PlannedWorkloadOf(plan));
  problem.model = std::move(planned.model);
  request.description = std::move(planned.description);
  problem.workload = planned.workload;
  problem.precision = planned.precision;
  request.inputs = std::move(planned.inputs);
  MW_ASSIGN_OR_RETURN(problem.cluster, ParseMixedCluster(planned.cluster));
  MW_ASSIGN_OR_RETURN(problem.fixes, transformer::ParseFixes(plan.options.fixes));
  request.memory = plan.options.memory;
  if (request.memory != "device") {
    MW_ASSIGN_OR_RETURN(const std::optional<int64_t> budget, BytesOfMemory(request.memory));
    problem.budget_bytes.assign(problem.cluster.groups.size(), budget);
  }
  request.options.objective = part.objective == "cost" ? transformer::hetero::Objective::kCost
                                                       : transformer::hetero::Objective::kTime;
  request.has_steps = over.steps.has_value();
  if (request.has_steps) request.options.steps = *over.steps;
  request.options.most_seconds = over.most_seconds;
  request.options.most_dollars = over.most_dollars;
  MW_ASSIGN_OR_RETURN(const std::string profile, ReadPlannedInput(plan, "layer_profile"));
  if (!profile.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string text, MaybeGunzip(profile, "the profile"));
    MW_ASSIGN_OR_RETURN(problem.profile, transformer::hetero::LayerProfile::Parse(
                                             text, "the profile",
                                             {.model = problem.model.name,
                                              .sequence = problem.workload.sequence,
                                              .dtype = PrecisionName(problem.precision)}));
  }
  return request;
}

}  // namespace meshwright
