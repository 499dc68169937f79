#include "meshwright/report/headline.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/explain/explain_model.h"
#include "meshwright/explain/optimality.h"
#include "meshwright/explain/part_summary.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/make/groups_text.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/plan/text/step_account.h"
#include "meshwright/plan/text/transformer_table.h"
#include "meshwright/report/device_programs.h"

namespace meshwright {
namespace {

// A name inside a sentence: whatever it holds, it turns round only itself. Marks that would end the
// isolation are left out (Unicode Standard Annex 9, section 2.7).
std::string Isolated(const std::string& name) {
  constexpr const char* kFirstStrongIsolate = "\u2068";
  constexpr const char* kPopIsolate = "\u2069";
  return absl::StrCat(
      kFirstStrongIsolate,
      absl::StrReplaceAll(name, {{"\u2066", ""}, {"\u2067", ""}, {"\u2068", ""}, {"\u2069", ""}}),
      kPopIsolate);
}

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string MeshSizes(const std::vector<PlanAxis>& mesh) {
  return absl::StrJoin(mesh, ", ", [](std::string* out, const PlanAxis& axis) {
    absl::StrAppend(out, Isolated(axis.name), "=", axis.size);
  });
}

std::string DevicesText(const Plan& plan) {
  return absl::StrJoin(plan.cluster.parts, " and ",
                       [](std::string* out, const PlanClusterPart& part) {
                         absl::StrAppend(out, part.devices(), " x ", Isolated(part.device), " in ",
                                         Counted(part.nodes, "node"));
                       });
}

std::string WhereSentence(const Plan& plan) {
  return absl::StrCat(Isolated(ProgramName(plan)), " on ", DevicesText(plan), ": a step takes ",
                      CostText(plan, plan.step_seconds), ".");
}

// How many devices' worth of the weights and their state one device keeps: of a pipeline the mean
// over its stages, equal ones counting as often as there are.
std::string WeightsSentence(const Plan& plan) {
  double kept = 0, whole = 0;
  for (const PlanPart& program : ProgramsOf(plan).programs) {
    const double times = std::max<double>(1, static_cast<double>(program.stages.size()));
    for (const PlanTensor& tensor : program.parameters) {
      if (tensor.category != MemoryCategory::kParameters &&
          tensor.category != MemoryCategory::kOptimizerState) {
        continue;
      }
      double parts = 1;
      for (const std::vector<std::string>& axes : tensor.spec) {
        for (const std::string& name : axes) {
          for (const PlanAxis& axis : program.mesh) {
            if (axis.name == name) parts *= static_cast<double>(axis.size);
          }
        }
      }
      kept += times * static_cast<double>(tensor.bytes_per_device);
      whole += times * static_cast<double>(tensor.bytes_per_device) * parts;
    }
  }
  if (whole <= 0) return "";
  if (kept >= whole)
    return "All weights and their state are replicated on the devices that use them.";
  return absl::StrCat("Of the weights that it uses and their state a device keeps ",
                      Percent(kept / whole), "; the rest lies on others.");
}

std::string PipelineSentence(const Plan& plan) {
  const auto stages = static_cast<int64_t>(plan.stages().size());
  std::set<size_t> sizes;
  std::set<std::string> meshes;
  for (const PlanStage& stage : plan.stages()) {
    sizes.insert(stage.devices.size());
    meshes.insert(MeshSizes(stage.mesh));
  }
  const std::string each = sizes.size() == 1
                               ? absl::StrCat(*sizes.begin())
                               : absl::StrCat(*sizes.begin(), " to ", *sizes.rbegin());
  std::string text = absl::StrCat(
      Counted(stages, "pipeline stage"), " on ", each, " devices each run ",
      Counted(plan.micro_batches, "micro-batch", "micro-batches"), " by ", plan.pipeline->schedule,
      "; they wait for ", Percent(BubbleShare(plan)), " of their time.");
  if (meshes.size() == 1) absl::StrAppend(&text, " Each has a mesh ", *meshes.begin(), ".");
  return text;
}

// What the meshes are used for: of a pipeline in the kinds of stages, the one with most stages
// first.
std::string ParallelismSentence(const Plan& plan) {
  std::vector<std::pair<std::string, size_t>> kinds;  // with the number of stages
  for (const PlanPart& program : ProgramsOf(plan).programs) {
    const std::string kind = Headline(Summarize(program));
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const auto& one) { return one.first == kind; });
    if (same == kinds.end()) {
      kinds.emplace_back(kind, program.stages.size());
    } else {
      same->second += program.stages.size();
    }
  }
  if (kinds.empty()) return "";
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = kinds[0].first;
  text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  if (kinds.size() == 1) return absl::StrCat(text, ".");
  for (size_t k = 0; k < kinds.size(); ++k) {
    const std::string where =
        absl::StrCat(" in ", Counted(static_cast<int64_t>(kinds[k].second), "stage"));
    if (k == 0) {
      absl::StrAppend(&text, where);
    } else {
      absl::StrAppend(&text, "; ", kinds[k].first, where);
    }
  }
  return absl::StrCat(text, ".");
}

