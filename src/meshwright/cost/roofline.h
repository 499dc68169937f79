#ifndef MESHWRIGHT_COST_ROOFLINE_H_
#define MESHWRIGHT_COST_ROOFLINE_H_

#include <optional>

#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/collective.h"
#include "meshwright/cost/cost_model.h"

namespace meshwright {

// What real kernels reach of a data sheet's figures. The defaults describe cuBLAS and XLA's fused
// loops on one H100 and are used for every device; roofline.cc says how they were found and how
// well they fit.
struct RooflineOptions {
  double matmul_half_mn = 64;        // m or n at which half of that is reached
  double matmul_half_k = 128;        // the same for k
  double memory_efficiency = 0.88;   // of memory bandwidth
  double vector_fraction = 1.0 / 8;  // of f32 peak: what operators without tensor cores compute at
  double kernel_launch_seconds = 1.2e-6;  // start and drain of one kernel in a stream of kernels
  double kernel_record_seconds = 2.3e-6;  // of the host, for each that is not in a loop
  double collective_launch_seconds =
      35e-6;  // the same of a collective: rendezvous of the group and protocol set-up
  Overlap overlap = {kUsualOverlapCost, kUsualStepSeconds, kUsualArraySeconds};
};

// Costs in seconds from first principles: the larger of the time to compute and the time to move
// the bytes (Williams, Waterman, Patterson, "Roofline", 2009), plus the start of a kernel.
// Collectives: collective.h.
class RooflineCostModel : public CostModel {
 public:
  explicit RooflineCostModel(const Mesh& mesh, const RooflineOptions& options = {});

  std::string name() const override { return "roofline"; }
  double ComputeSeconds(const Work& work) const override;
  double CollectiveSeconds(CollectiveKind kind, const AxisList& axes, int64_t bytes) const override;
  std::optional<Overlap> overlap() const override { return options_.overlap; }

 private:
  // Operations per second that `work` can reach.
  double Rate(const Work& work) const;

  RooflineOptions options_;
  CollectiveTimes collective_times_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_ROOFLINE_H_
