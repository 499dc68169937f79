// Alike stages in which the same parameters are fixed alike are planned once, as in the plan
// itself. A stage that computes activations again is costed layer by layer (stage_plans.cc), which
// no plan of the whole stage shows: what it holds beside its state is taken over from the plan, its
// state changed by as much as that of the stage planned with and without the fixes.

#include "meshwright/plan/make/replan_pipeline.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/inter/stages/replan_stage.h"
#include "meshwright/inter/stages/stage_coster.h"
#include "meshwright/inter/stages/submeshes.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/pins.h"
#include "meshwright/plan/annotate/apply_plan.h"
#include "meshwright/plan/document/simulate_plan.h"
#include "meshwright/plan/make/build_pipeline_plan.h"
#include "meshwright/plan/make/plan_pipelined.h"
#include "meshwright/plan/make/stage_lists.h"

namespace meshwright {
namespace {

// By position in the stage's list of parameters: the spec asked for.
using Forced = std::vector<std::pair<size_t, std::string>>;

bool CrossesStages(SliceRole role) {
  return role == SliceRole::kActivation || role == SliceRole::kGradient;
}

class PipelineReplanner {
 public:
  PipelineReplanner(const Plan& plan, const ProgramRequest& request, const std::vector<Fix>& fixes)
      : plan_(plan), request_(request), fixes_(fixes) {}

  absl::StatusOr<ReplannedPipeline> Run() {
    MW_RETURN_IF_ERROR(Prepare());
    MW_RETURN_IF_ERROR(FindForced());
    out_.plan = plan_;
    for (size_t i = 0; i < plan_.pipeline->stages.size(); ++i) {
      if (!forced_[i].empty()) MW_RETURN_IF_ERROR(Replan(i));
    }
    ShareLists();
    MW_RETURN_IF_ERROR(Judge());
    return std::move(out_);
  }

 private:
  const PlanStage& Listed(size_t i) const {
    return plan_.pipeline->stages[static_cast<size_t>(
        plan_.pipeline->stages[i].same_as.value_or(static_cast<int64_t>(i)))];
  }

  absl::Status Prepare() {
    std::vector<InputFile> inputs;
    MW_ASSIGN_OR_RETURN(clusters_, ParseClusters(request_.cluster, inputs));
    MW_ASSIGN_OR_RETURN(cost_model_, ChooseCostModel(request_.cost_model, clusters_[0]));
    MW_ASSIGN_OR_RETURN(program_, ParseProgram(std::string(*request_.contents), request_.program));
    MW_ASSIGN_OR_RETURN(Module module, ModuleToSlice(*program_.module, request_.pipeline.data,
                                                     request_.pipeline.rng));
    module_ = std::make_unique<const Module>(std::move(module));
    MW_ASSIGN_OR_RETURN(Graph graph, BuildGraph(*module_));
    graph_ = std::make_unique<const Graph>(std::move(graph));
    const std::vector<int32_t> tied =
        TiedParameters(*graph_, PlannerOptions().tie_outputs_by_position);
    MW_ASSIGN_OR_RETURN(pipeline_.batch,
                        FindBatch(*graph_, tied, request_.pipeline.data, request_.pipeline.rng));
    LayerOptions layers;
    layers.count = request_.pipeline.layers;
    MW_ASSIGN_OR_RETURN(pipeline_.layers,
                        FindLayers(*graph_, AnalyzeFusion(*graph_), pipeline_.batch, tied, layers));
    if (pipeline_.layers.count != plan_.pipeline->stages.back().end_layer) {
      return absl::InvalidArgumentError(StrCat("the program has ", pipeline_.layers.count,
                                               " layers, but the plan's stages have ",
                                               plan_.pipeline->stages.back().end_layer));
    }
    pipeline_.shape.micro_batches = static_cast<int32_t>(plan_.micro_batches);
    MW_ASSIGN_OR_RETURN(slicer_, Slicer::Make(*graph_, pipeline_.batch, pipeline_.layers));
    return absl::OkStatus();
  }