std::string TimeText(const Plan& plan, std::string_view computation) {
  const double all = plan.compute_seconds + plan.communication_seconds;
  if (all <= 0) return "";
  std::string text = StrCat(computation, " takes ", CostText(plan, plan.compute_seconds),
                            " and communication ", CostText(plan, plan.communication_seconds), " (",
                            Percent(plan.communication_seconds / all), ")");
  const PlanCollective* most_expensive = nullptr;
  double busiest = -1;
  const DevicePrograms programs = ProgramsOf(plan);
  for (const PlanPart& program : programs.programs) {
    double busy = 0;
    for (const PlanInstruction& instruction : program.instructions) busy += instruction.seconds;
    for (const PlanCollective& one : program.collectives) busy += one.seconds;
    if (busy <= busiest) continue;
    busiest = busy;
    const auto most = std::max_element(
        program.collectives.begin(), program.collectives.end(),
        [](const PlanCollective& x, const PlanCollective& y) { return x.seconds < y.seconds; });
    most_expensive = most == program.collectives.end() ? nullptr : &*most;
  }
  if (most_expensive != nullptr) {
    absl::StrAppend(&text, "; the most expensive is ", most_expensive->kind, " over ",
                    Isolated(absl::StrJoin(most_expensive->axes, ",")), ", ",
                    CostText(plan, most_expensive->seconds));
  }
  return absl::StrCat(text, ".");
}

std::string TimeSentence(const Plan& plan) { return TimeText(plan, "Computation"); }
std::string BusiestTimeSentence(const Plan& plan) {
  return TimeText(plan, "In the busiest stage computation");
}

std::string PeakText(const Plan& plan) {
  std::string text = absl::StrCat("A device holds at peak ", BytesText(plan.peak_bytes));
  if (plan.budget_bytes.has_value()) {
    absl::StrAppend(&text, " of ", BytesText(*plan.budget_bytes));
  }
  return text;
}

std::string LimitsSentence(const Plan& plan) {
  const std::string limits = LimitsText(plan);
  return limits.empty() ? "" : absl::StrCat("What limits it: ", limits, ".");
}

std::string MemorySentence(const Plan& plan) {
  std::string text = PeakText(plan);
  const MemoryByCategory& memory = plan.memory_by_category;
  const auto largest = std::max_element(memory.begin(), memory.end());
  if (*largest > 0 && plan.peak_bytes > 0) {
    absl::StrAppend(&text, ", ",
                    Percent(static_cast<double>(*largest) / static_cast<double>(plan.peak_bytes)),
                    " of it ", CategoryText(static_cast<MemoryCategory>(largest - memory.begin())));
  }
  return absl::StrCat(text, ".");
}

std::string ModelMemorySentence(const Plan& plan) { return absl::StrCat(PeakText(plan), "."); }

std::string MeshSentence(const Plan& plan) {
  return absl::StrCat("All devices run the whole program, on the mesh ", MeshSizes(plan.mesh), ".");
}

std::string DegreesSentence(const Plan& plan) {
  return absl::StrCat("Degrees: ", transformer::ConfigurationText(plan.model->configuration), ".");
}

// Of a plan over groups of nodes: which it takes, and how the stages on them are divided.
std::string GroupsSentence(const Plan& plan) {
  const std::vector<PlanNodeGroup>& groups = plan.groups->groups;
  std::string text =
      absl::StrCat(plan.stages().size() == 1
                       ? "One stage runs "
                       : absl::StrCat("A pipeline of ", plan.stages().size(), " stages runs "),
                   Counted(plan.micro_batches, "micro-batch", "micro-batches"), ": ");
  std::vector<std::string> used, unused;
  for (const PlanNodeGroup& group : groups) {
    if (group.used_nodes == 0) {
      unused.push_back(Isolated(group.name));
      continue;
    }
    used.push_back(absl::StrCat(Counted(group.stages, "stage"), " on ", group.used_nodes, " of ",
                                Counted(group.nodes, "node"), " of ", Isolated(group.name), " (",
                                GroupDegreesText(group), ")"));
  }
  absl::StrAppend(&text, absl::StrJoin(used, "; "));
  if (!unused.empty()) {
    absl::StrAppend(&text, "; nothing on ", absl::StrJoin(unused, ", "));
  }
  const std::string state = StateOverGroups(plan);
  if (!state.empty()) absl::StrAppend(&text, "; ", state);
  return absl::StrCat(text, ".");
}

