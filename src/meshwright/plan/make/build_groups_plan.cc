#include "meshwright/plan/make/build_groups_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/model/tensors.h"
#include "meshwright/plan/document/simulate_plan.h"
#include "meshwright/plan/document/version.h"
#include "meshwright/plan/make/begin_model_plan.h"
#include "meshwright/plan/make/groups_text.h"
#include "meshwright/plan/make/time_use.h"

namespace meshwright {
namespace {

using transformer::StageMemory;
using transformer::hetero::StageDegrees;

// Numbers the devices of stages: group by group, and in each the nodes of one stage class after
// those of another.
class DeviceNumbers {
 public:
  DeviceNumbers(const GroupsRequest& request, const transformer::hetero::Plan& plan)
      : groups_(request.problem.cluster.groups),
        plan_(plan),
        stages_(plan.family.degrees.size()),
        first_(stages_.size()) {
    for (const transformer::hetero::Stage& stage : plan.stages) ++stages_[stage.stage_class];
    int64_t next = 0;
    for (size_t group = 0; group < groups_.size(); ++group) {
      for (size_t stage_class = 0; stage_class < stages_.size(); ++stage_class) {
        if (plan.family.Group(stage_class) != group || stages_[stage_class] == 0) continue;
        first_[stage_class] = next;
        next += transformer::hetero::Nodes(groups_[group], plan.family.degrees[stage_class],
                                           stages_[stage_class]) *
                groups_[group].cluster.devices_per_node;
      }
    }
    left_ = stages_;
  }

  // Of the next stage. Where a stage is part of a node, the stage class's last ones fill theirs,
  // and the first node may be left with some slack.
  std::vector<int64_t> Next(size_t index) {
    const size_t stage_class = plan_.stages[index].stage_class;
    const int64_t devices = plan_.family.degrees[stage_class].devices();
    const int64_t per_node = groups_[plan_.family.Group(stage_class)].cluster.devices_per_node;
    const int64_t stages = stages_[stage_class], behind = --left_[stage_class];
    int64_t first = first_[stage_class] + (stages - 1 - behind) * devices;
    if (devices < per_node) {
      const int64_t parts = per_node / devices, nodes = (stages + parts - 1) / parts;
      const int64_t node = nodes - 1 - behind / parts;
      const int64_t in_node = std::min(parts, stages - behind / parts * parts);
      first = first_[stage_class] + node * per_node + (in_node - 1 - behind % parts) * devices;
    }
    std::vector<int64_t> numbers(devices);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
  }

