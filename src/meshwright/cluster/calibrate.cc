// From measurements to curves.
//
// Files come in two kinds. The worker times operations inside of programs. Older files time one
// program an operation: there everything short waits for the host, so of each family (matmuls of a
// type, memory-bound kernels) only what takes clearly longer than its shortest member says anything
// about the device. Collectives are kept whole: their start is a rendezvous of the group, which a
// program pays too.
//
// Matmuls: the three parameters of MatmulCurve from a grid, by the least mean
// |log(predicted / measured)|. Curves of times are made monotonic by pooling
// neighbours that violate it (Ayer et al. 1955), as noise at small sizes would otherwise make a
// larger transfer cheaper.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/measurements.h"

namespace meshwright {
namespace {

// Start of a kernel in a stream of them, where nothing measured it: the gap that NVIDIA's profilers
// show between kernels that are launched ahead.
constexpr double kUsualKernelStart = 2.5e-6;
// Arrays that a step_host row without their number is of: a hundred that are donated.
constexpr double kUnstatedArrays = 200;
// Rows this much longer than the shortest of their family do not wait for the host.
constexpr double kClearOfHost = 1.5;
// Share of the plain rate that kernels reach which change the order of dimensions, where nothing
// measured it: they read or write in pieces of a cache line.
constexpr double kUsualRearrangeRate = 0.8;

// Faster than this no device is: caches over the memory behind them, clocks over the data sheet's.
constexpr double kMostOverMemory = 4;
constexpr double kMostOverPeak = 1.5;

struct KindRow {
  absl::string_view op;
  CollectiveKind kind;
};
constexpr KindRow kKindRows[] = {
    {"all_reduce", CollectiveKind::kAllReduce},         {"all_gather", CollectiveKind::kAllGather},
    {"reduce_scatter", CollectiveKind::kReduceScatter}, {"all_to_all", CollectiveKind::kAllToAll},
    {"send_recv", CollectiveKind::kCollectivePermute},
};
constexpr absl::string_view kMemoryOps[] = {"copy", "gelu", "add", "reduce"};

struct TypeRow {
  absl::string_view framework, hlo;
};
constexpr TypeRow kTypes[] = {
    {"bfloat16", "bf16"},          {"float16", "f16"},       {"float32", "f32"}, {"float64", "f64"},
    {"float8_e4m3fn", "f8e4m3fn"}, {"float8_e5m2", "f8e5m2"}};

std::string HloType(const std::string& type) {
  for (const TypeRow& row : kTypes) {
    if (type == row.framework) return std::string(row.hlo);
  }
  return type;
}

const KindRow* FindKind(absl::string_view op) {
  for (const KindRow& row : kKindRows) {
    if (op == row.op) return &row;
  }
  return nullptr;
}

struct TimedMatmul {
  double m, n, k, seconds;
};

std::optional<TimedMatmul> ParseMatmul(const Measurement& row) {
  absl::string_view sizes = row.op;
  if (!absl::ConsumePrefix(&sizes, "gemm_")) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(sizes, 'x');
  std::array<double, 3> values;
  if (parts.size() != values.size()) return std::nullopt;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!absl::SimpleAtod(parts[i], &values[i]) || !(values[i] >= 1)) return std::nullopt;
  }
  return TimedMatmul{values[0], values[1], values[2], row.seconds};
}

bool IsMemoryOp(absl::string_view op) {
  return std::find(std::begin(kMemoryOps), std::end(kMemoryOps), op) != std::end(kMemoryOps) ||
         absl::StartsWith(op, "transpose_");
}

// The least seconds that the row can have taken; 0 if its kind of operation has no such limit.
double LeastSeconds(const Measurement& row, const DeviceType& device) {
  if (IsMemoryOp(row.op)) return row.amount / (kMostOverMemory * device.memory_bytes_per_second);
  if (const std::optional<TimedMatmul> p = ParseMatmul(row))
    return 2 * p->m * p->n * p->k / (kMostOverPeak * device.PeakFlops(HloType(row.type)));
  return 0;
}

// The rows without those of operations that some row has faster than possible: a compiler removed
// them, at that size visibly and so at every other.
std::vector<Measurement> Possible(const std::vector<Measurement>& rows, const DeviceType& device,
                                  std::string_view source, std::vector<std::string>* warnings) {
  std::set<std::string> removed;
  for (const Measurement& row : rows) {
    if (row.seconds >= LeastSeconds(row, device) || !removed.insert(row.op).second) continue;
    warnings->push_back(absl::StrFormat(
        "%s:%d: %s: %.4g %s in %.4g us is more than a %s can do; rows of this name are left out",
        ToAbsl(source), row.line, row.op, row.amount, IsMemoryOp(row.op) ? "bytes" : "operations",
        row.seconds * 1e6, device.name));
  }
  std::vector<Measurement> kept;
  for (const Measurement& row : rows) {
    if (!removed.contains(row.op)) kept.push_back(row);
  }
  return kept;
}