  // Which parameters of which stages the fixes hold for.
  absl::Status FindForced() {
    forced_.resize(plan_.pipeline->stages.size());
    std::vector<bool> used(fixes_.size(), false);
    for (size_t i = 0; i < plan_.pipeline->stages.size(); ++i) {
      const std::vector<PlanTensor> parameters = ParametersOfStage(plan_, i);
      Mesh axes;
      for (const PlanAxis& axis : plan_.pipeline->stages[i].mesh) {
        axes.axes.push_back({axis.name, axis.size});
      }
      for (size_t p = 0; p < parameters.size(); ++p) {
        for (size_t f = 0; f < fixes_.size(); ++f) {
          if (!GlobMatch(fixes_[f].pattern, parameters[p].name)) continue;
          MW_ASSIGN_OR_RETURN(
              const std::optional<Sharding> sharding,
              FixedSharding(fixes_[f], fixes_[f].pattern == parameters[p].name,
                            static_cast<int64_t>(parameters[p].shape.size()), axes));
          if (!sharding.has_value()) continue;
          used[f] = true;
          forced_[i].emplace_back(p, fixes_[f].spec);
        }
      }
    }
    for (size_t f = 0; f < fixes_.size(); ++f) {
      if (!used[f])
        return absl::InvalidArgumentError(
            StrCat("\"", fixes_[f].pattern, "\" matches no parameter of a stage"));
    }
    return absl::OkStatus();
  }

  // The stage's mesh as the planner made it.
  absl::StatusOr<Mesh> MeshOf(const PlanStage& stage, size_t cluster) const {
    MW_ASSIGN_OR_RETURN(const std::vector<Submesh> submeshes,
                        request_.mesh == "auto" ? Submeshes(clusters_, pipeline_.batch.size)
                                                : SubmeshesOf(clusters_, request_.mesh));
    const auto same_axes = [&](const Mesh& mesh) {
      return std::equal(mesh.axes.begin(), mesh.axes.end(), stage.mesh.begin(), stage.mesh.end(),
                        [](const MeshAxis& a, const PlanAxis& b) {
                          return a.name == b.name && a.size == b.size;
                        });
    };
    for (const Submesh& submesh : submeshes) {
      if (submesh.cluster != static_cast<int32_t>(cluster) ||
          submesh.devices() != static_cast<int64_t>(stage.devices.size()))
        continue;
      const auto found = std::find_if(submesh.meshes.begin(), submesh.meshes.end(), same_axes);
      if (found != submesh.meshes.end()) return *found;
    }
    // A single stage may have any of the whole cluster's.
    for (const Mesh& mesh : CandidateMeshes(clusters_[cluster])) {
      if (same_axes(mesh)) return mesh;
    }
    return absl::InvalidArgumentError("a stage of the plan has a mesh that its cluster does not");
  }

  size_t ClusterOf(const PlanStage& stage) const {
    int64_t end = 0;
    for (size_t c = 0; c < clusters_.size(); ++c) {
      end += clusters_[c].devices();
      if (stage.devices[0] < end) return c;
    }
    return 0;
  }

  // Bytes of a device that other stages of the group leave for stage `i`.
  std::optional<int64_t> SlackOf(size_t i) const {
    const PlanStage& stage = plan_.pipeline->stages[i];
    if (!stage.budget_bytes.has_value()) return std::nullopt;
    const size_t groups = plan_.pipeline->stages.size() / static_cast<size_t>(plan_.chunks);
    int64_t slack = *stage.budget_bytes;
    for (size_t other = i % groups; other < plan_.pipeline->stages.size(); other += groups) {
      if (other != i) slack -= plan_.pipeline->stages[other].bytes.peak;
    }
    return slack;
  }

  // Values that cross keep the specs of the plan.
  absl::Status GiveBorders(size_t i, const Mesh& mesh, const ProgramSlice& slice,
                           StageReplanRequest* request) const {
    const PlanStage& listed = Listed(i);
    if (slice.inputs.size() != listed.program.parameters.size() ||
        slice.outputs.size() != listed.program.outputs.size()) {
      return absl::InvalidArgumentError(StrCat(
          "stage ", i, " of the plan has other parameters than these layers of the program"));
    }
    if (plan_.pipeline->stages.size() == 1) return absl::OkStatus();
    for (size_t p = 0; p < slice.inputs.size(); ++p) {
      if (!CrossesStages(slice.inputs[p].role)) continue;
      MW_ASSIGN_OR_RETURN(Sharding sharding, ToSharding(listed.program.parameters[p].spec, mesh));
      request->inputs.emplace_back(static_cast<int32_t>(p), std::move(sharding));
    }
    for (size_t o = 0; o < slice.outputs.size(); ++o) {
      if (!CrossesStages(slice.outputs[o].role)) continue;
      MW_ASSIGN_OR_RETURN(Sharding sharding, ToSharding(listed.program.outputs[o].spec, mesh));
      request->outputs.emplace_back(static_cast<int32_t>(o), std::move(sharding));
    }
    return absl::OkStatus();
  }

