#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/rank_order.h"
#include "meshwright/explain/why_not_kinds.h"
#include "meshwright/plan/make/build_groups_plan.h"
#include "meshwright/plan/make/plan_groups.h"
#include "meshwright/plan/make/plan_model.h"
#include "meshwright/request/asked_of_plan.h"

// Degrees in place of shardings: "tp=4,pp=2".

namespace meshwright {
namespace {

using transformer::Fixes;
using transformer::SingleFix;

// What is asked for, and of what the plan was made with all that it does not override.
absl::StatusOr<std::vector<std::string>> DegreesAsked(const Plan& plan,
                                                      const WhyNotRequest& request) {
  absl::StatusOr<Fixes> parsed = transformer::ParseFixes(request.fixes);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        StrCat("--why-not: ", FromAbsl(absl::StripPrefix(parsed.status().message(), "--fix: ")),
               "; the plan is of a model, which has degrees like tp=4,pp=2"));
  }
  const std::vector<SingleFix> asked = transformer::SplitFixes(*parsed);
  std::vector<std::string> all;
  all.reserve(asked.size());
  for (const SingleFix& one : asked) all.push_back(one.text);
  MW_ASSIGN_OR_RETURN(const Fixes planned, transformer::ParseFixes(plan.options.fixes));
  for (const SingleFix& one : transformer::SplitFixes(planned)) {
    const bool overridden = std::any_of(
        asked.begin(), asked.end(), [&](const SingleFix& other) { return other.key == one.key; });
    if (!overridden) all.push_back(one.text);
  }
  return all;
}

absl::StatusOr<Plan> PlanAnew(const PlanningRequest& request) {
  const auto* const groups = std::get_if<GroupsRequest>(&request);
  if (groups == nullptr) return PlanModel(std::get<ModelRequest>(request));
  MW_ASSIGN_OR_RETURN(const GroupsAnswer answer, PlanGroups(*groups));
  return BuildGroupsPlan(*groups, answer);
}

// What the plan is the best by.
double AimOf(const Plan& plan) {
  const PlanTransformer& part = *plan.model;
  if (part.objective == ModelObjective::kMemory) return static_cast<double>(plan.peak_bytes);
  if (part.objective == ModelObjective::kCost && plan.groups.has_value())
    return plan.groups->step_dollars.value_or(plan.step_seconds);
  return plan.step_seconds;
}

// Whether a configuration makes all choices that launches usually have.
bool AsLaunched(const transformer::Configuration& c) {
  return c.tp2 == 1 && (c.cp == 1 || c.context == transformer::ContextKind::kRing) &&
         c.recompute != transformer::Recompute::kModules && c.recompute_stages == 0 &&
         !c.offload_optimizer && !c.offload_activations && !c.ends_as_layers &&
         transformer::RankOrderOf(c).has_value();
}

bool SameDegrees(const Plan& a, const Plan& b) {
  return a.model->configuration == b.model->configuration && a.stages() == b.stages();
}

}  // namespace

absl::StatusOr<WhyNot> AskOfModel(const Plan& plan, const WhyNotRequest& request) {
  if (!request.program.empty()) {
    return absl::InvalidArgumentError(
        "--program: the plan is of a model, which it holds itself; leave the option out");
  }
  AskedOptions asked = AskedOf(plan);
  MW_ASSIGN_OR_RETURN(asked.fixes, DegreesAsked(plan, request));
  asked.top = static_cast<int64_t>(plan.model->alternatives.size()) + 1;
  MW_ASSIGN_OR_RETURN(PlanningRequest again, RequestOf(plan, asked));
  absl::StatusOr<Plan> planned = PlanAnew(again);
  // What is faster than a plan for a framework may be so by what no framework has.
  if (auto* const model = std::get_if<ModelRequest>(&again);
      model != nullptr && planned.ok() && AimOf(*planned) < AimOf(plan) &&
      AsLaunched(plan.model->configuration)) {
    model->fixes = transformer::LaunchableFixes(model->fixes);
    absl::StatusOr<Plan> launched = PlanModel(*model);
    if (launched.ok()) planned = std::move(launched);
  }
  WhyNot answer;
  const bool full = absl::IsResourceExhausted(planned.status());
  if (full || absl::IsInvalidArgument(planned.status())) {
    answer.verdict = full ? WhyNot::Verdict::kDoesNotFit : WhyNot::Verdict::kUnavailable;
    answer.reason = std::string(absl::StripPrefix(planned.status().message(), "--fix: "));
    return answer;
  }
  if (!planned.ok()) return planned.status();
  answer.plan = *planned;
  answer.plan->model->objective = plan.model->objective;
  answer.plan->model->goodput = plan.model->goodput;
  answer.difference = DiffPlans(plan, *answer.plan);
  answer.verdict = SameDegrees(plan, *answer.plan) ? WhyNot::Verdict::kChosen
                                                   : CompareCosts(AimOf(plan), AimOf(*answer.plan));
  return answer;
}

}  // namespace meshwright
