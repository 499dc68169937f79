// Units of the fabric against every order of the groups over nodes.

#include "meshwright/degrees/group_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/degrees/space.h"
#include "tests/degrees/space_samples.h"

namespace meshwright::transformer {
namespace {

// Seconds of what each kind of group does, in the order tp, cp, dp, pp: two kinds of collectives at
// two sizes.
using Times = std::array<double, 16>;

constexpr int64_t kSizes[] = {1 << 14, 1 << 28};

// Groups of axes `outer` (between nodes) and `outer` + 4 (inside) of a mesh.
Times TimesOnMesh(const Mesh& mesh, const std::array<AxisIndex, 4>& outer) {
  Times times = {};
  size_t i = 0;
  for (size_t group = 0; group < outer.size(); ++group) {
    const auto inside = static_cast<AxisIndex>(4 + group);
    for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kAllToAll}) {
      for (const int64_t bytes : kSizes) {
        times[i++] = CollectiveSeconds(mesh, kind, {outer[group], inside}, bytes);
      }
    }
  }
  return times;
}

Times TimesPlaced(const Configuration& c, const Cluster& cluster, GroupTimes& groups) {
  const GroupLayout layout(c, cluster.devices_per_node);
  const GroupShape replicas = layout.DataOf(c.dp * c.cp).within;
  Times times = {};
  size_t i = 0;
  for (const GroupShape& shape : {layout.tensor, layout.context, replicas, layout.pipeline}) {
    const GroupTimes::Group& group = groups.Of(shape);
    for (const GroupTimes::Lines* const lines : {&group.all_gather, &group.all_to_all}) {
      for (const int64_t bytes : kSizes) times[i++] = lines->Seconds(bytes);
    }
  }
  return times;
}

bool IsNoSlower(const Times& a, const Times& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i] * (1 + 1e-12)) return false;
  }
  return true;
}

// Of each order of tp, cp, dp and pp over the nodes, some placement in units is as fast in all
// groups: equally fast where units end between groups. So the search over units has every order.
TEST(GroupLayout, UnitsHaveEveryOrderOfTheGroupsOverNodes) {
  struct Sample {
    const char* cluster;
    Fabric fabric;
  };
  int orders = 0, aligned = 0, better = 0;
  for (const Sample& sample : {Sample{"8x2xh100-sxm", {4, true, 3}},
                               {"8x2xh100-sxm", {2, false, 4}},
                               {"12x2xh100-sxm", {6, true, 2}},
                               {"12x4xh100-sxm", {3, true, 8}}}) {
    Cluster cluster = *ParseCluster(sample.cluster);
    cluster.fabric = sample.fabric;
    GroupTimes groups(cluster);
    const Space space(DenseModel(48, 48, 48), {.sequence = 1 << 12, .global_batch = 48},
                      cluster.devices(), *ParseFixes({"tensor=1d"}), Precision::kBf16,
                      cluster.devices_per_node, cluster.fabric.unit_nodes);
    for (const Space::Degrees& degrees : space.AllDegrees()) {
      if (degrees.cp > 1) continue;  // with it replicas lie over two kinds of groups
      Configuration c{.tp = degrees.tp, .cp = degrees.cp, .dp = degrees.dp, .pp = degrees.pp};
      const std::vector<Space::Layout> layouts = space.Placements(degrees);
      for (size_t i = 0; i < layouts.size(); ++i) {
        c.inside = layouts[i].inside;
        if (c.inside.in_order()) continue;
        if (i > 0 && layouts[i - 1].inside == c.inside) continue;
        std::vector<Times> in_units;
        for (size_t j = i; j < layouts.size() && layouts[j].inside == c.inside; ++j) {
          c.unit = layouts[j].unit;
          in_units.push_back(TimesPlaced(c, cluster, groups));
        }
        const int64_t outer[] = {c.tp / c.inside.tp, c.cp / c.inside.cp, c.dp / c.inside.dp,
                                 c.pp / c.inside.pp};
        std::array<size_t, 4> order = {0, 1, 2, 3};
        do {
          std::vector<int64_t> sizes;
          std::array<AxisIndex, 4> axis_of = {};
          for (size_t k = 0; k < 4; ++k) {
            axis_of[order[k]] = static_cast<AxisIndex>(k);
            sizes.push_back(outer[order[k]]);
          }
          for (const int64_t inside : {c.inside.tp, c.inside.cp, c.inside.dp, c.inside.pp}) {
            sizes.push_back(inside);
          }
          const Times times = TimesOnMesh(MakeMesh(sizes, cluster), axis_of);
          ++orders;
          EXPECT_TRUE(std::any_of(in_units.begin(), in_units.end(),
                                  [&](const Times& one) { return IsNoSlower(one, times); }))
              << sample.cluster << " " << ConfigurationText(c) << ", over nodes "
              << testing::PrintToString(sizes) << " " << testing::PrintToString(times) << "; "
              << testing::PrintToString(in_units);
          const bool same = std::any_of(in_units.begin(), in_units.end(), [&](const Times& one) {
            return IsNoSlower(one, times) && IsNoSlower(times, one);
          });
          ++(same ? aligned : better);
        } while (std::next_permutation(order.begin(), order.end()));
      }
    }
  }
  EXPECT_GT(orders, 1000);
  EXPECT_GT(aligned, orders / 2);
}

}  // namespace
}  // namespace meshwright::transformer
