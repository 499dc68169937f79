#include "meshwright/plan/make/build_pipeline_plan.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/stages/layer_costs.h"
#include "meshwright/intra/names.h"
#include "meshwright/plan/document/version.h"
#include "meshwright/plan/make/build_plan.h"
#include "meshwright/plan/make/categorize.h"
#include "meshwright/plan/make/memory_timeline.h"
#include "meshwright/plan/make/op_roles.h"

namespace meshwright {
namespace {

// One micro-batch's phases without overlap. In the slice the update runs as the part of it that
// falls to a micro-batch.
PlanMemoryTimeline TimelineOfStage(const PipelineStage& stage, const std::vector<int32_t>& tied,
                                   double micro_batches) {
  const ProgramSlice& slice = *stage.slice;
  Graph graph = slice.graph;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (slice.phase[i] == Phase::kUpdate) graph.ops[i].multiplicity *= micro_batches;
  }
  IntraPlan intra = *stage.plan;
  for (PlannedCollective& collective : intra.collectives) {
    if (PhaseOfCollective(slice, collective) == Phase::kUpdate)
      collective.multiplicity *= micro_batches;
  }
  return MemoryTimeline(graph, intra,
                        CategorizeValues(graph, tied, intra.schedule, intra.intervals));
}

// What a stage runs in a step: its slice as often as there are micro-batches.
absl::StatusOr<Plan> WholeStep(const PipelinePlan& pipeline, const PipelineStage& stage,
                               const Graph& program) {
  const auto times = static_cast<double>(pipeline.shape.micro_batches);
  Graph graph = stage.slice->graph;
  for (Op& op : graph.ops) op.multiplicity *= times;
  IntraPlan intra = *stage.plan;
  for (PlannedCollective& collective : intra.collectives) collective.multiplicity *= times;
  const std::vector<int32_t> tied = TiedParameters(graph, false);
  MW_ASSIGN_OR_RETURN(
      Plan plan, BuildPlan(graph, stage.mesh, intra, tied, RolesOfStage(pipeline, stage, program)));
  plan.program.memory_timeline = TimelineOfStage(stage, tied, times);
  return plan;
}

// What a device of a stage does in a step, computing and in collectives. The forward phase runs
// twice where its activations are computed again.
std::pair<double, double> BusySeconds(const PipelineStage& stage, double micro_batches) {
  const ProgramSlice& slice = *stage.slice;
  const IntraPlan& plan = *stage.plan;
  double compute = plan.compute, communication = plan.communication;
  if (stage.recompute) {
    for (size_t i = 0; i < slice.graph.ops.size(); ++i) {
      if (slice.phase[i] == Phase::kForward)
        compute += plan.ops[i].compute_seconds * slice.graph.ops[i].multiplicity;
    }
    for (const PlannedCollective& collective : plan.collectives) {
      if (PhaseOfCollective(slice, collective) == Phase::kForward)
        communication += collective.seconds * collective.multiplicity;
    }
  }
  return {compute * micro_batches, communication * micro_batches};
}

// First number of each cluster's devices: they are numbered one cluster after the other.
std::vector<int64_t> FirstDevices(const std::vector<Cluster>& clusters) {
  std::vector<int64_t> first = {0};
  for (const Cluster& cluster : clusters) first.push_back(first.back() + cluster.devices());
  return first;
}

// `in_flight`: micro-batches that the stage holds at once, at most.
absl::StatusOr<PlanStage> ToStage(const PipelinePlan& pipeline, const Graph& program, size_t index,
                                  int64_t in_flight, const std::vector<Cluster>& clusters,
                                  const std::vector<int64_t>& budgets) {
  const PipelineStage& stage = pipeline.stages[index];
  const size_t group = index % static_cast<size_t>(pipeline.shape.groups);
  PlanStage out;
  out.first_layer = stage.begin;
  out.end_layer = stage.end;
  out.device = clusters[stage.cluster].device.name;
  out.device_memory_bytes = clusters[stage.cluster].device.memory_bytes;
  const int64_t budget = budgets[stage.cluster];
  if (budget != solve::kUnlimited) out.budget_bytes = budget;
  out.devices.resize(stage.mesh.devices());
  std::iota(out.devices.begin(), out.devices.end(),
            FirstDevices(clusters)[stage.cluster] + stage.first_device);
  for (const MeshAxis& axis : stage.mesh.axes) out.mesh.push_back({axis.name, axis.size});
  out.recompute = stage.recompute;
  out.sum_parts = stage.sum_parts;
  out.seconds = {stage.cost.forward, stage.cost.backward, stage.cost.weight_gradient,
                 stage.cost.update};
  out.bytes = {stage.times.fixed_bytes, stage.times.bytes_in_flight,
               stage.times.fixed_bytes + in_flight * stage.times.bytes_in_flight,
               pipeline.simulation.peak_bytes[group]};
  out.max_in_flight = in_flight;
  // Values are what they are to the program: its parameters and outputs by their names, what comes
  // from other stages and goes there by the operator that makes it.
  const auto name = [](const SliceValue& value) { return value.name; };
  if (stage.like >= 0) {
    out.same_as = stage.like;
    std::transform(stage.slice->inputs.begin(), stage.slice->inputs.end(),
                   std::back_inserter(out.parameter_names), name);
    std::transform(stage.slice->outputs.begin(), stage.slice->outputs.end(),
                   std::back_inserter(out.output_names), name);
    return out;
  }
  MW_RETURN_IF_ERROR(SetStageLists(pipeline, stage, program, &out));
  return out;
}

std::vector<PlanTransfer> Transfers(const PipelinePlan& pipeline) {
  std::vector<PlanTransfer> transfers;
  for (size_t i = 0; i + 1 < pipeline.stages.size(); ++i) {
    const auto from = static_cast<int64_t>(i);
    const PipelineStage& before = pipeline.stages[i];
    const PipelineStage& after = pipeline.stages[i + 1];
    transfers.push_back(
        {from, from + 1, Phase::kForward, before.cost.activation_bytes, before.times.send_forward});
    if (after.cost.gradient_bytes == 0) continue;
    transfers.push_back(
        {from + 1, from, Phase::kBackward, after.cost.gradient_bytes, after.times.send_backward});
  }
  return transfers;
}

// The stage whose devices have the least of their memory left, as a share of it: with devices of
// several types bytes alone do not tell.
size_t PeakStage(const std::vector<PlanStage>& stages) {
  const auto share = [](const PlanStage& stage) {
    const int64_t all = stage.budget_bytes.value_or(stage.device_memory_bytes);
    return static_cast<double>(stage.bytes.peak_of_group) / static_cast<double>(all);
  };
  return static_cast<size_t>(std::max_element(stages.begin(), stages.end(),
                                              [&](const PlanStage& a, const PlanStage& b) {
                                                return share(a) < share(b);
                                              }) -
                             stages.begin());
}

// What the stages of `group` hold of its devices' memory, as far as the simulation tells it apart.
MemoryByCategory MemoryOfGroup(const PipelinePlan& pipeline, const std::vector<PlanStage>& stages,
                               size_t group) {
  MemoryByCategory memory{};
  int64_t rest = stages[group].bytes.peak_of_group;
  const auto take = [&](MemoryCategory category, int64_t bytes) {
    const int64_t taken = std::min(rest, bytes);
    memory[static_cast<size_t>(category)] += taken;
    rest -= taken;
  };
  for (size_t i = group; i < stages.size(); i += static_cast<size_t>(pipeline.shape.groups)) {
    const PlanStage& stage = stages[i];
    int64_t state = pipeline.stages[i].cost.state_bytes;
    for (const PlanTensor& tensor :
         stages[static_cast<size_t>(stage.same_as.value_or(static_cast<int64_t>(i)))]
             .program.parameters) {
      const bool weights = tensor.category == MemoryCategory::kParameters;
      if (!weights && tensor.category != MemoryCategory::kOptimizerState) continue;
      take(tensor.category, tensor.bytes_per_device);
      state -= tensor.bytes_per_device;
    }
    // Beside weights and optimizer state that are sums over micro-batches, and in a program that
    // trains nothing its weights, as in a plan without a pipeline.
    const std::vector<Phase>& phases = pipeline.stages[i].slice->phase;
    const bool trains = std::any_of(phases.begin(), phases.end(),
                                    [](Phase phase) { return phase != Phase::kForward; });
    take(trains ? MemoryCategory::kGradients : MemoryCategory::kInputs,
         std::max<int64_t>(0, state));
    take(MemoryCategory::kActivations, stage.bytes.in_flight * stage.max_in_flight);
  }
  take(MemoryCategory::kTemporaries, rest);
  return memory;
}

// Sets the memory of every stage, and of the plan: that of the stage with the highest peak.
void SetMemory(const PipelinePlan& pipeline, Plan* plan) {
  std::vector<PlanStage>& stages = plan->pipeline->stages;
  const auto groups = static_cast<size_t>(pipeline.shape.groups);
  for (size_t i = 0; i < stages.size(); ++i) {
    stages[i].memory_by_category =
        i < groups ? MemoryOfGroup(pipeline, stages, i) : stages[i % groups].memory_by_category;
  }
  const size_t group = PeakStage(stages) % groups;
  plan->peak_bytes = stages[group].bytes.peak_of_group;
  plan->budget_bytes = stages[group].budget_bytes;
  plan->peak_at = StrCat("stage ", group);
  plan->memory_by_category = stages[group].memory_by_category;
}

}  // namespace

