#include "meshwright/inter/stages/single_stage.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/inter/layers/unit_graph.h"
#include "meshwright/inter/stages/kind_slices.h"
#include "meshwright/inter/stages/overlapped.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {
namespace {

// What a step takes with collectives overlapped is no less than half of its serial time.
constexpr double kMostHidden = 0.5;
// Meshes are planned by what their layers take at least. After so many in a row that fit and are no
// better than what there is, the others, which take longer still, are only bounded.
constexpr int kMostInVain = 3;
// What takes longer than this many times what there is at a first look is not searched further.
constexpr double kWithinReach = 1.5;

std::vector<Mesh>::const_iterator FindMesh(const std::vector<Mesh>& meshes, const Mesh& mesh) {
  return std::find_if(meshes.begin(), meshes.end(), [&](const Mesh& other) {
    return std::equal(mesh.axes.begin(), mesh.axes.end(), other.axes.begin(), other.axes.end(),
                      [](const MeshAxis& x, const MeshAxis& y) { return x.size == y.size; });
  });
}

class SingleStagePlanner {
 public:
  explicit SingleStagePlanner(const SingleStageInput& input)
      : in_(input),
        request_(input.request),
        least_seconds_(ArithmeticSeconds(input.graph, input.request.clusters)) {
    best_.step_seconds = input.step_seconds;
  }

  absl::StatusOr<SingleStage> Plan() {
    const Graph& graph = in_.graph;
    const int64_t devices = request_.clusters[0].devices();
    int64_t state = 0;
    for (OpId parameter : graph.parameters) state += graph[graph[parameter].result()].shape.bytes();
    // Even spread over all devices it would not fit, and proving that again takes the planner long.
    if (state / devices > request_.memory_bytes[0]) return std::move(best_);
    const auto whole = std::find_if(in_.submeshes.begin(), in_.submeshes.end(),
                                    [&](const Submesh& s) { return s.devices() == devices; });
    if (whole == in_.submeshes.end()) return std::move(best_);
    best_.submesh = static_cast<int32_t>(whole - in_.submeshes.begin());
    std::vector<Mesh> meshes = whole->meshes;
    if (request_.mesh.empty()) {
      for (const Mesh& mesh : CandidateMeshes(request_.clusters[0])) {
        if (FindMesh(whole->meshes, mesh) == whole->meshes.end()) meshes.push_back(mesh);
      }
    }
    std::vector<std::pair<std::optional<double>, const Mesh*>> by_least;
    by_least.reserve(meshes.size());
    for (const Mesh& mesh : meshes) by_least.emplace_back(LeastOn(mesh), &mesh);
    std::stable_sort(by_least.begin(), by_least.end(), [](const auto& a, const auto& b) {
      return a.first.value_or(kInfinity) < b.first.value_or(kInfinity);
    });
    for (const auto& [least, mesh] : by_least) MW_RETURN_IF_ERROR(Try(*mesh, least));
    return std::move(best_);
  }

 private:
  // Serial seconds that one stage takes at least on `mesh`; nullopt: not known.
  std::optional<double> LeastOn(const Mesh& mesh) const {
    if (in_.time.Over()) return std::nullopt;
    const std::vector<Mesh>& meshes = in_.submeshes[best_.submesh].meshes;
    for (const LayerTable& table : in_.tables) {
      if (table.micro_batches != 1) continue;
      if (const auto known = FindMesh(meshes, mesh); known != meshes.end()) {
        const size_t m = known - meshes.begin();
        if (table.costs[best_.submesh][m].has_value())
          return table.bounds_before[best_.submesh][m].back();
      }
      const absl::StatusOr<std::vector<double>> bounds = LayerBounds(
          table.kinds->at(1), *request_.cost_model(mesh), LayerPlannerOptions(request_.planner));
      if (!bounds.ok()) return std::nullopt;
      double least = 0;
      for (int32_t kind : in_.layers.kind) least += (*bounds)[kind];
      return least;
    }
    return std::nullopt;
  }