  absl::Status Replan(size_t i) {
    out_.stages.push_back(i);
    const auto key =
        std::pair(plan_.pipeline->stages[i].same_as.value_or(static_cast<int64_t>(i)), forced_[i]);
    const auto [known, first] = replanned_.try_emplace(key, i);
    if (!first) {
      CopyCost(known->second, i);
      return absl::OkStatus();
    }
    const PlanStage& old = plan_.pipeline->stages[i];
    const size_t cluster = ClusterOf(old);
    MW_ASSIGN_OR_RETURN(const Mesh mesh, MeshOf(old, cluster));
    const std::unique_ptr<CostModel> model = cost_model_->make(mesh);
    StageReplanRequest request;
    request.begin = static_cast<int32_t>(old.first_layer);
    request.end = static_cast<int32_t>(old.end_layer);
    request.micro_batches = plan_.micro_batches;
    request.sum_parts = old.sum_parts;
    request.planner.space = cost_model_->space;
    request.planner.completion = request_.completion;
    request.planner.solver.seed = request_.seed;
    request.planner.solver.threads = request_.threads;
    request.planner.solver.deadline_seconds = request_.deadline_seconds;
    MW_ASSIGN_OR_RETURN(const ProgramSlice slice,
                        slicer_->Slice({.begin = request.begin,
                                        .end = request.end,
                                        .micro_batches = request.micro_batches,
                                        .sum_parts = request.sum_parts}));
    MW_RETURN_IF_ERROR(GiveBorders(i, mesh, slice, &request));
    const std::vector<PlanTensor> parameters = ParametersOfStage(plan_, i);
    int64_t state_before = 0;  // as planned here; only where it is needed
    if (old.recompute || plan_.chunks > 1) {
      StageReplanRequest unforced = request;
      unforced.fits = [](const SliceCost&) { return true; };
      for (size_t p = 0; p < parameters.size(); ++p) {
        if (CrossesStages(slice.inputs[p].role)) continue;
        MW_ASSIGN_OR_RETURN(Sharding sharding, ToSharding(parameters[p].spec, mesh));
        unforced.inputs.emplace_back(static_cast<int32_t>(p), std::move(sharding));
      }
      MW_ASSIGN_OR_RETURN(const ReplannedStage as_planned, ReplanStage(*slicer_, *model, unforced));
      state_before = as_planned.cost.state_bytes;
    }
    for (const auto& [p, spec] : forced_[i])
      request.fixes.push_back({parameters[p].name, spec, "--why-not"});
    const auto bytes_of = [&](const SliceCost& cost) {
      return old.recompute ? PlanStageBytes{old.bytes.fixed + cost.state_bytes - state_before,
                                            old.bytes.in_flight, 0, 0}
                           : PlanStageBytes{cost.state_bytes + cost.working_bytes,
                                            cost.in_flight_bytes, 0, 0};
    };
    const std::optional<int64_t> slack = SlackOf(i);
    request.fits = [&](const SliceCost& cost) {
      const PlanStageBytes bytes = bytes_of(cost);
      return !slack.has_value() || bytes.fixed + old.max_in_flight * bytes.in_flight <= *slack;
    };
    MW_ASSIGN_OR_RETURN(const ReplannedStage found, ReplanStage(*slicer_, *model, request));
    const SliceCost cost = old.recompute ? Recomputed(found.cost) : found.cost;
    int64_t weights_before = 0, weights_after = 0;
    PlanStage& stage = out_.plan.pipeline->stages[i];
    stage.seconds = {cost.forward, cost.backward, cost.weight_gradient, cost.update};
    stage.bytes = bytes_of(found.cost);
    stage.bytes.peak = stage.bytes.fixed + old.max_in_flight * stage.bytes.in_flight;
    stage.same_as.reset();
    stage.parameter_names.clear();
    stage.output_names.clear();
    PipelineStage planned;
    planned.begin = request.begin;
    planned.end = request.end;
    planned.mesh = mesh;
    planned.recompute = old.recompute;
    planned.sum_parts = old.sum_parts;
    planned.slice = found.slice;
    planned.plan = found.plan;
    MW_RETURN_IF_ERROR(SetStageLists(pipeline_, planned, *graph_, &stage));
    for (const PlanTensor& one : parameters) weights_before += StateBytes(one);
    for (const PlanTensor& one : stage.program.parameters) weights_after += StateBytes(one);
    sums_[i] = {state_before - weights_before, found.cost.state_bytes - weights_after};
    return absl::OkStatus();
  }

