#include "meshwright/explain/plan_difference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/explain/part_summary.h"
#include "meshwright/explain/plan_part.h"
#include "meshwright/explain/screen.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/text/folded_names.h"
#include "meshwright/plan/text/plan_table.h"

namespace meshwright {
namespace {

// ---- what was asked for ----

class TextChanges {
 public:
  void Add(const std::string& what, const std::string& before, const std::string& after) {
    if (before != after) changes_.push_back({what, before, after});
  }
  std::vector<ChangedText> Take() { return std::move(changes_); }

 private:
  std::vector<ChangedText> changes_;
};

std::string InputText(const InputFile* input) {
  constexpr size_t kHashLetters = 12;
  return input == nullptr ? ""
                          : StrCat(input->path, " (", input->sha256.substr(0, kHashLetters), ")");
}

// The `n`-th input of `kind`, or nullptr.
const InputFile* InputOf(const Plan& plan, const std::string& kind, size_t n) {
  for (const InputFile& input : plan.inputs) {
    if (input.kind == kind && n-- == 0) return &input;
  }
  return nullptr;
}

// Files of one kind are compared one to one. A file that only moved did not change.
void CompareInputs(const Plan& before, const Plan& after, TextChanges& changes) {
  std::vector<std::string> kinds;
  for (const Plan* plan : {&before, &after}) {
    for (const InputFile& input : plan->inputs) {
      if (std::find(kinds.begin(), kinds.end(), input.kind) == kinds.end())
        kinds.push_back(input.kind);
    }
  }
  for (const std::string& kind : kinds) {
    for (size_t n = 0;; ++n) {
      const InputFile* const a = InputOf(before, kind, n);
      const InputFile* const b = InputOf(after, kind, n);
      if (a == nullptr && b == nullptr) break;
      if (a != nullptr && b != nullptr && a->sha256 == b->sha256) continue;
      changes.Add(StrCat("input ", kind), InputText(a), InputText(b));
    }
  }
}

std::string YesNo(bool value) { return value ? "yes" : "no"; }

// What a search was constrained to. Plans of models record --tensor, which has a default, among it.
struct KeptTo {
  std::vector<std::string> fixes, tensor;
};

KeptTo KeptToBy(const Plan& plan) {
  KeptTo kept;
  for (const std::string& fix : plan.options.fixes) {
    constexpr std::string_view kTensor = "tensor=";
    if (plan.of_model() && fix.starts_with(kTensor)) {
      kept.tensor.push_back(fix.substr(kTensor.size()));
    } else {
      kept.fixes.push_back(fix);
    }
  }
  return kept;
}

// Leaves of both lists what the other has not.
void DropCommon(std::vector<std::string>& a, std::vector<std::string>& b) {
  std::vector<std::string> common;
  for (const std::string& one : a) {
    if (std::find(b.begin(), b.end(), one) != b.end()) common.push_back(one);
  }
  const auto is_common = [&](const std::string& one) {
    return std::find(common.begin(), common.end(), one) != common.end();
  };
  std::erase_if(a, is_common);
  std::erase_if(b, is_common);
}

void CompareOptions(const Plan& before, const Plan& after, TextChanges& changes) {
  const PlanOptions &a = before.options, &b = after.options;
  changes.Add("--mesh", a.mesh, b.mesh);
  changes.Add("--memory", a.memory, b.memory);
  changes.Add("--pipeline", a.pipeline, b.pipeline);
  changes.Add("--micro-batches", a.micro_batches, b.micro_batches);
  changes.Add("--schedule", a.schedule, b.schedule);
  changes.Add("--layers", absl::StrCat(a.layers), absl::StrCat(b.layers));
  changes.Add("--data", absl::StrJoin(a.data, " "), absl::StrJoin(b.data, " "));
  changes.Add("recomputation allowed", YesNo(a.recompute), YesNo(b.recompute));
  changes.Add("--cost-model", a.cost_model, b.cost_model);
  changes.Add("shardings not given", std::string(Word(a.rest)), std::string(Word(b.rest)));
  changes.Add("--deadline", SecondsText(a.deadline_seconds), SecondsText(b.deadline_seconds));
  changes.Add("--threads", absl::StrCat(a.threads), absl::StrCat(b.threads));
  changes.Add("--seed", absl::StrCat(a.seed), absl::StrCat(b.seed));
  KeptTo kept_a = KeptToBy(before), kept_b = KeptToBy(after);
  DropCommon(kept_a.fixes, kept_b.fixes);
  changes.Add("--fix", absl::StrJoin(kept_a.fixes, " "), absl::StrJoin(kept_b.fixes, " "));
  changes.Add("--tensor", absl::StrJoin(kept_a.tensor, " "), absl::StrJoin(kept_b.tensor, " "));
}

std::string ClusterText(const PlanCluster& cluster) {
  return StrCat(cluster.name, ": ",
                absl::StrJoin(cluster.parts, " + ", [](std::string* out, const auto& part) {
                  absl::StrAppend(out, part.nodes, " x ", part.devices_per_node, " ", part.device,
                                  " of ", BytesText(part.device_memory_bytes));
                }));
}

// ---- figures ----

// What the time of one step without overlap consists of.
struct StepCauses {
  double compute = 0, communication = 0, bubble = 0;
};

// Of a pipeline the means over its groups of devices. A group computes, communicates or waits until
// the step ends, so that the three add up to the step; what the busiest stage does and what all
// wait for do not.
StepCauses CausesOf(const Plan& plan) {
  if (plan.kind() != PlanKind::kPipeline)
    return {plan.compute_seconds, plan.communication_seconds, 0};
  StepCauses causes;
  for (const PlanPart& part : PartsOf(plan)) {
    const auto stages = static_cast<double>(part.stages.size());
    for (const PhaseSeconds& phase : PhasesOf(part)) {
      causes.compute += stages * phase.compute;
      causes.communication += stages * phase.communication;
    }
  }
  const double groups = static_cast<double>(plan.stages().size()) /
                        static_cast<double>(std::max<int64_t>(1, plan.chunks));
  causes.compute /= groups;
  causes.communication /= groups;
  causes.bubble = plan.objective_seconds * plan.bubble_share;
  return causes;
}

void CompareSeconds(const Plan& a, const Plan& b, PlanDifference& difference) {
  // Sums of the same costs in another order differ by less than this share of the whole.
  const double all = std::max({a.step_seconds, b.step_seconds, SerialSeconds(a), SerialSeconds(b)});
  const auto add = [&](const std::string& what, double before, double after) {
    if (!SameUpToRounding(before, after, all)) difference.seconds.push_back({what, before, after});
  };
  difference.seconds.push_back({"step", a.step_seconds, b.step_seconds});
  // Models say more exactly what the step consists of.
  if (a.of_model() && b.of_model()) {
    std::vector<double> before;
    PlanStepParts::VisitMembers(
        a.model->seconds,
        [&](const char*, double seconds, MemberForm = {}) { before.push_back(seconds); });
    size_t i = 0;
    PlanStepParts::VisitMembers(
        b.model->seconds, [&](const char* name, double seconds, MemberForm = {}) {
          add(absl::StrReplaceAll(name, {{"_", " "}}), before[i++], seconds);
        });
    return;
  }
  if (a.step_seconds != SerialSeconds(a) || b.step_seconds != SerialSeconds(b))
    add("serial", SerialSeconds(a), SerialSeconds(b));
  const StepCauses before = CausesOf(a), after = CausesOf(b);
  const bool means = !a.stages().empty() || !b.stages().empty();
  add(means ? "compute, mean" : "compute", before.compute, after.compute);
  add(means ? "communication, mean" : "communication", before.communication, after.communication);
  add("bubble, mean", before.bubble, after.bubble);
  // What was given and not searched for has no bound of its own.
  if (a.options.rest != Completion::kPropagate && b.options.rest != Completion::kPropagate)
    add("bound", a.bound_seconds, b.bound_seconds);
}

void CompareMemory(const Plan& a, const Plan& b, PlanDifference& difference) {
  difference.memory.push_back({"peak", a.peak_bytes, b.peak_bytes});
  for (size_t c = 0; c < kMemoryCategories; ++c) {
    if (a.memory_by_category[c] == b.memory_by_category[c]) continue;
    difference.memory.push_back({CategoryText(static_cast<MemoryCategory>(c)),
                                 a.memory_by_category[c], b.memory_by_category[c]});
  }
}

// The kind of a collective, and the axes that it is over with their sizes.
using CollectiveKey = std::pair<std::string, std::vector<std::pair<std::string, int64_t>>>;
using CollectiveSums = std::map<CollectiveKey, PlanCollective>;

// Of all stages together, or of the plan without any.
CollectiveSums SumCollectives(const Plan& plan) {
  CollectiveSums sums;
  for (const PlanPart& part : PartsOf(plan)) {
    const size_t times = std::max<size_t>(part.stages.size(), 1);
    for (const PlanCollective& one : part.collectives) {
      CollectiveKey key = {one.kind, {}};
      for (const std::string& axis : one.axes) {
        const auto known = std::find_if(part.mesh.begin(), part.mesh.end(),
                                        [&](const PlanAxis& of) { return of.name == axis; });
        key.second.emplace_back(axis, known == part.mesh.end() ? 0 : known->size);
      }
      PlanCollective& sum = sums[key];
      sum.kind = one.kind;
      sum.axes = one.axes;
      for (size_t i = 0; i < times; ++i) {
        sum.count = AddCapped(sum.count, one.count);
        sum.bytes_per_device = AddCapped(sum.bytes_per_device, one.bytes_per_device);
        sum.seconds += one.seconds;
      }
    }
  }
  return sums;
}

bool SameSizes(const CollectiveKey& a, const CollectiveKey& b) {
  const auto members = [](const CollectiveKey& key) {
    int64_t product = 1;
    for (const auto& [name, size] : key.second) product *= size;
    return product;
  };
  return a.first == b.first && members(a) == members(b);
}

bool SameNames(const CollectiveKey& a, const CollectiveKey& b) {
  return a.first == b.first &&
         std::equal(a.second.begin(), a.second.end(), b.second.begin(), b.second.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

// Those over the same axes are compared; of other meshes those of as many devices, whatever axes
// these are; and what is left over axes of the same names.
void CompareCollectives(const Plan& a, const Plan& b, PlanDifference& difference) {
  CollectiveSums before = SumCollectives(a), after = SumCollectives(b);
  const auto match = [&](const auto& are_same) {
    for (auto now = after.begin(); now != after.end();) {
      const auto old = std::find_if(before.begin(), before.end(), [&](const auto& one) {
        return are_same(one.first, now->first);
      });
      if (old == before.end()) {
        ++now;
        continue;
      }
      const PlanCollective &x = old->second, &y = now->second;
      const bool same_but_for_rounding =
          x.count == y.count && x.bytes_per_device == y.bytes_per_device &&
          SameUpToRounding(x.seconds, y.seconds, std::max(x.seconds, y.seconds));
      if (!same_but_for_rounding) difference.collectives.push_back({x, y});
      before.erase(old);
      now = after.erase(now);
    }
  };
  match(std::equal_to<CollectiveKey>());
  match(SameSizes);
  match(SameNames);
  const auto none = [](const PlanCollective& of) {
    PlanCollective none;
    none.kind = of.kind;
    none.axes = of.axes;
    return none;
  };
  for (const auto& [key, now] : after) difference.collectives.push_back({none(now), now});
  for (const auto& [key, old] : before) difference.collectives.push_back({old, none(old)});
  std::stable_sort(difference.collectives.begin(), difference.collectives.end(),
                   [](const ChangedCollective& x, const ChangedCollective& y) {
                     return std::abs(x.after.seconds - x.before.seconds) >
                            std::abs(y.after.seconds - y.before.seconds);
                   });
}

// ---- arrays ----

struct ArrayState {
  std::string type, spec;
  int64_t bytes = 0;
};

// By name, in the order of the plan.
struct ArrayTable {
  std::vector<std::string> order;
  absl::flat_hash_map<std::string, ArrayState> states;

  // An array that several stages have (a step's number) is kept in all of their ways; its bytes are
  // those of the device that has most of it.
  void Add(const std::string& name, ArrayState state) {
    const auto [it, inserted] = states.try_emplace(name, state);
    if (inserted) {
      order.push_back(name);
      return;
    }
    ArrayState& known = it->second;
    known.bytes = std::max(known.bytes, state.bytes);
    AddTo(known.type, state.type);
    AddTo(known.spec, state.spec);
  }

 private:
  static void AddTo(std::string& all, const std::string& one) {
    const std::vector<absl::string_view> parts = absl::StrSplit(all, " and ");
    if (std::find(parts.begin(), parts.end(), one) == parts.end()) all += " and " + one;
  }
};

// What is equal in both is left out; the others in groups that changed alike.
std::vector<ChangedArrays> CompareArrays(const ArrayTable& before, const ArrayTable& after) {
  std::vector<std::string> names = before.order;
  for (const std::string& name : after.order) {
    if (!before.states.contains(name)) names.push_back(name);
  }
  std::vector<ChangedArrays> groups;
  std::vector<FoldedName> folded;
  absl::flat_hash_map<std::string, size_t> index;
  for (const std::string& name : names) {
    const auto a = before.states.find(name);
    const auto b = after.states.find(name);
    const ArrayState old = a == before.states.end() ? ArrayState() : a->second;
    const ArrayState now = b == after.states.end() ? ArrayState() : b->second;
    if (old.type == now.type && old.spec == now.spec) continue;
    const std::string type = old.type.empty()       ? now.type
                             : now.type.empty()     ? old.type
                             : old.type == now.type ? old.type
                                                    : StrCat(old.type, " -> ", now.type);
    const std::string key = StrCat(FoldedName::Key(name), "|", type, "|", old.spec, "|", now.spec);
    const auto [it, inserted] = index.try_emplace(key, groups.size());
    if (inserted) {
      folded.emplace_back();
      groups.emplace_back();
      groups.back().type = type;
      groups.back().before = old.spec;
      groups.back().after = now.spec;
    }
    folded[it->second].Add(name);
    ChangedArrays& group = groups[it->second];
    ++group.count;
    group.bytes_before = AddCapped(group.bytes_before, old.bytes);
    group.bytes_after = AddCapped(group.bytes_after, now.bytes);
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = folded[i].text();
    groups[i].exact = folded[i].exact();
  }
  return groups;
}

ArrayTable ParameterTable(const Plan& plan) {
  ArrayTable table;
  for (const PlanPart& part : PartsOf(plan)) {
    for (size_t m = 0; m < part.members(); ++m) {
      for (size_t p = 0; p < part.parameters.size(); ++p) {
        if (part.received[p]) continue;
        const PlanTensor& tensor = part.parameters[p];
        table.Add(part.ParameterName(m, p), {TypeText({tensor.dtype, tensor.shape}),
                                             SpecText(tensor.spec), tensor.bytes_per_device});
      }
    }
  }
  return table;
}

ArrayTable InstructionTable(const Plan& plan) {
  ArrayTable table;
  for (const PlanInstruction& instruction : plan.program.instructions) {
    if (instruction.opcode == PlanOpcode::kParameter) continue;  // listed by the names users know
    table.Add(instruction.name, {TypeText(instruction.type), SpecText(instruction.spec), 0});
  }
  return table;
}

void CompareParameters(const Plan& a, const Plan& b, PlanDifference& difference) {
  difference.parameters = CompareArrays(ParameterTable(a), ParameterTable(b));
  std::stable_sort(difference.parameters.begin(), difference.parameters.end(),
                   [](const ChangedArrays& x, const ChangedArrays& y) {
                     const auto size = [](const ChangedArrays& one) {
                       return std::abs(static_cast<double>(one.bytes_after) -
                                       static_cast<double>(one.bytes_before));
                     };
                     return size(x) > size(y);
                   });
}

// ---- stages and degrees ----

std::string StageText(const PlanStage& stage) {
  return StrCat("layers ", stage.first_layer, "-", stage.end_layer - 1, ", ", stage.devices.size(),
                " x ", stage.device, ", mesh ", MeshText(stage.mesh),
                stage.recompute ? ", recomputed" : "", ", ", BytesText(stage.bytes.peak_of_group));
}

// Neighbours that changed alike, but for their layers, are put together.
void CompareStages(const Plan& a, const Plan& b, PlanDifference& difference) {
  TextChanges changes;
  for (size_t i = 0; i < std::max(a.stages().size(), b.stages().size()); ++i) {
    changes.Add(absl::StrCat("stage ", i), i < a.stages().size() ? StageText(a.stages()[i]) : "",
                i < b.stages().size() ? StageText(b.stages()[i]) : "");
  }
  difference.stages = changes.Take();
}

void CompareDegrees(const Plan& a, const Plan& b, PlanDifference& difference) {
  if (!a.of_model() || !b.of_model()) return;
  TextChanges changes;
  changes.Add("model", a.model->model, b.model->model);
  changes.Add("sequence", absl::StrCat(a.model->sequence), absl::StrCat(b.model->sequence));
  changes.Add("global batch", absl::StrCat(a.model->global_batch),
              absl::StrCat(b.model->global_batch));
  for (const transformer::Degree& degree : transformer::DegreeTable()) {
    if (degree.name.empty()) continue;
    const auto text = [&degree](const Plan& plan) {
      return ValueText(degree, degree.value(plan.model->configuration));
    };
    changes.Add(std::string(degree.name), text(a), text(b));
  }
  difference.degrees = changes.Take();
}

}  // namespace

bool SameUpToRounding(double a, double b, double all) {
  constexpr double kRounding = 1e-9;
  return std::abs(a - b) <= kRounding * std::abs(all);
}

PlanDifference DiffPlans(const Plan& before, const Plan& after) {
  PlanDifference difference;
  Plan same = after;
  same.planning_seconds = before.planning_seconds;
  difference.identical = same == before;
  TextChanges asked, found;
  asked.Add("meshwright", before.tool_version, after.tool_version);
  CompareInputs(before, after, asked);
  CompareOptions(before, after, asked);
  asked.Add("cluster", ClusterText(before.cluster), ClusterText(after.cluster));
  found.Add("mesh", MeshText(before.mesh), MeshText(after.mesh));
  const auto schedule = [](const Plan& plan) {
    return plan.stages().empty() ? "none" : plan.schedule();
  };
  found.Add("schedule", schedule(before), schedule(after));
  found.Add("micro-batches", absl::StrCat(before.micro_batches), absl::StrCat(after.micro_batches));
  found.Add("stages", absl::StrCat(before.stages().size()), absl::StrCat(after.stages().size()));
  found.Add("stages of a group", absl::StrCat(before.chunks), absl::StrCat(after.chunks));
  found.Add("gap", ShareText(before.gap, 1), ShareText(after.gap, 1));
  found.Add("peak at", before.peak_at, after.peak_at);
  difference.asked = asked.Take();
  difference.found = found.Take();
  CompareSeconds(before, after, difference);
  CompareMemory(before, after, difference);
  CompareCollectives(before, after, difference);
  CompareParameters(before, after, difference);
  // On another mesh nearly every result is sharded differently.
  if (!before.pipeline.has_value() && !after.pipeline.has_value() && before.mesh == after.mesh)
    difference.instructions = CompareArrays(InstructionTable(before), InstructionTable(after));
  CompareStages(before, after, difference);
  CompareDegrees(before, after, difference);
  return difference;
}

}  // namespace meshwright
