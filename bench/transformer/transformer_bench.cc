// Configurations a second on one thread, by each model of cost.
//
// NERSC: the published searches; the largest of the publication are the default. A row each:
// candidates, how many fit, seconds, candidates a second.
//
// Calibrated: models on clusters of today. A row each: legal configurations, seconds in which every
// one of them gets its step time and memory, and configurations a second of that; then what the
// search for the ten best does: how many it costs, how many it leaves out because a bound shows
// that they do not fit or are not among the best, and seconds; first of what frameworks do by
// themselves, then of everything: all placements on nodes, grids of tensor parallelism, kinds of
// context parallelism and offloading.
//
//   transformer_bench [--system B200] [--nvlink-size 64] [--gpus 16384] [--global-batch 4096]
//                     [--repeat 5: the fastest counts]

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/search.h"
#include "meshwright/degrees/space.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/published/nersc/nersc.h"

namespace meshwright::transformer {
namespace {

struct NamedModel {
  const char* name;
  nersc::Model model;
};
// Of the publication: l, e, h, depth, f.
constexpr NamedModel kModels[] = {{"gpt3", {2048, 12288, 96, 96, 49152}},
                                  {"gpt3_1T", {2048, 25600, 160, 128, 102400}},
                                  {"vit_era5", {64800, 12288, 64, 48, 49152}}};

struct Options {
  std::string system = "B200";
  int64_t nvlink_size = 64, gpus = 16384, global_batch = 4096, repeat = 5;
};

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return ExitCode(status);
}

// The least seconds of `repeat` calls.
template <typename Function>
double Fastest(int64_t repeat, const Function& call) {
  double seconds = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < std::max<int64_t>(repeat, 1); ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    seconds = std::min(seconds, time.count());
  }
  return seconds;
}

absl::Status RunNersc(const Options& options) {
  MW_ASSIGN_OR_RETURN(const nersc::System system,
                      nersc::PublishedSystem(options.system, options.nvlink_size));
  std::printf("nersc\n%-10s %-8s %10s %10s %10s %14s\n", "model", "strategy", "candidates",
              "feasible", "seconds", "candidates/s");
  for (const NamedModel& one : kModels) {
    for (const nersc::Strategy strategy :
         {nersc::Strategy::k1d, nersc::Strategy::kSumma, nersc::Strategy::kSequence}) {
      absl::StatusOr<nersc::SearchResult> result;
      const double seconds = Fastest(options.repeat, [&] {
        result = nersc::Search(one.model, system, strategy,
                               {.gpus = options.gpus, .global_batch = options.global_batch});
      });
      MW_RETURN_IF_ERROR(result.status());
      std::printf("%-10s %-8s %10lld %10lld %10.4f %14.0f\n", one.name,
                  std::string(nersc::StrategyName(strategy)).c_str(),
                  static_cast<long long>(result->candidates),
                  static_cast<long long>(result->feasible), seconds,
                  static_cast<double>(result->candidates) / seconds);
    }
  }
  return absl::OkStatus();
}

struct CalibratedSearch {
  const char* model;
  const char* cluster;
  Precision precision;
  Workload workload;
};
constexpr CalibratedSearch kCalibrated[] = {
    {"gpt3-175b", "512x8xh100-sxm", Precision::kBf16, {2048, 1536}},
    {"llama3.1-405b", "1024x8xh100-sxm", Precision::kFp8, {8192, 2048}},
    {"mixtral-8x7b", "8x8xh100-sxm", Precision::kBf16, {4096, 512}},
    {"deepseek-v3", "32x8xh100-sxm", Precision::kFp8, {4096, 2048}},
    {"t5-11b", "8x8xa100-80g", Precision::kBf16, {512, 1024}},
};

