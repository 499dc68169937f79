#ifndef MESHWRIGHT_INTRA_COST_MODEL_TABLE_H_
#define MESHWRIGHT_INTRA_COST_MODEL_TABLE_H_

#include <memory>
#include <string_view>
#include <vector>

#include "meshwright/cost/cost_model.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// A cost model that users can choose by name, and the strategies that go with it.
struct CostModelRow {
  std::string_view name;
  std::string_view summary;
  StrategySpace space;
  bool in_seconds;  // else plans made with it hold the model's own unit where keys say seconds
  std::unique_ptr<CostModel> (*make)(const Mesh& mesh);
};

const std::vector<CostModelRow>& CostModelTable();
const CostModelRow* FindCostModel(std::string_view name);  // nullptr if unknown

// The cluster or its device type has a calibration. Without one `calibrated` applies the
// efficiencies of h100-sxm to the device's own peak rates.
bool IsCalibrated(const Cluster& cluster);
// What `auto` stands for: the model that the cluster asks for, else calibrated where there is a
// calibration, else roofline.
std::string_view DefaultCostModel(const Cluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_COST_MODEL_TABLE_H_
