#include "meshwright/plan/text/transformer_table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/plan/text/largest_first.h"
#include "meshwright/plan/text/step_account.h"

namespace meshwright {
namespace {

// "step      28.7 s, MFU 49.9 %, HFU 49.9 %, 1140 tokens/s/GPU", its parts and what limits it.
std::string ModelStepSection(const Plan& plan, int64_t gpus) {
  const PlanTransformer& part = *plan.model;
  const double tokens = static_cast<double>(part.global_batch) * static_cast<double>(part.sequence);
  double exposed = 0;
  for (const StepPart& one : StepParts(plan)) {
    if (one.limit == StepLimit::kNetwork) exposed += one.seconds;
  }
  const std::string limits = LimitsText(plan);
  return StrCat(
      Hanging("step      ",
              absl::StrFormat("%s, %s, HFU %.1f %%, %.0f tokens/s/GPU, exposed communication %s",
                              StepText(plan), MfuText(plan), 100 * part.hfu,
                              tokens / plan.step_seconds / static_cast<double>(gpus),
                              SecondsText(exposed))),
      StepPartsTable(plan), limits.empty() ? "" : Hanging("limits    ", limits));
}

std::string GroupMemorySection(const Plan& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"group", "weights", "gradients", "optimizer", "activ.", "logits", "comm.", "framew."}};
  const std::vector<PlanGroupBytes>& groups = plan.model->memory;
  std::vector<std::string> in_host;
  for (size_t i = 0; i < groups.size();) {
    size_t end = i + 1;
    while (end < groups.size() && groups[end] == groups[i]) ++end;
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(end == i + 1 ? absl::StrCat(i) : absl::StrCat(i, "-", end - 1));
    PlanGroupBytes::VisitMembers(
        groups[i], [&](std::string_view name, int64_t bytes, MemberForm = {}) {
          if (name != "host") {
            row.push_back(BytesText(bytes));
          } else if (bytes > 0) {
            in_host.push_back(absl::StrCat("group ", row[0], " ", BytesText(bytes)));
          }
        });
    i = end;
  }
  std::vector<bool> right(rows[0].size(), true);
  right[0] = false;
  return absl::StrCat(
      "memory    ", HeadroomText(plan, "a GPU at peak"), "\n", Columns(std::move(rows), right),
      "  activ.: activations; comm.: communication buffers; framew.: framework\n",
      in_host.empty()
          ? ""
          : WrapWords(absl::StrCat("  in the host's memory: ", absl::StrJoin(in_host, ", ")), 4));
}

// The two parts that change most.
std::string WhyText(const PlanStepParts& slower_by) {
  constexpr size_t kMostParts = 2;
  std::vector<NamedAmount> parts = LargestFirst(slower_by);
  parts.resize(std::min(parts.size(), kMostParts));
  return absl::StrJoin(parts, ", ", [](std::string* out, const NamedAmount& one) {
    absl::StrAppend(out, one.name, one.amount > 0 ? " +" : " -", SecondsText(std::abs(one.amount)));
  });
}

std::string AlternativeSection(const Plan& plan) {
  if (plan.model->alternatives.empty()) return "";
  std::string text = "next best\n";
  for (const PlanAlternative& other : plan.model->alternatives) {
    const std::string label = absl::StrFormat(
        "  %9s %+6.2f %% %9s  ", SecondsText(other.step_seconds),
        100 * (other.step_seconds / plan.step_seconds - 1), BytesText(other.peak_bytes));
    absl::StrAppend(&text, Hanging(label, transformer::ConfigurationText(other.configuration)));
    const std::string why = WhyText(other.slower_by);
    if (!why.empty()) absl::StrAppend(&text, Hanging(std::string(label.size(), ' '), why));
  }
  return text;
}

std::string GoodputSection(const PlanTransformer& part) {
  if (!part.goodput.has_value()) return "";
  const PlanGoodput& g = *part.goodput;
  return Hanging(
      "goodput   ",
      absl::StrFormat("%.1f %%, %.0f tokens a second: a failure every %s, a checkpoint of %s "
                      "every %s, %s to restart",
                      100 * g.share, g.tokens_per_second, SecondsText(g.mtbf_seconds),
                      SecondsText(g.checkpoint_seconds), SecondsText(g.interval_seconds),
                      SecondsText(g.restart_seconds)));
}

// What memory depends on beside the degrees.
std::string StateText(const PlanTransformer& part) {
  const auto type = [](int64_t bytes) { return bytes == 4 ? "f32" : "bf16"; };
  const std::optional<transformer::Loss> loss = transformer::LossOf(part.state.logit_bytes);
  const transformer::ChosenFramework usual;
  std::string text;
  if (!part.framework.empty() &&
      (part.framework != usual.framework->name || part.release != usual.release)) {
    absl::StrAppendFormat(&text, "framework %s %s\n", part.framework, part.release);
  }
  absl::StrAppendFormat(&text, "state     master weights f32, moments %s, gradients %s, loss %s\n",
                        type(part.state.moment_bytes), type(part.state.gradient_bytes),
                        loss.has_value() ? Word(*loss) : "left out");
  return text;
}

