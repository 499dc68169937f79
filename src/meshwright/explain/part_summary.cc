#include "meshwright/explain/part_summary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/explain/collective_causes.h"
#include "meshwright/explain/layers_by_name.h"
#include "meshwright/plan/text/folded_names.h"

namespace meshwright {
namespace {

// Adds up weights by what each axis is to them.
class RoleSums {
 public:
  explicit RoleSums(const std::vector<PlanAxis>& mesh) : mesh_(mesh), bytes_(mesh.size()) {}

  void Add(const std::vector<AxisRole>& roles, double bytes) {
    for (size_t a = 0; a < mesh_.size(); ++a) bytes_[a][roles[a]] += bytes;
    all_ += bytes;
  }

  std::vector<AxisSummary> Axes() const {
    std::vector<AxisSummary> axes;
    for (size_t a = 0; a < mesh_.size(); ++a) {
      if (mesh_[a].size == 1) continue;
      AxisSummary& axis = axes.emplace_back();
      axis.axis = mesh_[a].name;
      axis.devices = mesh_[a].size;
      if (all_ == 0) continue;
      for (const auto& [role, bytes] : bytes_[a]) axis.roles.push_back({role, bytes / all_});
      std::stable_sort(axis.roles.begin(), axis.roles.end(),
                       [](const RoleShare& x, const RoleShare& y) { return x.share > y.share; });
    }
    return axes;
  }

 private:
  const std::vector<PlanAxis>& mesh_;
  std::vector<std::map<AxisRole, double>> bytes_;  // by axis
  double all_ = 0;
};

// A training step's weights; of a program without one, all that is no data.
std::vector<bool> FindWeights(const PlanPart& part,
                              const std::vector<ParameterParallelism>& judged) {
  const auto has = [&](MemoryCategory category) {
    return std::any_of(part.parameters.begin(), part.parameters.end(),
                       [&](const PlanTensor& tensor) { return tensor.category == category; });
  };
  const bool trains = has(MemoryCategory::kParameters);
  std::vector<bool> weights;
  for (size_t p = 0; p < part.parameters.size(); ++p) {
    const MemoryCategory category = part.parameters[p].category;
    weights.push_back(!part.received[p] &&
                      (trains ? category == MemoryCategory::kParameters
                              : category == MemoryCategory::kInputs && judged[p].use.has_value()));
  }
  return weights;
}

bool SameRoles(const std::vector<AxisSummary>& a, const std::vector<AxisSummary>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AxisSummary& x, const AxisSummary& y) {
                      return SharesText(x.roles) == SharesText(y.roles);
                    });
}

std::vector<LayerRange> FindLayers(const PlanPart& part,
                                   const std::vector<ParameterParallelism>& judged,
                                   const std::vector<bool>& weights) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::map<int64_t, RoleSums> layers;
  for (size_t p = 0; p < judged.size(); ++p) {
    if (!weights[p]) continue;
    layers.try_emplace(judged[p].layer.value_or(kNone), part.mesh)
        .first->second.Add(judged[p].roles, WholeBytes(part, part.parameters[p]));
  }
  std::vector<LayerRange> ranges;
  for (const auto& [layer, sums] : layers) {
    LayerRange range;
    if (layer != kNone) range.first = range.last = layer;
    range.axes = sums.Axes();
    if (!ranges.empty() && layer != kNone && ranges.back().last == layer - 1 &&
        SameRoles(ranges.back().axes, range.axes)) {
      ranges.back().last = layer;
    } else {
      ranges.push_back(std::move(range));
    }
  }
  return ranges;
}

