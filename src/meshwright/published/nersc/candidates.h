#ifndef MESHWRIGHT_PUBLISHED_NERSC_CANDIDATES_H_
#define MESHWRIGHT_PUBLISHED_NERSC_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/published/nersc/nersc.h"
#include "meshwright/published/nersc/operator.h"

// The candidates of the published searches: every way to write the number of GPUs as
// tp1 * tp2 * pp * dp that its rules allow, with every micro-batch, number of panels and share of
// the NVLink domain.

namespace meshwright::transformer::nersc {

// A placement on the NVLink domain's GPUs.
struct Placement {
  int32_t groups = 0;  // which of TensorDegrees::groups
  int64_t nv_dp = 1, nv_pp = 1;
};
struct Pipeline {
  int64_t pp = 1, dp = 1;
  std::vector<Placement> placements = {};
};
struct TensorDegrees {
  int64_t tp1 = 1, tp2 = 1;
  std::vector<int64_t> panels;  // one 0 if not SUMMA
  std::vector<int64_t> micro_batches = {};
  std::vector<Groups> groups = {};
  std::vector<Pipeline> pipelines = {};
};

class CandidateSpace {
 public:
  // The inputs must have passed their checks.
  CandidateSpace(const Model& model, const System& system, Strategy strategy, int64_t gpus,
                 int64_t global_batch);

  // All pairs of degrees of tensor parallelism, ascending.
  struct Pair {
    int64_t tp1, tp2;
  };
  std::vector<Pair> Pairs() const;
  TensorDegrees Degrees(const Pair& pair) const;
  // A micro-batch goes with a pipeline if it divides the batch of each of its dp ranks.
  bool Fits(int64_t micro_batch, const Pipeline& pipeline) const {
    return global_batch_ / pipeline.dp % micro_batch == 0;
  }
  // Error: more than kMostCandidates, or so many degrees that enumerating them takes seconds.
  absl::StatusOr<int64_t> Count() const;

 private:
  std::vector<int64_t> Panels(const Pair& pair) const;
  std::vector<Groups> GroupsOf(const Pair& pair) const;

  const Model& model_;
  const System& system_;
  Strategy strategy_;
  int64_t gpus_, global_batch_;
  std::vector<int64_t> gpu_divisors_, batch_divisors_, layer_divisors_, domain_divisors_;
};

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_CANDIDATES_H_
