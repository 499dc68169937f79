#include "meshwright/inter/stages/stage_plans.h"

#include <map>
#include <memory>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/inter/stages/kind_slices.h"
#include "meshwright/inter/stages/overlapped.h"
#include "meshwright/intra/priced_planner.h"

namespace meshwright {
namespace {

// How much larger the multiplier of memory is for a stage that does not fit, and how often.
constexpr double kMultiplierStep = 4;
constexpr int kMostReplans = 4;

class StagePlanner {
 public:
  StagePlanner(const Slicer& slicer, const PipelineRequest& request,
               const std::vector<Submesh>& submeshes, const Layers& layers,
               const StageCoster& coster, const LayerTable& table, const FoundPipeline& pipeline,
               const std::vector<int64_t>& memory_bytes)
      : slicer_(slicer),
        request_(request),
        submeshes_(submeshes),
        layers_(layers),
        coster_(coster),
        table_(table),
        pipeline_(pipeline),
        memory_bytes_(memory_bytes) {}

  absl::StatusOr<StagePlans> Run() {
    for (size_t i = 0; i < pipeline_.stages.size(); ++i) MW_RETURN_IF_ERROR(Plan(i));
    FindShortage();
    return std::move(out_);
  }

 private:
  absl::Status Plan(size_t i) {
    const ChosenStage& chosen = pipeline_.stages[i];
    const StageVariant& option = pipeline_.variants[i];
    PipelineStage stage;
    stage.begin = chosen.begin;
    stage.end = chosen.end;
    stage.cluster = submeshes_[chosen.submesh].cluster;
    stage.mesh = submeshes_[chosen.submesh].meshes[option.mesh];
    stage.recompute = option.recompute;
    stage.sum_parts = table_.costs[chosen.submesh][option.mesh]->sum_parts[option.variant];
    std::vector<int64_t> key = {chosen.submesh, option.mesh, option.variant, option.recompute};
    for (int32_t l = chosen.begin; l < chosen.end; ++l) key.push_back(layers_.kind[l]);
    MW_ASSIGN_OR_RETURN(ProgramSlice slice, SliceToPlan(slicer_, chosen.begin, chosen.end,
                                                        table_.micro_batches, stage.sum_parts));
    stage.slice = std::make_shared<const ProgramSlice>(std::move(slice));
    const auto [it, first] = known_.try_emplace(key, static_cast<int32_t>(i));
    const PipelineStage* const like = first ? nullptr : &out_.stages[it->second];
    if (like != nullptr && AreAlike(*stage.slice, *like->slice) &&
        BytesOf(i, like->cost) <= pipeline_.memory_bytes[i]) {
      stage.like = it->second;
      stage.plan = like->plan;
      stage.cost = like->cost;
      stage.overlapped = like->overlapped;
    } else {
      MW_RETURN_IF_ERROR(PlanWhole(i, &stage));
    }
    const Submesh& submesh = submeshes_[chosen.submesh];
    stage.times = coster_.TimesOf(submesh, stage.cost, *pipeline_.schedule);
    out_.stages.push_back(std::move(stage));
    return absl::OkStatus();
  }

  // What stage `i` takes on a device, whatever is in flight.
  int64_t BytesOf(size_t i, const SliceCost& cost) const {
    return cost.state_bytes + cost.working_bytes + pipeline_.in_flight[i] * cost.in_flight_bytes;
  }

  absl::Status PlanWhole(size_t i, PipelineStage* stage) {
    const ChosenStage& chosen = pipeline_.stages[i];
    const StageVariant& option = pipeline_.variants[i];
    const ProgramSlice& slice = *stage->slice;
    const MeshCosts& costs = *table_.costs[chosen.submesh][option.mesh];
    PlannerOptions options = request_.planner;
    options.tie_outputs_by_position = false;
    options.solver.threads = request_.threads;
    GiveBorders(slice, costs.layouts[option.variant], stage->mesh, &options);
    const std::unique_ptr<CostModel> model = request_.cost_model(stage->mesh);
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<PricedPlanner> planner,
                        PricedPlanner::Make(slice.graph, *model, options, TurnOf(slice)));
    const int64_t memory = pipeline_.memory_bytes[i];
    double multiplier = costs.multipliers[option.variant];
    for (int tries = 0;; ++tries) {
      MW_ASSIGN_OR_RETURN(IntraPlan plan, planner->Plan(multiplier));
      stage->cost = CostOfSlice(slice, plan, table_.micro_batches);
      if (option.recompute) {
        // Layer by layer: besides what enters each layer only one layer's activations are there.
        stage->cost = Recomputed(stage->cost);
        stage->cost.in_flight_bytes = option.cost.in_flight_bytes;
        stage->cost.working_bytes = option.cost.working_bytes;
      }
      if (BytesOf(i, stage->cost) <= memory || tries == kMostReplans) {
        stage->overlapped =
            Overlapped(slice, plan, *model, table_.micro_batches, option.recompute, stage->cost);
        stage->plan = std::make_shared<const IntraPlan>(std::move(plan));
        return absl::OkStatus();
      }
      multiplier = multiplier > 0 ? multiplier * kMultiplierStep
                                  : plan.objective / static_cast<double>(memory);
    }
  }

  // A stage beyond its share may fit where another of the group leaves some of its own.
  void FindShortage() {
    const size_t groups = pipeline_.shape.groups;
    for (size_t g = 0; g < groups; ++g) {
      int64_t bytes = 0;
      for (size_t i = g; i < out_.stages.size(); i += groups)
        bytes += BytesOf(i, out_.stages[i].cost);
      const int32_t cluster = out_.stages[g].cluster;
      if (bytes <= memory_bytes_[cluster]) continue;
      out_.shortage = {cluster, bytes};
      return;
    }
  }

  const Slicer& slicer_;
  const PipelineRequest& request_;
  const std::vector<Submesh>& submeshes_;
  const Layers& layers_;
  const StageCoster& coster_;
  const LayerTable& table_;
  const FoundPipeline& pipeline_;
  const std::vector<int64_t>& memory_bytes_;
  std::map<std::vector<int64_t>, int32_t> known_;  // of the stages by what they are made of
  StagePlans out_;
};

}  // namespace

absl::StatusOr<StagePlans> PlanStages(const Slicer& slicer, const PipelineRequest& request,
                                      const std::vector<Submesh>& submeshes, const Layers& layers,
                                      const StageCoster& coster, const LayerTable& table,
                                      const FoundPipeline& pipeline,
                                      const std::vector<int64_t>& memory_bytes) {
  return StagePlanner(slicer, request, submeshes, layers, coster, table, pipeline, memory_bytes)
      .Run();
}

}  // namespace meshwright
