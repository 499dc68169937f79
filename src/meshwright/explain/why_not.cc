#include "meshwright/explain/why_not.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/explain/json.h"
#include "meshwright/explain/screen.h"
#include "meshwright/explain/why_not_kinds.h"
#include "meshwright/plan/text/plan_table.h"

namespace meshwright {
namespace {

std::string WhyProgramIsBetter(const Plan& plan) {
  if (plan.options.rest == Completion::kPropagate)
    return ": the plan's shardings were given, not searched for";
  return StrCat(": the search for the plan ended within its gap of ", ShareText(plan.gap, 1));
}

std::string WhyModelIsBetter(const Plan& plan) {
  return plan.options.fixes.empty() ? ": the search for the plan was constrained to less"
                                    : ": it gives up what the plan was constrained to";
}

// What is different by kind of plan.
struct WhyNotKind {
  absl::StatusOr<WhyNot> (*ask)(const Plan& plan, const WhyNotRequest& request);
  const char* slower_as;  // whose seconds a difference is of
  const char* equal;
  std::string (*why_better)(const Plan& plan);
};

const WhyNotKind& KindOf(const Plan& plan) {
  static constexpr WhyNotKind kProgram = {&AskOfProgram, "", ": the search took one of equals",
                                          &WhyProgramIsBetter},
                              kPipeline = {&AskOfPipeline, ", as simulated",
                                           " without overlap: other stages take longer, or the "
                                           "search took one of equals",
                                           &WhyProgramIsBetter},
                              kModel = {&AskOfModel, "", kProgram.equal, &WhyModelIsBetter};
  static constexpr const WhyNotKind* kKinds[] = {&kProgram, &kPipeline, &kModel, &kModel};
  return *kKinds[static_cast<size_t>(plan.kind())];
}

// By what the plan was searched for: "is slower", "is faster", "1.91 ms (2.53 %) a step".
struct ComparedText {
  const char* worse;
  const char* better;
  std::string how_much;
};

ComparedText HowMuch(const Plan& plan, const Plan& other) {
  const auto share = [](double before, double after) {
    return before > 0 ? absl::StrFormat(" (%.3g %%)", 100 * std::abs(after / before - 1)) : "";
  };
  const ModelObjective aim = plan.of_model() ? plan.model->objective : ModelObjective::kTime;
  if (aim == ModelObjective::kMemory) {
    const auto before = static_cast<double>(plan.peak_bytes);
    const auto after = static_cast<double>(other.peak_bytes);
    return {"takes more", "takes less",
            StrCat(BytesText(std::abs(after - before)), share(before, after), " at peak")};
  }
  if (aim == ModelObjective::kCost && plan.groups.has_value() && other.groups.has_value()) {
    const double before = plan.groups->step_dollars.value_or(0);
    const double after = other.groups->step_dollars.value_or(0);
    return {"is more expensive", "is cheaper",
            StrCat(absl::StrFormat("$%.4g", std::abs(after - before)), share(before, after),
                   " a step")};
  }
  const double before = plan.objective_seconds, after = other.objective_seconds;
  return {"is slower", "is faster",
          StrCat(CostText(plan, std::abs(after - before)), share(before, after), " a step",
                 KindOf(plan).slower_as)};
}

std::string VerdictText(const Plan& plan, const WhyNot& answer) {
  switch (answer.verdict) {
    case WhyNot::Verdict::kChosen:
      return "it is what the plan does";
    case WhyNot::Verdict::kDoesNotFit:
      return StrCat("it does not fit: ", answer.reason);
    case WhyNot::Verdict::kUnavailable:
      return StrCat("it cannot be had: ", answer.reason);
    case WhyNot::Verdict::kEqual:
      return StrCat("it costs the same, ", CostText(plan, plan.objective_seconds), " a step",
                    KindOf(plan).equal);
    case WhyNot::Verdict::kWorse:
    case WhyNot::Verdict::kBetter:
      break;
  }
  const auto [worse, better, how_much] = HowMuch(plan, *answer.plan);
  if (answer.verdict == WhyNot::Verdict::kWorse) return StrCat("it ", worse, " by ", how_much);
  return StrCat("it ", better, " by ", how_much, KindOf(plan).why_better(plan));
}

}  // namespace

std::string_view VerdictName(WhyNot::Verdict verdict) {
  switch (verdict) {
    case WhyNot::Verdict::kChosen:
      return "chosen";
    case WhyNot::Verdict::kWorse:
      return "worse";
    case WhyNot::Verdict::kEqual:
      return "equal";
    case WhyNot::Verdict::kBetter:
      return "better";
    case WhyNot::Verdict::kDoesNotFit:
      return "does-not-fit";
    case WhyNot::Verdict::kUnavailable:
      return "unavailable";
  }
  return "";
}

WhyNot::Verdict CompareCosts(double plan, double alternative) {
  if (SameUpToRounding(plan, alternative, plan)) return WhyNot::Verdict::kEqual;
  return alternative > plan ? WhyNot::Verdict::kWorse : WhyNot::Verdict::kBetter;
}

absl::StatusOr<WhyNot> AskWhyNot(const Plan& plan, const WhyNotRequest& request) {
  absl::StatusOr<WhyNot> answer = KindOf(plan).ask(plan, request);
  if (!answer.ok()) return answer;
  // Asked by --why-not, and not by the options that would make such a plan.
  for (ChangedText& one : answer->difference.asked) {
    if (one.what == "--fix") one.what = "constrained to";
    if (one.what == "--tensor") one.what = "tensor";
  }
  return answer;
}

std::string WhyNotText(const Plan& plan, const WhyNotRequest& request, const WhyNot& answer) {
  std::string text = WrapWords(StrCat("why not ", absl::StrJoin(request.fixes, " and ")), 4);
  // Of what does not fit more lines follow: what fills memory.
  const std::string verdict = VerdictText(plan, answer);
  size_t begin = verdict.find('\n');
  StrAppend(&text, WrapWords(StrCat("  ", verdict.substr(0, begin)), 4));
  while (begin != std::string::npos && ++begin < verdict.size()) {
    const size_t end = verdict.find('\n', begin);
    const std::string line = verdict.substr(begin, end == std::string::npos ? end : end - begin);
    StrAppend(&text, DisplayWidth(line) <= kColumns ? StrCat(line, "\n") : WrapWords(line, 6));
    begin = end;
  }
  for (const std::string& line : answer.partly_applied) {
    StrAppend(&text, WrapWords(StrCat("  ", line), 4));
  }
  if (answer.verdict == WhyNot::Verdict::kChosen || !answer.plan.has_value()) return text;
  if (!answer.kept.empty()) StrAppend(&text, WrapWords(StrCat("  ", answer.kept), 4));
  if (answer.verdict == WhyNot::Verdict::kDoesNotFit && answer.kept.empty()) return text;
  return StrCat(text, DiffText(plan, *answer.plan, answer.difference));
}

std::string WhyNotJson(const Plan& plan, const WhyNotRequest& request, const WhyNot& answer) {
  Json json = {{"asked", request.fixes},
               {"verdict", VerdictName(answer.verdict)},
               {"reason", answer.reason},
               {"kept", answer.kept},
               {"partly_applied", answer.partly_applied},
               {"objective_seconds", plan.objective_seconds}};
  json["forced_objective_seconds"] =
      answer.plan.has_value() ? Json(answer.plan->objective_seconds) : Json();
  json["difference"] = answer.plan.has_value() ? Json::parse(DiffJson(answer.difference)) : Json();
  return JsonText(json);
}

}  // namespace meshwright
