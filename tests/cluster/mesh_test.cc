#include "meshwright/cluster/mesh.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

Cluster Of(const char* spec) { return *ParseCluster(spec); }

std::string Sizes(const Mesh& mesh) {
  return absl::StrJoin(mesh.axes, "x", [](std::string* out, const MeshAxis& axis) {
    out->append(std::to_string(axis.size));
  });
}

TEST(ParseMesh, ReadsSizesAndNames) {
  const Mesh plain = *ParseMesh("2x4", Of("8xh100-sxm"));
  ASSERT_EQ(plain.rank(), 2u);
  EXPECT_EQ(plain.axes[0].name, "x");
  EXPECT_EQ(plain.axes[0].size, 2);
  EXPECT_EQ(plain.axes[1].name, "y");
  EXPECT_EQ(plain.axes[1].size, 4);
  EXPECT_EQ(plain.devices(), 8);
  const Mesh named = *ParseMesh("data = 4, model=2", Of("8xh100-sxm"));
  EXPECT_EQ(named.axes[0].name, "data");
  EXPECT_EQ(named.axes[1].name, "model");
  EXPECT_EQ(named.Size({0, 1}), 8);
  const Mesh deep = *ParseMesh("1x2x1x2x2", Of("8xh100-sxm"));
  EXPECT_EQ(deep.axes[3].name, "w");
  EXPECT_EQ(deep.axes[4].name, "a4");
}

TEST(ParseMesh, ErrorsSayWhatWouldBeValid) {
  const struct {
    const char* spec;
    const char* part;
  } kCases[] = {
      {"", "not an axis size"},
      {"2x", "not an axis size"},
      {"0x8", "not an axis size"},
      {"-2x-4", "not an axis size"},
      {"3x4", "multiply to 12, but the cluster has 8 devices; these fit: 8, 2x4, 4x2"},
      {"9223372036854775807x9223372036854775807", "more than"},
      {"x=2,x=4", "two axes are named \"x\""},
      {"2x=4", "is not an axis name"},
      {"x=2,4", "NAME=SIZE"},
      {"a-b=8", "is not an axis name"},
      {"1x1x1x1x1x1x1x1x8", "more than 8 axes"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec);
    const absl::StatusOr<Mesh> mesh = ParseMesh(c.spec, Of("8xh100-sxm"));
    ASSERT_FALSE(mesh.ok());
    EXPECT_NE(std::string(mesh.status().message()).find(c.part), std::string::npos)
        << mesh.status();
  }
}

TEST(MeshAxis, KnowsWhatItCrosses) {
  const Mesh mesh = MakeMesh({4, 2, 8}, Of("8x8xh100-sxm"));
  // y=2 x z=8: z is one node, y and x cross nodes with one member a node each.
  EXPECT_FALSE(mesh.axes[2].crosses_nodes);
  EXPECT_EQ(mesh.axes[2].group_in_node, 8);
  EXPECT_EQ(mesh.axes[2].groups_per_node, 1);
  EXPECT_TRUE(mesh.axes[1].crosses_nodes);
  EXPECT_EQ(mesh.axes[1].group_in_node, 1);
  EXPECT_EQ(mesh.axes[1].groups_per_node, 8);
  const MeshAxis both = mesh.Combined({1, 2});
  EXPECT_EQ(both.name, "(y,z)");
  EXPECT_EQ(both.size, 16);
  EXPECT_EQ(both.group_in_node, 8);
  EXPECT_TRUE(both.crosses_nodes);
  EXPECT_EQ(mesh.Combined({0, 1}).group_in_node, 1);

  // A node holds half of axis y: two of its members sit together.
  const Mesh split = MakeMesh({2, 4, 4}, Of("4x8xh100-sxm"));
  EXPECT_TRUE(split.axes[1].crosses_nodes);
  EXPECT_EQ(split.axes[1].group_in_node, 2);
  EXPECT_EQ(split.axes[1].groups_per_node, 4);
}

