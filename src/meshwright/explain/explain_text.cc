#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/explain_model.h"
#include "meshwright/explain/layer_labels.h"
#include "meshwright/explain/layers_by_name.h"
#include "meshwright/explain/optimality.h"
#include "meshwright/explain/parameter_groups.h"
#include "meshwright/explain/part_summary.h"
#include "meshwright/explain/screen.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/text/folded_names.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/plan/text/step_account.h"

namespace meshwright {
namespace {

// One screen is worth more than completeness: the rest is in JSON.
constexpr size_t kMostWeights = 8, kMostLayerRanges = 4, kMostCollectives = 5, kMostResidents = 4;
constexpr size_t kMostParts = 6;
// Of a pipeline, whose stages take lines of their own.
constexpr size_t kMostCollectivesOfStage = 4;

struct Explained {
  PlanPart part;
  std::vector<ParameterParallelism> judged;
  PartSummary summary;
};

// ---- parallelism ----

std::string AxesSection(const PartSummary& summary) {
  std::string text;
  for (const AxisSummary& axis : summary.axes) {
    StrAppend(&text,
              WrapWords(StrCat("  axis ", axis.axis, ", ", Counted(axis.devices, "device"), ": ",
                               axis.roles.empty() ? "no weights" : SharesText(axis.roles)),
                        4));
  }
  return text;
}

std::string WeightSection(const std::vector<ParameterGroup>& groups) {
  constexpr size_t kTypeColumn = 2;
  std::vector<std::vector<std::string>> rows = {{"parameter", "", "type", "spec", "parallelism"}};
  int64_t left_out = 0;
  for (const ParameterGroup& group : groups) {
    if (group.category == MemoryCategory::kOptimizerState) continue;
    if (rows.size() > kMostWeights) {
      ++left_out;
      continue;
    }
    rows.push_back({group.name, TimesText(group.count, group.exact), TypeText(group.type),
                    SpecText(group.spec), group.parallelism});
  }
  if (rows.size() == 1) return "";
  std::vector<bool> right = {false, true, false, false, false};
  // Names tell more than types do.
  if (ColumnsWidth(rows) > kColumns) {
    for (auto& row : rows) row.erase(row.begin() + kTypeColumn);
    right.erase(right.begin() + kTypeColumn);
  }
  std::string text = Columns(std::move(rows), right);
  if (left_out > 0)
    absl::StrAppend(&text, "  ... and ", Counted(left_out, "more kind"),
                    " of parameters (--parameters)\n");
  return text;
}

// What of the optimizer's state is cut otherwise than the weights.
std::string StateSection(const std::vector<ParameterGroup>& groups) {
  double bytes = 0, sharded = 0;
  for (const ParameterGroup& group : groups) {
    if (group.category != MemoryCategory::kOptimizerState) continue;
    const bool zero = std::any_of(group.roles.begin(), group.roles.end(), [](AxisRole role) {
      return role == AxisRole::kFsdp || role == AxisRole::kZero1;
    });
    bytes += group.whole_bytes;
    sharded += zero ? group.whole_bytes : 0;
  }
  if (bytes == 0) return "";
  return absl::StrCat("  optimizer state: ", ShareText(sharded, bytes),
                      " of it sharded as FSDP and ZeRO do\n");
}

std::string LayersSection(const PartSummary& summary, const LayerLabels& labels) {
  // Where no layer is known the axes above say it already.
  if (summary.layers.size() == 1 && !summary.layers[0].first.has_value()) return "";
  const auto axes_text = [](const std::vector<AxisSummary>& axes) {
    return absl::StrJoin(axes, "; ", [](std::string* out, const AxisSummary& axis) {
      absl::StrAppend(out, axis.axis, " ", SharesText(axis.roles));
    });
  };
  std::string text;
  for (size_t i = 0; i < std::min(summary.layers.size(), kMostLayerRanges); ++i) {
    const LayerRange& range = summary.layers[i];
    const std::string name = LayerRangeText(range, labels);
    absl::StrAppend(&text, WrapWords(absl::StrCat("  ", name, ": ", axes_text(range.axes)), 4));
  }
  if (summary.layers.size() > kMostLayerRanges) {
    absl::StrAppend(&text, "  ... and ",
                    Counted(static_cast<int64_t>(summary.layers.size() - kMostLayerRanges),
                            "more stretch", "more stretches"),
                    " of layers\n");
  }
  return text;
}

// Stages that do alike share a line.
std::string PartsSection(const Plan& plan, const std::vector<Explained>& all,
                         const LayerLabels& labels) {
  std::vector<std::string> kinds;
  std::vector<std::vector<size_t>> stages;
  for (const Explained& one : all) {
    const PlanStage& first = plan.stages()[one.part.stages[0]];
    const bool alone = first.devices.size() == 1;
    const std::string kind = StrCat(
        Counted(static_cast<int64_t>(first.devices.size()), "device"),
        plan.cluster.parts.size() > 1 ? StrCat(" of type ", Fit(first.device, 24)) : "",
        alone ? "" : StrCat(", mesh ", MeshText(first.mesh)), first.recompute ? ", recomputed" : "",
        alone ? "" : StrCat(": ", Headline(one.summary)));
    const size_t i = std::find(kinds.begin(), kinds.end(), kind) - kinds.begin();
    if (i == kinds.size()) {
      kinds.push_back(kind);
      stages.emplace_back();
    }
    stages[i].insert(stages[i].end(), one.part.stages.begin(), one.part.stages.end());
  }
  std::string text;
  for (size_t i = 0; i < std::min(kinds.size(), kMostParts); ++i) {
    std::sort(stages[i].begin(), stages[i].end());
    std::vector<int64_t> numbers(stages[i].begin(), stages[i].end()), layers;
    for (size_t s : stages[i]) {
      for (int64_t l = plan.stages()[s].first_layer; l < plan.stages()[s].end_layer; ++l)
        layers.push_back(l);
    }
    const bool several = numbers.size() > 1;
    absl::StrAppend(
        &text, WrapWords(StrCat(several ? "  stages " : "  stage ", NumbersText(numbers), ": ",
                                labels.Text(layers), ", ", several ? "each on " : "", kinds[i]),
                         4));
  }
  if (kinds.size() > kMostParts)
    absl::StrAppend(&text, "  ... and ",
                    Counted(static_cast<int64_t>(kinds.size() - kMostParts), "more kind"),
                    " of stages\n");
  return text;
}

// ---- time ----

double Seconds(const PartSummary& summary) {
  double seconds = 0;
  for (const PhaseSeconds& phase : summary.phases) seconds += phase.compute + phase.communication;
  return seconds;
}

// What the step is, and how it was come by: ", composed of its segments".
std::string StepSentence(const Plan& plan) {
  const std::string mfu = MfuText(plan);
  std::string text = StrCat(StepText(plan), " a step", mfu.empty() ? "" : StrCat(", ", mfu));
  if (plan.step_seconds == SerialSeconds(plan)) return text;
  const bool profiled = plan.profile.has_value();
  return StrCat(text,
                !profiled                        ? ""
                : plan.profile->step.has_value() ? ", measured as a whole"
                                                 : ", composed of its segments",
                "; serial ", CostText(plan, SerialSeconds(plan)),
                plan.time_use.has_value() && plan.pipeline.has_value()
                    ? "; of a device, on average over all"
                    : "");
}

// Serial seconds by phase.
std::string PhaseSection(const Plan& plan, const PlanPart& part, const PartSummary& summary) {
  const double seconds = Seconds(summary);
  if (seconds == 0) return "";
  std::vector<std::vector<std::string>> rows = {{"", "compute", "communication", "of all"}};
  for (const PhaseSeconds& phase : summary.phases) {
    rows.push_back({phase.phase.empty() ? "phase not known" : phase.phase,
                    CostText(plan, phase.compute), CostText(plan, phase.communication),
                    ShareText(phase.compute + phase.communication, seconds)});
  }
  const double computing = summary.contraction_seconds + summary.other_seconds;
  const std::string of_stage =
      part.is_stage() ? StrCat(", a device of ", part.StageName(), ", all micro-batches") : "";
  return StrCat(Labelled("phases", StrCat("serial ", CostText(plan, seconds), of_stage)),
                Columns(std::move(rows), {false, true, true, true}),
                "  matmuls and convolutions are ",
                ShareText(summary.contraction_seconds, computing), " of computing\n");
}

std::string TimeSection(const Plan& plan, const PlanPart& part, const PartSummary& summary) {
  const std::string limits = LimitsText(plan);
  return StrCat(Labelled("time", StepSentence(plan)), StepPartsTable(plan),
                limits.empty() ? "" : Labelled("limits", limits),
                PhaseSection(plan, part, summary));
}

// ---- memory ----

std::string MemorySection(const Plan& plan, const PlanPart& part, const PartSummary& summary) {
  std::string text = HeadroomText(plan, "a device");
  if (!plan.peak_at.empty()) StrAppend(&text, ", peak at ", Fit(plan.peak_at, 60));
  const auto at = std::find_if(
      part.instructions.begin(), part.instructions.end(),
      [&](const PlanInstruction& instruction) { return instruction.name == plan.peak_at; });
  if (!part.is_stage() && at != part.instructions.end()) {
    const std::string phase = PhaseText(summary.phase_of[at - part.instructions.begin()]);
    if (!phase.empty()) StrAppend(&text, ", ", phase);
    const std::string source = SourceText(part, *at);
    if (!source.empty()) StrAppend(&text, ", ", Fit(source, 40));
  }
  text = Labelled("memory", text);
  std::vector<std::pair<int64_t, std::string>> categories;
  for (size_t i = 0; i < kMemoryCategories; ++i) {
    if (plan.memory_by_category[i] > 0)
      categories.emplace_back(plan.memory_by_category[i],
                              CategoryText(static_cast<MemoryCategory>(i)));
  }
  std::stable_sort(categories.begin(), categories.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (!categories.empty()) {
    const std::string shares =
        absl::StrJoin(categories, ", ", [&](std::string* out, const auto& one) {
          StrAppend(
              out, one.second, " ",
              ShareText(static_cast<double>(one.first), static_cast<double>(plan.peak_bytes)));
        });
    StrAppend(&text, WrapWords(StrCat("  ", shares), 2));
  }
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(summary.residents.size(), kMostResidents); ++i) {
    const ResidentGroup& one = summary.residents[i];
    const std::string times = TimesText(one.count, one.exact);
    // What is cut where the line is too long is the last column: names and where they are from.
    rows.push_back({BytesText(one.bytes), CategoryText(one.category),
                    StrCat(one.name, times.empty() ? "" : StrCat(" ", times),
                           one.source.empty() ? "" : StrCat(", ", one.source))});
  }
  if (rows.empty()) return text;
  StrAppend(&text, part.is_stage()
                       ? WrapWords(StrCat("  what takes most at the peak of one micro-batch of ",
                                          part.StageName(), ":"),
                                   4)
                       : "  what takes most then:\n");
  return StrCat(text, Columns(std::move(rows), {true, false, false}));
}

// ---- collectives ----

std::string CollectiveSection(const Plan& plan, const PlanPart& part, const PartSummary& summary) {
  if (summary.collectives.empty())
    return Labelled("traffic", "no collectives: devices do not communicate");
  double all = 0;
  for (const CollectiveGroup& group : summary.collectives) all += group.sum.seconds;
  const size_t shown = std::min(summary.collectives.size(),
                                part.is_stage() ? kMostCollectivesOfStage : kMostCollectives);
  std::string text =
      Labelled("traffic",
               StrCat("the most expensive collectives",
                      part.is_stage() ? StrCat(" of ", part.StageName()) : "", ", ", shown, " of ",
                      summary.collectives.size(), " kinds, ", CostText(plan, all), " in all"));
  for (size_t i = 0; i < shown; ++i) {
    const CollectiveGroup& group = summary.collectives[i];
    StrAppend(&text, WrapWords(StrCat("  ", CostText(plan, group.sum.seconds), " (",
                                      ShareText(group.sum.seconds, all), ")  ", group.sum.kind,
                                      " over ", absl::StrJoin(group.sum.axes, ","), ", ",
                                      Counted(group.sum.count, "time"), ", ",
                                      BytesText(group.sum.bytes_per_device)),
                               4));
    std::vector<std::string> where;
    if (!group.phase.empty()) where.push_back(group.phase);
    if (!group.source.empty()) where.push_back(Fit(group.source, 40));
    if (group.places > 1) where.push_back(Counted(group.places, "place"));
    StrAppend(&text, WrapWords(StrCat("    ", Fit(group.cause, 66), where.empty() ? "" : "; ",
                                      absl::StrJoin(where, ", ")),
                               6));
  }
  return text;
}

// ---- what is missing ----

std::string LacksSection(const Plan& plan, const std::vector<Explained>& all) {
  std::vector<std::string> lacks;
  const PlanPart& part = all[0].part;
  const auto none = [&](auto has) {
    return std::none_of(part.instructions.begin(), part.instructions.end(), has);
  };
  if (part.instructions.empty()) {
    lacks.push_back("no operators, so nothing to tell kinds of parallelism from");
  } else {
    if (none([](const PlanInstruction& one) { return one.phase.has_value(); })) {
      const std::vector<int32_t>& phases = all[0].summary.phase_of;
      const bool read = std::any_of(phases.begin(), phases.end(), [](int32_t p) { return p > 0; });
      lacks.push_back(StrCat("no phases, as the program shows no batch",
                             read ? " (those above are read off names)" : ""));
    }
    if (none([](const PlanInstruction& one) { return one.layer.has_value(); }))
      lacks.push_back("no layers");
    if (none([](const PlanInstruction& one) { return one.source.has_value(); }))
      lacks.push_back("no source lines, as the program has none in its metadata");
  }
  if (lacks.empty()) return "";
  return Labelled("missing", StrCat("the plan has ", absl::StrJoin(lacks, "; ")));
}

// ---- programs and pipelines ----

struct ExplainedParts {
  std::vector<Explained> all;
  // What is told in detail: the first of the stages that work longest, which the others wait for.
  const Explained* longest = nullptr;
  std::vector<ParameterGroup> parameters;
  LayerLabels labels;
};

ExplainedParts ExplainParts(const Plan& plan) {
  std::vector<Explained> all;
  for (const PlanPart& part : PartsOf(plan)) {
    std::vector<ParameterParallelism> judged = JudgeParameters(part);
    PartSummary summary = Summarize(part, judged);
    all.push_back({part, std::move(judged), std::move(summary)});
  }
  const Explained* const longest =
      &*std::max_element(all.begin(), all.end(), [](const Explained& a, const Explained& b) {
        return Seconds(a.summary) < Seconds(b.summary);
      });
  std::vector<JudgedPart> parts;
  parts.reserve(all.size());
  for (const Explained& one : all) parts.push_back({one.part, one.judged});
  return {std::move(all), longest, GroupParameters(parts), LayerLabels(parts)};
}

// How it is parallel.
std::string ProgramSections(const Plan& plan, const ExplainedParts& parts) {
  const PartSummary& summary = parts.longest->summary;
  return StrCat(
      Labelled("cluster", StrCat(Fit(plan.cluster.name, 40), ", mesh ", MeshText(plan.mesh))),
      Labelled("in short", Headline(summary)), AxesSection(summary),
      WeightSection(parts.parameters), StateSection(parts.parameters),
      LayersSection(summary, parts.labels));
}

// The same of a pipeline, whose stages say what layers do.
std::string PipelineSections(const Plan& plan, const ExplainedParts& parts) {
  return StrCat(
      Labelled("cluster", Fit(plan.cluster.name, 60)),
      Labelled("pipeline", StrCat(Counted(static_cast<int64_t>(plan.stages().size()), "stage"),
                                  ", ", Counted(plan.micro_batches, "micro-batch", "micro-batches"),
                                  ", ", plan.pipeline->schedule,
                                  absl::StrFormat(", bubble %.1f %%", 100 * BubbleShare(plan)))),
      "in short\n", PartsSection(plan, parts.all, parts.labels), WeightSection(parts.parameters),
      StateSection(parts.parameters));
}

}  // namespace

std::string ExplainPlan(const Plan& plan) {
  if (plan.of_model()) return ExplainModel(plan);
  const ExplainedParts parts = ExplainParts(plan);
  const auto& [part, judged, summary] = *parts.longest;
  return StrCat(Labelled("program", Fit(SubjectText(plan), kColumns - 10)),
                part.is_stage() ? PipelineSections(plan, parts) : ProgramSections(plan, parts),
                TimeSection(plan, part, summary), SegmentTable(plan),
                Labelled("optimal", OptimalityText(plan)), MemorySection(plan, part, summary),
                CollectiveSection(plan, part, summary), LacksSection(plan, parts.all));
}

}  // namespace meshwright
