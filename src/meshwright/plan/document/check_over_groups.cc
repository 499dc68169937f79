#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/plan/document/document_checks.h"

// What holds between the groups of nodes of a plan, its stages and its cluster.

namespace meshwright {
namespace {

// Of a stage in a group whose stages differ.
absl::Status CheckOwnDegrees(const Plan& plan, size_t stage) {
  const std::string place = StrCat("$.stages[", stage, "].mesh");
  const std::vector<PlanAxis>& mesh = plan.pipeline->stages[stage].mesh;
  if (mesh.size() != 2 || mesh[0].name != "dp" || mesh[1].name != "tp") {
    return JsonErrorAt(place, "expected the axes dp and tp, as its group's stages differ");
  }
  const int64_t replicas = plan.micro_batches * mesh[0].size;
  if (replicas > 0 && plan.model->global_batch % replicas == 0) return absl::OkStatus();
  return JsonErrorAt(place,
                     StrCat(plan.micro_batches, " micro-batches of dp ", mesh[0].size,
                            " do not divide the global batch of ", plan.model->global_batch));
}

// Of a group: its nodes, and what each of its stages has, if that is one.
absl::Status CheckGroup(const Plan& plan, size_t index) {
  const PlanNodeGroup& group = plan.groups->groups[index];
  const std::string place = StrCat("$.transformer.over_groups.groups[", index, "]");
  if (group.used_nodes > group.nodes) {
    return JsonErrorAt(StrCat(place, ".used_nodes"),
                       StrCat("found ", group.used_nodes, " of ", Counted(group.nodes, "node")));
  }
  if (group.tp == 0) {
    if (group.dp == 0 && group.micro_batch == 0) return absl::OkStatus();
    return JsonErrorAt(place, StrCat("found dp ", group.dp, " and micro_batch ", group.micro_batch,
                                     " without tp; all three are 0 where stages differ"));
  }
  const double sequences = static_cast<double>(group.dp) * static_cast<double>(group.micro_batch) *
                           static_cast<double>(plan.micro_batches);
  if (sequences == static_cast<double>(plan.model->global_batch)) return absl::OkStatus();
  return JsonErrorAt(
      place, StrCat(plan.micro_batches, " micro-batches of dp ", group.dp, " and micro_batch ",
                    group.micro_batch, " are not the global batch of ", plan.model->global_batch));
}

// The configuration is the first stage's, in what stages over groups have.
absl::Status CheckFirstStage(const Plan& plan) {
  const transformer::Configuration& c = plan.model->configuration;
  const std::string place = "$.transformer.configuration";
  const std::vector<PlanAxis> mesh = {{"dp", c.dp}, {"tp", c.tp}};
  if (plan.pipeline->stages[0].mesh != mesh) {
    return JsonErrorAt(place, StrCat("found dp ", c.dp, " and tp ", c.tp,
                                     ", expected those of the mesh of the first stage"));
  }
  const double sequences = static_cast<double>(c.dp) * static_cast<double>(c.micro_batch) *
                           static_cast<double>(plan.micro_batches);
  if (sequences != static_cast<double>(plan.model->global_batch)) {
    return JsonErrorAt(
        place, StrCat(plan.micro_batches, " micro-batches of dp ", c.dp, " and micro_batch ",
                      c.micro_batch, " are not the global batch of ", plan.model->global_batch));
  }
  for (const auto& [name, degree] : {std::pair{"cp", c.cp},
                                     {"ep", c.ep},
                                     {"etp", c.etp},
                                     {"virtual_stages", c.virtual_stages}}) {
    if (degree != 1) {
      return JsonErrorAt(StrCat(place, ".", name),
                         StrCat("found ", degree, ", expected 1 over groups of nodes"));
    }
  }
  if (c.schedule == transformer::PipelineKind::k1F1B) return absl::OkStatus();
  return JsonErrorAt(StrCat(place, ".schedule"), StrCat("found \"", PipelineKindName(c.schedule),
                                                        "\", expected 1f1b over groups of nodes"));
}

}  // namespace

absl::Status CheckOverGroups(const Plan& plan) {
  const PlanOverGroups& over = *plan.groups;
  const std::string path = "$.transformer.over_groups";
  const size_t stages = plan.pipeline.has_value() ? plan.pipeline->stages.size() : 0;
  if (stages == 0 || over.stage_groups.size() != stages) {
    return JsonErrorAt(StrCat(path, ".stage_groups"), "found ", over.stage_groups.size(), " of ",
                       Counted(static_cast<int64_t>(stages), "stage"));
  }
  std::vector<const PlanNodeGroup*> used;
  for (const PlanNodeGroup& group : over.groups) {
    if (group.used_nodes > 0) used.push_back(&group);
  }
  const std::vector<PlanClusterPart>& parts = plan.cluster.parts;
  bool same = used.size() == parts.size();
  for (size_t i = 0; same && i < parts.size(); ++i) {
    same = used[i]->device == parts[i].device && used[i]->used_nodes == parts[i].nodes &&
           used[i]->devices_per_node == parts[i].devices_per_node;
  }
  if (!same) {
    return JsonErrorAt(StrCat(path, ".groups"),
                       "the groups with used nodes are not the parts of the cluster");
  }
  for (size_t i = 0; i < over.groups.size(); ++i) MW_RETURN_IF_ERROR(CheckGroup(plan, i));
  for (size_t i = 0; i < over.stage_groups.size(); ++i) {
    const int64_t group = over.stage_groups[i];
    const std::string place = StrCat(path, ".stage_groups[", i, "]");
    if (group >= static_cast<int64_t>(over.groups.size()) || over.groups[group].used_nodes == 0) {
      return JsonErrorAt(place, StrCat("found ", group, ", expected a group with used nodes"));
    }
    const PlanNodeGroup& of = over.groups[group];
    if (of.tp == 0) MW_RETURN_IF_ERROR(CheckOwnDegrees(plan, i));
    const std::vector<PlanAxis> mesh = {{"dp", of.dp}, {"tp", of.tp}};
    if ((of.tp > 0 && plan.pipeline->stages[i].mesh != mesh) ||
        plan.pipeline->stages[i].device != of.device) {
      return JsonErrorAt(place, "the stage has other degrees or devices than its group");
    }
  }
  return CheckFirstStage(plan);
}

}  // namespace meshwright