absl::Status SetStageLists(const PipelinePlan& pipeline, const PipelineStage& stage,
                           const Graph& program, PlanStage* out) {
  MW_ASSIGN_OR_RETURN(Plan plan, WholeStep(pipeline, stage, program));
  out->program = std::move(plan.program);
  for (size_t i = 0; i < out->program.outputs.size(); ++i)
    out->program.outputs[i].name = stage.slice->outputs[i].name;
  return absl::OkStatus();
}

absl::StatusOr<Plan> BuildPipelinePlan(const PipelinePlan& pipeline, const Graph& program,
                                       const std::vector<Cluster>& clusters,
                                       const std::vector<int64_t>& budgets) {
  Plan plan;
  plan.tool_version = ToolVersion();
  plan.cluster = ToPlanCluster(clusters);
  PipelinePart& part = plan.pipeline.emplace();
  part.schedule = std::string(pipeline.schedule->name);
  plan.micro_batches = pipeline.shape.micro_batches;
  plan.chunks = pipeline.shape.chunks;
  plan.bubble_share = pipeline.simulation.bubble_share;
  plan.objective_seconds = pipeline.seconds;
  plan.step_seconds = pipeline.step_seconds;
  plan.bound_seconds = pipeline.bound;
  plan.gap = pipeline.gap;
  const std::vector<int64_t> in_flight = InFlightByStage(*pipeline.schedule, pipeline.shape);
  for (size_t i = 0; i < pipeline.stages.size(); ++i) {
    MW_ASSIGN_OR_RETURN(PlanStage stage,
                        ToStage(pipeline, program, i, in_flight[i], clusters, budgets));
    part.stages.push_back(std::move(stage));
    if (pipeline.stages[i].like >= 0) continue;
    const IntraPlan& intra = *pipeline.stages[i].plan;
    const auto [compute, communication] =
        BusySeconds(pipeline.stages[i], static_cast<double>(plan.micro_batches));
    if (compute + communication > plan.compute_seconds + plan.communication_seconds) {
      plan.compute_seconds = compute;
      plan.communication_seconds = communication;
    }
    plan.warnings.insert(plan.warnings.end(), intra.warnings.begin(), intra.warnings.end());
  }
  part.cross_stage = Transfers(pipeline);
  SetMemory(pipeline, &plan);
  plan.warnings.insert(plan.warnings.begin(), pipeline.warnings.begin(), pipeline.warnings.end());
  std::vector<std::string> once;
  for (std::string& warning : plan.warnings) {
    if (std::find(once.begin(), once.end(), warning) == once.end())
      once.push_back(std::move(warning));
  }
  plan.warnings = std::move(once);
  return plan;
}

}  // namespace meshwright
