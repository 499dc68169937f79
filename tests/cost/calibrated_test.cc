#include "meshwright/cost/calibrated.h"

#include <gtest/gtest.h>

#include "meshwright/cluster/mesh.h"

namespace meshwright {
namespace {

Mesh MeshOf(const char* mesh, const char* cluster) {
  return *ParseMesh(mesh, *ParseCluster(cluster));
}

Calibration Simple() {
  Calibration c;
  c.device = "h100-sxm";
  c.matmul["bf16"] = {.efficiency = 0.5, .half_mn = 0, .half_k = 1024};
  c.memory = {{{0, 0}, {1e9, 1e-3}}};
  c.rearrange = {{{0, 0}, {1e9, 2e-3}}};
  c.collectives[CollectiveKind::kAllGather][4] = {{{1000, 20e-6}, {1e9, 10e-3}}};
  c.kernel_start_seconds = 3e-6;
  return c;
}

TEST(CalibratedCostModel, ProductsReachTheirShareOfThePeak) {
  const CalibratedCostModel model(MeshOf("4", "4xh100-sxm"), Simple());
  const Work work{.opcode = Opcode::kDot,
                  .element_type = ElementType::kBF16,
                  .flops = 1e12,
                  .bytes = 1e6,
                  .m = 4096,
                  .n = 4096,
                  .k = 1024,
                  .batch = 1};
  const double peak = FindDevice("h100-sxm")->PeakFlops("bf16");
  EXPECT_NEAR(model.ComputeSeconds(work), 1e12 / (peak * 0.5 * 0.5) + 3e-6, 1e-12);
}

TEST(CalibratedCostModel, KernelsAndCopiesFollowTheirCurves) {
  const CalibratedCostModel model(MeshOf("4", "4xh100-sxm"), Simple());
  EXPECT_NEAR(model.ComputeSeconds({.bytes = 5e8}), 0.5e-3 + 3e-6, 1e-12);
  EXPECT_NEAR(model.ComputeSeconds({.bytes = 5e8, .copy_bytes = 1e9, .copies = 1}),
              0.5e-3 + 2e-3 + 6e-6, 1e-12);
  EXPECT_NEAR(model.RearrangeSeconds(1'000'000'000), 2e-3 + 3e-6, 1e-12);
  EXPECT_EQ(model.ComputeSeconds({}), 0);
}

TEST(CalibratedCostModel, OtherMemoryScalesTheCurves) {
  const CalibratedCostModel model(MeshOf("4", "4xh200"), Simple());
  const double ratio =
      FindDevice("h200")->memory_bytes_per_second / FindDevice("h100-sxm")->memory_bytes_per_second;
  EXPECT_NEAR(model.ComputeSeconds({.bytes = 1e9}), 1e-3 / ratio + 3e-6, 1e-12);
}

TEST(CalibratedCostModel, MeasuredGroupsAreLookedUpOthersModelled) {
  const Mesh four = MeshOf("4", "4xh100-sxm"), two = MeshOf("2", "2xh100-sxm");
  const CalibratedCostModel model(four, Simple());
  EXPECT_DOUBLE_EQ(model.CollectiveSeconds(CollectiveKind::kAllGather, {0}, 1'000'000'000), 10e-3);
  EXPECT_DOUBLE_EQ(model.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 1 << 20),
                   CollectiveSeconds(four, CollectiveKind::kAllReduce, {0}, 1 << 20));
  EXPECT_DOUBLE_EQ(CalibratedCostModel(two, Simple())
                       .CollectiveSeconds(CollectiveKind::kAllGather, {0}, 1 << 20),
                   20e-6 + CollectiveSeconds(two, CollectiveKind::kAllGather, {0}, 1 << 20));
  // Between nodes nothing was measured.
  const Mesh nodes = MeshOf("4", "4x1xh100-sxm");
  EXPECT_DOUBLE_EQ(CalibratedCostModel(nodes, Simple())
                       .CollectiveSeconds(CollectiveKind::kAllGather, {0}, 1 << 20),
                   20e-6 + CollectiveSeconds(nodes, CollectiveKind::kAllGather, {0}, 1 << 20));
}

}  // namespace
}  // namespace meshwright
