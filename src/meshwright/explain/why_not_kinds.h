#ifndef MESHWRIGHT_EXPLAIN_WHY_NOT_KINDS_H_
#define MESHWRIGHT_EXPLAIN_WHY_NOT_KINDS_H_

#include "absl/status/statusor.h"
#include "meshwright/explain/why_not.h"

// AskWhyNot (why_not.h), by what a plan is of.

namespace meshwright {

absl::StatusOr<WhyNot> AskOfProgram(const Plan& plan, const WhyNotRequest& request);
absl::StatusOr<WhyNot> AskOfPipeline(const Plan& plan, const WhyNotRequest& request);
absl::StatusOr<WhyNot> AskOfModel(const Plan& plan, const WhyNotRequest& request);

// From what the plan takes and what the alternative does, in the same unit.
WhyNot::Verdict CompareCosts(double plan, double alternative);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_WHY_NOT_KINDS_H_
