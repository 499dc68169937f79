#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/explain/layer_names.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/plan/document/simulate_plan.h"
#include "meshwright/plan/text/step_account.h"
#include "meshwright/report/headline.h"
#include "meshwright/report/view_json.h"

namespace meshwright {
namespace {

Json ClusterView(const PlanCluster& cluster) {
  Json parts = Json::array();
  for (const PlanClusterPart& part : cluster.parts) {
    parts.push_back({{"device", part.device},
                     {"nodes", part.nodes},
                     {"per_node", part.devices_per_node},
                     {"memory", part.device_memory_bytes}});
  }
  return {{"name", cluster.name}, {"parts", std::move(parts)}};
}

// Which number in the name of each parameter counts layers. Stages tell it together, as one by
// itself may have a single layer.
void AddLayerPlaces(const DevicePrograms& programs, Json& views) {
  std::vector<std::string> names;
  for (const PlanPart& program : programs.programs) {
    for (const PlanTensor& tensor : program.parameters) names.push_back(tensor.name);
  }
  const std::vector<LayerInName> layers = LayersInNames(names);
  size_t next = 0;
  for (Json& view : views) {
    for (Json& tensor : view["parameters"]) tensor["layer_place"] = layers[next++].place;
  }
}

Json StagesView(const Plan& plan, const DevicePrograms& programs, const LayerLabels& labels) {
  Json stages = Json::array();
  for (size_t i = 0; i < plan.stages().size(); ++i) {
    const PlanStage& stage = plan.stages()[i];
    stages.push_back(
        {{"layers", LayersText(stage, labels)},
         {"device", stage.device},
         {"budget", OrNull(stage.budget_bytes)},
         {"devices", stage.devices},
         {"mesh", MeshView(stage.mesh)},
         {"program", programs.programs.empty() ? -1 : static_cast<int64_t>(programs.of_stage[i])},
         {"parameter_names", stage.parameter_names},
         {"recompute", stage.recompute},
         {"forward", Shortened(stage.seconds.forward)},
         {"backward", Shortened(stage.seconds.backward)},
         {"weight_gradient", Shortened(stage.seconds.weight_gradient)},
         {"update", Shortened(stage.seconds.update)},
         {"fixed", stage.bytes.fixed},
         {"in_flight", stage.bytes.in_flight},
         {"peak", stage.bytes.peak},
         {"peak_of_group", stage.bytes.peak_of_group},
         {"max_in_flight", stage.max_in_flight},
         {"memory", stage.memory_by_category}});
  }
  return stages;
}

Json TransfersView(const Plan& plan) {
  Json transfers = Json::array();
  for (const PlanTransfer& transfer : plan.transfers()) {
    transfers.push_back({{"from", transfer.from},
                         {"to", transfer.to},
                         {"phase", Word(transfer.phase)},
                         {"bytes", transfer.bytes_per_device},
                         {"seconds", Shortened(transfer.seconds)}});
  }
  return transfers;
}

// Times of boxes that follow each other: rounded as they are, gaps would show.
double Moment(double seconds, double step) {
  constexpr double kSteps = 1e7;
  return step > 0 ? std::round(seconds / step * kSteps) / kSteps * step : 0;
}

Json TimelineView(const SimulatedPlan& simulated) {
  const Simulation& all = simulated.simulation;
  std::vector<size_t> order(all.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  double end = all.seconds;
  if (order.size() > kMostShownTasks) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return all.tasks[a].start < all.tasks[b].start; });
    end = all.tasks[order[kMostShownTasks]].start;
    order.resize(kMostShownTasks);
  }
  Json group = Json::array(), stage = group, micro_batch = group, kind = group, start = group,
       ends = group;
  for (const size_t i : order) {
    const SimulatedTask& task = all.tasks[i];
    const bool update = task.task.kind == TaskKind::kUpdate;
    group.push_back(task.group);
    stage.push_back(task.task.stage);
    micro_batch.push_back(update ? -1 : task.task.micro_batch);
    kind.push_back(static_cast<int>(task.task.kind));
    start.push_back(Moment(task.start, all.seconds));
    ends.push_back(Moment(task.end, all.seconds));
  }
  Json from = Json::array(), to = from, of = from, sent = from, received = from;
  for (const SimulatedTransfer& one : all.transfers) {
    if (one.start >= end) continue;
    from.push_back(one.from);
    to.push_back(one.to);
    of.push_back(one.micro_batch);
    sent.push_back(Moment(one.start, all.seconds));
    received.push_back(Moment(one.end, all.seconds));
  }
  return {{"groups", simulated.shape.groups},
          {"seconds", all.seconds},
          {"shown_seconds", end},
          {"all_tasks", all.tasks.size()},
          {"group", std::move(group)},
          {"stage", std::move(stage)},
          {"micro_batch", std::move(micro_batch)},
          {"kind", std::move(kind)},
          {"start", std::move(start)},
          {"end", std::move(ends)},
          {"transfers",
           {{"from", std::move(from)},
            {"to", std::move(to)},
            {"micro_batch", std::move(of)},
            {"start", std::move(sent)},
            {"end", std::move(received)}}}};
}

}  // namespace

