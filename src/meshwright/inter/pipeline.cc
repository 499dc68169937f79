// For every number of micro-batches: each kind of layer is planned on every submesh and mesh in a
// few ways (layer_costs.h), sums over layers give the stages' costs, dynamic programming
// (stage_search.h) cuts the program, and the schedules are simulated. What wins is planned once
// more stage by stage, each stage as a whole, so that shardings inside it no longer have to be the
// same for all its layers.
//
// The bound is that of the same dynamic programming over the layers' own bounds, memory unlimited.
// For schedules with a shorter bubble than 1F1B's it is the time that the busiest devices take, and
// where the deadline cut the search off that of the arithmetic.

#include "meshwright/inter/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/infinity.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/inter/pipeline_search.h"
#include "meshwright/inter/stage_coster.h"
#include "meshwright/inter/submeshes.h"
#include "meshwright/inter/unit_graph.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/priced_planner.h"
#include "meshwright/solve/parallel.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

// More parts of the batch than this only start more kernels.
constexpr int64_t kMostMicroBatches = 1024;
// How near to the optimum layers are planned, and the work that may go into one.
constexpr double kLayerGap = 5e-3;
constexpr int64_t kLayerSteps = 50'000'000;
// A stage that turns out not to fit is planned again with memory so much dearer, so often.
constexpr double kDearer = 4;
constexpr int kMostDearer = 4;

class PipelinePlanner {
 public:
  PipelinePlanner(const Graph& graph, const PipelineRequest& request)
      : graph_(graph), request_(request), start_(Clock::now()) {}

