#include "meshwright/plan/text/step_account.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/text/largest_first.h"
#include "meshwright/plan/text/plan_table.h"

namespace meshwright {
namespace {

// What rounding leaves of a difference is no part.
constexpr double kLeastShare = 1e-6;

double Sum(const std::vector<StepPart>& parts) {
  double sum = 0;
  for (const StepPart& part : parts) sum += part.seconds;
  return sum;
}

// The model's flops at the device's peak (MFU of the step), flops that are recomputed at peak (HFU
// beyond MFU), and what kernels take beyond that. Empty where parts and MFU are not of the same
// devices, over groups of nodes, and where kernels take less than the peak would.
std::vector<StepPart> ComputeOfModel(const Plan& plan) {
  if (plan.kind() == PlanKind::kGroups) return {};
  const PlanTransformer& part = *plan.model;
  const double useful = part.mfu * plan.step_seconds, done = part.hfu * plan.step_seconds,
               compute = part.seconds.compute;
  if (useful <= 0 || done < useful || compute < done) return {};
  const double least = kLeastShare * compute;
  std::vector<StepPart> parts = {{"model flops at peak rate", useful}};
  if (done - useful > least) parts.push_back({"recomputation", done - useful});
  if (const double rest = compute - Sum(parts); rest > least)
    parts.push_back({"kernels below peak rate", rest});
  return parts;
}

// Whether a model's kernels would gain more by memory bandwidth than by flops.
bool IsBoundByMemory(const PlanTransformer& model) {
  double flops = 0, bandwidth = 0;
  for (const PlanSensitivity& one : model.sensitivity) {
    if (absl::StartsWith(one.change, "peak flops")) flops = one.step_change;
    if (absl::StartsWith(one.change, "memory bandwidth")) bandwidth = one.step_change;
  }
  return bandwidth < flops;
}

std::vector<StepPart> PartsOfModel(const Plan& plan) {
  const auto limit_of = [&](std::string_view name) {
    if (name == "compute")
      return IsBoundByMemory(*plan.model) ? StepLimit::kMemoryBandwidth : StepLimit::kCompute;
    if (name == "bubble") return StepLimit::kBubble;
    if (name == "optimizer") return StepLimit::kMemoryBandwidth;
    return name == "host communication" ? StepLimit::kHostLink : StepLimit::kNetwork;
  };
  std::vector<StepPart> parts;
  for (const NamedAmount& one : LargestFirst(plan.model->seconds)) {
    parts.push_back({one.name, one.amount, limit_of(one.name)});
    if (one.name == "compute") parts.back().inner = ComputeOfModel(plan);
  }
  return parts;
}

std::vector<StepPart> PartsOfProgram(const Plan& plan) {
  if (!plan.time_use.has_value()) return {};
  const PlanTimeUse& use = *plan.time_use;
  StepPart compute = {.name = "compute"};
  for (StepPart part : {StepPart{"matmuls at peak rate", use.matmuls_at_peak},
                        StepPart{"matmuls below peak rate", use.matmuls_below_peak},
                        StepPart{"other kernels", use.other_kernels, StepLimit::kMemoryBandwidth},
                        StepPart{"recomputation", use.recomputation}}) {
    compute.seconds += part.seconds;
    if (part.seconds > kLeastShare * plan.step_seconds) compute.inner.push_back(std::move(part));
  }
  std::vector<StepPart> parts = {std::move(compute)};
  for (StepPart part :
       {StepPart{"exposed communication", use.exposed_communication, StepLimit::kNetwork},
        StepPart{"bubble", use.bubble, StepLimit::kBubble},
        StepPart{"launch overhead", use.launch_overhead, StepLimit::kLaunch}}) {
    if (part.seconds > kLeastShare * plan.step_seconds) parts.push_back(std::move(part));
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const StepPart& a, const StepPart& b) { return a.seconds > b.seconds; });
  return parts;
}

std::string PercentText(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

// "" of nothing.
std::string PlusMinus(const std::optional<double>& error) {
  return error.has_value() ? PlusMinusText(*error) : "";
}

}  // namespace

std::string_view StepLimitName(StepLimit limit) {
  switch (limit) {
    case StepLimit::kCompute:
      return "compute";
    case StepLimit::kMemoryBandwidth:
      return "memory bandwidth";
    case StepLimit::kNetwork:
      return "network";
    case StepLimit::kHostLink:
      return "host link";
    case StepLimit::kBubble:
      return "bubble";
    case StepLimit::kLaunch:
      return "launch";
  }
  return "";
}

std::vector<StepPart> StepParts(const Plan& plan) {
  return plan.of_model() ? PartsOfModel(plan) : PartsOfProgram(plan);
}

std::vector<LimitSeconds> StepLimits(const Plan& plan) {
  std::vector<LimitSeconds> limits;
  const auto add = [&](const StepPart& part) {
    const auto known = std::find_if(limits.begin(), limits.end(), [&](const LimitSeconds& one) {
      return one.limit == part.limit;
    });
    if (known == limits.end()) {
      limits.push_back({part.limit, part.seconds});
    } else {
      known->seconds += part.seconds;
    }
  };
  for (const StepPart& part : StepParts(plan)) {
    // Those of a model are told apart by what is reached of the peak, not by what they wait for.
    if (part.inner.empty() || plan.of_model()) {
      add(part);
    } else {
      std::for_each(part.inner.begin(), part.inner.end(), add);
    }
  }
  std::stable_sort(limits.begin(), limits.end(), [](const LimitSeconds& a, const LimitSeconds& b) {
    return a.seconds > b.seconds;
  });
  return limits;
}

std::optional<double> ModelFlopsUtilization(const Plan& plan) {
  if (plan.of_model()) return plan.model->mfu;
  if (!plan.time_use.has_value() || plan.step_seconds <= 0) return std::nullopt;
  return plan.time_use->matmuls_at_peak / plan.step_seconds;
}

double BubbleShare(const Plan& plan) {
  const std::vector<StepPart> parts =
      plan.kind() == PlanKind::kPipeline ? StepParts(plan) : std::vector<StepPart>();
  if (parts.empty()) return plan.bubble_share;
  double bubble = 0;
  for (const StepPart& part : parts) bubble += part.limit == StepLimit::kBubble ? part.seconds : 0;
  return bubble / plan.step_seconds;
}

std::string StepText(const Plan& plan) {
  return StrCat(CostText(plan, plan.step_seconds), PlusMinus(plan.time_error));
}

std::string NotMeasuredText(const Plan& plan) {
  constexpr double kLeastTold = 0.01;
  std::vector<std::string> classes;
  for (const PlanTimeClass& one : plan.time_classes) {
    if (!one.measured && one.seconds > kLeastTold * plan.step_seconds)
      classes.emplace_back(Word(one.name));
  }
  return absl::StrJoin(classes, ", ");
}

std::string MfuText(const Plan& plan) {
  const std::optional<double> mfu = ModelFlopsUtilization(plan);
  return mfu.has_value() ? StrCat("MFU ", PercentText(*mfu)) : "";
}

std::string LimitsText(const Plan& plan) {
  constexpr double kLeastTold = 5e-4;  // "0.1 %"
  std::vector<std::string> texts;
  for (const LimitSeconds& one : StepLimits(plan)) {
    const double share = plan.step_seconds > 0 ? one.seconds / plan.step_seconds : 0;
    if (share < kLeastTold) continue;
    texts.push_back(StrCat(StepLimitName(one.limit), " ", PercentText(share)));
  }
  return absl::StrJoin(texts, ", ");
}

std::string StepPartsTable(const Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, double seconds) {
    rows.push_back({name, SecondsText(seconds),
                    PercentText(plan.step_seconds > 0 ? seconds / plan.step_seconds : 0)});
  };
  for (const StepPart& part : StepParts(plan)) {
    add(part.name, part.seconds);
    for (const StepPart& inner : part.inner) add(StrCat("  ", inner.name), inner.seconds);
  }
  return rows.empty() ? "" : Columns(std::move(rows), {false, true, true});
}

std::string HeadroomText(const Plan& plan, std::string_view each) {
  std::string text =
      StrCat(BytesText(static_cast<double>(plan.peak_bytes)), PlusMinus(plan.memory_error));
  if (!plan.budget_bytes.has_value()) return StrCat(text, " ", each);
  StrAppend(&text, " of ", BytesText(static_cast<double>(*plan.budget_bytes)), " ", each);
  const int64_t free = *plan.budget_bytes - plan.peak_bytes;
  return free < 0 ? text : StrCat(text, ", ", BytesText(static_cast<double>(free)), " free");
}

}  // namespace meshwright