  // Of weights and optimizer state.
  static int64_t StateBytes(const PlanTensor& tensor) {
    return tensor.category == MemoryCategory::kParameters ||
                   tensor.category == MemoryCategory::kOptimizerState
               ? tensor.bytes_per_device
               : 0;
  }

  // What the devices of a group hold, as BuildPipelinePlan tells it apart.
  void SetMemoryOfGroup(size_t group) {
    Plan& plan = out_.plan;
    const size_t groups = plan.pipeline->stages.size() / static_cast<size_t>(plan.chunks);
    MemoryByCategory memory{};
    bool trains = false, changed = false;
    int64_t activations = 0, sums_before = 0, sums_after = 0;
    const auto at = [&](MemoryCategory category) -> int64_t& {
      return memory[static_cast<size_t>(category)];
    };
    for (size_t i = group; i < plan.pipeline->stages.size(); i += groups) {
      for (const PlanTensor& one : ParametersOfStage(plan, i)) {
        trains = trains || one.category == MemoryCategory::kParameters;
        if (StateBytes(one) > 0) at(one.category) += one.bytes_per_device;
      }
      activations +=
          plan.pipeline->stages[i].bytes.in_flight * plan.pipeline->stages[i].max_in_flight;
      changed = changed || !forced_[i].empty();
      const auto sums = sums_.find(i);
      if (sums == sums_.end()) continue;
      sums_before += sums->second.before;
      sums_after += sums->second.after;
    }
    if (!changed) return;
    const MemoryCategory summed = trains ? MemoryCategory::kGradients : MemoryCategory::kInputs;
    const int64_t summed_in_plan =
        plan_.pipeline->stages[group].memory_by_category[static_cast<size_t>(summed)];
    // Other stages of the group hold sums too.
    at(summed) += plan.chunks > 1 ? summed_in_plan + sums_after - sums_before : sums_after;
    at(MemoryCategory::kActivations) += activations;
    // The simulation counts what is held at one time; stages need not be at their peaks together.
    int64_t rest = plan.pipeline->stages[group].bytes.peak_of_group;
    for (int64_t& bytes : memory) {
      bytes = std::clamp<int64_t>(bytes, 0, rest);
      rest -= bytes;
    }
    at(MemoryCategory::kTemporaries) += rest;
    for (size_t i = group; i < plan.pipeline->stages.size(); i += groups)
      plan.pipeline->stages[i].memory_by_category = memory;
  }

  // As BuildPipelinePlan chooses: the group with the least of its memory left.
  void SetPeak(size_t groups) {
    Plan& plan = out_.plan;
    const auto share = [&](size_t g) {
      const PlanStage& stage = plan.pipeline->stages[g];
      return static_cast<double>(stage.bytes.peak_of_group) /
             static_cast<double>(stage.budget_bytes.value_or(stage.device_memory_bytes));
    };
    size_t peak = 0;
    for (size_t g = 1; g < groups; ++g) {
      if (share(g) > share(peak)) peak = g;
    }
    const PlanStage& stage = plan.pipeline->stages[peak];
    plan.peak_bytes = stage.bytes.peak_of_group;
    plan.budget_bytes = stage.budget_bytes;
    plan.peak_at = StrCat("stage ", peak);
    plan.memory_by_category = stage.memory_by_category;
  }

  // Of the stage that is busy longest.
  void SetBusySeconds() {
    double most = -1;
    for (const PlanStage& stage : out_.plan.pipeline->stages) {
      double compute = 0, communication = 0;
      for (const PlanInstruction& one : stage.program.instructions) {
        const double times = stage.recompute && one.phase == Phase::kForward ? 2 : 1;
        compute += times * one.seconds;
        for (const PlanCollective& collective : one.collective)
          communication += times * collective.seconds;
      }
      if (compute + communication <= most) continue;
      most = compute + communication;
      out_.plan.compute_seconds = compute;
      out_.plan.communication_seconds = communication;
    }
  }

