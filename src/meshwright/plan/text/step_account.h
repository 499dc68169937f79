#ifndef MESHWRIGHT_PLAN_TEXT_STEP_ACCOUNT_H_
#define MESHWRIGHT_PLAN_TEXT_STEP_ACCOUNT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/plan/document/plan.h"

// What the step of any plan consists of, as every screen says it: by what takes the time, and by
// what limits that. All sums add up to the step.

namespace meshwright {

// What a part of the step would have to have more of to be shorter.
enum class StepLimit { kCompute, kMemoryBandwidth, kNetwork, kHostLink, kBubble, kLaunch };
// "compute", "memory bandwidth", "network", "host link", "bubble", "launch".
std::string_view StepLimitName(StepLimit limit);

struct StepPart {
  std::string name;
  double seconds = 0;
  StepLimit limit = StepLimit::kCompute;
  // Of computation: the parts that it consists of, which add up to it; empty: not told apart.
  std::vector<StepPart> inner;
};

// The parts of `plan`'s step, the largest first. Of a program or pipeline those of a device, on
// average over all; of groups of nodes those of a device of stage 0. Empty where the plan does not
// tell them: those with a profile, and of cost models without a unit.
std::vector<StepPart> StepParts(const Plan& plan);

// Of the parts with the limit, in seconds, the largest first; they add up to the step as well.
struct LimitSeconds {
  StepLimit limit;
  double seconds = 0;
};
std::vector<LimitSeconds> StepLimits(const Plan& plan);

// Flops of the model's matmuls, as a share of what all devices could do in the step. Of programs
// each matmul is held against the peak rate of its type, and what the program itself recomputes
// counts. nullopt: not known.
std::optional<double> ModelFlopsUtilization(const Plan& plan);

// Of the step, what devices of a pipeline wait for on average: as in StepParts where that is known,
// else as the plan's simulation without overlap has it.
double BubbleShare(const Plan& plan);

// "28.7 s ± 8 %": the step as every screen says it, with its stated error.
std::string StepText(const Plan& plan);
// "sort and scan, unknown call": what of the step was not measured on such devices, longest first;
// "" if all of it was.
std::string NotMeasuredText(const Plan& plan);
// "MFU 49.9 %"; "" if it is not known.
std::string MfuText(const Plan& plan);
// "compute 94.1 %, network 4.2 %, bubble 1.5 %"; "" if nothing is known.
std::string LimitsText(const Plan& plan);
// A table of the parts: seconds and share of the step.
std::string StepPartsTable(const Plan& plan);
// "41.2 GiB ± 4 % of 80.0 GiB a device, 38.8 GiB free"; `each`: "a device".
std::string HeadroomText(const Plan& plan, std::string_view each);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TEXT_STEP_ACCOUNT_H_
