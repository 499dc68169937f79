#ifndef MESHWRIGHT_PLAN_MAKE_REQUEST_OPTIONS_H_
#define MESHWRIGHT_PLAN_MAKE_REQUEST_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/make/plan_program.h"

namespace meshwright {

inline constexpr int kMaxThreads = 1024;

// What can be asked of the planner, as users write it. The command line and the C ABI share these;
// each is the long option of its name with `-` for `_` (`fixes`: --fix, `fix_files`: --fix-file).
struct RequestOptions {
  std::string cluster;  // see ParseCluster
  std::string mesh = "auto";
  std::string memory = "device";  // "60GiB", "unlimited", "device"
  std::string cost_model = "auto";
  std::string completion = "least-cost";  // or "xla": see Completion
  std::string deadline = "30s";
  std::string pipeline = "off";        // "auto" or a number of stages
  std::string micro_batches = "auto";  // or a number
  std::string schedule = "1f1b";       // of ScheduleTable, or "auto"
  bool recompute = true;
  int32_t layers = 0;                  // 0: as the program repeats
  std::vector<std::string> data;       // see FindBatch
  std::vector<std::string> fixes;      // "NAME=SPEC"
  std::vector<std::string> fix_files;  // see ParseFixFile
  std::string db;                      // profile database to plan with; empty: none
  int64_t db_environment = 0;          // number of one in it; 0: the one that knows the program
  int threads = 2;                     // 1 to kMaxThreads
  uint64_t seed = 1;
};

// Seconds that a search may take. Errors name `option`.
absl::StatusOr<double> ParseDeadline(const std::string& text, const std::string& option);

// The request that `options` describe, the files of fixes read; its program is left empty. Errors
// name the option at fault, preceded by `dashes` ("--" on the command line).
absl::StatusOr<ProgramRequest> ToProgramRequest(const RequestOptions& options,
                                                std::string_view dashes);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_REQUEST_OPTIONS_H_
