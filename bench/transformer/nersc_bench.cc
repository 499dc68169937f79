// Runs the published searches of the NERSC model and prints a row each: candidates, how many fit,
// seconds of one thread, candidates a second. The largest of the publication are the default.
//
//   nersc_bench [--system B200] [--nvlink-size 64] [--gpus 16384] [--global-batch 4096]
//               [--repeat 5: the fastest counts]

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "meshwright/base/status.h"
#include "meshwright/transformer/nersc.h"

namespace meshwright::transformer::nersc {
namespace {

struct NamedModel {
  const char* name;
  Model model;
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

int Run(const Options& options) {
  const absl::StatusOr<System> system = PublishedSystem(options.system, options.nvlink_size);
  if (!system.ok()) return Fail(system.status());
  std::printf("%-10s %-8s %10s %10s %10s %14s\n", "model", "strategy", "candidates", "feasible",
              "seconds", "candidates/s");
  for (const NamedModel& one : kModels) {
    for (const Strategy strategy : {Strategy::k1d, Strategy::kSumma, Strategy::kSequence}) {
      double seconds = std::numeric_limits<double>::infinity();
      SearchResult result;
      for (int64_t i = 0; i < std::max<int64_t>(options.repeat, 1); ++i) {
        const auto start = std::chrono::steady_clock::now();
        absl::StatusOr<SearchResult> found =
            Search(one.model, *system, strategy,
                   {.gpus = options.gpus, .global_batch = options.global_batch});
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        if (!found.ok()) return Fail(found.status());
        seconds = std::min(seconds, time.count());
        result = *std::move(found);
      }
      std::printf("%-10s %-8s %10lld %10lld %10.4f %14.0f\n", one.name,
                  std::string(StrategyName(strategy)).c_str(),
                  static_cast<long long>(result.candidates),
                  static_cast<long long>(result.feasible), seconds,
                  static_cast<double>(result.candidates) / seconds);
    }
  }
  return 0;
}

}  // namespace
}  // namespace meshwright::transformer::nersc

int main(int argc, char** argv) {
  meshwright::transformer::nersc::Options options;
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
  return meshwright::transformer::nersc::Run(options);
}
