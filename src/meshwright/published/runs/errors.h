#ifndef MESHWRIGHT_PUBLISHED_RUNS_ERRORS_H_
#define MESHWRIGHT_PUBLISHED_RUNS_ERRORS_H_

#include <array>
#include <map>
#include <string>
#include <vector>

#include "meshwright/published/runs/runs.h"

// Errors of predicted times (predicted / measured - 1), summed over runs of one group.

namespace meshwright::transformer {

struct ErrorSum {
  int rows = 0;
  double absolute = 0, signed_sum = 0, largest = 0;

  void Add(double error);
  double mean() const { return rows > 0 ? absolute / rows : 0; }  // absolute
  double bias() const { return rows > 0 ? signed_sum / rows : 0; }
};

struct HalvedErrors {
  ErrorSum all, fitted, other;
};

// What runs are grouped by.
struct RunGrouping {
  const char* name;
  std::string (*key)(const RunPrediction& prediction);
};
inline constexpr std::array<RunGrouping, 4> kRunGroupings = {{
    {"source", [](const RunPrediction& one) { return one.source; }},
    {"GPU", [](const RunPrediction& one) { return one.gpu; }},
    {"dtype",
     [](const RunPrediction& one) {
       return one.dtype.empty() ? std::string("not published") : one.dtype;
     }},
    {"all", [](const RunPrediction&) { return std::string("all"); }},
}};

// Errors of the rows that are predicted, by key.
std::map<std::string, HalvedErrors> ErrorsBy(const RunGrouping& grouping,
                                             const std::vector<RunPrediction>& predictions);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_PUBLISHED_RUNS_ERRORS_H_
