#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/explain/plan_part.h"
#include "meshwright/explain/screen.h"
#include "meshwright/explain/why_not_inputs.h"
#include "meshwright/explain/why_not_kinds.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/pins.h"
#include "meshwright/plan/make/fix_option.h"
#include "meshwright/plan/make/replan_pipeline.h"
#include "meshwright/plan/make/to_plan.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {
namespace {

struct AskedOfStages {
  std::vector<Fix> fixes;
  bool is_plan = true;                      // all of it is what the plan does
  std::vector<std::string> partly_applied;  // WhyNot::partly_applied
};

Mesh AxesOf(const std::vector<PlanAxis>& axes) {
  Mesh mesh;
  for (const PlanAxis& axis : axes) mesh.axes.push_back({axis.name, axis.size});
  return mesh;
}

// Whether the fix holds for something, and for something that stages hand on.
struct Matches {
  bool parameter = false, received = false;
  size_t applied = 0;
  std::vector<std::string> left;
  absl::Status why;  // it does not hold for the first of those
};

absl::Status MatchFix(const Fix& fix, const std::string& text, const PlanPart& part, bool& is_plan,
                      Matches& matches) {
  const Mesh mesh = AxesOf(part.mesh);
  for (size_t p = 0; p < part.parameters.size(); ++p) {
    for (size_t m = 0; m < part.members(); ++m) {
      const std::string& name = part.ParameterName(m, p);
      if (!GlobMatch(fix.pattern, name)) continue;
      const PlanTensor& tensor = part.parameters[p];
      const auto rank = static_cast<int64_t>(tensor.shape.size());
      const auto error = [&](const absl::Status& why) {
        return absl::InvalidArgumentError(
            StrCat("--why-not (", text, "): ", name, " ", TypeText({tensor.dtype, tensor.shape}),
                   ", on stage ", part.stages[m], ": ", why.message()));
      };
      const absl::StatusOr<std::optional<Sharding>> sharding =
          FixedSharding(fix, fix.pattern == name, rank, mesh);
      if (!sharding.ok()) return error(sharding.status());
      if (!sharding->has_value()) {
        matches.left.push_back(StrCat(name, " ", TypeText({tensor.dtype, tensor.shape})));
        matches.why.Update(error(ParseSharding(fix.spec, mesh, rank).status()));
        continue;
      }
      ++matches.applied;
      (part.received[p] ? matches.received : matches.parameter) = true;
      is_plan = is_plan && ToSpec(**sharding, mesh) == tensor.spec;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<AskedOfStages> ParseAskedOfStages(const Plan& plan,
                                                 const std::vector<std::string>& texts) {
  AskedOfStages asked;
  const std::vector<PlanPart> parts = PartsOf(plan);
  for (const std::string& text : texts) {
    MW_ASSIGN_OR_RETURN(Fix fix, ParseFix(text, "--why-not"));
    Matches all;
    for (const PlanPart& part : parts) {
      MW_RETURN_IF_ERROR(MatchFix(fix, text, part, asked.is_plan, all));
    }
    if (all.received) {
      return absl::InvalidArgumentError(
          StrCat("--why-not (", text, "): \"", fix.pattern,
                 "\" is handed from stage to stage, and how is a part of the cut, which --why-not "
                 "keeps; it takes parameters of the program, and `meshwright plan --pipeline` "
                 "another cut"));
    }
    if (!all.parameter) {
      MW_RETURN_IF_ERROR(all.why);
      std::vector<std::string> names;
      for (const PlanPart& part : parts) {
        for (size_t m = 0; m < part.members(); ++m) {
          for (size_t p = 0; p < part.parameters.size(); ++p) {
            if (!part.received[p]) names.push_back(part.ParameterName(m, p));
          }
        }
      }
      return absl::InvalidArgumentError(
          StrCat("--why-not (", text, "): \"", fix.pattern, "\" matches no parameter of a stage",
                 names.empty() ? "" : StrCat("; the nearest is ", NearestName(fix.pattern, names)),
                 "; of pipelines --why-not takes parameters"));
    }
    if (!all.left.empty()) {
      asked.partly_applied.push_back(PartlyAppliedText(fix, all.applied, all.left));
    }
    asked.fixes.push_back(std::move(fix));
  }
  return asked;
}

}  // namespace

absl::StatusOr<WhyNot> AskOfPipeline(const Plan& plan, const WhyNotRequest& request) {
  MW_ASSIGN_OR_RETURN(ProgramRequest forced, PlannedRequest(plan));
  MW_ASSIGN_OR_RETURN(const AskedOfStages asked, ParseAskedOfStages(plan, request.fixes));
  MW_ASSIGN_OR_RETURN(const std::string contents, ReadPlannedProgram(plan, request));
  WhyNot answer;
  answer.partly_applied = asked.partly_applied;
  if (asked.is_plan) return answer;
  forced.contents = contents;
  absl::StatusOr<ReplannedPipeline> replanned = ReplanPipeline(plan, forced, asked.fixes);
  if (absl::IsInvalidArgument(replanned.status())) {
    answer.verdict = WhyNot::Verdict::kUnavailable;
    answer.reason = std::string(replanned.status().message());
    return answer;
  }
  if (!replanned.ok()) return replanned.status();
  const std::vector<int64_t> stages(replanned->stages.begin(), replanned->stages.end());
  answer.kept = StrCat(stages.size() == 1 ? "stage " : "stages ", NumbersText(stages),
                       stages.size() == 1 ? " is" : " are",
                       " planned anew; the cut into stages, what they hand on, the schedule and "
                       "all other stages are kept");
  answer.reason = replanned->shortage;
  answer.plan = std::move(replanned->plan);
  answer.plan->options.fixes = request.fixes;
  // What overlaps in the other stages is not recorded: both steps are serial.
  Plan before = plan;
  before.step_seconds = before.objective_seconds;
  answer.difference = DiffPlans(before, *answer.plan);
  answer.verdict = !answer.reason.empty()
                       ? WhyNot::Verdict::kDoesNotFit
                       : CompareCosts(plan.objective_seconds, answer.plan->objective_seconds);
  return answer;
}

}  // namespace meshwright
