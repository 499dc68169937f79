// For every number of micro-batches: each kind of layer is planned on every submesh and mesh in a
// few ways (layer_costs.h), sums over layers give the stages' costs, dynamic programming
// (stage_search.h) cuts the program, and the schedules are simulated. What wins is planned once
// more stage by stage, each stage as a whole, so that shardings inside it no longer have to be the
// same for all its layers.
//
// The bound is that of the same dynamic programming over the layers' own bounds, memory unlimited.
// It holds for schedules whose bubble is that of 1F1B or longer; for others it is the time that the
// work takes if no device is ever idle.

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
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/inter/stage_coster.h"
#include "meshwright/inter/stage_search.h"
#include "meshwright/inter/submeshes.h"
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
// How much longer a pipeline may seem, transfers and all, than one that is better when simulated.
constexpr double kHiddenTransfers = 1.05;
// A stage that turns out not to fit is planned again with memory so much dearer, so often.
constexpr double kDearer = 4;
constexpr int kMostDearer = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
    if (Late()) bound_ = 0;
    const bool whole = request_.stages <= 1 && candidates_.back().micro_batches == 1 &&
                       request_.clusters.size() == 1;
    if (whole) MW_RETURN_IF_ERROR(TryWhole(*schedules[0]));
    if (best_.stages.empty()) return NothingFits();
    if (!best_.whole) MW_RETURN_IF_ERROR(PlanStages());
    Finish();
    return std::move(result_);
  }

 private:
  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // The deadline is over; the first number of micro-batches is looked at in any case.
  bool Late() const { return !candidates_.empty() && Elapsed() > request_.deadline_seconds; }

  void Report(const char* phase, int64_t micro_batches) const {
    if (request_.progress) request_.progress({phase, micro_batches, best_.seconds});
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
    submeshes_ = Submeshes(request_.clusters);
    coster_.emplace(result_.layers, submeshes_, request_);
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
        MW_ASSIGN_OR_RETURN(const ProgramSlice before, Slice(l - 1, l, micro_batches));
        MW_ASSIGN_OR_RETURN(const ProgramSlice after, Slice(l, l + 1, micro_batches));
        kind.repeats = Repeats(before, after);
      }
    }
    return kinds;
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

  StageSearchInput SearchInput(const LayerTable& candidate) const {
    StageSearchInput input;
    input.layers = result_.layers.count;
    input.memory_bytes = request_.memory_bytes;
    for (const Cluster& cluster : request_.clusters) input.devices.push_back(cluster.devices());
    for (const Submesh& submesh : submeshes_)
      input.submeshes.push_back({submesh.cluster, submesh.devices()});
    input.micro_batches = candidate.micro_batches;
    input.stages = request_.stages;
    input.deadline_seconds = std::max(1.0, request_.deadline_seconds - Elapsed());
    return input;
  }

  void SearchAll(const LayerTable& candidate, const std::vector<const ScheduleKind*>& schedules) {
    // The bound and the searches know nothing of each other.
    const double bound_before = bound_;
    solve::ForEachParallel(2, request_.threads, [&](size_t i) {
      if (i == 0) {
        bound_ = std::min(bound_before, BoundOf(candidate, schedules));
      } else {
        for (const ScheduleKind* schedule : schedules) SearchFor(candidate, *schedule);
      }
    });
  }

  void SearchFor(const LayerTable& candidate, const ScheduleKind& schedule) {
    StageSearchInput input = SearchInput(candidate);
    input.options = [&](int32_t begin, int32_t end, int32_t submesh) {
      std::vector<StageOption> stages;
      for (const StageWay& option : coster_->OptionsOf(candidate, begin, end, submesh))
        stages.push_back(option.stage);
      return stages;
    };
    input.in_flight = [&schedule](int32_t after, int64_t micro_batches) {
      // As many stages before as make no difference: the last groups fill the same way.
      const ScheduleShape shape{after + 1, 1, static_cast<int32_t>(micro_batches)};
      return schedule.in_flight(shape, 0);
    };
    // Transfers count in full here, while in the simulation computation hides some of them.
    input.below = best_.seconds * kHiddenTransfers;
    const StageSearchResult found = SearchStages(input);
    if (!found.stages.empty()) Consider(candidate, schedule, found);
  }

  double BoundOf(const LayerTable& candidate,
                 const std::vector<const ScheduleKind*>& schedules) const {
    const bool shorter_bubble = std::any_of(
        schedules.begin(), schedules.end(),
        [](const ScheduleKind* schedule) { return schedule->chunks || schedule->splits_backward; });
    if (shorter_bubble) return WorkBound(candidate);
    StageSearchInput input = SearchInput(candidate);
    input.options = [&](int32_t begin, int32_t end, int32_t submesh) {
      double best = kInfinity;
      for (const std::vector<double>& before : candidate.bounds_before[submesh]) {
        if (!before.empty()) best = std::min(best, before[end] - before[begin]);
      }
      if (best == kInfinity) return std::vector<StageOption>();
      return std::vector<StageOption>{{.seconds = best}};
    };
    input.in_flight = [](int32_t, int64_t) { return int64_t{0}; };
    input.below = bound_ == kInfinity ? 0 : bound_;
    const StageSearchResult found = SearchStages(input);
    return found.stages.empty() ? kInfinity : found.bound;
  }

  // Device-seconds that the layers take at least, spread over all devices.
  double WorkBound(const LayerTable& candidate) const {
    double work = 0, devices = 0;
    for (const Cluster& cluster : request_.clusters)
      devices += static_cast<double>(cluster.devices());
    for (int32_t l = 0; l < result_.layers.count; ++l) {
      double least = kInfinity;
      for (size_t s = 0; s < submeshes_.size(); ++s) {
        for (const std::optional<MeshCosts>& costs : candidate.costs[s]) {
          if (!costs.has_value()) continue;
          least = std::min(least, costs->bound[result_.layers.kind[l]] *
                                      static_cast<double>(submeshes_[s].devices()));
        }
      }
      work += least;
    }
    return work / devices * static_cast<double>(candidate.micro_batches);
  }

  StageTimes TimesOf(const Submesh& submesh, const SliceCost& cost,
                     const ScheduleKind& schedule) const {
    StageTimes times;
    times.forward = cost.forward;
    times.backward = cost.backward;
    times.weight_gradient = schedule.splits_backward ? cost.weight_gradient : 0;
    times.update = cost.update;
    times.send_forward = coster_->SendSeconds(submesh, cost.activation_bytes);
    times.send_backward = coster_->SendSeconds(submesh, cost.gradient_bytes);
    times.fixed_bytes = cost.state_bytes + cost.working_bytes;
    times.bytes_in_flight = cost.in_flight_bytes;
    return times;
  }

  void Consider(const LayerTable& candidate, const ScheduleKind& schedule,
                const StageSearchResult& found) {
    const ScheduleShape shape{static_cast<int32_t>(found.stages.size()), 1,
                              static_cast<int32_t>(candidate.micro_batches)};
    std::vector<StageTimes> times;
    std::vector<StageWay> options;
    for (const ChosenStage& stage : found.stages) {
      options.push_back(
          coster_->OptionsOf(candidate, stage.begin, stage.end, stage.submesh)[stage.option]);
      times.push_back(TimesOf(submeshes_[stage.submesh], options.back().cost, schedule));
    }
    const absl::StatusOr<Simulation> simulation = Simulate(schedule, shape, times);
    // A schedule may not take these numbers (micro-batches that do not divide by the groups).
    if (!simulation.ok()) return;
    for (int32_t g = 0; g < shape.groups; ++g) {
      const int32_t cluster = submeshes_[found.stages[g].submesh].cluster;
      if (simulation->peak_bytes[g] > request_.memory_bytes[cluster]) return;
    }
    if (!best_.stages.empty() && simulation->seconds >= best_.seconds) return;
    best_ = {.seconds = simulation->seconds,
             .candidate = candidates_.size() - 1,
             .schedule = &schedule,
             .shape = shape,
             .stages = found.stages,
             .options = std::move(options)};
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
        if (!best_.stages.empty() && bound >= best_.seconds) continue;
        MW_ASSIGN_OR_RETURN(ProgramSlice slice, Slice(0, layers, 1));
        PlannerOptions options = request_.planner;
        options.tie_outputs_by_position = false;
        options.budget_bytes = request_.memory_bytes[0];
        options.solver.threads = request_.threads;
        options.solver.deadline_seconds = std::max(1.0, request_.deadline_seconds - Elapsed());
        const std::unique_ptr<CostModel> model = request_.cost_model(submeshes_[s].meshes[m]);
        absl::StatusOr<IntraPlan> plan = PlanIntra(slice.graph, *model, options);
        if (!plan.ok() || !plan->fits) continue;
        if (!best_.stages.empty() && plan->objective >= best_.seconds) continue;
        best_ = {.seconds = plan->objective,
                 .schedule = &schedule,
                 .shape = {1, 1, 1},
                 .stages = {{0, layers, static_cast<int32_t>(s), 0}},
                 .whole = true};
        bound_ = std::min(bound_, plan->bound);
        PipelineStage stage;
        stage.end = layers;
        stage.mesh = submeshes_[s].meshes[m];
        stage.cost = CostOfSlice(slice, *plan, 1);
        stage.times = TimesOf(submeshes_[s], stage.cost, schedule);
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
    for (size_t i = 0; i < best_.stages.size(); ++i) {
      const ChosenStage& chosen = best_.stages[i];
      const StageWay& option = best_.options[i];
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
      if (!first && Alike(*stage.slice, *result_.stages[it->second].slice)) {
        stage.like = it->second;
        stage.plan = result_.stages[stage.like].plan;
        stage.cost = result_.stages[stage.like].cost;
      } else {
        const int64_t in_flight = best_.schedule->in_flight(best_.shape, static_cast<int32_t>(i));
        MW_RETURN_IF_ERROR(PlanStage(candidate, chosen, option, in_flight, &stage));
      }
      stage.times = TimesOf(submeshes_[chosen.submesh], stage.cost, *best_.schedule);
      result_.stages.push_back(std::move(stage));
    }
    return absl::OkStatus();
  }

  // `in_flight`: micro-batches.
  absl::Status PlanStage(const LayerTable& candidate, const ChosenStage& chosen,
                         const StageWay& option, int64_t in_flight, PipelineStage* stage) {
    const ProgramSlice& slice = *stage->slice;
    const MeshCosts& costs = *candidate.costs[chosen.submesh][option.mesh];
    PlannerOptions options = request_.planner;
    options.tie_outputs_by_position = false;
    options.solver.threads = request_.threads;
    GiveBorders(slice, costs.layouts[option.way], stage->mesh, &options);
    const std::unique_ptr<CostModel> model = request_.cost_model(stage->mesh);
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<PricedPlanner> planner,
                        PricedPlanner::Make(slice.graph, *model, options, TurnOf(slice)));
    const int64_t memory = request_.memory_bytes[stage->cluster];
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
      const int64_t bytes = stage->cost.state_bytes + stage->cost.working_bytes +
                            in_flight * stage->cost.in_flight_bytes;
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
    for (size_t c = 0; c < request_.clusters.size(); ++c) {
      std::vector<int64_t> sizes;
      for (const PipelineStage& stage : result_.stages) {
        if (stage.cluster == static_cast<int32_t>(c)) sizes.push_back(stage.mesh.devices());
      }
      const std::vector<int64_t> first = PlaceParts(sizes);
      size_t next = 0;
      for (PipelineStage& stage : result_.stages) {
        if (stage.cluster == static_cast<int32_t>(c)) stage.first_device = first[next++];
      }
    }
    for (const PipelineStage& stage : result_.stages) times.push_back(stage.times);
    result_.schedule = best_.schedule;
    result_.shape = best_.shape;
    result_.simulation = *Simulate(*best_.schedule, best_.shape, times);
    result_.seconds = result_.simulation.seconds;
    result_.bound = std::min(bound_, result_.seconds);
    result_.gap = result_.seconds > 0 ? (result_.seconds - result_.bound) / result_.seconds : 0;
  }

  struct Best {
    double seconds = 0;
    size_t candidate = 0;
    const ScheduleKind* schedule = nullptr;
    ScheduleShape shape;
    std::vector<ChosenStage> stages;
    std::vector<StageWay> options;
    bool whole = false;  // result_ has the only stage already
  };

  const Graph& graph_;
  const PipelineRequest& request_;
  const Clock::time_point start_;
  std::vector<int32_t> tied_;
  std::optional<StageCoster> coster_;
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
