#include "meshwright/plan/make/build_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/plan/annotate/output_shardings.h"
#include "meshwright/plan/document/version.h"
#include "meshwright/plan/make/build_instructions.h"
#include "meshwright/plan/make/categorize.h"
#include "meshwright/plan/make/memory_timeline.h"
#include "meshwright/plan/make/to_plan.h"

namespace meshwright {
namespace {

// Sums of `collectives` by kind and axes; the slowest first.
std::vector<PlanCollective> GroupCollectives(const std::vector<PlannedCollective>& collectives,
                                             const Mesh& mesh) {
  std::map<std::pair<std::string, std::vector<std::string>>, PlanCollective> groups;
  for (const PlannedCollective& collective : collectives) {
    const PlanCollective one = ToCollective(collective, mesh);
    PlanCollective& group = groups[{one.kind, one.axes}];
    group.kind = one.kind;
    group.axes = one.axes;
    group.count = ToCount(static_cast<double>(group.count) + static_cast<double>(one.count));
    group.bytes_per_device = ToCount(static_cast<double>(group.bytes_per_device) +
                                     static_cast<double>(one.bytes_per_device));
    group.seconds += one.seconds;
  }
  std::vector<PlanCollective> sorted;
  sorted.reserve(groups.size());
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const PlanCollective& a, const PlanCollective& b) { return a.seconds > b.seconds; });
  return sorted;
}

PlanTensor ToTensor(const Shape& shape, const Sharding& sharding, const Mesh& mesh) {
  PlanTensor tensor;
  tensor.dtype = ElementTypeName(shape.type);
  tensor.shape = shape.dims;
  tensor.spec = ToSpec(sharding, mesh);
  tensor.bytes_per_device = BytesPerDevice(shape, sharding, mesh);
  return tensor;
}

void AddParameters(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                   const std::vector<MemoryCategory>& categories, Plan& plan) {
  for (OpId id : graph.parameters) {
    const ValueId value = graph[id].results[0];
    PlanTensor& tensor = plan.program.parameters.emplace_back(
        ToTensor(graph[value].shape, intra.shardings[value.index()], mesh));
    tensor.index = graph[id].parameter;
    tensor.name = ParameterName(graph, id);
    tensor.category = categories[value.index()];
  }
}

// Also completes the instructions that stand for outputs. Requires plan.program.parameters and
// .instructions.
void AddOutputs(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                const std::vector<int32_t>& tied, const std::vector<MemoryCategory>& categories,
                Plan& plan) {
  const std::vector<Sharding> shardings = OutputShardings(graph, mesh, intra, tied);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const OpId id = graph.outputs[i];
    const ValueId value = graph[id].operands[0];
    PlanTensor& tensor =
        plan.program.outputs.emplace_back(ToTensor(graph[value].shape, shardings[i], mesh));
    tensor.index = static_cast<int64_t>(i);
    tensor.name = OutputName(graph, id);
    tensor.category = categories[value.index()];
    PlanInstruction& instruction = plan.program.instructions[id.index()];
    instruction.spec = tensor.spec;
    if (tied[i] >= 0) {
      instruction.strategy =
          absl::StrCat("as ", plan.program.parameters[static_cast<size_t>(tied[i])].name);
    }
  }
}

// Each warning once, in the order in which they were made.
std::vector<std::string> Warnings(const Graph& graph, const IntraPlan& intra) {
  std::vector<std::string> warnings;
  absl::flat_hash_set<std::string> seen;
  for (const std::vector<std::string>* list : {&graph.warnings, &intra.warnings}) {
    for (const std::string& warning : *list) {
      if (seen.insert(warning).second) warnings.push_back(warning);
    }
  }
  return warnings;
}

absl::Status CheckFinite(const Plan& plan) {
  const auto check = [](double value, const std::string& what) {
    if (std::isfinite(value)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the planner made a plan whose ", what, " is ", value));
  };
  MW_RETURN_IF_ERROR(check(plan.objective_seconds, "objective"));
  MW_RETURN_IF_ERROR(check(plan.bound_seconds, "bound"));
  MW_RETURN_IF_ERROR(check(plan.gap, "gap"));
  MW_RETURN_IF_ERROR(check(plan.compute_seconds, "compute time"));
  MW_RETURN_IF_ERROR(check(plan.communication_seconds, "communication time"));
  MW_RETURN_IF_ERROR(check(plan.step_seconds, "time of a step"));
  for (const PlanInstruction& instruction : plan.program.instructions) {
    MW_RETURN_IF_ERROR(check(instruction.seconds, absl::StrCat("time of ", instruction.name)));
    for (const PlanCollective& collective : instruction.collective) {
      MW_RETURN_IF_ERROR(
          check(collective.seconds, absl::StrCat("time of a collective of ", instruction.name)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

PlanCluster ToPlanCluster(const std::vector<Cluster>& clusters) {
  PlanCluster all;
  all.name = absl::StrJoin(
      clusters, "+", [](std::string* out, const Cluster& cluster) { out->append(cluster.name); });
  all.parts.clear();
  for (const Cluster& cluster : clusters) {
    all.parts.push_back({cluster.device.name, cluster.nodes, cluster.devices_per_node,
                         cluster.device.memory_bytes});
  }
  return all;
}

absl::StatusOr<Plan> BuildPlan(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                               const std::vector<int32_t>& tied, const OpRoles& roles) {
  Plan plan;
  plan.tool_version = ToolVersion();
  const Cluster& cluster = mesh.cluster;
  plan.cluster = ToPlanCluster({cluster});
  for (const MeshAxis& axis : mesh.axes) plan.mesh.push_back({axis.name, axis.size});
  plan.objective_seconds = plan.step_seconds = intra.step_seconds;
  plan.bound_seconds = std::min(intra.step_bound, intra.step_seconds);
  plan.gap = plan.step_seconds > 0 ? 1 - plan.bound_seconds / plan.step_seconds : 0;
  plan.compute_seconds = intra.compute;
  plan.communication_seconds = intra.communication;

  plan.peak_bytes = intra.peak.bytes;
  if (intra.peak.time >= 0 && static_cast<size_t>(intra.peak.time) < intra.schedule.order.size()) {
    plan.peak_at = graph[intra.schedule.order[static_cast<size_t>(intra.peak.time)]].name;
  }
  const std::vector<MemoryCategory> categories =
      CategorizeValues(graph, tied, intra.schedule, intra.intervals);
  plan.memory_by_category = PeakByCategory(intra.peak, intra.bytes, categories);

  plan.program.collectives = GroupCollectives(intra.collectives, mesh);
  AddParameters(graph, mesh, intra, categories, plan);
  AddInstructions(graph, mesh, intra, roles, categories, plan);
  AddOutputs(graph, mesh, intra, tied, categories, plan);
  plan.program.memory_timeline = MemoryTimeline(graph, intra, categories);
  plan.warnings = Warnings(graph, intra);
  MW_RETURN_IF_ERROR(CheckFinite(plan));
  return plan;
}

}  // namespace meshwright
