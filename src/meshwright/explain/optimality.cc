#include "meshwright/explain/optimality.h"

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

// What the user decided, which the search and its bound keep to: " with 2 shardings as given".
std::string GivenText(const Plan& plan) {
  const PlanOptions& options = plan.options;
  std::vector<std::string> given;
  if (!options.fixes.empty())
    given.push_back(Counted(static_cast<int64_t>(options.fixes.size()), "sharding"));
  if (plan.pipeline.has_value()) {
    if (options.pipeline != "auto") given.push_back(StrCat("--pipeline ", options.pipeline));
    if (options.micro_batches != "auto")
      given.push_back(StrCat("--micro-batches ", options.micro_batches));
    if (options.mesh != "auto") given.push_back(StrCat("--mesh ", options.mesh));
    if (!options.recompute) given.push_back("--no-recompute");
  }
  if (plan.profile.has_value()) {
    given.push_back(
        StrCat("the segments chosen by their profiles",
               plan.profile->limited_by_memory() ? " (within memory as estimated)" : ""));
  }
  return given.empty() ? "" : StrCat(" with ", absl::StrJoin(given, ", "), " as given");
}

std::string OfProgram(const Plan& plan) {
  if (plan.options.rest == Completion::kPropagate)
    return "the shardings were given and spread as XLA does: nothing was searched for";
  const std::string where =
      StrCat(!plan.pipeline.has_value() ? "on this mesh" : "under this schedule", GivenText(plan));
  // The bound of a pipeline is one of the objective; its step, with collectives overlapped, may go
  // below it.
  const bool overlaps = plan.step_seconds != plan.objective_seconds;
  if (plan.gap == 0) {
    return StrCat("proven: no plan ", where, " within the memory is faster under this cost model",
                  overlaps ? ", without overlap" : "");
  }
  return StrCat(overlaps ? StrCat("serial ", CostText(plan, plan.objective_seconds), "; ") : "",
                "no plan ", where, " within the memory takes less than ",
                CostText(plan, plan.bound_seconds), overlaps ? " without overlap" : "",
                " under this cost model: at most ", absl::StrFormat("%.3g %%", 100 * plan.gap),
                " less than this one");
}

std::string OfModel(const Plan& plan) {
  const PlanTransformer& part = *plan.model;
  if (!plan.groups.has_value()) {
    const std::string aim = part.objective == ModelObjective::kMemory ? "least memory"
                            : part.objective == ModelObjective::kGpus ? "fewest devices"
                                                                      : "shortest step";
    const std::string counts =
        absl::StrFormat(": %d of %d legal configurations costed, %d of them fit",
                        part.search.evaluated, part.search.legal, part.search.fitting);
    if (SearchWasEnded(plan)) {
      return StrCat("not proven for the ", aim, counts, "; ", EndedSearchText(plan));
    }
    return StrCat(
        "searched exactly for the ", aim, counts,
        part.search.evaluated < part.search.legal ? ", the others ruled out by bounds" : "");
  }
  const PlanOverGroups& over = *plan.groups;
  const bool of_dollars = part.objective == ModelObjective::kCost;
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
  return plan.of_model() ? OfModel(plan) : OfProgram(plan);
}

}  // namespace meshwright
