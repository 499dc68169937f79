#include "meshwright/cost/kernel_rates.h"

#include <gtest/gtest.h>

#include "meshwright/cost/calibrated.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/hlo/element_value.h"

namespace meshwright {
namespace {

Mesh OneH200() { return MakeMesh({1}, *ParseCluster("1xh200")); }

// A causal call of cuDNN's attention.
Work Attention(KernelClass kernel, int64_t batch, int64_t sequence, int64_t heads, int64_t groups,
               int64_t depth) {
  Work work;
  work.opcode = Opcode::kCustomCall;
  work.kernel = kernel;
  work.element_type = ElementType::kBF16;
  const double pairs = static_cast<double>(batch * heads) * static_cast<double>(sequence) *
                       static_cast<double>(sequence + 1) / 2;
  work.flops = pairs * static_cast<double>(depth) * (kernel == KernelClass::kAttention ? 4 : 10);
  work.m = heads / groups * sequence;
  work.n = depth;
  work.k = depth * sequence;
  work.batch = batch * groups;
  return work;
}

struct MeasuredCall {
  int64_t batch, sequence, heads, groups, depth;
  bool causal;
  double forward_seconds, both_seconds;
};

// cuDNN on one H200 with JAX 0.11.2. The first three are no rows that the sizes were chosen by.
TEST(KernelRates, CudnnAttentionOnAnH200) {
  constexpr MeasuredCall kCalls[] = {{1, 8192, 32, 8, 128, true, 0.000935, 0.003684},
                                     {1, 32768, 8, 1, 128, true, 0.003408, 0.013104},
                                     {1, 8192, 64, 8, 128, true, 0.001796, 0.007215},
                                     {16, 1024, 32, 8, 64, true, 0.000239, 0.001084},
                                     {32, 512, 16, 16, 64, false, 0.000113, 0.000498},
                                     {8, 2048, 16, 16, 64, true, 0.000208, 0.000832}};
  const RooflineCostModel model(OneH200());
  for (const MeasuredCall& call : kCalls) {
    const auto seconds = [&](KernelClass kernel) {
      Work work = Attention(kernel, call.batch, call.sequence, call.heads, call.groups, call.depth);
      if (!call.causal) work.flops *= 2;
      return model.ComputeSeconds(work);
    };
    const double forward = seconds(KernelClass::kAttention);
    const double both = forward + seconds(KernelClass::kAttentionBackward);
    EXPECT_NEAR(forward, call.forward_seconds, 0.15 * call.forward_seconds) << call.sequence;
    EXPECT_NEAR(both, call.both_seconds, 0.1 * call.both_seconds) << call.sequence;
  }
}

TEST(KernelRates, DeeperHeadsAndMoreKeysReachMore) {
  for (const KernelClass kernel : {KernelClass::kAttention, KernelClass::kAttentionBackward}) {
    const auto rate = [&](int64_t sequence, int64_t depth) {
      const Work work = Attention(kernel, 4, sequence, 16, 16, depth);
      return AttentionFraction(work);
    };
    EXPECT_LT(rate(4096, 64), rate(4096, 128));
    EXPECT_LT(rate(4096, 128), rate(4096, 256));
    EXPECT_LT(rate(1024, 128), rate(4096, 128));
    EXPECT_LT(rate(32768, 256), 0.8);
  }
}

struct MeasuredWindow {
  double places;
  int64_t features;
  double seconds;
};

// One H200, JAX 0.11.2: convolutions whose window is the image.
TEST(KernelRates, WindowsOfWholeImages) {
  constexpr MeasuredWindow kWindows[] = {{2097152, 2, 0.466},
                                         {262144, 2, 0.0560},
                                         {32768, 2, 0.00692},
                                         {4096, 2, 0.00110},
                                         {3136, 64, 0.001729}};
  for (const MeasuredWindow& window : kWindows) {
    Work work;
    work.window = window.places;
    work.k = static_cast<int64_t>(window.places) * window.features;
    EXPECT_NEAR(WindowSeconds(work), window.seconds, 0.15 * window.seconds) << window.places;
  }
}

struct MeasuredScatter {
  ElementType type;
  double rows, row, rows_out, seconds;
};

// Rows added at random places, one H200 with JAX 0.11.2; the copy of the operand, measured by
// itself, is taken off.
TEST(KernelRates, ScattersOnAnH200) {
  constexpr MeasuredScatter kScatters[] = {
      {ElementType::kF32, 1e6, 256, 1e5, 0.000788},  {ElementType::kF32, 1e6, 64, 1e5, 0.000132},
      {ElementType::kS32, 1e6, 256, 1e5, 0.001609},  {ElementType::kS32, 1e6, 64, 1e5, 0.000346},
      {ElementType::kBF16, 1e6, 256, 1e5, 0.001972}, {ElementType::kBF16, 1e6, 64, 1e5, 0.000511},
      {ElementType::kF16, 1e6, 256, 1e5, 0.001968},  {ElementType::kF16, 1e5, 256, 1e5, 0.000201}};
  const Mesh mesh = OneH200();
  const RooflineCostModel roofline(mesh);
  const CalibratedCostModel calibrated(mesh, Calibration{});
  for (const MeasuredScatter& scatter : kScatters) {
    Work work;
    work.opcode = Opcode::kScatter;
    work.kernel = KernelClass::kAtomic;
    work.element_type = scatter.type;
    work.flops = scatter.rows * scatter.row;
    const double width = ElementBytes(scatter.type);
    work.bytes = width * scatter.row * (scatter.rows + 2 * scatter.rows_out);
    const double seconds = roofline.ComputeSeconds(work);
    EXPECT_NEAR(seconds, scatter.seconds, 0.5 * scatter.seconds) << scatter.seconds;
    EXPECT_NEAR(calibrated.ComputeSeconds(work), seconds, 0.02 * seconds);
  }
}

struct MeasuredKeys {
  KernelClass kernel;
  ElementType type;
  double keys, seconds;
};

// Sorts of rows and of one dimension, the largest of rows, cumulative sums and products.
TEST(KernelRates, KeysAndScansAreOfTheMeasuredOrder) {
  constexpr MeasuredKeys kMeasured[] = {
      {KernelClass::kSort, ElementType::kF32, 16384 * 2048, 0.001793},
      {KernelClass::kSort, ElementType::kBF16, 16384 * 2048, 0.001571},
      {KernelClass::kSort, ElementType::kF32, 128 * 262144, 0.002192},
      {KernelClass::kSort, ElementType::kF32, 4e6, 0.000221},
      {KernelClass::kSort, ElementType::kF32, 32e6, 0.001173},
      {KernelClass::kTopK, ElementType::kF32, 16384 * 2048, 0.001042},
      {KernelClass::kTopK, ElementType::kBF16, 16384 * 2048, 0.000917},
      {KernelClass::kTopK, ElementType::kF32, 131072 * 128, 0.00052},
      {KernelClass::kScan, ElementType::kF32, 16384 * 2048, 0.000228},
      {KernelClass::kScan, ElementType::kBF16, 16384 * 2048, 0.0002},
      {KernelClass::kScan, ElementType::kF32, 8 * 1024 * 2048, 0.000124}};
  const Mesh mesh = OneH200();
  const RooflineCostModel roofline(mesh);
  for (const MeasuredKeys& measured : kMeasured) {
    Work work;
    work.kernel = measured.kernel;
    work.element_type = measured.type;
    work.flops = measured.keys;
    work.bytes = 2 * ElementBytes(measured.type) * measured.keys;
    EXPECT_NEAR(roofline.ComputeSeconds(work), measured.seconds, 0.4 * measured.seconds)
        << measured.seconds;
  }
}

// A calibration has curves of products, none of attention.
TEST(KernelRates, CalibratedModelsTakeThemToo) {
  const Work work = Attention(KernelClass::kAttention, 1, 8192, 32, 8, 128);
  const Mesh mesh = OneH200();
  const CalibratedCostModel calibrated(mesh, Calibration{});
  const RooflineCostModel roofline(mesh);
  EXPECT_NEAR(calibrated.ComputeSeconds(work), roofline.ComputeSeconds(work),
              0.02 * roofline.ComputeSeconds(work));
}

}  // namespace
}  // namespace meshwright
