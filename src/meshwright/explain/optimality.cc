#include "meshwright/explain/optimality.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/explain/screen.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/plan/text/transformer_table.h"

namespace meshwright {
namespace {

std::vector<std::string> GivenOfPipeline(const PlanOptions& options) {
  std::vector<std::string> given;
  if (options.pipeline != "auto") given.push_back(StrCat("--pipeline ", options.pipeline));
  if (options.micro_batches != "auto")
    given.push_back(StrCat("--micro-batches ", options.micro_batches));
  if (options.mesh != "auto") given.push_back(StrCat("--mesh ", options.mesh));
  if (!options.recompute) given.push_back("--no-recompute");
  return given;
}

// What the user decided, which the search and its bound keep to: " with 2 shardings as given".
std::string GivenText(const Plan& plan, std::vector<std::string> given) {
  const std::vector<std::string>& fixes = plan.options.fixes;
  if (!fixes.empty())
    given.insert(given.begin(), Counted(static_cast<int64_t>(fixes.size()), "sharding"));
  if (plan.profile.has_value()) {
    given.push_back(
        StrCat("the segments chosen by their profiles",
               plan.profile->limited_by_memory() ? " (within memory as estimated)" : ""));
  }
  return given.empty() ? "" : StrCat(" with ", absl::StrJoin(given, ", "), " as given");
}

// `where` no other plan is better; `given`: what the user decided beside shardings.
std::string OfProgram(const Plan& plan, std::string_view where, std::vector<std::string> given) {
  if (plan.options.rest == Completion::kPropagate)
    return "the shardings were given and spread as XLA does; nothing was searched";
  const std::string no_plan =
      StrCat("no plan ", where, GivenText(plan, std::move(given)), " within the memory ");
  // The bound of a pipeline is one of the objective; its step, with collectives overlapped, may go
  // below it.
  const bool overlaps = plan.step_seconds != plan.objective_seconds;
  if (plan.gap == 0) {
    return StrCat("proven: ", no_plan, "is faster under this cost model",
                  overlaps ? ", without overlap" : "");
  }
  return StrCat(overlaps ? StrCat("serial ", CostText(plan, plan.objective_seconds), "; ") : "",
                no_plan, "takes less than ", CostText(plan, plan.bound_seconds),
                overlaps ? " without overlap" : "", " under this cost model: at most ",
                absl::StrFormat("%.3g %%", 100 * plan.gap), " less than this one");
}

std::string OfModel(const Plan& plan) {
  const PlanTransformer& part = *plan.model;
  const std::string aim = part.objective == ModelObjective::kMemory ? "least memory"
                          : part.objective == ModelObjective::kGpus ? "fewest devices"
                                                                    : "shortest step";
  const std::string counts =
      absl::StrFormat(": %d of %d legal configurations costed, %d of them fit",
                      part.search.evaluated, part.search.legal, part.search.fitting);
  if (SearchWasEnded(plan))
    return StrCat("not proven for the ", aim, counts, "; ", EndedSearchText(plan));
  return StrCat(
      "searched exactly for the ", aim, counts,
      part.search.evaluated < part.search.legal ? ", the others ruled out by bounds" : "");
}

std::string OfGroups(const Plan& plan) {
  const PlanOverGroups& over = *plan.groups;
  const bool of_dollars = plan.model->objective == ModelObjective::kCost;
  std::string within;
  if (over.most_seconds.has_value())
    StrAppend(&within, " within ", SecondsText(*over.most_seconds));
  if (over.most_dollars.has_value())
    absl::StrAppendFormat(&within, "%s $%.6g", within.empty() ? " within" : " and",
                          *over.most_dollars);
  if (over.proven) {
    return StrCat("proven: no choice of nodes and degrees", within, " is ",
                  of_dollars ? "cheaper" : "faster");
  }
  return StrCat("not proven: the best", within, " may be up to ",
                absl::StrFormat("%.3g %%", 100 * plan.gap), of_dollars ? " cheaper" : " faster");
}

}  // namespace

std::string OptimalityText(const Plan& plan) {
  switch (plan.kind()) {
    case PlanKind::kProgram:
      return OfProgram(plan, "on this mesh", {});
    case PlanKind::kPipeline:
      return OfProgram(plan, "under this schedule", GivenOfPipeline(plan.options));
    case PlanKind::kModel:
      return OfModel(plan);
    case PlanKind::kGroups:
      return OfGroups(plan);
  }
  return "";
}

}  // namespace meshwright