  absl::StatusOr<PipelinePlan> Plan() {
    MW_RETURN_IF_ERROR(Analyze());
    MW_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, MicroBatchCounts());
    MW_ASSIGN_OR_RETURN(const std::vector<const ScheduleKind*> schedules, Schedules());
    // Many micro-batches first: their bubbles are short, so what they find lets the search give up
    // on the others sooner.
    for (auto it = counts.rbegin(); it != counts.rend(); ++it) {
      if (!Late()) MW_RETURN_IF_ERROR(Try(*it, schedules));
    }
    // What was not looked at may be better.
    if (Late()) bound_ = std::min(bound_, ArithmeticSeconds());
    const bool whole = request_.stages <= 1 && candidates_.back().micro_batches == 1 &&
                       request_.clusters.size() == 1;
    if (whole) MW_RETURN_IF_ERROR(TryWhole(*schedules[0]));
    if (best_.pipeline.stages.empty()) return NothingFits();
    if (!best_.whole) MW_RETURN_IF_ERROR(PlanStages());
    Finish();
    return std::move(result_);
  }

 private:
  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // The deadline is over; the first number of micro-batches is looked at in any case.
  bool Late() const { return !candidates_.empty() && Elapsed() > request_.deadline_seconds; }

  void Report(const char* phase, int64_t micro_batches) const {
    if (request_.progress) request_.progress({phase, micro_batches, best_.pipeline.seconds});
  }

  absl::Status Analyze() {
    Report("layers", 0);
    tied_ = TiedParameters(graph_, request_.planner.tie_outputs_by_position);
    MW_ASSIGN_OR_RETURN(result_.batch, FindBatch(graph_, tied_, request_.data));
    MW_ASSIGN_OR_RETURN(result_.layers, FindLayers(graph_, AnalyzeFusion(graph_), result_.batch,
                                                   tied_, request_.layers));
    if (request_.stages > result_.layers.count) {
      return absl::InvalidArgumentError(StrCat(request_.stages, " stages are more than the ",
                                               result_.layers.count, " layers of the program"));
    }
    int64_t devices = 0;
    for (const Cluster& cluster : request_.clusters) devices += cluster.devices();
    if (request_.stages > devices) {
      return absl::InvalidArgumentError(
          StrCat(request_.stages, " stages are more than the ", devices, " devices"));
    }
    result_.warnings = graph_.warnings;
    for (const std::string& warning : result_.batch.warnings) result_.warnings.push_back(warning);
    if (request_.mesh.empty()) {
      submeshes_ = Submeshes(request_.clusters);
    } else {
      MW_ASSIGN_OR_RETURN(submeshes_, SubmeshesOf(request_.clusters, request_.mesh));
      const int64_t groups = devices / submeshes_[0].devices();
      if (groups > result_.layers.count || (request_.stages > 0 && request_.stages != groups)) {
        return absl::InvalidArgumentError(StrCat(
            devices, " devices make ", groups, " stages of mesh ", request_.mesh,
            request_.stages > 0
                ? StrCat(", not ", request_.stages)
                : StrCat(", more than the ", result_.layers.count, " layers of the program")));
      }
    }
    coster_.emplace(result_.layers, submeshes_, request_);
    search_.emplace(request_, result_.layers, submeshes_, *coster_);
    MW_ASSIGN_OR_RETURN(slicer_, Slicer::Make(graph_, result_.batch, result_.layers));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int64_t>> MicroBatchCounts() const {
    std::vector<int64_t> counts;
    const int64_t most = std::max(kMostMicroBatches, request_.micro_batches);
    for (int64_t n = 1; n <= std::min(result_.batch.size, most); ++n) {
      if (result_.batch.Divides(graph_, n)) counts.push_back(n);
    }
    if (request_.micro_batches == 0) return counts;
    if (std::find(counts.begin(), counts.end(), request_.micro_batches) != counts.end())
      return std::vector<int64_t>{request_.micro_batches};
    return absl::InvalidArgumentError(StrCat(
        "a batch of ", result_.batch.size, " cannot be divided into ", request_.micro_batches,
        " micro-batches; it can into ", absl::StrJoin(counts, ", ")));
  }

  absl::StatusOr<std::vector<const ScheduleKind*>> Schedules() const {
    std::vector<const ScheduleKind*> schedules;
    if (request_.schedule == "auto") {
      for (const ScheduleKind& kind : ScheduleTable()) schedules.push_back(&kind);
      return schedules;
    }
    MW_ASSIGN_OR_RETURN(const ScheduleKind* kind, FindSchedule(request_.schedule));
    return std::vector<const ScheduleKind*>{kind};
  }

  absl::StatusOr<ProgramSlice> Slice(int32_t begin, int32_t end, int64_t micro_batches) const {
    SliceRequest request;
    request.begin = begin;
    request.end = end;
    request.micro_batches = micro_batches;
    MW_ASSIGN_OR_RETURN(ProgramSlice slice, slicer_->Slice(request));
    ScaleUpdate(&slice, micro_batches);
    return slice;
  }

  absl::Status Try(int64_t micro_batches, const std::vector<const ScheduleKind*>& schedules) {
    Report("costs", micro_batches);
    LayerTable candidate;
    candidate.micro_batches = micro_batches;
    MW_ASSIGN_OR_RETURN(candidate.kinds, Kinds(micro_batches));
    MW_RETURN_IF_ERROR(CostAll(&candidate));
    if (Late()) return absl::OkStatus();
    Report("stages", micro_batches);
    candidates_.push_back(std::move(candidate));
    SearchAll(candidates_.back(), schedules);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<LayerKind>> Kinds(int64_t micro_batches) const {
    const Layers& layers = result_.layers;
    const int32_t count = *std::max_element(layers.kind.begin(), layers.kind.end()) + 1;
    std::vector<LayerKind> kinds(count);
    std::vector<bool> made(count, false);
    for (int32_t l = 0; l < layers.count; ++l) {
      LayerKind& kind = kinds[layers.kind[l]];
      kind.flops += layers.flops[l];
      ++kind.layers;
      if (!made[layers.kind[l]]) {
        made[layers.kind[l]] = true;
        MW_ASSIGN_OR_RETURN(kind.slice, Slice(l, l + 1, micro_batches));
      }
      const bool again = l > 0 && layers.kind[l] == layers.kind[l - 1];
      if (again && kind.repeats.empty()) {
        MW_ASSIGN_OR_RETURN(ProgramSlice before, Slice(l - 1, l, micro_batches));
        MW_ASSIGN_OR_RETURN(const ProgramSlice after, Slice(l, l + 1, micro_batches));
        if (!SameBorders(before, after)) continue;  // its numbers would mean other values
        kind.repeats = Repeats(before, after);
        kind.slice = std::move(before);
      }
    }
    return kinds;
  }

  // Whether the same inputs and outputs of both are of the same role, shape and side of the batch.
  static bool SameBorders(const ProgramSlice& a, const ProgramSlice& b) {
    if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return false;
    const auto same = [&](const SliceValue& x, ValueId in_a, const SliceValue& y, ValueId in_b) {
      return x.role == y.role && x.dimension == y.dimension &&
             a.graph[in_a].shape == b.graph[in_b].shape;
    };
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      if (!same(a.inputs[i], InputOf(a, i), b.inputs[i], InputOf(b, i))) return false;
    }
    for (size_t i = 0; i < a.outputs.size(); ++i) {
      if (!same(a.outputs[i], OutputOf(a, i), b.outputs[i], OutputOf(b, i))) return false;
    }
    return true;
  }

  // What goes from one layer to the next of its kind and back, as (output, input) of either.
  static std::vector<std::pair<int32_t, int32_t>> Repeats(const ProgramSlice& before,
                                                          const ProgramSlice& after) {
    std::vector<std::pair<int32_t, int32_t>> repeats;
    const auto match = [&](const ProgramSlice& from, const ProgramSlice& to, SliceRole role) {
      for (size_t o = 0; o < from.outputs.size(); ++o) {
        for (size_t i = 0; i < to.inputs.size(); ++i) {
          const SliceValue& left = from.outputs[o];
          const SliceValue& taken = to.inputs[i];
          if (left.role == role && taken.role == role && left.value == taken.value &&
              left.layer == taken.layer && left.first == taken.first && left.count == taken.count)
            repeats.emplace_back(static_cast<int32_t>(o), static_cast<int32_t>(i));
        }
      }
    };
    match(before, after, SliceRole::kActivation);
    match(after, before, SliceRole::kGradient);
    return repeats;
  }

  absl::Status CostAll(LayerTable* candidate) {
    std::vector<std::pair<size_t, size_t>> work;
    candidate->costs.resize(submeshes_.size());
    for (size_t s = 0; s < submeshes_.size(); ++s) {
      candidate->costs[s].resize(submeshes_[s].meshes.size());
      for (size_t m = 0; m < submeshes_[s].meshes.size(); ++m) work.emplace_back(s, m);
    }
    PlannerOptions options = request_.planner;
    options.tie_outputs_by_position = false;
    options.solver.threads = 1;
    // Stages are planned again in the end; here many thousands of answers are wanted.
    options.solver.target_gap = kLayerGap;
    options.solver.max_search_steps = kLayerSteps;
    absl::Status error;
    std::mutex mutex;
    solve::ForEachParallel(work.size(), request_.threads, [&](size_t i) {
      if (Late()) return;
      const auto [s, m] = work[i];
      const std::unique_ptr<CostModel> model = request_.cost_model(submeshes_[s].meshes[m]);
      absl::StatusOr<MeshCosts> costs =
          CostLayers(candidate->kinds, *model, candidate->micro_batches,
                     request_.memory_bytes[submeshes_[s].cluster], options);
      if (costs.ok()) {
        candidate->costs[s][m] = *std::move(costs);
      } else {
        const std::lock_guard<std::mutex> lock(mutex);
        error = costs.status();
      }
    });
    return coster_->Sum(candidate) || Late() ? absl::OkStatus() : error;
  }

  // The matrix products alone, spread evenly over all devices at the vendors' peaks.
  double ArithmeticSeconds() const {
    double seconds = 0;
    const auto peak = [this](std::string_view type) {
      double all = 0;
      for (const Cluster& cluster : request_.clusters)
        all += cluster.device.PeakFlops(type) * static_cast<double>(cluster.devices());
      return all;
    };
    for (const Op& op : graph_.ops) {
      if (!IsHeavy(op)) continue;
      double fastest = 0;
      for (ValueId v : op.operands)
        fastest = std::max(fastest, peak(ElementTypeName(graph_[v].shape.type)));
      seconds += op.multiplicity * RuleFor(graph_, op).flops / fastest;
    }
    return seconds;
  }

  void SearchAll(const LayerTable& candidate, const std::vector<const ScheduleKind*>& schedules) {
    const double deadline = std::max(1.0, request_.deadline_seconds - Elapsed());
    FoundPipeline best = best_.pipeline;
    double bound = kInfinity;
    // The bound and the searches know nothing of each other.
    solve::ForEachParallel(2, request_.threads, [&](size_t i) {
      if (i == 0) {
        bound = search_->Bound(candidate, schedules, bound_, deadline);
      } else {
        for (const ScheduleKind* schedule : schedules)
          search_->Improve(candidate, *schedule, deadline, &best);
      }
    });
    bound_ = std::min(bound_, bound);
    if (best.stages.empty() || best.seconds == best_.pipeline.seconds) return;
    best_.pipeline = std::move(best);
    best_.candidate = candidates_.size() - 1;
  }

  // One stage, one micro-batch: the intra-operator planner on every mesh that may beat what was
  // found.
  absl::Status TryWhole(const ScheduleKind& schedule) {
    const LayerTable& candidate = candidates_.back();
    const int32_t layers = result_.layers.count;
    const int64_t devices = request_.clusters[0].devices();
    int64_t state = 0;
    for (OpId parameter : graph_.parameters)
      state += graph_[graph_[parameter].results[0]].shape.bytes();
    // Even spread over all devices it would not fit, and proving that again takes the planner long.
    if (state / devices > request_.memory_bytes[0]) return absl::OkStatus();
    for (size_t s = 0; s < submeshes_.size(); ++s) {
      if (submeshes_[s].devices() != devices) continue;
      for (size_t m = 0; m < submeshes_[s].meshes.size(); ++m) {
        if (!candidate.costs[s][m].has_value()) continue;
        const double bound = candidate.bounds_before[s][m][layers];
        if (!best_.pipeline.stages.empty() && bound >= best_.pipeline.seconds) continue;
        MW_ASSIGN_OR_RETURN(ProgramSlice slice, Slice(0, layers, 1));
        PlannerOptions options = request_.planner;
        options.tie_outputs_by_position = false;
        options.budget_bytes = request_.memory_bytes[0];
        options.solver.threads = request_.threads;
        options.solver.deadline_seconds = std::max(1.0, request_.deadline_seconds - Elapsed());
        const std::unique_ptr<CostModel> model = request_.cost_model(submeshes_[s].meshes[m]);
        absl::StatusOr<IntraPlan> plan = PlanIntra(slice.graph, *model, options);
        if (!plan.ok() || !plan->fits) continue;
        if (!best_.pipeline.stages.empty() && plan->objective >= best_.pipeline.seconds) continue;
        best_.pipeline = {.seconds = plan->objective,
                          .schedule = &schedule,
                          .shape = {1, 1, 1},
                          .stages = {{0, layers, static_cast<int32_t>(s), 0}}};
        best_.whole = true;
        bound_ = std::min(bound_, plan->bound);
        PipelineStage stage;
        stage.end = layers;
        stage.mesh = submeshes_[s].meshes[m];
        stage.cost = CostOfSlice(slice, *plan, 1);
        stage.times = coster_->TimesOf(submeshes_[s], stage.cost, schedule);
        stage.slice = std::make_shared<const ProgramSlice>(std::move(slice));
        stage.plan = std::make_shared<const IntraPlan>(*std::move(plan));
        result_.stages = {std::move(stage)};
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PipelinePlan> NothingFits() {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const LayerTable& candidate : candidates_) {
      for (size_t s = 0; s < submeshes_.size(); ++s) {
        for (size_t m = 0; m < candidate.costs[s].size(); ++m) {
          if (!candidate.costs[s][m].has_value()) continue;
          for (size_t w = 0; w < candidate.costs[s][m]->layouts.size(); ++w) {
            const SliceCost all =
                coster_->SumOf(candidate, 0, result_.layers.count, s, m, w, request_.recompute);
            if (all.forward < 0) continue;
            int64_t devices = 0;
            for (const Cluster& cluster : request_.clusters) devices += cluster.devices();
            // The whole program on one submesh, its state spread over as many as there are.
            const int64_t bytes =
                all.state_bytes * submeshes_[s].devices() / std::max<int64_t>(1, devices) +
                all.in_flight_bytes + all.working_bytes;
            least = std::min(least, bytes);
          }
        }
      }
    }
    result_.fits = false;
    result_.smallest_bytes = least;
    return std::move(result_);
  }

  // A stage is planned as a whole at the price of memory that its layers were planned at.
  absl::Status PlanStages() {
    const LayerTable& candidate = candidates_[best_.candidate];
    Report("plans", candidate.micro_batches);
    std::map<std::vector<int64_t>, int32_t> known;
    for (size_t i = 0; i < best_.pipeline.stages.size(); ++i) {
      const ChosenStage& chosen = best_.pipeline.stages[i];
      const StageWay& option = best_.pipeline.ways[i];
      PipelineStage stage;
      stage.begin = chosen.begin;
      stage.end = chosen.end;
      stage.cluster = submeshes_[chosen.submesh].cluster;
      stage.mesh = submeshes_[chosen.submesh].meshes[option.mesh];
      stage.recompute = option.recompute;
      std::vector<int64_t> key = {chosen.submesh, option.mesh, option.way, option.recompute};
      for (int32_t l = chosen.begin; l < chosen.end; ++l) key.push_back(result_.layers.kind[l]);
      MW_ASSIGN_OR_RETURN(ProgramSlice slice,
                          Slice(chosen.begin, chosen.end, candidate.micro_batches));
      stage.slice = std::make_shared<const ProgramSlice>(std::move(slice));
      const auto [it, first] = known.try_emplace(key, static_cast<int32_t>(i));
      if (!first && Alike(*stage.slice, *result_.stages[it->second].slice) &&
          BytesOf(i, result_.stages[it->second].cost) <= best_.pipeline.memory_bytes[i]) {
        stage.like = it->second;
        stage.plan = result_.stages[stage.like].plan;
        stage.cost = result_.stages[stage.like].cost;
      } else {
        MW_RETURN_IF_ERROR(PlanStage(candidate, i, &stage));
      }
      stage.times =
          coster_->TimesOf(submeshes_[chosen.submesh], stage.cost, *best_.pipeline.schedule);
      result_.stages.push_back(std::move(stage));
    }
    return absl::OkStatus();
  }

  // What stage `i` takes on a device, whatever is in flight.
  int64_t BytesOf(size_t i, const SliceCost& cost) const {
    return cost.state_bytes + cost.working_bytes +
           best_.pipeline.in_flight[i] * cost.in_flight_bytes;
  }

  // Plans the `i`-th stage of the pipeline found.
  absl::Status PlanStage(const LayerTable& candidate, size_t i, PipelineStage* stage) {
    const ChosenStage& chosen = best_.pipeline.stages[i];
    const StageWay& option = best_.pipeline.ways[i];
    const ProgramSlice& slice = *stage->slice;
    const MeshCosts& costs = *candidate.costs[chosen.submesh][option.mesh];
    PlannerOptions options = request_.planner;
    options.tie_outputs_by_position = false;
    options.solver.threads = request_.threads;
    GiveBorders(slice, costs.layouts[option.way], stage->mesh, &options);
    const std::unique_ptr<CostModel> model = request_.cost_model(stage->mesh);
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<PricedPlanner> planner,
                        PricedPlanner::Make(slice.graph, *model, options, TurnOf(slice)));
    const int64_t memory = best_.pipeline.memory_bytes[i];
    double price = costs.prices[option.way];
    for (int tries = 0;; ++tries) {
      MW_ASSIGN_OR_RETURN(IntraPlan plan, planner->Plan(price));
      stage->cost = CostOfSlice(slice, plan, candidate.micro_batches);
      if (option.recompute) {
        // Layer by layer: besides what enters each layer only one layer's activations are there.
        stage->cost = Recomputed(stage->cost);
        stage->cost.in_flight_bytes = option.cost.in_flight_bytes;
        stage->cost.working_bytes = option.cost.working_bytes;
      }
      stage->plan = std::make_shared<const IntraPlan>(std::move(plan));
      const int64_t bytes = BytesOf(i, stage->cost);
      if (bytes <= memory) return absl::OkStatus();
      if (tries == kMostDearer) {
        return absl::ResourceExhaustedError(
            StrCat("no plan of stage ", result_.stages.size(), " was found that fits: layers ",
                   stage->begin, " to ", stage->end - 1, " need ", bytes, " bytes a device"));
      }
      price = price > 0 ? price * kDearer : stage->plan->objective / static_cast<double>(memory);
    }
  }

  // Operator by operator the same, in the same order: a plan of one is a plan of the other.
  static bool Alike(const ProgramSlice& a, const ProgramSlice& b) {
    if (a.graph.ops.size() != b.graph.ops.size() || a.inputs.size() != b.inputs.size() ||
        a.outputs.size() != b.outputs.size())
      return false;
    for (size_t i = 0; i < a.graph.ops.size(); ++i) {
      const Op& x = a.graph.ops[i];
      const Op& y = b.graph.ops[i];
      if (x.kind != y.kind || x.operands != y.operands || x.results != y.results ||
          x.instruction->opcode != y.instruction->opcode)
        return false;
      for (ValueId v : x.results) {
        if (!(a.graph[v].shape == b.graph[v].shape)) return false;
      }
    }
    return true;
  }

  void Finish() {
    std::vector<StageTimes> times;
    // A group's stages have the same devices.
    const size_t groups = best_.pipeline.shape.groups;
    for (size_t c = 0; c < request_.clusters.size(); ++c) {
      std::vector<int64_t> sizes;
      for (size_t g = 0; g < groups; ++g) {
        const PipelineStage& stage = result_.stages[g];
        if (stage.cluster == static_cast<int32_t>(c)) sizes.push_back(stage.mesh.devices());
      }
      const std::vector<int64_t> first = PlaceParts(sizes);
      size_t next = 0;
      for (size_t g = 0; g < groups; ++g) {
        if (result_.stages[g].cluster != static_cast<int32_t>(c)) continue;
        for (size_t i = g; i < result_.stages.size(); i += groups)
          result_.stages[i].first_device = first[next];
        ++next;
      }
    }
    for (const PipelineStage& stage : result_.stages) times.push_back(stage.times);
    result_.schedule = best_.pipeline.schedule;
    result_.shape = best_.pipeline.shape;
    result_.simulation = *Simulate(*best_.pipeline.schedule, best_.pipeline.shape, times);
    result_.seconds = result_.simulation.seconds;
    result_.bound = std::min(bound_, result_.seconds);
    result_.gap = result_.seconds > 0 ? (result_.seconds - result_.bound) / result_.seconds : 0;
  }

  struct Best {
    FoundPipeline pipeline;
    size_t candidate = 0;
    bool whole = false;  // result_ has the only stage already
  };

  const Graph& graph_;
  const PipelineRequest& request_;
  const Clock::time_point start_;
  std::vector<int32_t> tied_;
  std::optional<StageCoster> coster_;
  std::optional<PipelineSearch> search_;
  std::unique_ptr<const Slicer> slicer_;
  std::vector<Submesh> submeshes_;
  std::vector<LayerTable> candidates_;
  Best best_;
  double bound_ = kInfinity;
  PipelinePlan result_;
};

}  // namespace

absl::StatusOr<PipelinePlan> PlanPipeline(const Graph& graph, const PipelineRequest& request) {
  return PipelinePlanner(graph, request).Plan();
}

}  // namespace meshwright
