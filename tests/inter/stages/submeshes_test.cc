#include "meshwright/inter/stages/submeshes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

std::string AxesText(const Mesh& mesh) {
  return absl::StrJoin(mesh.axes, "x", [](std::string* out, const MeshAxis& axis) {
    absl::StrAppend(out, axis.size);
  });
}

// Meshes of the submesh with all devices that suit micro-batches of `samples` of a batch of 24.
std::vector<std::string> Suiting(const std::string& cluster, int64_t samples) {
  const std::vector<Submesh> submeshes = Submeshes({*ParseCluster(cluster)}, 24);
  const Submesh& all = submeshes.back();
  std::vector<std::string> texts;
  for (size_t m = 0; m < all.meshes.size(); ++m) {
    if (all.Suits(m, samples)) texts.push_back(AxesText(all.meshes[m]));
  }
  return texts;
}

TEST(SubmeshesTest, NodesAreCutAsFewSamplesCanBe) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Suiting("8x4xh100-sxm", 1), Texts({"32", "16x2", "8x4"}));
  EXPECT_EQ(Suiting("8x4xh100-sxm", 2), Texts({"32", "16x2", "8x4", "2x4x4"}));
  EXPECT_EQ(Suiting("8x4xh100-sxm", 12), Texts({"32", "16x2", "8x4", "4x2x4"}));
  EXPECT_EQ(Suiting("8x4xh100-sxm", 24), Texts({"32", "16x2", "8x4"}));
  EXPECT_EQ(Suiting("6x1xh100-sxm", 2), Texts({"6", "2x3"}));
  EXPECT_EQ(Suiting("6x1xh100-sxm", 3), Texts({"6", "3x2"}));
}

// What a single node has is as before: its meshes are all there.
TEST(SubmeshesTest, PartsOfANodeHaveAllTheirMeshes) {
  const std::vector<Submesh> submeshes = Submeshes({*ParseCluster("1x8xh100-sxm")}, 24);
  for (const Submesh& submesh : submeshes)
    EXPECT_EQ(submesh.usual_meshes, static_cast<int64_t>(submesh.meshes.size()));
}

TEST(SubmeshesTest, DegreesOfDataParallelism) {
  const absl::StatusOr<Cluster> cluster = ParseCluster("2x8xh100-sxm");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const std::vector<Submesh> submeshes = Submeshes({*cluster}, 12);
  EXPECT_EQ(DataDegrees(submeshes, 12), (std::set<int64_t>{1, 2, 4}));
  EXPECT_EQ(DataDegrees(submeshes, 1), (std::set<int64_t>{1}));
  const Mesh mesh = MakeMesh({2, 8}, *cluster);
  for (int64_t parts : {1, 2, 8, 16}) EXPECT_TRUE(HasDegree(mesh, parts)) << parts;
  for (int64_t parts : {3, 4, 32}) EXPECT_FALSE(HasDegree(mesh, parts)) << parts;
}

}  // namespace
}  // namespace meshwright
