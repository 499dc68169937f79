#include "meshwright/plan/text/plan_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/text/folded_names.h"
#include "meshwright/plan/text/step_account.h"
#include "meshwright/plan/text/transformer_table.h"

namespace meshwright {
namespace {

constexpr size_t kMaxParameterRows = 24;
constexpr size_t kMaxWarnings = 5;

std::string ProgramText(const Plan& plan) {
  const InputFile* const program = plan.program_file();
  return program == nullptr ? "" : program->path;
}

std::string MemorySection(const Plan& plan) {
  std::string text = absl::StrCat("memory    ", HeadroomText(plan, "a device"));
  if (!plan.peak_at.empty()) {
    absl::StrAppend(&text, ", peak at ", Fit(plan.peak_at, kColumns - text.size() - 10));
  }
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < kMemoryCategories; ++i) {
    const int64_t bytes = plan.memory_by_category[i];
    if (bytes == 0) continue;
    rows.push_back({CategoryText(static_cast<MemoryCategory>(i)), BytesText(bytes),
                    absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(bytes) /
                                                   static_cast<double>(
                                                       std::max<int64_t>(plan.peak_bytes, 1)))});
  }
  return absl::StrCat(text, "\n", Columns(std::move(rows), {false, true, true}));
}

std::string CollectiveSection(const Plan& plan) {
  if (plan.program.collectives.empty()) return "collectives: none\n";
  std::vector<std::vector<std::string>> rows = {{"collective", "axes", "count", "bytes", "time"}};
  for (const PlanCollective& collective : plan.program.collectives) {
    rows.push_back({collective.kind, absl::StrJoin(collective.axes, ","),
                    absl::StrCat(collective.count), BytesText(collective.bytes_per_device),
                    CostText(plan, collective.seconds)});
  }
  return absl::StrCat("collectives a step\n",
                      Columns(std::move(rows), {false, false, true, true, true}));
}

std::string ParameterSection(const Plan& plan) {
  struct Group {
    const PlanTensor* first = nullptr;
    FoldedName name;
    int64_t count = 0, bytes = 0;
  };
  std::vector<Group> groups;
  absl::flat_hash_map<std::string, size_t> index;
  for (const PlanTensor& tensor : plan.program.parameters) {
    const std::string key =
        absl::StrCat(FoldedName::Key(tensor.name), "|", tensor.dtype, "|",
                     absl::StrJoin(tensor.shape, ","), "|", SpecText(tensor.spec));
    const auto [it, inserted] = index.try_emplace(key, groups.size());
    if (inserted) groups.push_back({.first = &tensor, .name = {}});
    Group& group = groups[it->second];
    group.name.Add(tensor.name);
    ++group.count;
    group.bytes += tensor.bytes_per_device;
  }
  // The largest first: they decide.
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  std::vector<std::vector<std::string>> rows = {{"parameter", "", "type", "spec", "bytes"}};
  for (size_t i = 0; i < std::min(groups.size(), kMaxParameterRows); ++i) {
    const Group& group = groups[i];
    rows.push_back({group.name.text(), TimesText(group.count, group.name.exact()),
                    TypeText({group.first->dtype, group.first->shape}), SpecText(group.first->spec),
                    BytesText(group.bytes)});
  }
  std::string text =
      absl::StrCat("parameters\n", Columns(std::move(rows), {false, true, false, false, true}));
  if (groups.size() > kMaxParameterRows) {
    absl::StrAppend(&text, "  ... and ", groups.size() - kMaxParameterRows, " smaller\n");
  }
  return text;
}

std::string StageMeshText(const PlanStage& stage) {
  return absl::StrJoin(stage.mesh, "x", [](std::string* out, const PlanAxis& axis) {
    absl::StrAppend(out, axis.size);
  });
}

// With several types of devices: how many there are of each, and the highest peak.
std::string DeviceSection(const Plan& plan) {
  if (plan.cluster.parts.size() == 1) return "";
  std::vector<std::vector<std::string>> rows = {
      {"devices", "nodes", "a node", "memory", "may use", "peak"}};
  int64_t end = 0;
  for (const PlanClusterPart& part : plan.cluster.parts) {
    const int64_t first = end;
    end += part.devices();
    const PlanStage* highest = nullptr;
    for (const PlanStage& stage : plan.stages()) {
      if (stage.devices[0] < first || stage.devices[0] >= end) continue;
      if (highest == nullptr || stage.bytes.peak_of_group > highest->bytes.peak_of_group)
        highest = &stage;
    }
    rows.push_back({part.device, absl::StrCat(part.nodes), absl::StrCat(part.devices_per_node),
                    BytesText(part.device_memory_bytes),
                    highest == nullptr                  ? "-"
                    : highest->budget_bytes.has_value() ? BytesText(*highest->budget_bytes)
                                                        : "unlimited",
                    highest == nullptr ? "not used" : BytesText(highest->bytes.peak_of_group)});
  }
  return Columns(std::move(rows), {false, true, true, true, true, true});
}