// Where the stages lie, what they have of their own, and what that costs.
std::string OverGroupsSection(const Plan& plan) {
  if (!plan.groups.has_value()) return "";
  const PlanOverGroups& over = *plan.groups;
  std::string text;
  for (const PlanNodeGroup& group : over.groups) {
    if (group.used_nodes == 0) continue;
    const std::string degrees = group.tp == 0 ? "degrees by stage"
                                              : absl::StrFormat("tp=%d dp=%d mbs=%d", group.tp,
                                                                group.dp, group.micro_batch);
    absl::StrAppendFormat(&text, "  %s %d of %s, %s\n", FitLeft(group.name, 14), group.used_nodes,
                          Counted(group.nodes, "node"), degrees);
  }
  absl::StrAppend(&text,
                  "  stage   nodes of       layers   forward  backward    update    memory\n");
  for (size_t i = 0; i < plan.stages().size();) {
    const PlanStage& stage = plan.stages()[i];
    size_t end = i + 1;
    const auto same = [&](const PlanStage& other) {
      return over.stage_groups[end] == over.stage_groups[i] && other.seconds == stage.seconds &&
             other.end_layer - other.first_layer == stage.end_layer - stage.first_layer &&
             BytesText(other.bytes.peak) == BytesText(stage.bytes.peak);
    };
    while (end < plan.stages().size() && same(plan.stages()[end])) ++end;
    absl::StrAppendFormat(&text, "  %-7s %s %6d %9s %9s %9s %9s\n",
                          end == i + 1 ? absl::StrCat(i) : absl::StrCat(i, "-", end - 1),
                          FitLeft(over.groups[over.stage_groups[i]].name, 14),
                          stage.end_layer - stage.first_layer, SecondsText(stage.seconds.forward),
                          SecondsText(stage.seconds.backward), SecondsText(stage.seconds.update),
                          BytesText(stage.bytes.peak));
    i = end;
  }
  if (over.step_dollars.has_value()) {
    absl::StrAppendFormat(&text, "cost      $%.4g a step\n", *over.step_dollars);
  }
  return text;
}

}  // namespace

bool SearchWasEnded(const Plan& plan) {
  if (!plan.of_model() || plan.groups.has_value()) return false;
  const PlanSearchCounts& search = plan.model->search;
  // What the published model of NERSC's leaves out as too large is not counted as pruned.
  return plan.options.cost_model != "nersc" &&
         (plan.gap > 0 || search.evaluated + search.pruned < search.legal);
}

std::string EndedSearchText(const Plan& plan) {
  constexpr std::string_view kEnded = "the search was ended before it was over: ";
  if (plan.gap == 0) return StrCat(kEnded, "this is the best, but the next best may be others");
  return StrCat(kEnded, "the best may take up to ", absl::StrFormat("%.3g %%", 100 * plan.gap),
                plan.model->objective == ModelObjective::kMemory ? " less memory" : " less time");
}

std::string ParametersText(int64_t parameters) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}};
  for (const auto& [scale, unit] : kUnits) {
    const double value = static_cast<double>(parameters) / scale;
    if (value < 0.9995) continue;
    return absl::StrFormat("%.*f%s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, unit);
  }
  return StrCat(parameters);
}

std::string TransformerTable(const Plan& plan, std::string_view in_short) {
  const PlanTransformer& part = *plan.model;
  int64_t gpus = 0;
  std::string devices;
  for (const PlanClusterPart& one : plan.cluster.parts) {
    gpus += one.devices();
    absl::StrAppend(&devices, devices.empty() ? "" : " + ", one.devices(), " x ", one.device);
  }
  std::string text =
      Hanging("model     ", absl::StrFormat("%s, %s parameters, %s of %d tokens a step", part.model,
                                            ParametersText(part.parameters),
                                            Counted(part.global_batch, "sequence"), part.sequence));
  absl::StrAppend(&text, Hanging("cluster   ", absl::StrCat(plan.cluster.name, ": ", devices)),
                  in_short.empty() ? "" : Hanging("in short  ", in_short),
                  Hanging("degrees   ", transformer::ConfigurationText(part.configuration)),
                  OverGroupsSection(plan));
  absl::StrAppend(&text, ModelStepSection(plan, gpus), GoodputSection(part),
                  GroupMemorySection(plan), StateText(part), AlternativeSection(plan));
  if (!part.sensitivity.empty()) absl::StrAppend(&text, "the step with\n");
  for (const PlanSensitivity& one : part.sensitivity) {
    absl::StrAppendFormat(&text, "  %-28s %+6.2f %%\n", one.change, 100 * one.step_change);
  }
  absl::StrAppend(
      &text, Hanging("search    ",
                     absl::StrFormat("%s, %d costed, %d of them fit, %d pruned by "
                                     "bounds, in %s",
                                     Counted(part.search.legal, "configuration"),
                                     part.search.evaluated, part.search.fitting, part.search.pruned,
                                     SecondsText(plan.planning_seconds))));
  if (SearchWasEnded(plan)) {
    absl::StrAppend(&text, Hanging("bound     ", EndedSearchText(plan)));
  }
  for (const std::string& warning : plan.warnings) {
    absl::StrAppend(&text, "warning: ", warning, "\n");
  }
  return text;
}

}  // namespace meshwright
