#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/explain/screen.h"
#include "meshwright/explain/tensor_facts.h"
#include "meshwright/explain/why_not_inputs.h"
#include "meshwright/explain/why_not_kinds.h"
#include "meshwright/intra/pins.h"
#include "meshwright/plan/make/fix_option.h"
#include "meshwright/plan/make/shortage.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {
namespace {

// A sharding that cannot be had is an answer; one that cannot be read, or of nothing, is an error.
absl::StatusOr<std::vector<Fix>> ParseAsked(const Plan& plan, const Mesh& mesh,
                                            const std::vector<std::string>& texts,
                                            std::vector<std::string>& partly_applied) {
  std::vector<Fix> fixes;
  for (const std::string& text : texts) {
    MW_ASSIGN_OR_RETURN(Fix fix, ParseFix(text, "--why-not"));
    MW_ASSIGN_OR_RETURN(const std::vector<TensorFacts> tensors, FindTensors(plan, fix.pattern));
    size_t applied = 0;
    std::vector<std::string> left;
    absl::Status why;  // it does not hold for the first of those
    for (const TensorFacts& tensor : tensors) {
      const auto rank = static_cast<int64_t>(tensor.type.shape.size());
      const absl::StatusOr<std::optional<Sharding>> sharding =
          FixedSharding(fix, fix.pattern == tensor.name, rank, mesh);
      if (sharding.ok() && sharding->has_value()) {
        ++applied;
        continue;
      }
      left.push_back(StrCat(tensor.name, " ", TypeText(tensor.type)));
      why.Update(absl::InvalidArgumentError(
          StrCat("--why-not (", text, "): ", left.back(), ": ",
                 ParseSharding(fix.spec, mesh, rank).status().message())));
      if (!sharding.ok()) return why;
    }
    if (applied == 0) MW_RETURN_IF_ERROR(why);
    if (!left.empty()) partly_applied.push_back(PartlyAppliedText(fix, applied, left));
    fixes.push_back(std::move(fix));
  }
  return fixes;
}

bool SameDecisions(const Plan& a, const Plan& b) {
  return a.program.parameters == b.program.parameters && a.program.outputs == b.program.outputs &&
         std::equal(a.program.instructions.begin(), a.program.instructions.end(),
                    b.program.instructions.begin(), b.program.instructions.end(),
                    [](const PlanInstruction& x, const PlanInstruction& y) {
                      return x.name == y.name && x.spec == y.spec && x.strategy == y.strategy;
                    });
}

}  // namespace

absl::StatusOr<WhyNot> AskOfProgram(const Plan& plan, const WhyNotRequest& request) {
  MW_ASSIGN_OR_RETURN(ProgramRequest forced, PlannedRequest(plan));
  MW_ASSIGN_OR_RETURN(const Cluster cluster, ParseCluster(forced.cluster));
  MW_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(forced.mesh, cluster));
  WhyNot answer;
  MW_ASSIGN_OR_RETURN(const std::vector<Fix> asked,
                      ParseAsked(plan, mesh, request.fixes, answer.partly_applied));
  MW_ASSIGN_OR_RETURN(const std::string contents, ReadPlannedProgram(plan, request));
  forced.contents = contents;
  forced.fixes.insert(forced.fixes.end(), asked.begin(), asked.end());
  forced.progress = request.progress;

  absl::StatusOr<PlannedProgram> planned = PlanProgram(forced);
  if (absl::IsInvalidArgument(planned.status())) {
    answer.verdict = WhyNot::Verdict::kUnavailable;
    answer.reason = std::string(planned.status().message());
    return answer;
  }
  if (!planned.ok()) return planned.status();
  if (!planned->intra.fits) answer.reason = ShortageText(*planned);
  answer.plan = std::move(planned->plan);
  answer.plan->inputs = plan.inputs;
  answer.plan->options.mesh = plan.options.mesh;
  answer.difference = DiffPlans(plan, *answer.plan);
  answer.verdict = !answer.reason.empty() ? WhyNot::Verdict::kDoesNotFit
                   : SameDecisions(plan, *answer.plan)
                       ? WhyNot::Verdict::kChosen
                       : CompareCosts(plan.objective_seconds, answer.plan->objective_seconds);
  return answer;
}

}  // namespace meshwright