// Equal stages in a row share a line. Memory is that of the devices, which may run several stages.
std::string StageSection(const Plan& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"stage", "layers", "devices", "mesh", "forward", "backward", "update", "memory"}};
  const bool several_types = plan.cluster.parts.size() > 1;
  for (size_t i = 0; i < plan.stages().size();) {
    const PlanStage& first = plan.stages()[i];
    size_t end = i + 1;
    while (end < plan.stages().size() && plan.stages()[end].same_as.has_value() &&
           *plan.stages()[end].same_as ==
               static_cast<int64_t>(first.same_as.value_or(static_cast<int64_t>(i))) &&
           plan.stages()[end].device == first.device)
      ++end;
    const PlanStage& last = plan.stages()[end - 1];
    rows.push_back(
        {end == i + 1 ? absl::StrCat(i) : absl::StrCat(i, "-", end - 1),
         absl::StrCat(first.first_layer, "-", last.end_layer - 1),
         absl::StrCat(end == i + 1 ? "" : absl::StrCat(end - i, " x "), first.devices.size(),
                      several_types ? absl::StrCat(" ", first.device) : ""),
         StageMeshText(first), CostText(plan, first.seconds.forward),
         CostText(plan, first.seconds.backward), CostText(plan, first.seconds.update),
         absl::StrCat(BytesText(first.bytes.peak_of_group), first.recompute ? "*" : "")});
    i = end;
  }
  std::string text = Columns(std::move(rows), {false, false, true, false, true, true, true, false});
  const bool recompute = std::any_of(plan.stages().begin(), plan.stages().end(),
                                     [](const PlanStage& stage) { return stage.recompute; });
  if (recompute) absl::StrAppend(&text, "  * activations are recomputed\n");
  return text;
}

std::string WarningSection(const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < std::min(plan.warnings.size(), kMaxWarnings); ++i) {
    absl::StrAppend(&text, WrapWords(absl::StrCat("warning: ", plan.warnings[i]), 2));
  }
  if (plan.warnings.size() > kMaxWarnings) {
    absl::StrAppend(&text, "... and ", plan.warnings.size() - kMaxWarnings,
                    " more warnings in the plan\n");
  }
  return text;
}

// "step      399 ms, MFU 24.3 %: compute 324 ms, exposed communication 74.5 ms", and how far from
// the best it can be. `bound`: what none takes less than, "at least 383 ms on this mesh".
std::string StepSection(const Plan& plan, const std::string& bound) {
  std::vector<std::string> parts;
  for (const StepPart& part : StepParts(plan))
    parts.push_back(StrCat(part.name, " ", SecondsText(part.seconds)));
  if (parts.empty()) {
    parts = {StrCat("compute ", CostText(plan, plan.compute_seconds)),
             StrCat("communication ", CostText(plan, plan.communication_seconds))};
  }
  const std::string mfu = MfuText(plan), limits = LimitsText(plan),
                    not_measured = NotMeasuredText(plan);
  return StrCat(
      Hanging("step      ", StrCat(StepText(plan), mfu.empty() ? "" : StrCat(", ", mfu), ": ",
                                   absl::StrJoin(parts, ", "))),
      Hanging("          ", StrCat(bound, absl::StrFormat(" (gap %.2f %%), ", 100 * plan.gap),
                                   "planned in ", SecondsText(plan.planning_seconds))),
      limits.empty() ? "" : Hanging("limits    ", limits),
      not_measured.empty()
          ? ""
          : Hanging("error     ", StrCat("not measured on such devices: ", not_measured)));
}

std::string InShort(std::string_view in_short) {
  return in_short.empty() ? "" : Hanging("in short  ", in_short);
}

std::string PipelineTable(const Plan& plan, std::string_view in_short) {
  std::string text = absl::StrCat("program   ", Fit(ProgramText(plan), kColumns - 10), "\n");
  absl::StrAppend(&text, "cluster   ", Fit(plan.cluster.name, 60), "\n", InShort(in_short));
  absl::StrAppend(&text, "pipeline  ", Counted(static_cast<int64_t>(plan.stages().size()), "stage"),
                  ", ", Counted(plan.micro_batches, "micro-batch", "micro-batches"), ", ",
                  plan.pipeline->schedule,
                  absl::StrFormat(", bubble %.1f %%\n", 100 * BubbleShare(plan)));
  const bool overlaps = plan.step_seconds != plan.objective_seconds;
  const std::string bound =
      StrCat(overlaps ? StrCat("serial ", CostText(plan, plan.objective_seconds), ", ") : "",
             "at least ", CostText(plan, plan.bound_seconds));
  return absl::StrCat(text, StepSection(plan, bound), MemorySection(plan), DeviceSection(plan),
                      StageSection(plan), WarningSection(plan));
}

