#ifndef MESHWRIGHT_PROFILE_FINALISTS_H_
#define MESHWRIGHT_PROFILE_FINALISTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/measuring_worker.h"

namespace meshwright {

// What is known of the finalists after a profile.
struct FinalistReport {
  // Plans that the database has as measured as a whole, whoever did it; those that do not fit the
  // memory do not count, nor do any if none of them can be planned again.
  int64_t steps = 0;
  int64_t measured = 0, failed = 0;  // now
  // Figures of the fastest of `steps` that can be planned again, if there are any.
  double best_seconds = 0, best_spread = 0, best_composed = 0;
  std::string warning;  // empty: none
};

struct FinalistOptions {
  int most = 4;  // plans
  double seconds = 60;
  int64_t budget_bytes = 0;  // memory of a device
  // See ProfileOptions.
  double patience_seconds = 180;
  bool retry = false;
  int threads = 2;  // of planning, and of compiling
  std::function<bool()> stop;
  std::function<void(const FinalistReport& report, const std::string& what)> progress;
};

// Measures whole steps under the plans that are the most promising by what `database` knows of the
// program's segments, and stores them there; a plan that is there as a whole is not measured again,
// by whichever choices of segments it came about. Where nothing can be planned, a warning says why.
// Errors: of the database, the worker.
absl::StatusOr<FinalistReport> MeasureFinalists(const Graph& graph, const CostModelRow& cost_model,
                                                const Mesh& mesh,
                                                const ProfileEnvironment& environment,
                                                const FinalistOptions& options,
                                                MeasuringWorker* worker, ProfileDatabase* database);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_FINALISTS_H_