// Averages points of the same size, and neighbours until times do not fall with size.
TimeCurve Monotonic(std::vector<TimeCurve::Point> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  struct Block {
    std::vector<double> bytes;
    double sum = 0, count = 0;
    double mean() const { return sum / count; }
  };
  std::vector<Block> blocks;
  for (const TimeCurve::Point& p : points) {
    if (!blocks.empty() && blocks.back().bytes.back() == p.bytes) {
      blocks.back().sum += p.seconds;
      blocks.back().count += 1;
    } else {
      blocks.push_back({{p.bytes}, p.seconds, 1});
    }
  }
  std::vector<Block> pooled;
  for (Block& block : blocks) {
    pooled.push_back(std::move(block));
    while (pooled.size() > 1 && pooled[pooled.size() - 2].mean() > pooled.back().mean()) {
      Block& left = pooled[pooled.size() - 2];
      const Block right = std::move(pooled.back());
      left.bytes.insert(left.bytes.end(), right.bytes.begin(), right.bytes.end());
      left.sum += right.sum;
      left.count += right.count;
      pooled.pop_back();
    }
  }
  TimeCurve curve;
  for (const Block& block : pooled) {
    // A pooled run keeps its ends: it is flat between them.
    curve.points.push_back({block.bytes.front(), block.mean()});
    if (block.bytes.size() > 1) curve.points.push_back({block.bytes.back(), block.mean()});
  }
  return curve;
}