  absl::Status Try(const Mesh& mesh, std::optional<double> least) {
    const std::unique_ptr<CostModel> model = request_.cost_model(mesh);
    const double floor = least.value_or(least_seconds_);
    const double hidden = model->overlap().has_value() ? kMostHidden : 1;
    const bool worth =
        request_.exhaustive ||
        (in_vain_ < kMostInVain && !(least.has_value() && hidden * *least >= best_.step_seconds));
    if (worth && in_.time.Over()) ++best_.not_searched;
    if (!worth || in_.time.Over()) {
      best_.bound = std::min(best_.bound, floor);
      return absl::OkStatus();
    }
    MW_ASSIGN_OR_RETURN(ProgramSlice slice, SliceToPlan(in_.slicer, 0, in_.layers.count, 1));
    PlannerOptions options = request_.planner;
    options.tie_outputs_by_position = false;
    options.budget_bytes = request_.memory_bytes[0];
    options.solver.threads = request_.threads;
    options.solver.deadline_seconds = in_.time.Left();
    options.first_look = !request_.exhaustive;
    absl::StatusOr<IntraPlan> plan = PlanIntra(slice.graph, *model, options);
    // A first look does not look hard for what fits either.
    if (options.first_look && plan.ok() && (plan->limited || !plan->fits) &&
        plan->step_seconds < kWithinReach * best_.step_seconds) {
      options.first_look = false;
      plan = PlanIntra(slice.graph, *model, options);
    }
    best_.bound =
        std::min(best_.bound, plan.ok() && plan->fits ? std::max(floor, plan->bound) : floor);
    if (in_.time.Over()) ++best_.not_searched;
    if (!plan.ok()) return absl::OkStatus();
    if (!plan->fits) best_.smallest_bytes = std::min(best_.smallest_bytes, plan->smallest_budget);
    if (plan->fits && plan->step_seconds < best_.step_seconds) {
      Keep(mesh, *model, std::move(slice), *std::move(plan));
      in_vain_ = 0;
    } else if (plan->fits) {
      ++in_vain_;
    }
    return absl::OkStatus();
  }

  void Keep(const Mesh& mesh, const CostModel& model, ProgramSlice slice, IntraPlan plan) {
    best_.seconds = plan.objective;
    best_.step_seconds = plan.step_seconds;
    PipelineStage& stage = best_.stage.emplace();
    stage.end = in_.layers.count;
    stage.mesh = mesh;
    stage.cost = CostOfSlice(slice, plan, 1);
    stage.overlapped = Overlapped(slice, plan, model, 1, /*recompute=*/false, stage.cost);
    stage.times = in_.coster.TimesOf(in_.submeshes[best_.submesh], stage.cost, in_.schedule);
    stage.slice = std::make_shared<const ProgramSlice>(std::move(slice));
    stage.plan = std::make_shared<const IntraPlan>(std::move(plan));
  }

  const SingleStageInput& in_;
  const PipelineRequest& request_;
  const double least_seconds_;  // that any plan takes
  int in_vain_ = 0;             // meshes that were planned since the best
  SingleStage best_;
};

}  // namespace

absl::StatusOr<SingleStage> PlanSingleStage(const SingleStageInput& input) {
  return SingleStagePlanner(input).Plan();
}

double ArithmeticSeconds(const Graph& graph, const std::vector<Cluster>& clusters) {
  const auto peak = [&](std::string_view type) {
    double all = 0;
    for (const Cluster& cluster : clusters)
      all += cluster.device.PeakFlops(type) * static_cast<double>(cluster.devices());
    return all;
  };
  double seconds = 0;
  for (const Op& op : graph.ops) {
    if (!IsHeavy(op)) continue;
    double fastest = 0;
    for (ValueId v : op.operands)
      fastest = std::max(fastest, peak(ElementTypeName(graph[v].shape.type)));
    seconds += op.multiplicity * RuleFor(graph, op).flops / fastest;
  }
  return seconds;
}

}  // namespace meshwright