Json MeshView(const std::vector<PlanAxis>& mesh) {
  Json axes = Json::array();
  for (const PlanAxis& axis : mesh) axes.push_back({{"name", axis.name}, {"size", axis.size}});
  return axes;
}

Json PlanView(const Plan& plan, const std::string& file) {
  const DevicePrograms programs = ProgramsOf(plan);
  const LayerLabels labels = LabelsOf(programs);
  Json program_views = Json::array(), inputs = program_views;
  for (const PlanPart& program : programs.programs) {
    program_views.push_back(ProgramView(program, plan.micro_batches, labels));
  }
  AddLayerPlaces(programs, program_views);
  for (const InputFile& input : plan.inputs) {
    inputs.push_back({{"path", input.path}, {"kind", input.kind}, {"sha256", input.sha256}});
  }
  std::vector<std::string> warnings = plan.warnings;
  Json timeline;
  if (plan.pipeline.has_value()) {
    const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(plan, "", 0);
    if (simulated.ok()) {
      timeline = TimelineView(*simulated);
    } else {
      warnings.push_back("no timeline: " + std::string(simulated.status().message()));
    }
  }
  const CostModelRow* const cost_model = FindCostModel(plan.options.cost_model);
  return {{"file", file},
          {"program_name", ProgramName(plan)},
          {"headline", Headline(plan)},
          {"tool_version", plan.tool_version},
          {"in_seconds", cost_model == nullptr || cost_model->in_seconds},
          {"cluster", ClusterView(plan.cluster)},
          {"mesh", MeshView(plan.mesh)},
          {"objective", plan.objective_seconds},
          {"bound", plan.bound_seconds},
          {"gap", plan.gap},
          {"compute", plan.compute_seconds},
          {"communication", plan.communication_seconds},
          {"step", plan.step_seconds},
          {"peak", plan.peak_bytes},
          {"budget", OrNull(plan.budget_bytes)},
          {"peak_at", plan.peak_at},
          {"memory", plan.memory_by_category},
          {"schedule", plan.pipeline.has_value() ? Json(plan.schedule()) : Json()},
          {"micro_batches", plan.micro_batches},
          {"chunks", plan.chunks},
          {"bubble_share", BubbleShare(plan)},
          {"cost_model", plan.options.cost_model},
          {"planning_seconds", plan.planning_seconds},
          {"inputs", std::move(inputs)},
          {"fixes", plan.options.fixes},
          {"warnings", std::move(warnings)},
          {"programs", std::move(program_views)},
          {"stages", StagesView(plan, programs, labels)},
          {"transfers", TransfersView(plan)},
          {"timeline", std::move(timeline)},
          {"profile", ProfileView(plan)},
          {"transformer", plan.of_model() ? TransformerView(plan) : Json()}};
}

}  // namespace meshwright
