// Efficiency of matmuls. The share of the peak that an m x n x k matmul reaches is
//
//   e(m, n, k) = E * m/(m+M) * n/(n+M) * k/(k+K)
//
// Short m and n leave tiles (128 x 256 elements) and the last wave of multiprocessors partly empty;
// short k leaves no time to hide the prologue and epilogue of a tile. The real curve has steps
// (tiles are whole, waves are whole); a smooth one is used because a plan must not hinge on a step
// that another library version puts elsewhere. Batches of matmuls fill the machine together, so
// `batch` does not enter.
//
// E, M, K and the fraction of memory bandwidth were chosen on one grid over the 74 matmuls of 60 us
// and more that were measured on an H100 (bf16 and TF32 together, nothing fitted per row or type):
// mean error 9 %, nine in ten within 18 %, worst 42 % (a TF32 matmul with k = 1024, n = 512);
// roofline_test.cc repeats the comparison. E = 0.74 is what clocks under the power limit leave of
// the peak at boost clock. Shorter matmuls are not comparable: there the measurement waits for the
// host.
//
// The start of a kernel: an H200 runs loops of kernels on a few KiB at 0.95 to 1.4 us a kernel.
//
// The start of a collective: NCCL's time at 1 KiB .. 1 MiB on 2 and 4 GPUs is flat at 36 .. 58 us,
// 35 us without the steps of the ring (cluster/collective.cc).

#include "meshwright/cost/roofline.h"

#include <algorithm>

#include "meshwright/cost/kernel_rates.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

RooflineCostModel::RooflineCostModel(const Mesh& mesh, const RooflineOptions& options)
    : CostModel(mesh), options_(options), collective_times_(mesh) {}

double RooflineCostModel::Rate(const Work& work) const {
  const DeviceType& device = mesh().cluster.device;
  if (HasUnitRate(work.kernel)) return UnitRate(work.kernel, work.element_type);
  const double plain = device.PeakFlops("f32") * options_.vector_fraction;
  if (work.plain_share > 0) return plain * work.plain_share;
  if (work.m <= 0 || work.n <= 0 || work.k <= 0) return plain;
  if (IsAttention(work.kernel)) {
    return device.PeakFlops(ElementTypeName(work.element_type)) * AttentionFraction(work);
  }
  const auto saturation = [](int64_t size, double half) {
    return static_cast<double>(size) / (static_cast<double>(size) + half);
  };
  const double rate = device.PeakFlops(ElementTypeName(work.element_type)) *
                      device.matmul_efficiency * saturation(work.m, options_.matmul_half_mn) *
                      saturation(work.n, options_.matmul_half_mn) *
                      saturation(work.k, options_.matmul_half_k);
  return std::max(rate, plain * kPlainProducts);
}

double RooflineCostModel::ComputeSeconds(const Work& work) const {
  if (work.flops <= 0 && work.bytes <= 0 && work.copies <= 0) return 0;
  const double bandwidth =
      mesh().cluster.device.memory_bytes_per_second * options_.memory_efficiency;
  // What moves no bytes of its own runs inside another operator's kernel.
  const bool starts_kernel = work.bytes > 0 || work.m > 0;
  const double kernels = work.copies + (starts_kernel ? work.kernels : 0);
  return std::max({work.flops / Rate(work), WindowSeconds(work), work.bytes / bandwidth}) +
         work.copy_bytes / bandwidth +
         kernels *
             (options_.kernel_launch_seconds + (work.in_loop ? 0 : options_.kernel_record_seconds));
}

double RooflineCostModel::CollectiveSeconds(CollectiveKind kind, const AxisList& axes,
                                            int64_t bytes) const {
  if (mesh().Size(axes) <= 1) return 0;
  return options_.collective_launch_seconds + collective_times_.Seconds(kind, axes, bytes);
}

}  // namespace meshwright
