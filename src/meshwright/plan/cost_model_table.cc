#include "meshwright/plan/cost_model_table.h"

#include "meshwright/cost/alpha_beta.h"
#include "meshwright/cost/roofline.h"

namespace meshwright {

const std::vector<CostModelRow>& CostModelTable() {
  static const auto* const kTable = new std::vector<CostModelRow>{
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

}  // namespace meshwright
