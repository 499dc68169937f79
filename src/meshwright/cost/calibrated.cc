#include "meshwright/cost/calibrated.h"

#include <algorithm>

#include "meshwright/cost/kernel_rates.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {
namespace {

// Share of the f32 peak that operators without tensor cores compute at: on every GPU of the table
// tensor cores do TF32 about eight times as fast as the plain units do f32.
constexpr double kVectorShare = 1.0 / 8;

const MatmulCurve* FindMatmul(const Calibration& calibration, const std::string& type) {
  const auto found = calibration.matmul.find(type);
  if (found != calibration.matmul.end()) return &found->second;
  // Types of one width run through the same pipelines.
  const auto half = calibration.matmul.find(type == "f16" ? "bf16" : "f32");
  if (half != calibration.matmul.end()) return &half->second;
  return calibration.matmul.empty() ? nullptr : &calibration.matmul.begin()->second;
}

}  // namespace

CalibratedCostModel::CalibratedCostModel(const Mesh& mesh, const Calibration& calibration)
    : CostModel(mesh), calibration_(calibration), collective_times_(mesh) {
  const Cluster& cluster = mesh.cluster;
  if (const DeviceType* device = FindDevice(calibration.device)) {
    memory_scale_ = cluster.device.memory_bytes_per_second / device->memory_bytes_per_second;
    same_links_ = cluster.intra_node.bandwidth_bytes_per_second ==
                      device->intra_node.bandwidth_bytes_per_second &&
                  cluster.intra_node.efficiency == device->intra_node.efficiency;
  }
}

double CalibratedCostModel::MemorySeconds(const TimeCurve& curve, double bytes) const {
  return curve.Seconds(bytes) / memory_scale_;
}

double CalibratedCostModel::MatmulSeconds(const Work& work) const {
  const std::string type(ElementTypeName(work.element_type));
  if (IsAttention(work.kernel)) {
    return work.flops / (mesh().cluster.device.PeakFlops(type) * AttentionFraction(work));
  }
  const double plain = mesh().cluster.device.PeakFlops("f32") * kVectorShare;
  if (work.plain_share > 0) return work.flops / (plain * work.plain_share);
  const MatmulCurve* curve = FindMatmul(calibration_, type);
  const auto saturation = [](int64_t size, double half) {
    return static_cast<double>(size) / (static_cast<double>(size) + half);
  };
  const double peak = mesh().cluster.device.PeakFlops(type);
  if (curve == nullptr) return work.flops / peak;
  const double rate = peak * curve->efficiency * saturation(work.m, curve->half_mn) *
                      saturation(work.n, curve->half_mn) * saturation(work.k, curve->half_k);
  return work.flops / std::max(rate, plain * kPlainProducts);
}

double CalibratedCostModel::ComputeSeconds(const Work& work) const {
  if (work.flops <= 0 && work.bytes <= 0 && work.copies <= 0) return 0;
  const bool product = work.m > 0 && work.n > 0 && work.k > 0;
  const double rate = HasUnitRate(work.kernel)
                          ? UnitRate(work.kernel, work.element_type)
                          : mesh().cluster.device.PeakFlops("f32") * kVectorShare;
  const double compute =
      product ? std::max(MatmulSeconds(work), WindowSeconds(work)) : work.flops / rate;
  // What moves no bytes of its own runs inside another operator's kernel.
  const double kernels = work.copies + (work.bytes > 0 || product ? work.kernels : 0);
  return std::max(compute, MemorySeconds(calibration_.memory, work.bytes)) +
         MemorySeconds(calibration_.rearrange, work.copy_bytes) +
         kernels * calibration_.kernel_start_seconds;
}

double CalibratedCostModel::RearrangeSeconds(int64_t bytes) const {
  return MemorySeconds(calibration_.rearrange, static_cast<double>(bytes)) +
         calibration_.kernel_start_seconds;
}

double CalibratedCostModel::CollectiveSeconds(CollectiveKind kind, const AxisList& axes,
                                              int64_t bytes) const {
  const int64_t members = mesh().Size(axes);
  if (members <= 1) return 0;
  const double modelled = collective_times_.Seconds(kind, axes, bytes);
  const auto groups = calibration_.collectives.find(kind);
  if (groups == calibration_.collectives.end() || groups->second.empty()) return modelled;
  const auto at_least = groups->second.lower_bound(members);
  const bool measured = at_least != groups->second.end() && at_least->first == members;
  if (measured && same_links_ && !mesh().Combined(axes).crosses_nodes)
    return at_least->second.Seconds(static_cast<double>(bytes));
  const TimeCurve& nearest =
      at_least == groups->second.end() ? groups->second.rbegin()->second : at_least->second;
  return nearest.Seconds(0) + modelled;
}

}  // namespace meshwright
