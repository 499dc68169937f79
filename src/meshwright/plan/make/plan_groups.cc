#include "meshwright/plan/make/plan_groups.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/precision_support.h"
#include "meshwright/model/check_model.h"
#include "meshwright/plan/make/groups_text.h"
#include "meshwright/plan/make/one_kind.h"

namespace meshwright {
namespace {

using transformer::hetero::SearchPlans;

absl::StatusOr<std::vector<transformer::hetero::Choice>> SearchWith(
    const GroupsRequest& request, transformer::hetero::Objective objective, bool keep_time) {
  transformer::hetero::SearchOptions options = request.options;
  options.objective = objective;
  options.most_dollars.reset();
  if (!keep_time) options.most_seconds.reset();
  MW_ASSIGN_OR_RETURN(transformer::hetero::Result result, SearchPlans(request.problem, options));
  return std::move(result.front);
}

// Why there is no plan within the limits, and what there is.
absl::Status GroupsShortage(const GroupsRequest& request) {
  const transformer::hetero::SearchOptions& options = request.options;
  std::vector<std::string> limits;
  if (options.most_seconds.has_value()) {
    limits.push_back(StrCat(RunTimeText(*options.most_seconds)));
  }
  if (options.most_dollars.has_value()) limits.push_back(DollarsText(*options.most_dollars));
  const std::string within = absl::StrJoin(limits, " and ");
  if (options.most_dollars.has_value()) {
    MW_ASSIGN_OR_RETURN(
        const std::vector<transformer::hetero::Choice> cheapest,
        SearchWith(request, transformer::hetero::Objective::kCost, /*keep_time=*/true));
    if (!cheapest.empty()) {
      return absl::ResourceExhaustedError(
          StrCat("no plan within ", within, "; the cheapest that works",
                 options.most_seconds.has_value() ? " in that time" : "", " takes ",
                 ChoiceText(request, cheapest.front())));
    }
  }
  if (!limits.empty()) {
    MW_ASSIGN_OR_RETURN(
        const std::vector<transformer::hetero::Choice> fastest,
        SearchWith(request, transformer::hetero::Objective::kTime, /*keep_time=*/false));
    if (!fastest.empty()) {
      return absl::ResourceExhaustedError(StrCat("no plan within ", within, "; the fastest takes ",
                                                 ChoiceText(request, fastest.front())));
    }
  }
  GroupsRequest unlimited = request;
  unlimited.problem.budget_bytes.assign(request.problem.cluster.groups.size(), std::nullopt);
  MW_ASSIGN_OR_RETURN(
      const std::vector<transformer::hetero::Choice> fastest,
      SearchWith(unlimited, transformer::hetero::Objective::kTime, /*keep_time=*/false));
  if (fastest.empty()) {
    std::string text =
        "no degrees of parallelism go with the nodes: a stage takes tp dp devices, which have to "
        "be whole nodes or an equal part of one; dp mbs has to divide the global batch, and leave "
        "at most 16384 micro-batches";
    // What launches are written for may be of devices that have the type.
    for (const NodeGroup& group : request.problem.cluster.groups) {
      const std::string unsupported =
          PrecisionWarning(group.cluster.device, request.problem.precision);
      if (request.problem.takes && !unsupported.empty()) StrAppend(&text, "; ", unsupported);
    }
    return absl::InvalidArgumentError(text);
  }
  transformer::hetero::Coster coster(unlimited.problem);
  const transformer::hetero::Figures figures = coster.FiguresOf(fastest.front().plan);
  const auto peak =
      std::max_element(figures.memory.begin(), figures.memory.end(),
                       [](const auto& a, const auto& b) { return a.total() < b.total(); });
  const transformer::hetero::Plan& plan = fastest.front().plan;
  const size_t group = plan.family.Group(plan.stages[peak - figures.memory.begin()].stage_class);
  return absl::ResourceExhaustedError(
      StrCat(request.problem.model.name,
             " does not fit into the memory of any choice of nodes; the "
             "fastest plan without a limit (",
             GroupsDegreesText(request, fastest.front().plan), ") takes ", BytesText(peak->total()),
             " on a device of ", request.problem.cluster.groups[group].name));
}

}  // namespace

absl::StatusOr<GroupsAnswer> PlanGroups(const GroupsRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  MW_RETURN_IF_ERROR(CheckModel(request.problem.model));
  MW_RETURN_IF_ERROR(CheckSequence(request.problem.model, request.problem.workload.sequence));
  GroupsAnswer answer;
  transformer::hetero::SearchOptions options = request.options;
  const auto interrupted = [&] { return request.stop && request.stop(); };
  options.stop = [&] {
    const auto now = std::chrono::steady_clock::now();
    return interrupted() ||
           std::chrono::duration<double>(now - start).count() >= request.deadline_seconds;
  };
  MW_ASSIGN_OR_RETURN(answer.result, SearchPlans(request.problem, options));
  if (answer.result.front.empty() && answer.result.stopped) {
    return absl::DeadlineExceededError(
        StrCat("a plan of ", request.problem.model.name, " over groups of nodes",
               interrupted() ? " was not found before the interrupt"
                             : " was not found before the deadline; --deadline gives the search "
                               "more time"));
  }
  if (answer.result.front.empty()) return GroupsShortage(request);
  const auto points = static_cast<int64_t>(answer.result.front.size());
  if (request.point >= points) {
    return absl::InvalidArgumentError(StrCat("--point: found ", request.point,
                                             ", but the front has ", Counted(points, "plan"),
                                             ", 0 to ", points - 1));
  }
  answer.chosen = static_cast<size_t>(request.point);
  transformer::hetero::Coster coster(request.problem);
  for (const transformer::hetero::Choice& choice : answer.result.front) {
    answer.figures.push_back(coster.FiguresOf(choice.plan));
  }
  const transformer::hetero::Choice& first = answer.result.front.front();
  answer.faster = FasterOfOneKind(request, first, options.stop);
  if (answer.faster.has_value()) {
    const bool by_cost = request.options.objective == transformer::hetero::Objective::kCost;
    const double rate = by_cost ? first.dollars_per_hour / 3600 : 1;
    answer.result.bound = std::min(answer.result.bound, answer.faster->seconds * rate);
    answer.result.proven = false;
  }
  answer.planning_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

}  // namespace meshwright