std::vector<CollectiveGroup> GroupCollectives(const PlanPart& part,
                                              const std::vector<int32_t>& phase_of) {
  const CauseFinder causes(part);
  struct Building {
    CollectiveGroup group;
    FoldedName moved;
    std::string_view verb;
  };
  std::vector<Building> building;
  absl::flat_hash_map<std::string, size_t> index;
  for (size_t i = 0; i < part.instructions.size(); ++i) {
    const PlanInstruction& user = part.instructions[i];
    const std::string phase = PhaseText(phase_of[i]);
    for (const PlanCollective& collective : user.collective) {
      const CollectiveCause cause = causes.Find(user, collective);
      const std::string source = SourceText(part, *cause.at);
      const std::string key =
          StrCat(collective.kind, "|", absl::StrJoin(collective.axes, ","), "|", cause.verb, "|",
                 FoldedName::Key(cause.moved), "|", source, "|", phase);
      const auto [it, inserted] = index.try_emplace(key, building.size());
      if (inserted) {
        Building& made = building.emplace_back();
        made.verb = cause.verb;
        made.group.sum.kind = collective.kind;
        made.group.sum.axes = collective.axes;
        made.group.source = source;
        made.group.phase = phase;
        made.group.at = static_cast<size_t>(cause.at - part.instructions.data());
      }
      Building& one = building[it->second];
      one.moved.Add(cause.moved);
      ++one.group.places;
      one.group.sum.seconds += collective.seconds;
      one.group.sum.count = AddCapped(one.group.sum.count, collective.count);
      one.group.sum.bytes_per_device =
          AddCapped(one.group.sum.bytes_per_device, collective.bytes_per_device);
    }
  }
  std::vector<CollectiveGroup> groups;
  for (Building& one : building) {
    one.group.cause = StrCat(one.verb, one.moved.exact() ? " " : " some of ", one.moved.text());
    groups.push_back(std::move(one.group));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CollectiveGroup& a, const CollectiveGroup& b) {
                     return a.sum.seconds > b.sum.seconds;
                   });
  return groups;
}

std::vector<ResidentGroup> GroupResidents(const PlanPart& part) {
  const CauseFinder causes(part);
  std::vector<ResidentGroup> groups;
  std::vector<FoldedName> names;
  absl::flat_hash_map<std::string, size_t> index;
  for (size_t i = 0; i < part.instructions.size(); ++i) {
    const PlanInstruction& instruction = part.instructions[i];
    if (!instruction.at_peak.has_value()) continue;
    const std::optional<size_t> parameter =
        instruction.opcode == PlanOpcode::kParameter ? causes.ParameterBehind(i) : std::nullopt;
    const std::string& name =
        parameter.has_value() ? part.parameters[*parameter].name : NameOf(part, instruction);
    const std::string source = SourceText(part, instruction);
    const MemoryCategory category = instruction.at_peak->category;
    const std::string key = StrCat(FoldedName::Key(name), "|", source, "|", Word(category));
    const auto [it, inserted] = index.try_emplace(key, groups.size());
    if (inserted) {
      names.emplace_back();
      groups.emplace_back();
      groups.back().source = source;
      groups.back().category = category;
    }
    names[it->second].Add(name);
    ++groups[it->second].count;
    groups[it->second].bytes += static_cast<double>(instruction.at_peak->bytes);
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = names[i].text();
    groups[i].exact = names[i].exact();
  }
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const ResidentGroup& a, const ResidentGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

void SumKinds(const PlanPart& part, PartSummary& summary) {
  for (const PlanInstruction& instruction : part.instructions) {
    const bool twice = part.recompute && instruction.phase == Phase::kForward;
    (IsContraction(instruction) ? summary.contraction_seconds : summary.other_seconds) +=
        instruction.seconds * (twice ? 2 : 1);
  }
}

std::vector<PhaseSeconds> SumPhases(const PlanPart& part, const std::vector<int32_t>& phase_of) {
  std::vector<PhaseSeconds> sums(kWords<Phase>.size() + 1);
  for (size_t p = 0; p < sums.size(); ++p) sums[p].phase = PhaseText(static_cast<int32_t>(p));
  for (size_t i = 0; i < part.instructions.size(); ++i) {
    PhaseSeconds& sum = sums[static_cast<size_t>(phase_of[i])];
    sum.compute += part.instructions[i].seconds;
    for (const PlanCollective& collective : part.instructions[i].collective)
      sum.communication += collective.seconds;
  }
  const auto forward = sums.begin() + PhaseNumber(Phase::kForward);
  if (part.recompute)
    sums.insert(forward + 1, {"recomputation", forward->compute, forward->communication});
  std::rotate(sums.begin(), sums.begin() + 1, sums.end());  // what has none comes last
  std::erase_if(sums, [](const PhaseSeconds& sum) { return sum.compute + sum.communication <= 0; });
  return sums;
}

std::string_view FamilyName(AxisRole role) { return AxisRoleName(FamilyOf(role)); }

}  // namespace

