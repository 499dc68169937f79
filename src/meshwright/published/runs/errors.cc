#include "meshwright/published/runs/errors.h"

#include <algorithm>
#include <cmath>

namespace meshwright::transformer {

void ErrorSum::Add(double error) {
  ++rows;
  absolute += std::abs(error);
  signed_sum += error;
  largest = std::max(largest, std::abs(error));
}

std::map<std::string, HalvedErrors> ErrorsBy(const RunGrouping& grouping,
                                             const std::vector<RunPrediction>& predictions) {
  std::map<std::string, HalvedErrors> errors;
  for (const RunPrediction& one : predictions) {
    if (!one.skipped.empty()) continue;
    HalvedErrors& sums = errors[grouping.key(one)];
    sums.all.Add(one.error());
    (one.fitted ? sums.fitted : sums.other).Add(one.error());
  }
  return errors;
}

}  // namespace meshwright::transformer
