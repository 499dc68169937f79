#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/explain/planned_groups.h"
#include "meshwright/explain/why_not_inputs.h"
#include "meshwright/explain/why_not_kinds.h"
#include "meshwright/plan/make/build_mixed_plan.h"
#include "meshwright/plan/make/plan_mixed.h"
#include "meshwright/plan/make/plan_model.h"

// Degrees in place of shardings: "tp=4,pp=2".

namespace meshwright {
namespace {

using transformer::Fixes;
using transformer::SingleFix;

// What was asked for, over what the plan was made with.
struct AskedDegrees {
  Fixes fixes;
  std::vector<SingleFix> asked;
};

absl::StatusOr<AskedDegrees> ParseAskedDegrees(const Plan& plan, const WhyNotRequest& request) {
  AskedDegrees degrees;
  absl::StatusOr<Fixes> asked = transformer::ParseFixes(request.fixes);
  if (!asked.ok()) {
    return absl::InvalidArgumentError(
        StrCat("--why-not: ", FromAbsl(absl::StripPrefix(asked.status().message(), "--fix: ")),
               "; the plan is of a model, which has degrees like tp=4,pp=2"));
  }
  degrees.asked = transformer::SplitFixes(*asked);
  std::vector<std::string> all;
  for (const SingleFix& one : degrees.asked) all.push_back(one.text);
  MW_ASSIGN_OR_RETURN(const Fixes planned, transformer::ParseFixes(plan.options.fixes));
  for (const SingleFix& one : transformer::SplitFixes(planned)) {
    const bool overridden =
        std::any_of(degrees.asked.begin(), degrees.asked.end(),
                    [&](const SingleFix& other) { return other.key == one.key; });
    if (!overridden) all.push_back(one.text);
  }
  MW_ASSIGN_OR_RETURN(degrees.fixes, transformer::ParseFixes(all));
  return degrees;
}

absl::StatusOr<Plan> PlanModelWith(const Plan& plan, const Fixes& fixes) {
  const PlanTransformer& part = *plan.transformer;
  ModelRequest request;
  MW_ASSIGN_OR_RETURN(PlannedWorkload planned, PlannedWorkloadOf(plan));
  request.model = std::move(planned.model);
  request.description = std::move(planned.description);
  request.workload = planned.workload;
  request.precision = planned.precision;
  request.inputs = std::move(planned.inputs);
  MW_ASSIGN_OR_RETURN(request.cluster, ParseCluster(planned.cluster));
  // With the fewest devices as its aim a plan has a part of the cluster.
  request.cluster.nodes = plan.cluster.parts[0].nodes;
  request.cluster.devices_per_node = plan.cluster.parts[0].devices_per_node;
  request.objective = part.objective == "memory" ? ModelObjective::kMemory : ModelObjective::kTime;
  request.fixes = fixes;
  request.budget_bytes = plan.budget_bytes;
  request.top = static_cast<int64_t>(part.alternatives.size()) + 1;
  request.threads = static_cast<int>(std::clamp<int64_t>(plan.options.threads, 1, 1024));
  if (plan.options.deadline_seconds > 0) request.deadline_seconds = plan.options.deadline_seconds;
  request.cost = plan.options.cost_model == "nersc" ? ModelCost::kNersc : ModelCost::kCalibrated;
  request.state.gradient_bytes = static_cast<double>(part.state.gradient_bytes);
  request.state.moment_bytes = static_cast<double>(part.state.moment_bytes);
  request.state.logit_bytes = static_cast<double>(part.state.logit_bytes);
  return PlanModel(request);
}

absl::StatusOr<Plan> PlanGroupsWith(const Plan& plan, const Fixes& fixes) {
  MW_ASSIGN_OR_RETURN(MixedRequest request, PlannedGroupsRequest(plan));
  request.problem.fixes = fixes;
  MW_ASSIGN_OR_RETURN(const MixedAnswer answer, PlanMixed(request));
  return BuildMixedPlan(request, answer);
}

// What the plan is the best by.
double AimOf(const Plan& plan) {
  const PlanTransformer& part = *plan.transformer;
  if (part.objective == "memory") return static_cast<double>(plan.peak_bytes);
  if (part.objective == "cost" && part.over_groups.has_value())
    return part.over_groups->step_dollars.value_or(plan.step_seconds);
  return plan.step_seconds;
}

bool SameDegrees(const Plan& a, const Plan& b) {
  return a.transformer->configuration == b.transformer->configuration && a.stages == b.stages;
}

}  // namespace

absl::StatusOr<WhyNot> AskOfModel(const Plan& plan, const WhyNotRequest& request) {
  if (!request.program.empty()) {
    return absl::InvalidArgumentError(
        "--program: the plan is of a model, which it holds itself; leave the option out");
  }
  MW_ASSIGN_OR_RETURN(const AskedDegrees degrees, ParseAskedDegrees(plan, request));
  absl::StatusOr<Plan> planned = plan.transformer->over_groups.has_value()
                                     ? PlanGroupsWith(plan, degrees.fixes)
                                     : PlanModelWith(plan, degrees.fixes);
  WhyNot answer;
  const bool full = absl::IsResourceExhausted(planned.status());
  if (full || absl::IsInvalidArgument(planned.status())) {
    answer.verdict = full ? WhyNot::Verdict::kDoesNotFit : WhyNot::Verdict::kUnavailable;
    answer.reason = std::string(absl::StripPrefix(planned.status().message(), "--fix: "));
    return answer;
  }
  if (!planned.ok()) return planned.status();
  answer.plan = *std::move(planned);
  answer.plan->transformer->objective = plan.transformer->objective;
  answer.plan->transformer->goodput = plan.transformer->goodput;
  answer.difference = DiffPlans(plan, *answer.plan);
  answer.verdict = SameDegrees(plan, *answer.plan) ? WhyNot::Verdict::kChosen
                                                   : CompareCosts(AimOf(plan), AimOf(*answer.plan));
  return answer;
}

}  // namespace meshwright