 private:
  const std::vector<NodeGroup>& groups_;
  const transformer::hetero::Plan& plan_;
  std::vector<int64_t> stages_, first_, left_;  // by stage class; those that come are left
};

void AddStages(const GroupsRequest& request, const GroupsAnswer& answer, Plan& plan) {
  const transformer::hetero::Problem& problem = request.problem;
  const transformer::hetero::Choice& best = answer.result.front[answer.chosen];
  const transformer::hetero::Figures& figures = answer.figures[answer.chosen];
  DeviceNumbers numbers(request, best.plan);
  const auto count = static_cast<int64_t>(best.plan.stages.size());
  int64_t first = 0;
  for (int64_t i = 0; i < count; ++i) {
    const transformer::hetero::Stage& from = best.plan.stages[i];
    const size_t from_group = best.plan.family.Group(from.stage_class);
    const NodeGroup& group = problem.cluster.groups[from_group];
    const StageDegrees& degrees = best.plan.family.degrees[from.stage_class];
    const transformer::hetero::PipelineStage& seconds = figures.stages[i];
    PlanStage& stage = plan.pipeline->stages.emplace_back();
    stage.first_layer = first;
    stage.end_layer = first += from.layers;
    stage.device = group.cluster.device.name;
    stage.device_memory_bytes = group.cluster.device.memory_bytes;
    stage.budget_bytes = problem.Budget(from_group);
    stage.devices = numbers.Next(i);
    stage.mesh = {{"dp", degrees.dp}, {"tp", degrees.tp}};
    stage.recompute = best.plan.family.recompute != transformer::Recompute::kNone;
    stage.seconds = {seconds.forward, seconds.backward, 0, seconds.update + figures.fixed_seconds};
    const StageMemory& memory = figures.memory[i];
    const int64_t in_flight = std::min(plan.micro_batches, count - i);
    stage.max_in_flight = in_flight;
    stage.bytes.in_flight = memory.activations / in_flight;
    stage.bytes.peak = stage.bytes.peak_of_group = memory.total();
    stage.bytes.fixed = memory.total() - stage.bytes.in_flight * in_flight;
    plan.model->memory.push_back(ToGroupBytes(memory));
    plan.groups->stage_groups.push_back(static_cast<int64_t>(from_group));
    if (i + 1 == count) break;
    for (const Phase phase : {Phase::kForward, Phase::kBackward}) {
      const bool forward = phase == Phase::kForward;
      const int64_t sender = forward ? i : i + 1, receiver = forward ? i + 1 : i;
      plan.pipeline->cross_stage.push_back({sender, receiver, phase,
                                            static_cast<int64_t>(figures.send_bytes[sender]),
                                            seconds.send});
    }
  }
}

// What the first stage does from its first forward pass to its update: it begins first, and waits
// longest.
void SetParts(const transformer::hetero::Figures& figures, bool replicas, Plan& plan) {
  const transformer::GroupCost& cost = figures.costs.front();
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  PlanStepParts& parts = plan.model->seconds;
  parts.compute = micro_batches * (cost.forward + cost.backward);
  parts.tensor_communication = micro_batches * cost.communication();
  const double update = figures.stages.front().update;
  (replicas ? parts.data_communication : parts.optimizer) = update;
  parts.optimizer += figures.fixed_seconds;
  parts.bubble = std::max(0.0, plan.step_seconds - parts.compute - parts.tensor_communication -
                                   update - figures.fixed_seconds);
  plan.compute_seconds = parts.compute;
  plan.communication_seconds = parts.tensor_communication + parts.data_communication;
}

// Work of the model, and shares of the peak of all devices that are paid for.
void SetUtilization(const GroupsRequest& request, const transformer::hetero::Choice& best,
                    Plan& plan) {
  const transformer::hetero::Problem& problem = request.problem;
  double peak = 0, flops = 0, executed = 0;
  for (size_t group = 0; group < best.nodes.size(); ++group) {
    if (best.nodes[group] == 0) continue;
    Cluster single = problem.cluster.groups[group].cluster;
    single.nodes = single.devices_per_node = 1;
    transformer::StepCoster coster(problem.model, problem.workload, single,
                                   transformer::BuiltinCostParameters(), problem.framework);
    transformer::Configuration c;
    c.precision = problem.precision;
    c.recompute = best.plan.family.recompute;
    const transformer::StepTime time = coster.Figures(c).time;
    flops = time.model_flops;
    executed = flops * time.hfu / time.mfu;
    peak += static_cast<double>(best.nodes[group] *
                                problem.cluster.groups[group].cluster.devices_per_node) *
            flops / (time.mfu * time.seconds);
  }
  plan.model->model_flops = flops;
  plan.model->mfu = flops / (plan.step_seconds * peak);
  plan.model->hfu = executed / (plan.step_seconds * peak);
}

std::optional<double> StepDollars(const GroupsRequest& request, double seconds, double per_hour) {
  if (!HasPrices(request)) return std::nullopt;
  return seconds * per_hour / 3600;
}

PlanNodeChoice ToNodeChoice(const GroupsRequest& request,
                            const transformer::hetero::Choice& choice) {
  PlanNodeChoice one;
  one.nodes = choice.nodes;
  one.step_seconds = choice.seconds;
  one.step_dollars = StepDollars(request, choice.seconds, choice.dollars_per_hour);
  one.degrees = GroupsDegreesText(request, choice.plan);
  return one;
}

void AddChoices(const GroupsRequest& request, const GroupsAnswer& answer, PlanOverGroups& over) {
  if (request.options.objective != transformer::hetero::Objective::kPareto) return;
  for (const transformer::hetero::Choice& choice : answer.result.front) {
    PlanNodeChoice& one = over.choices.emplace_back(ToNodeChoice(request, choice));
    one.on_front = true;
    for (const transformer::hetero::Stage& stage : choice.plan.stages) {
      one.groups.push_back(static_cast<int64_t>(choice.plan.family.Group(stage.stage_class)));
      one.layers.push_back(stage.layers);
    }
  }
  for (const DominatedNodes& other : Dominated(answer)) {
    PlanNodeChoice& one = over.choices.emplace_back();
    if (other.choice != nullptr) one = ToNodeChoice(request, *other.choice);
    one.nodes = other.nodes;
    one.step_seconds = other.seconds;
    one.step_dollars = HasPrices(request) ? std::optional<double>(other.dollars) : std::nullopt;
    one.is_bound = other.choice == nullptr;
    if (other.by >= 0) one.beaten_by = other.by;
  }
}

void SetOverGroups(const GroupsRequest& request, const GroupsAnswer& answer, PlanOverGroups& over) {
  const transformer::hetero::Choice& best = answer.result.front[answer.chosen];
  const std::vector<NodeGroup>& groups = request.problem.cluster.groups;
  for (size_t i = 0; i < groups.size(); ++i) {
    PlanNodeGroup& group = over.groups.emplace_back();
    group.name = groups[i].name;
    group.device = groups[i].cluster.device.name;
    group.nodes = groups[i].cluster.nodes;
    group.devices_per_node = groups[i].cluster.devices_per_node;
    group.used_nodes = best.nodes[i];
    group.dollars_per_hour = PricePerHour(groups[i], best.nodes[i]);
    if (group.used_nodes == 0) continue;
    StageDegrees degrees;  // none where stages of the group differ
    for (const transformer::hetero::Stage& stage : best.plan.stages) {
      if (best.plan.family.Group(stage.stage_class) != i) continue;
      const StageDegrees& own = best.plan.family.degrees[stage.stage_class];
      if (group.stages++ == 0) degrees = own;
      if (degrees != own) degrees = {};
    }
    group.tp = degrees.tp;
    group.dp = degrees.dp;
    group.micro_batch = degrees.micro_batch;
  }
  if (request.has_steps) over.steps = request.options.steps;
  over.most_seconds = request.options.most_seconds;
  over.most_dollars = request.options.most_dollars;
  over.step_dollars = StepDollars(request, best.seconds, best.dollars_per_hour);
  over.proven = answer.result.proven;
  AddChoices(request, answer, over);
}

void SetPeak(const transformer::hetero::Figures& figures, Plan& plan) {
  const auto peak = std::max_element(
      figures.memory.begin(), figures.memory.end(),
      [](const StageMemory& a, const StageMemory& b) { return a.total() < b.total(); });
  plan.peak_bytes = peak->total();
  plan.budget_bytes = plan.pipeline->stages[peak - figures.memory.begin()].budget_bytes;
  SetMemoryByCategory(*peak, plan);
}

ModelObjective ObjectiveOf(transformer::hetero::Objective objective) {
  switch (objective) {
    case transformer::hetero::Objective::kCost:
      return ModelObjective::kCost;
    case transformer::hetero::Objective::kPareto:
      return ModelObjective::kPareto;
    case transformer::hetero::Objective::kTime:
      break;
  }
  return ModelObjective::kTime;
}

}  // namespace

Plan BuildGroupsPlan(const GroupsRequest& request, const GroupsAnswer& answer) {
  const transformer::hetero::Problem& problem = request.problem;
  const transformer::hetero::Choice& best = answer.result.front[answer.chosen];
  const transformer::hetero::Figures& figures = answer.figures[answer.chosen];
  // Where degrees differ, those of the first stage.
  const StageDegrees& degrees = best.plan.family.degrees[best.plan.stages.front().stage_class];
  transformer::Configuration c = StageConfiguration(problem, degrees, best.plan.family);
  c.zero = best.plan.family.zero;
  c.pp = static_cast<int64_t>(best.plan.stages.size());

  Plan plan;
  plan.tool_version = ToolVersion();
  plan.inputs = request.inputs;
  plan.options.mesh = "auto";
  plan.options.memory = request.memory;
  plan.options.pipeline = "auto";
  plan.options.cost_model = "calibrated";
  for (const transformer::SingleFix& fix : SplitFixes(problem.fixes)) {
    plan.options.fixes.push_back(fix.text);
  }
  if (std::isfinite(request.deadline_seconds))
    plan.options.deadline_seconds = request.deadline_seconds;
  plan.cluster.name = problem.cluster.name;
  plan.cluster.parts.clear();
  for (size_t i = 0; i < best.nodes.size(); ++i) {
    const Cluster& cluster = problem.cluster.groups[i].cluster;
    if (best.nodes[i] == 0) continue;
    plan.cluster.parts.push_back({cluster.device.name, best.nodes[i], cluster.devices_per_node,
                                  cluster.device.memory_bytes});
  }
  plan.mesh = {{"pp", c.pp}};
  if (best.plan.family.Common().has_value()) plan.mesh = {{"pp", c.pp}, {"dp", c.dp}, {"tp", c.tp}};
  plan.objective_seconds = plan.step_seconds = best.seconds;
  const bool by_cost = request.options.objective == transformer::hetero::Objective::kCost;
  const double value = by_cost ? best.step_dollars() : best.seconds;
  plan.gap = value > 0 ? std::max(0.0, 1 - answer.result.bound / value) : 0;
  plan.bound_seconds = plan.step_seconds * (1 - plan.gap);
  plan.pipeline.emplace().schedule = "1f1b";
  plan.micro_batches = problem.workload.global_batch / degrees.together();
  plan.warnings = GroupsWarnings(request, answer);
  plan.planning_seconds = answer.planning_seconds;

  PlanTransformer& part = plan.model.emplace();
  part.model = problem.model.name;
  part.description = request.description;
  part.parameters = CountParameters(Tensors(problem.model)).total;
  part.sequence = problem.workload.sequence;
  part.global_batch = problem.workload.global_batch;
  part.objective = ObjectiveOf(request.options.objective);
  SetFramework(problem.framework, request.mtp, part);
  part.configuration = WithoutUsualPlacement(c);
  part.search.legal = part.search.evaluated = part.search.fitting = answer.result.evaluated;
  SetOverGroups(request, answer, plan.groups.emplace());
  AddStages(request, answer, plan);
  SetParts(figures, degrees.dp > 1, plan);
  SetUtilization(request, best, plan);
  SetPeak(figures, plan);
  const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(plan, "", 0);
  if (simulated.ok()) plan.bubble_share = simulated->simulation.bubble_share;
  SetModelErrors(GroupsError(request, answer), &plan);
  return plan;
}

}  // namespace meshwright