double Shortest(const std::vector<double>& seconds) {
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

class Fit {
 public:
  Fit(const std::vector<Measurement>& rows, const DeviceType& device) : device_(device) {
    for (const Measurement& row : rows) {
      if (row.op == "kernel_start") starts_.push_back(row.seconds);
      if (row.op == "step_host") steps_.push_back(row);
      if (const KindRow* kind = FindKind(row.op))
        transfers_[kind->kind][row.group].push_back({row.amount, row.seconds});
      if (absl::StartsWith(row.op, "transpose_")) {
        transposes_.push_back({row.amount, row.seconds});
      } else if (IsMemoryOp(row.op)) {
        kernels_.push_back({row.amount, row.seconds});
      }
      if (absl::StartsWith(row.op, "overlap_")) overlaps_.push_back(&row);
      if (const std::optional<TimedMatmul> matmul = ParseMatmul(row))
        matmuls_[HloType(row.type)].push_back(*matmul);
    }
  }

  absl::StatusOr<Calibration> Run(std::string_view source) {
    if (matmuls_.empty() || kernels_.empty() || transfers_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          ToAbsl(source), ": measurements lack ",
          matmuls_.empty()   ? "matmuls (gemm_MxNxK)"
          : kernels_.empty() ? "memory-bound kernels (copy, gelu, add, reduce)"
                             : "collectives (all_reduce, all_gather, reduce_scatter, ...)"));
    }
    result_.device = device_.name;
    result_.source = std::string(source);
    in_program_ = !starts_.empty();
    result_.kernel_start_seconds = in_program_ ? Shortest(starts_) : kUsualKernelStart;
    FitLaunch();
    FitMemory();
    for (const auto& [kind, groups] : transfers_) {
      for (const auto& [group, points] : groups)
        result_.collectives[kind][group] = Monotonic(points);
    }
    FitOverlap();
    for (const auto& [type, matmuls] : matmuls_) FitMatmuls(type, matmuls);
    return std::move(result_);
  }

 private:
  // The rows that are clear of launch overhead.
  template <typename T>
  std::vector<T> Clear(const std::vector<T>& rows) const {
    if (in_program_) return rows;
    double shortest = std::numeric_limits<double>::infinity();
    for (const T& row : rows) shortest = std::min(shortest, row.seconds);
    std::vector<T> kept;
    for (const T& row : rows) {
      if (row.seconds > kClearOfHost * shortest) kept.push_back(row);
    }
    return kept.empty() ? rows : kept;
  }

  // The start of a kernel is counted by itself.
  TimeCurve Kernels(const std::vector<TimeCurve::Point>& rows) const {
    std::vector<TimeCurve::Point> points = Clear(rows);
    for (TimeCurve::Point& p : points)
      p.seconds = std::max(0.0, p.seconds - result_.kernel_start_seconds);
    points.push_back({0, 0});
    return Monotonic(std::move(points));
  }

  // Launch overhead, a straight line over arrays and the devices that each lies on.
  void FitLaunch() {
    result_.step_seconds = kUsualStepSeconds;
    result_.array_seconds = kUsualArraySeconds;
    const auto count = static_cast<double>(steps_.size());
    double x_sum = 0, y_sum = 0, xx_sum = 0, xy_sum = 0;
    for (const Measurement& row : steps_) {
      const double arrays = row.amount > 0 ? row.amount : kUnstatedArrays;
      const double x = arrays * static_cast<double>(row.group);
      x_sum += x, y_sum += row.seconds, xx_sum += x * x, xy_sum += x * row.seconds;
    }
    if (steps_.empty()) return;
    const double spread = count * xx_sum - x_sum * x_sum;
    if (spread > 0)
      result_.array_seconds = std::max(0.0, (count * xy_sum - x_sum * y_sum) / spread);
    result_.step_seconds = std::max(0.0, (y_sum - result_.array_seconds * x_sum) / count);
  }

  void FitMemory() {
    result_.memory = Kernels(kernels_);
    if (!transposes_.empty()) {
      result_.rearrange = Kernels(transposes_);
      return;
    }
    result_.rearrange = result_.memory;
    for (TimeCurve::Point& point : result_.rearrange.points) point.seconds /= kUsualRearrangeRate;
  }

  void FitOverlap() {
    result_.overlap_cost = kUsualOverlapCost;
    std::vector<double> shares;
    for (const Measurement* row : overlaps_) {
      const KindRow* kind = FindKind(row->op.substr(std::string_view("overlap_").size()));
      if (kind == nullptr) continue;
      const auto curve = result_.collectives[kind->kind].find(row->group);
      if (curve == result_.collectives[kind->kind].end()) continue;
      const double alone = curve->second.Seconds(row->amount);
      if (alone > 0) shares.push_back(std::min(1.0, row->seconds / alone));
    }
    if (shares.empty()) return;
    std::sort(shares.begin(), shares.end());
    result_.overlap_cost = shares[shares.size() / 2];
  }

  void FitMatmuls(const std::string& type, const std::vector<TimedMatmul>& all) {
    static constexpr double kSizes[] = {0,   8,   16,  24,  32,  48,  64,  96,
                                        128, 192, 256, 384, 512, 768, 1024};
    const std::vector<TimedMatmul> matmuls = Clear(all);
    MatmulCurve best;
    double error = std::numeric_limits<double>::infinity();
    for (int percent = 20; percent <= 100; ++percent) {
      for (double mn : kSizes) {
        for (double k : kSizes) {
          const MatmulCurve curve{percent / 100.0, mn, k};
          const double e = Error(type, curve, matmuls);
          if (e >= error) continue;
          error = e;
          best = curve;
        }
      }
    }
    result_.matmul[type] = best;
  }

  double Error(const std::string& type, const MatmulCurve& curve,
               const std::vector<TimedMatmul>& matmuls) const {
    const double peak = device_.PeakFlops(type);
    const double bytes = type == "f64"                      ? 8
                         : type == "f32"                    ? 4
                         : type[0] == 'f' && type[1] == '8' ? 1
                                                            : 2;
    double sum = 0;
    for (const TimedMatmul& p : matmuls) {
      const double share = curve.efficiency * p.m / (p.m + curve.half_mn) * p.n /
                           (p.n + curve.half_mn) * p.k / (p.k + curve.half_k);
      const double compute = 2 * p.m * p.n * p.k / (peak * share);
      const double memory = result_.memory.Seconds(bytes * (p.m * p.k + p.k * p.n + p.m * p.n));
      const double predicted = std::max(compute, memory) + result_.kernel_start_seconds;
      sum += std::abs(std::log(predicted / std::max(p.seconds, 1e-9)));
    }
    return sum / static_cast<double>(matmuls.size());
  }

  const DeviceType& device_;
  Calibration result_;
  bool in_program_ = false;
  std::vector<double> starts_;
  std::vector<Measurement> steps_;
  std::map<std::string, std::vector<TimedMatmul>> matmuls_;
  std::vector<TimeCurve::Point> kernels_, transposes_;
  std::vector<const Measurement*> overlaps_;
  std::map<CollectiveKind, std::map<int64_t, std::vector<TimeCurve::Point>>> transfers_;
};

}  // namespace

absl::StatusOr<Calibration> Calibrate(const std::vector<Measurement>& measurements,
                                      const DeviceType& device, std::string_view source,
                                      std::vector<std::string>* warnings) {
  const std::vector<Measurement> possible = Possible(measurements, device, source, warnings);
  return Fit(possible, device).Run(source);
}

}  // namespace meshwright