std::string WorkSentence(const Plan& plan) {
  const PlanTransformer& model = *plan.model;
  return absl::StrCat("A step is ", Counted(model.global_batch, "sequence"), " of ",
                      Counted(model.sequence, "token"), ", at an MFU of ", Percent(model.mfu), ".");
}

std::string DollarsSentence(const Plan& plan) {
  const PlanOverGroups& over = *plan.groups;
  if (!over.step_dollars.has_value()) return "";
  std::string text = absl::StrCat("A step costs ", DollarsText(*over.step_dollars));
  if (over.steps.has_value()) {
    absl::StrAppend(&text, "; all ", absl::StrFormat("%.6g", *over.steps), " steps take ",
                    RunTimeText(*over.steps * plan.step_seconds), " and cost ",
                    DollarsText(*over.steps * *over.step_dollars));
  }
  return absl::StrCat(text, ".");
}

std::string FrontSentence(const Plan& plan) {
  const PlanOverGroups& over = *plan.groups;
  const auto front = std::count_if(over.choices.begin(), over.choices.end(),
                                   [](const PlanNodeChoice& one) { return one.on_front; });
  if (front == 0) return "";
  return absl::StrCat(
      front == 1 ? "It is alone on the front of time and cost"
                 : absl::StrCat("It is one of ", front, " plans on the front of time and cost"),
      ": of ", Counted(static_cast<int64_t>(over.choices.size()), "choice"),
      " of nodes none is both faster and cheaper.");
}

std::string GoodputSentence(const Plan& plan) {
  if (!plan.model->goodput.has_value()) return "";
  const PlanGoodput& goodput = *plan.model->goodput;
  return absl::StrCat("Failures and checkpoints leave ", Percent(goodput.share), " of the time, ",
                      absl::StrFormat("%.4g", goodput.tokens_per_second),
                      " tokens a second; a checkpoint every ",
                      RunTimeText(goodput.interval_seconds), " is best.");
}

std::string OptimalitySentence(const Plan& plan) {
  std::string text = OptimalityText(plan);
  text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  return absl::StrCat(text, ".");
}

using Sentence = std::string (*)(const Plan& plan);

// What is told of a plan, in this order; a sentence that says nothing of it is empty.
absl::Span<const Sentence> SentencesOf(PlanKind kind) {
  static constexpr Sentence kProgram[] = {WhereSentence,   MeshSentence,      ParallelismSentence,
                                          WeightsSentence, TimeSentence,      LimitsSentence,
                                          MemorySentence,  OptimalitySentence};
  static constexpr Sentence kPipeline[] = {
      WhereSentence,       PipelineSentence, ParallelismSentence, WeightsSentence,
      BusiestTimeSentence, LimitsSentence,   MemorySentence,      OptimalitySentence};
  static constexpr Sentence kModel[] = {WhereSentence,     DegreesSentence, WorkSentence,
                                        LimitsSentence,    GoodputSentence, ModelMemorySentence,
                                        OptimalitySentence};
  static constexpr Sentence kGroups[] = {WhereSentence,   GroupsSentence,      WorkSentence,
                                         LimitsSentence,  DollarsSentence,     FrontSentence,
                                         GoodputSentence, ModelMemorySentence, OptimalitySentence};
  switch (kind) {
    case PlanKind::kProgram:
      return kProgram;
    case PlanKind::kPipeline:
      return kPipeline;
    case PlanKind::kModel:
      return kModel;
    case PlanKind::kGroups:
      return kGroups;
  }
  return {};
}

}  // namespace

std::string ProgramName(const Plan& plan) {
  if (plan.of_model()) return plan.model->model;
  const InputFile* const program = plan.program_file();
  return program == nullptr ? "a program" : program->path.substr(program->path.rfind('/') + 1);
}

std::vector<std::string> Headline(const Plan& plan) {
  std::vector<std::string> sentences;
  for (const Sentence sentence : SentencesOf(plan.kind())) {
    if (std::string text = sentence(plan); !text.empty()) sentences.push_back(std::move(text));
  }
  return sentences;
}

}  // namespace meshwright
