#include "meshwright/inter/stages/alpa_stages.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "meshwright/base/file.h"
#include "meshwright/base/infinity.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/stages/stage_search.h"

namespace meshwright {
namespace {

constexpr int64_t kMostLayers = 512;
constexpr int64_t kMostDevices = 1 << 16;
constexpr int64_t kMostStageMicroBatches = 1 << 30;
constexpr int64_t kMostInteger = int64_t{1} << 53;  // that JSON holds exactly
// Most steps of the dynamic programming for inference: half a minute or so.
constexpr double kMostStageSteps = 5e10;

std::vector<StageProblem::Configuration> ReadConfigurations(const JsonValue& costs,
                                                            const JsonValue& after) {
  std::vector<StageProblem::Configuration> configurations;
  const std::vector<JsonValue> seconds = costs.Elements();
  const std::vector<JsonValue> limits =
      after.Elements(seconds.size(), "one for each configuration");
  for (size_t c = 0; c < seconds.size() && costs.ok(); ++c) {
    if (seconds[c].IsNull() || limits[c].IsNull()) continue;
    StageProblem::Configuration one;
    one.seconds = seconds[c].Number();
    if (one.seconds < 0) seconds[c].Fail("expected a cost of at least 0");
    one.max_after =
        std::clamp<int64_t>(limits[c].Integer(-kMostInteger, kMostInteger), -1, kMostLayers);
    one.number = static_cast<int32_t>(c);
    configurations.push_back(one);
  }
  return configurations;
}

void ReadTable(const JsonValue& one, StageProblem* problem) {
  const auto layers = static_cast<size_t>(problem->layers);
  const std::vector<JsonValue> costs = one.At("compute_cost").Elements(layers, "one a layer");
  const std::vector<JsonValue> after = one.At("max_n_succ_stages").Elements(layers, "one a layer");
  for (size_t i = 0; i < layers && one.ok(); ++i) {
    const std::vector<JsonValue> cost_row = costs[i].Elements(layers, "one a layer");
    const std::vector<JsonValue> after_row = after[i].Elements(layers, "one a layer");
    for (size_t j = 0; j < layers && one.ok(); ++j) {
      const size_t submeshes = problem->submeshes.size();
      const std::vector<JsonValue> cost = cost_row[j].Elements(submeshes, "one a submesh");
      const std::vector<JsonValue> limit = after_row[j].Elements(submeshes, "one a submesh");
      for (size_t m = 0; m < submeshes && one.ok(); ++m)
        problem->configurations.push_back(ReadConfigurations(cost[m], limit[m]));
    }
  }
}

std::optional<double> ReadCost(const JsonValue& one, const char* key) {
  const JsonValue cost = one.At(key);
  if (cost.IsNull()) return std::nullopt;
  return cost.Number();
}

RecordedStages ReadStages(const JsonValue& one) {
  RecordedStages recorded;
  recorded.name = one.At("name").Text();
  StageProblem& problem = recorded.problem;
  problem.layers = static_cast<int32_t>(one.At("num_layers").Integer(1, kMostLayers));
  problem.devices = one.At("num_devices").Integer(1, kMostDevices);
  problem.micro_batches = one.At("num_microbatches").Integer(1, kMostStageMicroBatches);
  for (const JsonValue& submesh : one.At("submesh_choices").Elements()) {
    const std::vector<JsonValue> sizes = submesh.Elements(2, "a submesh: hosts, devices");
    if (!submesh.ok()) break;
    problem.submeshes.push_back(sizes[0].Integer(1, kMostDevices) *
                                sizes[1].Integer(1, kMostDevices));
  }
  const auto layers = static_cast<double>(problem.layers);
  if (layers * layers * layers / 2 * static_cast<double>(problem.devices) *
          static_cast<double>(problem.submeshes.size()) >
      kMostStageSteps) {
    one.At("num_devices").Fail(StrCat("expected fewer devices for ", problem.layers, " layers"));
  }
  ReadTable(one, &problem);
  recorded.training = ReadCost(one, "training_cost");
  recorded.inference = ReadCost(one, "inference_cost");
  return recorded;
}

}  // namespace

TrainingResult TrainingCost(const StageProblem& problem, double deadline_seconds) {
  StageSearchInput input;
  input.layers = problem.layers;
  input.devices = {problem.devices};
  // The number of stages after one stands for memory.
  constexpr int64_t kMemory = int64_t{1} << 40;
  input.memory_bytes = {kMemory};
  for (int64_t devices : problem.submeshes) input.submeshes.push_back({0, devices});
  input.micro_batches = problem.micro_batches;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  input.stop = [&] { return elapsed() > deadline_seconds; };
  input.in_flight = [](int32_t after, int64_t) { return int64_t{after}; };
  input.options = [&](int32_t begin, int32_t end, int32_t submesh) {
    std::vector<StageOption> options;
    for (const StageProblem::Configuration& one : problem.At(begin, end - 1, submesh)) {
      options.push_back(
          {.seconds = one.seconds, .fixed_bytes = kMemory - one.max_after, .bytes_in_flight = 1});
    }
    return options;
  };
  const StageSearchResult found = SearchStages(input);
  if (found.stages.empty()) return {.cost = std::nullopt, .proven = elapsed() < deadline_seconds};
  return {.cost = found.seconds, .proven = found.bound >= found.seconds};
}

std::optional<double> InferenceCost(const StageProblem& problem) {
  const auto width = static_cast<size_t>(problem.devices + 1);
  // By first layer and devices: the fastest slowest stage of `stages` stages; stage by stage.
  std::vector<std::vector<double>> rest(problem.layers + 1, std::vector<double>(width, kInfinity));
  rest[problem.layers][0] = 0;
  double best = kInfinity;
  for (int32_t stages = 1; stages <= problem.layers; ++stages) {
    std::vector<std::vector<double>> now(problem.layers + 1, std::vector<double>(width, kInfinity));
    for (int32_t first = 0; first < problem.layers; ++first) {
      for (int32_t last = first; last < problem.layers; ++last) {
        for (size_t m = 0; m < problem.submeshes.size(); ++m) {
          double seconds = kInfinity;
          for (const StageProblem::Configuration& one : problem.At(first, last, m))
            seconds = std::min(seconds, one.seconds);
          if (seconds == kInfinity) continue;
          for (int64_t d = problem.submeshes[m]; d <= problem.devices; ++d) {
            const double slowest = std::max(seconds, rest[last + 1][d - problem.submeshes[m]]);
            now[first][d] = std::min(now[first][d], slowest);
          }
        }
      }
    }
    best = std::min(best, now[0][problem.devices] * stages);
    rest = std::move(now);
  }
  if (best == kInfinity) return std::nullopt;
  return best;
}

absl::StatusOr<std::vector<RecordedStages>> ParseRecordedStages(std::string text,
                                                                std::string_view name) {
  MW_ASSIGN_OR_RETURN(text, MaybeGunzip(std::move(text), name));
  MW_ASSIGN_OR_RETURN(const InputJson json, ParseInputJson(text, name));
  absl::Status status;
  const JsonValue root(json, &status);
  if (!root.IsList()) root.Fail("expected a list of cases of Alpa's stage dynamic programming");
  std::vector<RecordedStages> cases;
  for (const JsonValue& one : root.Elements()) {
    cases.push_back(ReadStages(one));
    if (!one.ok()) break;
  }
  if (root.ok() && cases.empty()) root.Fail("holds no case");
  if (!status.ok())
    return absl::Status(status.code(), StrCat(name, ": ", FromAbsl(status.message())));
  return cases;
}

absl::StatusOr<std::vector<RecordedStages>> ReadRecordedStages(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  return ParseRecordedStages(std::move(text), path);
}

}  // namespace meshwright