  void CopyCost(size_t from, size_t to) {
    out_.plan.pipeline->stages[to].seconds = out_.plan.pipeline->stages[from].seconds;
    out_.plan.pipeline->stages[to].bytes = out_.plan.pipeline->stages[from].bytes;
    sums_[to] = sums_[from];
  }

  // Stages that still do the same name the first of them, which has the lists.
  void ShareLists() {
    std::map<std::pair<int64_t, Forced>, size_t> first;
    for (size_t i = 0; i < plan_.pipeline->stages.size(); ++i) {
      const int64_t listed = plan_.pipeline->stages[i].same_as.value_or(static_cast<int64_t>(i));
      const auto [it, inserted] = first.try_emplace({listed, forced_[i]}, i);
      PlanStage& stage = out_.plan.pipeline->stages[i];
      const std::vector<PlanTensor> parameters = ParametersOfStage(plan_, i);
      const std::vector<PlanTensor> outputs = OutputsOfStage(plan_, i);
      if (!inserted) {
        ClearLists(&stage);
        stage.same_as = static_cast<int64_t>(it->second);
        for (const PlanTensor& one : parameters) stage.parameter_names.push_back(one.name);
        for (const PlanTensor& one : outputs) stage.output_names.push_back(one.name);
      } else if (forced_[i].empty() && plan_.pipeline->stages[i].same_as.has_value()) {
        TakeLists(plan_, i, &stage);
      }
    }
  }

  absl::Status Judge() {
    Plan& plan = out_.plan;
    MW_ASSIGN_OR_RETURN(const SimulatedPlan simulated, SimulatePlan(plan, "", 0));
    const size_t groups = plan.pipeline->stages.size() / static_cast<size_t>(plan.chunks);
    plan.objective_seconds = plan.step_seconds = simulated.simulation.seconds;
    plan.bubble_share = simulated.simulation.bubble_share;
    // Of the step with collectives overlapped, which is not simulated; the errors stay what they
    // are, as the work does.
    plan.time_use.reset();
    plan.time_classes.clear();
    plan.bound_seconds = std::min(plan.bound_seconds, plan.objective_seconds);
    plan.gap = plan.objective_seconds > 0 ? 1 - plan.bound_seconds / plan.objective_seconds : 0;
    for (size_t i = 0; i < plan.pipeline->stages.size(); ++i)
      plan.pipeline->stages[i].bytes.peak_of_group = simulated.simulation.peak_bytes[i % groups];
    for (size_t g = 0; g < groups; ++g) SetMemoryOfGroup(g);
    SetPeak(groups);
    SetBusySeconds();
    for (size_t i = 0; i < groups; ++i) {
      const PlanStage& stage = plan.pipeline->stages[i];
      if (!stage.budget_bytes.has_value() || stage.bytes.peak_of_group <= *stage.budget_bytes)
        continue;
      out_.shortage =
          StrCat("a device of stage ", i, " holds ", BytesText(stage.bytes.peak_of_group),
                 " at peak, and may use ", BytesText(*stage.budget_bytes));
      break;
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  const ProgramRequest& request_;
  const std::vector<Fix>& fixes_;
  std::vector<Cluster> clusters_;
  const CostModelRow* cost_model_ = nullptr;
  Program program_;
  std::unique_ptr<const Module> module_;
  std::unique_ptr<const Graph> graph_;
  PipelinePlan pipeline_;  // layers, batch and micro-batches
  std::unique_ptr<const Slicer> slicer_;
  std::vector<Forced> forced_;  // by stage
  // By stage that was planned anew: bytes of sums over micro-batches.
  struct Sums {
    int64_t before = 0, after = 0;
  };
  std::map<size_t, Sums> sums_;
  std::map<std::pair<int64_t, Forced>, size_t> replanned_;  // the first stage of each
  ReplannedPipeline out_;
};

}  // namespace

absl::StatusOr<ReplannedPipeline> ReplanPipeline(const Plan& plan, const ProgramRequest& request,
                                                 const std::vector<Fix>& fixes) {
  return PipelineReplanner(plan, request, fixes).Run();
}

}  // namespace meshwright
