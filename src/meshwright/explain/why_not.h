#ifndef MESHWRIGHT_EXPLAIN_WHY_NOT_H_
#define MESHWRIGHT_EXPLAIN_WHY_NOT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/explain/plan_difference.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_program.h"

// What a plan would cost if some arrays had to be sharded otherwise: everything else is searched
// for anew, on the plan's mesh and with its options. Of a pipeline: some parameters; the stages
// that have them are planned anew, all else stays (plan/make/replan_pipeline.h). Of a model: if
// some of its degrees had to be others; the rest is searched for.

namespace meshwright {

struct WhyNotRequest {
  // At least one. "NAME=SPEC", see ParseFix; of models "tp=4,pp=2", see transformer::ParseFixes, in
  // place of what the plan was asked to keep to.
  std::vector<std::string> fixes;
  std::string program;  // path; empty: the one that the plan was made from
  std::function<void(const ProgramProgress&)> progress;  // may be empty
  // Of the program, where its caller has them.
  std::optional<std::string_view> contents = std::nullopt;
};

struct WhyNot {
  enum class Verdict : uint8_t {
    kChosen,  // it is what the plan does
    kWorse,   // by what the plan was searched for: time, memory or dollars
    kEqual,
    kBetter,       // the plan's gap allowed for that
    kDoesNotFit,   // into the memory that the plan may use
    kUnavailable,  // no strategy of some operator allows it, or another fix contradicts
  };
  Verdict verdict = Verdict::kChosen;
  std::string reason;  // of the last two
  std::string kept;    // of pipelines: what was planned anew, and what not
  // A line for each pattern that is for a part of what it matches.
  std::vector<std::string> partly_applied;
  std::optional<Plan> plan;   // forced; of kDoesNotFit the one of least memory
  PlanDifference difference;  // from the plan to that
};

// "chosen", "worse", "equal", "better", "does-not-fit", "unavailable".
std::string_view VerdictName(WhyNot::Verdict verdict);

// Errors: a fix that does not parse or names nothing in the plan; of pipelines one that names what
// stages hand on; the program or another file cannot be read or is not the plan's (by its hash).
absl::StatusOr<WhyNot> AskWhyNot(const Plan& plan, const WhyNotRequest& request);

std::string WhyNotText(const Plan& plan, const WhyNotRequest& request, const WhyNot& answer);
std::string WhyNotJson(const Plan& plan, const WhyNotRequest& request, const WhyNot& answer);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_WHY_NOT_H_
