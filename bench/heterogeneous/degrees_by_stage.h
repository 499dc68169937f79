#ifndef BENCH_HETEROGENEOUS_DEGREES_BY_STAGE_H_
#define BENCH_HETEROGENEOUS_DEGREES_BY_STAGE_H_

#include "absl/status/status.h"

namespace meshwright::transformer {

// What degrees that differ between stages of one group would gain: prints a row for every problem.
absl::Status CompareDegreesByStage();

}  // namespace meshwright::transformer

#endif  // BENCH_HETEROGENEOUS_DEGREES_BY_STAGE_H_
