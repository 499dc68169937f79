#ifndef MESHWRIGHT_COST_CALIBRATED_H_
#define MESHWRIGHT_COST_CALIBRATED_H_

#include <optional>

#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/collective.h"
#include "meshwright/cost/cost_model.h"

namespace meshwright {

// The roofline with measured curves in place of its constants: what matmuls reach by
// element type, memory-bound kernels by size, and collectives by kind, group and size. Groups that
// were not measured, or that span nodes, cost what collective.h says, with the start that the
// nearest measured group has. A device without a calibration of its own is priced by another's
// efficiencies.
class CalibratedCostModel : public CostModel {
 public:
  // `calibration` is copied.
  CalibratedCostModel(const Mesh& mesh, const Calibration& calibration);

  std::string name() const override { return "calibrated"; }
  double ComputeSeconds(const Work& work) const override;
  double CollectiveSeconds(CollectiveKind kind, const AxisList& axes, int64_t bytes) const override;
  double RearrangeSeconds(int64_t bytes) const override;
  std::optional<Overlap> overlap() const override {
    return Overlap{calibration_.overlap_cost, calibration_.step_seconds,
                   calibration_.array_seconds};
  }

 private:
  double MatmulSeconds(const Work& work) const;
  // Time of a curve that holds for the calibration's device, on this one.
  double MemorySeconds(const TimeCurve& curve, double bytes) const;

  Calibration calibration_;
  CollectiveTimes collective_times_;
  double memory_scale_ = 1;  // this device's memory bandwidth over the calibrated one's
  bool same_links_ = true;   // measured collectives hold for this cluster
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_CALIBRATED_H_
