#include "meshwright/intra/cost_model_table.h"

#include "meshwright/cluster/calibration.h"
#include "meshwright/cost/alpha_beta.h"
#include "meshwright/cost/calibrated.h"
#include "meshwright/cost/roofline.h"

namespace meshwright {
namespace {

// The device whose efficiencies stand in for those of devices that nobody measured.
constexpr std::string_view kReferenceDevice = "h100-sxm";

const Calibration* CalibrationOf(const Cluster& cluster) {
  if (cluster.calibration != nullptr) return cluster.calibration.get();
  return FindCalibration(cluster.device.measured_as());
}

}  // namespace

const std::vector<CostModelRow>& CostModelTable() {
  static const auto* const kTable = new std::vector<CostModelRow>{
      {"calibrated", "seconds from measured curves, with overlap of collectives and kernels",
       StrategySpace::kFull, true,
       [](const Mesh& mesh) -> std::unique_ptr<CostModel> {
         const Calibration* calibration = CalibrationOf(mesh.cluster);
         if (calibration == nullptr) calibration = FindCalibration(kReferenceDevice);
         return std::make_unique<CalibratedCostModel>(mesh, *calibration);
       }},
      {"roofline", "seconds from the device's peak rates and the links", StrategySpace::kFull, true,
       [](const Mesh& mesh) -> std::unique_ptr<CostModel> {
         return std::make_unique<RooflineCostModel>(mesh);
       }},
      {"alpha_beta", "Alpa's unitless model and its strategies, to compare with published plans",
       StrategySpace::kAlpa, false,
       [](const Mesh& mesh) -> std::unique_ptr<CostModel> {
         return std::make_unique<AlphaBetaCostModel>(mesh, AlphaBetaOptions());
       }},
  };
  return *kTable;
}

const CostModelRow* FindCostModel(std::string_view name) {
  for (const CostModelRow& row : CostModelTable()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool IsCalibrated(const Cluster& cluster) { return CalibrationOf(cluster) != nullptr; }

std::string_view DefaultCostModel(const Cluster& cluster) {
  if (!cluster.cost_model.empty()) return cluster.cost_model;
  return IsCalibrated(cluster) ? "calibrated" : "roofline";
}

}  // namespace meshwright