std::vector<PhaseSeconds> PhasesOf(const PlanPart& part) {
  return SumPhases(part, FindPhasesAndLayers(part).phase);
}

PartSummary Summarize(const PlanPart& part, const std::vector<ParameterParallelism>& judged) {
  PartSummary summary;
  const std::vector<bool> weights = FindWeights(part, judged);
  RoleSums sums(part.mesh);
  for (size_t p = 0; p < judged.size(); ++p) {
    if (weights[p]) sums.Add(judged[p].roles, WholeBytes(part, part.parameters[p]));
  }
  summary.axes = sums.Axes();
  summary.parameters = GroupParameters({{part, judged}});
  summary.layers = FindLayers(part, judged, weights);
  summary.phase_of = FindPhasesAndLayers(part).phase;
  summary.collectives = GroupCollectives(part, summary.phase_of);
  summary.residents = GroupResidents(part);
  summary.phases = SumPhases(part, summary.phase_of);
  SumKinds(part, summary);
  summary.divides_work = std::any_of(
      part.instructions.begin(), part.instructions.end(), [](const PlanInstruction& instruction) {
        return absl::StrContains(instruction.strategy, '=') || !instruction.collective.empty();
      });
  return summary;
}

std::string SharesText(const std::vector<RoleShare>& roles) {
  std::vector<std::string> shares;
  for (const RoleShare& one : roles) {
    const double percent = 100 * one.share;
    if (percent < 0.05) continue;
    const std::string name(AxisRoleName(one.role));
    shares.push_back(percent > 99.95 ? name : absl::StrFormat("%s %.3g %%", name, percent));
  }
  return absl::StrJoin(shares, ", ");
}

// "a", "a and b", "a, b and c".
std::string AndText(const std::vector<std::string>& names) {
  const std::string before = absl::StrJoin(names.begin(), names.end() - 1, ", ");
  return before.empty() ? names.back() : absl::StrCat(before, " and ", names.back());
}

// Whether `role` is worth a mention for `axis`: a tenth of the weights' bytes has it, or most of
// those of some layer, however small that is.
bool IsTold(const PartSummary& summary, size_t axis, const RoleShare& one) {
  constexpr double kOfAll = 0.1, kOfLayer = 0.5;
  if (one.share >= kOfAll) return true;
  return std::any_of(summary.layers.begin(), summary.layers.end(), [&](const LayerRange& range) {
    const std::vector<RoleShare>& roles = range.axes[axis].roles;
    return range.first.has_value() &&
           std::any_of(roles.begin(), roles.end(), [&](const RoleShare& other) {
             return other.role == one.role && other.share >= kOfLayer;
           });
  });
}

std::string Headline(const PartSummary& summary) {
  std::set<std::string_view> families;
  std::vector<std::string> with_names, axes_only;
  for (size_t a = 0; a < summary.axes.size(); ++a) {
    const AxisSummary& axis = summary.axes[a];
    std::vector<std::string> names;
    bool replicates = false;
    for (const RoleShare& one : axis.roles) {
      if (!IsTold(summary, a, one)) continue;
      if (one.role == AxisRole::kReplicated) {
        replicates = true;
        continue;
      }
      std::string name(FamilyName(one.role));
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
      families.insert(FamilyName(one.role));
    }
    // An axis that divides some weights and not others is used in two ways.
    if (replicates && !names.empty()) {
      names.emplace_back(AxisRoleName(AxisRole::kReplicated));
      families.insert(AxisRoleName(AxisRole::kReplicated));
    }
    if (names.empty()) continue;
    axes_only.push_back(absl::StrCat(axis.axis, " (", axis.devices, ")"));
    with_names.push_back(absl::StrCat(AndText(names), " over ", axes_only.back()));
  }
  if (families.empty()) {
    return summary.divides_work
               ? "no kind of parallelism for the weights, but some operators are divided"
               : "no parallelism: every device does the same work";
  }
  if (families.size() > 1)
    return absl::StrCat("mixed parallelism: ", absl::StrJoin(with_names, ", "));
  return absl::StrCat(std::string(*families.begin()), " parallelism over ",
                      absl::StrJoin(axes_only, " and "));
}

}  // namespace meshwright