// Of every configuration time and memory; returns how many there are.
int64_t CostAll(const Space& space, StepCoster& coster) {
  int64_t count = 0;
  space.ForEach([&](const Configuration& configuration) {
    const StepFigures figures = coster.Figures(configuration);
    if (figures.time.seconds > 0 && figures.peak_bytes > 0) ++count;
  });
  return count;
}

// What the search for the ten best does on one thread.
struct SearchRow {
  SearchCounts counts;
  double seconds = 0;
};
SearchRow TimeSearch(const CalibratedSearch& one, const Model& model, const Cluster& cluster,
                     const Fixes& fixes, int64_t repeat) {
  const Space space(model, one.workload, cluster.devices(), fixes, one.precision,
                    cluster.devices_per_node, cluster.fabric.unit_nodes);
  SearchRow row;
  row.seconds = Fastest(repeat, [&] {
    row.counts = Search(space, [&] { return CalibratedCosts(model, one.workload, cluster); },
                        {.budget_bytes = cluster.device.memory_bytes, .threads = 1})
                     .counts;
  });
  return row;
}

absl::Status RunCalibrated(const Options& options) {
  std::printf(
      "\n%-31s %38s %43s %54s\n%-14s %-16s %10s %10s %16s %10s %10s %10s %14s %10s %14s %10s\n",
      "calibrated", "every one costed", "the ten best searched",
      "... of all placements, grids, contexts, offloads", "model", "cluster", "legal", "seconds",
      "configurations/s", "costed", "left out", "seconds", "legal", "costed", "left out",
      "seconds");
  for (const CalibratedSearch& one : kCalibrated) {
    MW_ASSIGN_OR_RETURN(const Model model, LoadModel(one.model));
    MW_ASSIGN_OR_RETURN(const Cluster cluster, ParseCluster(one.cluster));
    const Space space(model, one.workload, cluster.devices(), UsualFixes(), one.precision,
                      cluster.devices_per_node, cluster.fabric.unit_nodes);
    int64_t legal = 0;
    const double all_seconds = Fastest(options.repeat, [&] {
      StepCoster coster(model, one.workload, cluster);
      legal = CostAll(space, coster);
    });
    const SearchRow usual = TimeSearch(one, model, cluster, UsualFixes(), options.repeat);
    const SearchRow all = TimeSearch(one, model, cluster, Fixes{}, options.repeat);
    std::printf(
        "%-14s %-16s %10lld %10.3f %16.0f %10lld %10lld %10.3f %14lld %10lld %14lld %10.3f\n",
        one.model, one.cluster, static_cast<long long>(legal), all_seconds,
        static_cast<double>(legal) / all_seconds, static_cast<long long>(usual.counts.evaluated),
        static_cast<long long>(usual.counts.pruned), usual.seconds,
        static_cast<long long>(all.counts.legal), static_cast<long long>(all.counts.evaluated),
        static_cast<long long>(all.counts.pruned), all.seconds);
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

int Run(const Options& options) {
  for (const absl::Status& status : {RunNersc(options), RunCalibrated(options)}) {
    if (!status.ok()) return Fail(status);
  }
  return 0;
}

}  // namespace
}  // namespace meshwright::transformer

int main(int argc, char** argv) {
  meshwright::transformer::Options options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (has_value && std::strcmp(argv[i], "--system") == 0) {
      options.system = argv[++i];
    } else if (has_value && std::strcmp(argv[i], "--nvlink-size") == 0) {
      options.nvlink_size = std::strtoll(argv[++i], nullptr, 10);
    } else if (has_value && std::strcmp(argv[i], "--gpus") == 0) {
      options.gpus = std::strtoll(argv[++i], nullptr, 10);
    } else if (has_value && std::strcmp(argv[i], "--global-batch") == 0) {
      options.global_batch = std::strtoll(argv[++i], nullptr, 10);
    } else if (has_value && std::strcmp(argv[i], "--repeat") == 0) {
      options.repeat = std::strtoll(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
  }
  return meshwright::transformer::Run(options);
}
