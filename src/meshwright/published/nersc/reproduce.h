#ifndef MESHWRIGHT_PUBLISHED_NERSC_REPRODUCE_H_
#define MESHWRIGHT_PUBLISHED_NERSC_REPRODUCE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// Recorded results of the published code, computed again and compared. A file, plain or gzip, holds
// records of one kind, as a JSON list, one a line, or a single one:
//
//   collectives  {"system", "nvs", "type", "n_gpus", "topology", "vol_GB", "t"}
//   points       {"strategy", "model", "system", "n_gpus", "global_batch_size", "n_candidates",
//                 "points": [{"config", "throughput", "feasible", "stats",
//                             "mlp", "sa", "dp_comm", "pp_comm": rows of operators, optional}]}
//   searches     {"case": {"strategy", "model", "system", "n_gpus", "global_batch_size"},
//                 "n_candidates", "n_feasible", "sum_throughput_all_feasible",
//                 "sum_mem_all_feasible", "n_tied_with_10th" (optional: how many of the feasible
//                 are as fast as the tenth, itself among them), "top": [{"throughput", "mem_GB",
//                 "config", "stats"}]}
//   op variants  {"system", "model", "variants": [{"variant": text, "rows": rows of operators}]}
//
// Other members are ignored. Collectives have to agree within 1e-12, all else within 1e-9,
// relative; counts and texts exactly. The best of a search are compared sorted, as the published
// code orders equals by chance.

namespace meshwright::transformer::nersc {

struct FileReport {
  std::string file;
  std::string kind;     // as above
  int64_t records = 0;  // collectives, points, searches, variants
  int64_t figures = 0, differ = 0;
  double largest_deviation = 0;          // relative; infinite where texts differ or one is 0
  std::vector<std::string> differences;  // the first few
};

// Errors name the file, the line where there is one a line, and the member: not JSON, records of
// no kind or of several, missing members, and what the model refuses.
absl::StatusOr<FileReport> ReproduceFile(const std::string& path);
absl::StatusOr<FileReport> ReproduceText(std::string text, std::string_view name);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_REPRODUCE_H_