std::string ProgramTable(const Plan& plan, std::string_view in_short) {
  std::string text = absl::StrCat("program   ", Fit(ProgramText(plan), kColumns - 10), "\n");
  absl::StrAppend(
      &text, "cluster   ", Fit(plan.cluster.name, 28), " (", plan.cluster.parts[0].device,
      "), mesh ", MeshText(plan.mesh), "\n", InShort(in_short),
      StepSection(plan, StrCat("at least ", CostText(plan, plan.bound_seconds), " on this mesh")));
  absl::StrAppend(&text, SegmentTable(plan), MemorySection(plan), CollectiveSection(plan),
                  ParameterSection(plan), WarningSection(plan));
  return text;
}

}  // namespace

std::string SegmentTable(const Plan& plan) {
  if (!plan.profile.has_value()) return "";
  const PlanProfile& profile = *plan.profile;
  std::string text = absl::StrCat(
      "segments  ", CostText(plan, profile.segment_seconds), " of the step, besides them ",
      CostText(plan, profile.other_seconds), "; ", profile.choices, " choices looked at\n");
  if (profile.limited_by_memory()) {
    absl::StrAppend(&text, "          within memory as estimated; without its limit at least ",
                    CostText(plan, profile.bound_seconds), "\n");
  }
  if (profile.step.has_value()) {
    const PlanMeasuredStep& step = *profile.step;
    text = plan.segments.empty() ? "" : text;
    absl::StrAppend(&text, "step      ", CostText(plan, step.seconds), " measured as a whole, +- ",
                    CostText(plan, step.spread), ", ", step.samples, " samples; expected ",
                    CostText(plan, step.composed_seconds), "\n");
  }
  if (profile.environment.has_value()) {
    const PlanEnvironment& e = *profile.environment;
    absl::StrAppend(
        &text, "          measured on ",
        Fit(absl::StrCat(e.device, e.driver.empty() ? "" : ", ", e.driver, ", ", e.libraries),
            kColumns - 22),
        "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"segment", "times", "seconds", "spread", "samples", "model", "peak"}};
  const auto add = [&](std::string name, const auto& part) -> std::vector<std::string>& {
    const bool measured = part.samples > 0;
    rows.push_back({std::move(name), absl::StrCat(part.occurrences), CostText(plan, part.seconds),
                    measured ? CostText(plan, part.spread) : "-",
                    measured ? absl::StrCat(part.samples) : "predicted"});
    return rows.back();
  };
  std::vector<std::string> choices;
  for (const PlanSegment& s : plan.segments) {
    const std::string name = absl::StrCat(choices.size());
    std::vector<std::string>& row = add(name, s);
    row.push_back(CostText(plan, s.model_seconds));
    row.push_back(BytesText(s.peak_bytes));
    choices.push_back(absl::StrCat("  ", name, "  ", s.choice));
  }
  for (const PlanBorderMove& m : profile.moves) {
    std::vector<std::string>& row = add(absl::StrCat(m.from, " to ", m.to), m);
    row.resize(rows[0].size());
  }
  absl::StrAppend(&text, Columns(std::move(rows), {false, true, true, true, true, true, true}));
  for (const std::string& choice : choices) absl::StrAppend(&text, Fit(choice, kColumns), "\n");
  return text;
}

std::string CostText(const Plan& plan, double seconds) {
  const CostModelRow* const cost_model = FindCostModel(plan.options.cost_model);
  const bool in_seconds = cost_model == nullptr || cost_model->in_seconds;
  return in_seconds ? SecondsText(seconds) : absl::StrFormat("%.6g", seconds);
}

double SerialSeconds(const Plan& plan) {
  return plan.pipeline.has_value() ? plan.objective_seconds
                                   : plan.compute_seconds + plan.communication_seconds;
}

std::string PlanTable(const Plan& plan, std::string_view in_short) {
  switch (plan.kind()) {
    case PlanKind::kProgram:
      return ProgramTable(plan, in_short);
    case PlanKind::kPipeline:
      return PipelineTable(plan, in_short);
    case PlanKind::kModel:
    case PlanKind::kGroups:
      return TransformerTable(plan, in_short);
  }
  return "";
}

}  // namespace meshwright