// Placement of every axis list on every mesh of some clusters, against counting devices.
TEST(MeshAxis, AgreesWithCountingDevices) {
  int cases = 0;
  for (const char* spec :
       {"8xh100-sxm", "2x6xh100-sxm", "3x4xh100-sxm", "2x8xh100-sxm", "4x3xh100-sxm"}) {
    const Cluster cluster = Of(spec);
    const int64_t devices = cluster.devices();
    for (int64_t a = 1; a <= devices; ++a) {
      for (int64_t b = 1; a * b <= devices; ++b) {
        if (devices % (a * b) != 0) continue;
        const Mesh mesh = MakeMesh({a, b, devices / a / b}, cluster);
        for (const AxisList& list : {AxisList{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}}) {
          SCOPED_TRACE(std::string(spec) + " " + Sizes(mesh) + " axes " +
                       absl::StrJoin(std::vector<int>(list.begin(), list.end()), ","));
          std::map<int64_t, std::map<int64_t, int64_t>> members;  // group -> node -> count
          for (int64_t device = 0; device < devices; ++device) {
            const int64_t c = devices / a / b;
            int64_t at[3] = {device / (b * c), device / c % b, device % c};
            for (AxisIndex axis : list) at[axis] = 0;
            ++members[(at[0] * b + at[1]) * c + at[2]][device / cluster.devices_per_node];
          }
          int64_t fewest = devices;
          for (const auto& [group, by_node] : members) {
            for (const auto& [node, count] : by_node) fewest = std::min(fewest, count);
          }
          const MeshAxis axis = mesh.Combined(list);
          EXPECT_EQ(axis.size, mesh.Size(list));
          EXPECT_EQ(axis.group_in_node, fewest);
          EXPECT_EQ(axis.crosses_nodes, fewest < axis.size);
          ++cases;
        }
      }
    }
  }
  EXPECT_GT(cases, 500);
}

// Of every axis list, where units end between groups or groups end in units.
TEST(MeshAxis, CountsMembersInUnitsOfTheFabric) {
  Cluster cluster = Of("8x2xh100-sxm");
  cluster.fabric.unit_nodes = 4;
  const int64_t devices = cluster.devices(), unit = 4 * 2;
  for (int64_t a = 1; a <= devices; a *= 2) {
    for (int64_t b = 1; a * b <= devices; b *= 2) {
      const int64_t c = devices / a / b;
      const Mesh mesh = MakeMesh({a, b, c}, cluster);
      for (const AxisList& list : {AxisList{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}}) {
        std::map<std::pair<int64_t, int64_t>, int64_t> members;  // group, unit -> count
        for (int64_t device = 0; device < devices; ++device) {
          int64_t at[3] = {device / (b * c), device / c % b, device % c};
          for (AxisIndex axis : list) at[axis] = 0;
          ++members[{(at[0] * b + at[1]) * c + at[2], device / unit}];
        }
        for (const auto& [group, count] : members) {
          EXPECT_EQ(mesh.Combined(list).group_in_unit, count) << Sizes(mesh);
        }
      }
    }
  }
  // Groups of 3 nodes do not fill units of 4: those of one node are sure to be together.
  Cluster odd = Of("12x2xh100-sxm");
  odd.fabric.unit_nodes = 4;
  EXPECT_EQ(MakeMesh({4, 3, 2}, odd).Combined({1, 2}).group_in_unit, 2);
  EXPECT_EQ(MakeMesh({4, 3, 2}, Of("12x2xh100-sxm")).Combined({1, 2}).group_in_unit, 6);
}

TEST(CandidateMeshes, BestGuessesFirst) {
  const auto texts = [](const char* spec) {
    std::vector<std::string> result;
    for (const Mesh& mesh : CandidateMeshes(Of(spec))) result.push_back(Sizes(mesh));
    return absl::StrJoin(result, " ");
  };
  EXPECT_EQ(texts("h100-sxm"), "1");
  EXPECT_EQ(texts("8xh100-sxm"), "8 2x4 4x2");
  EXPECT_EQ(texts("4x8xh100-sxm"), "4x8 8x4 16x2 32 2x16");
  EXPECT_EQ(texts("2x6xh100-sxm"), "2x6 4x3 6x2 12");
}

}  // namespace
}  // namespace meshwright
