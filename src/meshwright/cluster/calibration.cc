#include "meshwright/cluster/calibration.h"

#include <algorithm>

#include "meshwright/cluster/builtin_calibrations.h"

namespace meshwright {

double TimeCurve::Seconds(double bytes) const {
  if (points.empty()) return 0;
  if (bytes <= points.front().bytes) return points.front().seconds;
  if (points.size() == 1) return points[0].seconds * bytes / points[0].bytes;
  auto right = std::lower_bound(points.begin(), points.end(), bytes,
                                [](const Point& p, double b) { return p.bytes < b; });
  if (right == points.end()) --right;
  const Point& a = *(right - 1);
  const Point& b = *right;
  return a.seconds + (bytes - a.bytes) * (b.seconds - a.seconds) / (b.bytes - a.bytes);
}

const Calibration* FindCalibration(std::string_view device) {
  // A built-in text that does not parse would be our own bug; tests read them all.
  static const auto* const kCalibrations = [] {
    auto* list = new std::vector<Calibration>;
    for (const std::string_view text : BuiltinCalibrationTexts()) {
      absl::StatusOr<Calibration> calibration = ParseCalibration(text, "built-in calibration");
      if (calibration.ok()) list->push_back(*std::move(calibration));
    }
    return list;
  }();
  for (const Calibration& calibration : *kCalibrations) {
    if (calibration.device == device) return &calibration;
  }
  return nullptr;
}

}  // namespace meshwright
