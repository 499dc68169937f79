#include "meshwright/inter/stages/pipeline_search.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "meshwright/base/infinity.h"
#include "meshwright/inter/schedule/simulate.h"

namespace meshwright {
namespace {

// How much longer a pipeline may seem, transfers and all, than one that is better when simulated.
constexpr double kHiddenTransfers = 1.05;
// The same for grids, whose search is quick.
constexpr double kLooseTransfers = 1.5;

// With G equal stages that take t each, w of it for the weights' gradients, ZB-H1 takes
// B t + (G - 1) (t - 2 w) for B micro-batches (Qi et al. 2023, table 1, where t = F + B + W).
std::vector<StageOption> StagesOf(const std::vector<StageVariant>& variants,
                                  const ScheduleKind& schedule) {
  std::vector<StageOption> stages;
  stages.reserve(variants.size());
  for (const StageVariant& variant : variants) {
    stages.push_back(variant.stage);
    if (!schedule.splits_backward) continue;
    StageOption& stage = stages.back();
    stage.filled_seconds = std::min(stage.seconds, 2 * variant.cost.weight_gradient);
  }
  return stages;
}

}  // namespace

StageSearchInput PipelineSearch::Input(const LayerTable& table) const {
  StageSearchInput input;
  input.layers = layers_.count;
  input.memory_bytes = request_.memory_bytes;
  for (const Cluster& cluster : request_.clusters) input.devices.push_back(cluster.devices());
  for (const Submesh& submesh : submeshes_)
    input.submeshes.push_back({submesh.cluster, submesh.devices()});
  input.micro_batches = table.micro_batches;
  input.stages = request_.stages;
  input.stop = request_.planner.solver.stop;
  return input;
}

bool PipelineSearch::Stopped() const {
  const std::function<bool()>& stop = request_.planner.solver.stop;
  return stop && stop();
}

bool PipelineSearch::HasOneStageAGroup(const ScheduleKind& schedule) const {
  return !schedule.chunks || request_.schedule != "auto";
}

void PipelineSearch::ImproveUniform(const LayerTable& table, const ScheduleKind& schedule,
                                    FoundPipeline* best) const {
  if (schedule.chunks) ImproveWithChunks(table, schedule, best);
  if (HasOneStageAGroup(schedule)) ImproveWithGrids(table, schedule, best);
}

int64_t PipelineSearch::ImproveUneven(const LayerTable& table, const ScheduleKind& schedule,
                                      int64_t max_steps, FoundPipeline* best) const {
  if (!HasOneStageAGroup(schedule) || max_steps <= 0) return 0;
  StageSearchInput input = Input(table);
  input.max_steps = max_steps;
  input.options = [&](int32_t begin, int32_t end, int32_t submesh) {
    return StagesOf(coster_.OptionsOf(table, begin, end, submesh), schedule);
  };
  input.in_flight = [&schedule](int32_t after, int64_t micro_batches) {
    // As many stages before as make no difference: the last groups fill the same way.
    const ScheduleShape shape{after + 1, 1, static_cast<int32_t>(micro_batches)};
    return schedule.in_flight(shape, 0);
  };
  // Transfers count in full here, while in the simulation computation hides some of them.
  input.below = best->seconds * kHiddenTransfers;
  const StageSearchResult found = SearchStages(input);
  if (!found.stages.empty()) {
    const ScheduleShape shape{static_cast<int32_t>(found.stages.size()), 1,
                              static_cast<int32_t>(table.micro_batches)};
    Consider(table, schedule, shape, found.stages, StageCoster::kAnyMesh, best);
  }
  return found.steps;
}

void PipelineSearch::ImproveWithGrids(const LayerTable& table, const ScheduleKind& schedule,
                                      FoundPipeline* best) const {
  if (request_.clusters.size() != 1) return;
  const int64_t devices = request_.clusters[0].devices();
  for (size_t s = 0; s < submeshes_.size(); ++s) {
    const int64_t groups = devices / submeshes_[s].devices();
    if (devices % submeshes_[s].devices() != 0 || groups > layers_.count ||
        (request_.stages > 0 && request_.stages != groups))
      continue;
    for (size_t m = 0; m < submeshes_[s].meshes.size(); ++m) {
      // The first micro-batch passes all stages, the others the busiest.
      if (table.bounds_before[s][m].empty()) continue;
      const double all = table.bounds_before[s][m].back();
      const double least =
          all + static_cast<double>(table.micro_batches - 1) * all / static_cast<double>(groups);
      if (Stopped()) return;
      if (best->seconds > 0 && least >= best->seconds) continue;
      StageSearchInput input = Input(table);
      input.submeshes = {{0, 1}};
      input.devices = {groups};
      input.stages = static_cast<int32_t>(groups);
      input.options = [&](int32_t begin, int32_t end, int32_t) {
        return StagesOf(
            coster_.OptionsOf(table, begin, end, static_cast<int32_t>(s), static_cast<int32_t>(m)),
            schedule);
      };
      input.in_flight = [&schedule](int32_t after, int64_t micro_batches) {
        return schedule.in_flight({after + 1, 1, static_cast<int32_t>(micro_batches)}, 0);
      };
      input.below = best->seconds * kLooseTransfers;
      StageSearchResult found = SearchStages(input);
      for (ChosenStage& stage : found.stages) stage.submesh = static_cast<int32_t>(s);
      if (found.stages.empty()) continue;
      Consider(table, schedule,
               {static_cast<int32_t>(groups), 1, static_cast<int32_t>(table.micro_batches)},
               found.stages, static_cast<int32_t>(m), best);
    }
  }
}

// With G groups of V equal stages that take t each, B micro-batches take B V t, and the bubble
// (G - 1) t (Narayanan et al. 2021, section 2.2). That is the objective of SearchStages,
// sum + (B' - 1) max, over G V stages with B' = B V - G (V - 1). So the cut that is best for B'
// micro-batches is what is simulated. Each stage may take its share of the device's memory.
void PipelineSearch::ImproveWithChunks(const LayerTable& table, const ScheduleKind& schedule,
                                       FoundPipeline* best) const {
  for (size_t s = 0; s < submeshes_.size(); ++s) {
    const int64_t groups = GroupsOf(table, s);
    if (groups == 0) continue;
    const double work = LeastWork(table, s) * static_cast<double>(table.micro_batches) /
                        static_cast<double>(groups);
    for (int64_t chunks = 2; chunks * groups <= layers_.count; ++chunks) {
      if (best->seconds > 0 && work >= best->seconds) break;
      if (Stopped()) return;
      const ScheduleShape shape{static_cast<int32_t>(groups), static_cast<int32_t>(chunks),
                                static_cast<int32_t>(table.micro_batches)};
      std::vector<int64_t> in_flight = InFlightByStage(schedule, shape);
      std::reverse(in_flight.begin(), in_flight.end());
      for (size_t i = 1; i < in_flight.size(); ++i)
        in_flight[i] = std::max(in_flight[i], in_flight[i - 1]);
      StageSearchInput input = Input(table);
      input.submeshes = {{0, 1}};
      input.stages = static_cast<int32_t>(groups * chunks);
      input.devices = {groups * chunks};
      input.memory_bytes = {request_.memory_bytes[0] / chunks};
      input.micro_batches = table.micro_batches * chunks - groups * (chunks - 1);
      input.options = [&](int32_t begin, int32_t end, int32_t) {
        return StagesOf(coster_.OptionsOf(table, begin, end, static_cast<int32_t>(s),
                                          StageCoster::kAnyMesh, chunks),
                        schedule);
      };
      input.in_flight = [&in_flight](int32_t after, int64_t) { return in_flight[after]; };
      input.below = best->seconds * kHiddenTransfers;
      StageSearchResult found = SearchStages(input);
      if (found.stages.empty()) continue;
      for (ChosenStage& stage : found.stages) stage.submesh = static_cast<int32_t>(s);
      Consider(table, schedule, shape, found.stages, StageCoster::kAnyMesh, best);
    }
  }
}

void PipelineSearch::Consider(const LayerTable& table, const ScheduleKind& schedule,
                              const ScheduleShape& shape, const std::vector<ChosenStage>& stages,
                              int32_t mesh, FoundPipeline* best) const {
  FoundPipeline found{.schedule = &schedule, .shape = shape, .stages = stages};
  std::vector<StageTimes> times;
  for (const ChosenStage& stage : stages) {
    found.variants.push_back(coster_.OptionsOf(table, stage.begin, stage.end, stage.submesh, mesh,
                                               shape.chunks)[stage.option]);
    times.push_back(
        coster_.TimesOf(submeshes_[stage.submesh], found.variants.back().cost, schedule));
  }
  const absl::StatusOr<Simulation> simulation = Simulate(schedule, shape, times);
  // A schedule may not take these numbers (micro-batches that do not divide by the groups).
  if (!simulation.ok()) return;
  found.seconds = simulation->seconds;
  if (best->seconds > 0 && found.seconds >= best->seconds) return;
  found.in_flight = InFlightByStage(schedule, shape);
  std::vector<int64_t> group_bytes(shape.groups, 0);
  const auto bytes_of = [&](size_t i) {
    return times[i].fixed_bytes + found.in_flight[i] * times[i].bytes_in_flight;
  };
  for (size_t i = 0; i < stages.size(); ++i) group_bytes[i % shape.groups] += bytes_of(i);
  for (size_t i = 0; i < stages.size(); ++i) {
    const int64_t memory = request_.memory_bytes[submeshes_[stages[i].submesh].cluster];
    const int64_t all = group_bytes[i % shape.groups];
    if (all > memory) return;
    const double share = all > 0 ? static_cast<double>(bytes_of(i)) / static_cast<double>(all) : 1;
    found.memory_bytes.push_back(
        shape.chunks == 1 ? memory : static_cast<int64_t>(share * static_cast<double>(memory)));
  }
  *best = std::move(found);
}

double PipelineSearch::Bound(const LayerTable& table,
                             const std::vector<const ScheduleKind*>& schedules,
                             double below) const {
  double bound = kInfinity;
  for (const ScheduleKind* schedule : schedules) {
    bound = std::min(bound, schedule->splits_backward
                                ? BusiestBound(table)
                                : StagesBound(table, std::min(below, bound), table.micro_batches));
    if (schedule->chunks) bound = std::min(bound, ChunksBound(table));
  }
  return bound;
}

double PipelineSearch::StagesBound(const LayerTable& table, double below,
                                   int64_t micro_batches) const {
  StageSearchInput input = Input(table);
  input.micro_batches = micro_batches;
  input.options = [&](int32_t begin, int32_t end, int32_t submesh) {
    double best = kInfinity;
    for (const std::vector<double>& before : table.bounds_before[submesh]) {
      if (!before.empty()) best = std::min(best, before[end] - before[begin]);
    }
    if (best == kInfinity) return std::vector<StageOption>();
    return std::vector<StageOption>{{.seconds = best}};
  };
  input.in_flight = [](int32_t, int64_t) { return int64_t{0}; };
  input.below = below == kInfinity ? 0 : below;
  const StageSearchResult found = SearchStages(input);
  return found.stages.empty() ? kInfinity : found.bound;
}

// Whatever the bubble, the busiest stage has B micro-batches to run. With M as large as here the
// objective sum + (M - 1) max is at most (L + M - 1) max.
double PipelineSearch::BusiestBound(const LayerTable& table) const {
  constexpr int64_t kMany = int64_t{1} << 20;
  const double all = StagesBound(table, kInfinity, kMany);
  const double busiest = all / static_cast<double>(kMany + layers_.count - 1);
  return busiest * static_cast<double>(table.micro_batches);
}

// The layers' work spread evenly over the groups; and a micro-batch has to pass all layers.
double PipelineSearch::ChunksBound(const LayerTable& table) const {
  double bound = kInfinity;
  for (size_t s = 0; s < submeshes_.size(); ++s) {
    const int64_t groups = GroupsOf(table, s);
    if (groups == 0) continue;
    const double turns = static_cast<double>(table.micro_batches) / static_cast<double>(groups);
    bound = std::min(bound, LeastWork(table, s) * std::max(1.0, turns));
  }
  return bound;
}

int64_t PipelineSearch::GroupsOf(const LayerTable& table, size_t submesh) const {
  // A group's stages would have to be of one device type each.
  if (request_.clusters.size() != 1) return 0;
  const int64_t devices = request_.clusters[0].devices();
  const int64_t groups = devices / submeshes_[submesh].devices();
  const bool divides =
      devices % submeshes_[submesh].devices() == 0 && table.micro_batches % groups == 0;
  return groups >= 2 && divides && (request_.stages == 0 || request_.stages == groups) ? groups : 0;
}

double PipelineSearch::LeastWork(const LayerTable& table, size_t submesh) const {
  double work = 0;
  for (int32_t l = 0; l < layers_.count; ++l) {
    double least = kInfinity;
    for (const std::optional<MeshCosts>& costs : table.costs[submesh]) {
      if (costs.has_value()) least = std::min(least, costs->bound[layers_.kind[l]]);
    }
    work += least;
  }
  return work;
}

}  // namespace meshwright
