#ifndef MESHWRIGHT_CLUSTER_CALIBRATION_H_
#define MESHWRIGHT_CLUSTER_CALIBRATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/collective.h"

namespace meshwright {

// Seconds as a function of bytes, from measurements: a straight line between two of them, the first
// one's time below it, and beyond the last the rate between the last two.
struct TimeCurve {
  struct Point {
    double bytes = 0, seconds = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  std::vector<Point> points;  // ascending in bytes, not descending in seconds

  bool empty() const { return points.empty(); }
  double Seconds(double bytes) const;
  friend bool operator==(const TimeCurve&, const TimeCurve&) = default;
};

// The share of a device's peak that an m x n x k matmul reaches:
// efficiency * m/(m + half_mn) * n/(n + half_mn) * k/(k + half_k). cost/roofline.cc says why.
struct MatmulCurve {
  double efficiency = 0, half_mn = 0, half_k = 0;
  friend bool operator==(const MatmulCurve&, const MatmulCurve&) = default;
};

// The measurements of a device type (`meshwright calibrate`). Everything is about the device and
// its libraries, nothing about a model.
struct Calibration {
  std::string device;  // name of the device type, whose peak rates the efficiencies refer to
  std::string source;  // where the measurements come from
  std::map<std::string, MatmulCurve> matmul;  // by element type in HLO's spelling
  TimeCurve memory;                           // memory-bound kernels, by bytes read and written
  TimeCurve rearrange;  // kernels that change the order of dimensions, likewise
  // By kind and members of the group, which share a node; bytes as in collective.h.
  std::map<CollectiveKind, std::map<int64_t, TimeCurve>> collectives;
  double kernel_start_seconds = 0;  // of a kernel in a stream of dependent ones
  // The cost of a second of a collective that is hidden behind kernels: they lose multiprocessors
  // and memory bandwidth to it.
  double overlap_cost = 0;
  // From one step's end to the next one's first kernel, launch overhead: of every step, and for
  // each array that it takes or returns on each device that its process has.
  double step_seconds = 0, array_seconds = 0;
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

// Where nothing measured them. This share of a hidden collective's time comes back as slower
// kernels, as NCCL's kernels take multiprocessors from them. On two H200s 0.34 to 0.48 of
// collectives of 32 and 256 MiB beside bf16 matmuls, which wait for multiprocessors and not for
// memory: it should hold where only the memory differs.
inline constexpr double kUsualOverlapCost = 0.4;
// Launch overhead: a call of a compiled JAX function (0.11.2, H200), waited for.
// With k donated arrays, so 2 k taken and returned, one GPU took 70, 213, 647 and 1,710 us for k of
// 1, 32, 128 and 512, two took 107, 325, 1,290 and 3,095 us; as much is exposed behind 27 ms of
// kernels (two GPUs, k = 512: 3.0 ms).
inline constexpr double kUsualStepSeconds = 80e-6;
inline constexpr double kUsualArraySeconds = 1.7e-6;

// The calibration that is built in for a device type, or nullptr.
const Calibration* FindCalibration(std::string_view device);

// The YAML form; ToYaml(*ParseCalibration(text)) holds the same figures. Errors carry
// file:line:column.
absl::StatusOr<Calibration> ParseCalibration(std::string_view text, std::string_view file);
std::string CalibrationYaml(const Calibration& calibration);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_CALIBRATION_H_
