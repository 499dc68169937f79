#include "meshwright/answer/ask_planner.h"

#include <utility>

#include "meshwright/answer/launch_wishes.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/explain/in_short.h"
#include "meshwright/plan/make/plan_pipelined.h"
#include "meshwright/plan/make/shortage.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/plan/text/sweep_text.h"
#include "meshwright/profile/plan_profiled.h"

namespace meshwright {
namespace {

struct Planner {
  PlanningHooks hooks;

  absl::StatusOr<PlanAnswer> operator()(ProgramRequest& request) {
    request.progress = std::move(hooks.progress);
    request.stop = std::move(hooks.stop);
    if (request.pipeline.wanted) {
      MW_ASSIGN_OR_RETURN(PipelinedProgram made, PlanPipelinedProgram(request));
      if (!made.pipeline.fits) return absl::ResourceExhaustedError(PipelineShortageText(made));
      const auto planned = std::make_shared<const PipelinedProgram>(std::move(made));
      return PlanAnswer{
          .plan = planned->plan,
          .table = [planned] { return PlanTable(planned->plan, InShort(planned->plan)); },
          .pipeline = planned};
    }
    MW_ASSIGN_OR_RETURN(PlannedProgram made, request.database.empty()
                                                 ? PlanProgram(request)
                                                 : PlanProfiledProgram(request));
    if (!made.intra.fits) {
      // Of a program whose shardings are given stages would be another question.
      const bool may_be_cut =
          request.completion == Completion::kLeastCost && request.database.empty();
      return absl::ResourceExhaustedError(StrCat(
          ShortageText(made), may_be_cut ? "  on these devices --pipeline auto may fit, which "
                                           "cuts the program into stages\n"
                                         : ""));
    }
    const auto planned = std::make_shared<const PlannedProgram>(std::move(made));
    return PlanAnswer{
        .plan = planned->plan,
        .table = [planned] { return PlanTable(planned->plan, InShort(planned->plan)); },
        .program = planned};
  }

  absl::StatusOr<PlanAnswer> operator()(ModelRequest& request) {
    request.stop = std::move(hooks.stop);
    MW_ASSIGN_OR_RETURN(const Plan plan, PlanLaunched(request));
    // The table searches once more, when whoever could be asked may be gone.
    request.stop = nullptr;
    return PlanAnswer{.plan = plan, .table = [plan, request] {
                        return PlanTable(plan, InShort(plan)) + BeyondLaunches(request, plan);
                      }};
  }

  absl::StatusOr<PlanAnswer> operator()(SweepRequest& request) {
    request.model.stop = std::move(hooks.stop);
    MW_ASSIGN_OR_RETURN(const std::vector<SweepRow> rows,
                        SweepModel(request.model, request.range, request.weak, PlanLaunched));
    const std::vector<std::string> notes = SweepNotes(rows, request.model.cluster);
    PlanAnswer answer;
    answer.plan = SweptPlan(rows);
    answer.plan->warnings.insert(answer.plan->warnings.end(), notes.begin(), notes.end());
    answer.table = [rows, notes] {
      std::string text = SweepTable(rows);
      for (const std::string& note : notes) StrAppend(&text, Hanging("note: ", note));
      return text;
    };
    answer.csv = [rows] { return SweepCsv(rows); };
    answer.plot = [rows, title = StrCat(request.model.model.name, " on nodes of ",
                                        request.model.cluster.name)] {
      return SweepPlot(rows, title);
    };
    return answer;
  }

  absl::StatusOr<PlanAnswer> operator()(GroupsRequest& request) {
    MW_RETURN_IF_ERROR(AddLaunchFilter(request));
    request.stop = std::move(hooks.stop);
    MW_ASSIGN_OR_RETURN(GroupsAnswer found, PlanGroups(request));
    const auto asked = std::make_shared<const GroupsRequest>(std::move(request));
    const auto planned = std::make_shared<const GroupsAnswer>(std::move(found));
    return PlanAnswer{.plan = GroupsPlanLaunched(*asked, *planned),
                      .table = [=] { return GroupsTable(*asked, *planned); },
                      .csv = [=] { return GroupsCsv(*asked, *planned); },
                      .plot = [=] { return GroupsPlot(*asked, *planned); }};
  }

  absl::StatusOr<PlanAnswer> operator()(FasopRequest& request) {
    MW_ASSIGN_OR_RETURN(const FasopAnswer found, PlanFasop(request));
    return PlanAnswer{.table = [text = found.table] { return text; },
                      .csv = [text = found.csv] { return text; }};
  }
};

}  // namespace

absl::StatusOr<std::vector<StageFile>> StagesToEmit(const PipelinedProgram& planned) {
  if (planned.whole_because.empty()) return StageModules(planned);
  return absl::InvalidArgumentError(StrCat(
      "--emit: there are no stages to write, as the program is not cut: ", planned.whole_because,
      "; without --pipeline it is written as one"));
}

bool CanBeStopped(const PlanningRequest& request) {
  return !std::holds_alternative<FasopRequest>(request);
}

absl::StatusOr<PlanAnswer> AskPlanner(PlanningRequest request, PlanningHooks hooks) {
  return std::visit(Planner{std::move(hooks)}, request);
}

}  // namespace meshwright
