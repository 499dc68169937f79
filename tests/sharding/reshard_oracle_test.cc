// Prices of reshardings against an oracle: all pairs of shardings, one step apart or not, and
// Floyd-Warshall.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/sharding/reshard.h"
#include "tests/sharding/all_shardings.h"
#include "tests/sharding/ring_price.h"
#include "tests/sharding/test_mesh.h"

namespace meshwright {
namespace {

// Removes the last `run` axes of dimension `d`.
Sharding DropRun(Sharding sharding, size_t d, size_t run) {
  sharding.dims[d].resize(sharding.dims[d].size() - run);
  return sharding;
}

AxisList Run(const Sharding& sharding, size_t d, size_t run) {
  return AxisList(sharding.dims[d].end() - static_cast<int64_t>(run), sharding.dims[d].end());
}

AxisList Difference(const AxisList& a, const AxisList& b) {
  AxisList rest;
  for (AxisIndex axis : a) {
    if (std::find(b.begin(), b.end(), axis) == b.end()) rest.push_back(axis);
  }
  return rest;
}

// Where an axis stands: dimension and position, or -1 (unused), -2 (unreduced).
std::pair<int, int> Place(const Sharding& sharding, AxisIndex axis) {
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    for (size_t i = 0; i < sharding.dims[d].size(); ++i) {
      if (sharding.dims[d][i] == axis) return {static_cast<int>(d), static_cast<int>(i)};
    }
  }
  bool open = std::count(sharding.unreduced.begin(), sharding.unreduced.end(), axis) > 0;
  return {open ? -2 : -1, 0};
}

// Price of the one step from `s` to `t`; infinite if there is none.
double OneStep(const Shape& shape, const Mesh& mesh, const Sharding& s, const Sharding& t) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (!DividesEvenly(shape, s, mesh) || !DividesEvenly(shape, t, mesh)) return kNone;
  int64_t held = BytesPerDevice(shape, s, mesh), after = BytesPerDevice(shape, t, mesh);
  double best = kNone;
  AxisList reduced = Difference(s.unreduced, t.unreduced);
  if (!Difference(t.unreduced, s.unreduced).empty()) return kNone;
  if (!reduced.empty()) {
    if (s.dims == t.dims) best = RingSeconds(mesh, CollectiveKind::kAllReduce, reduced, held);
    for (size_t d = 0; d < s.dims.size(); ++d) {
      if (t.dims[d].size() < reduced.size()) continue;
      AxisList run = Run(t, d, reduced.size()), sorted = run;
      std::sort(sorted.begin(), sorted.end());
      if (sorted == reduced && DropRun(t, d, run.size()).dims == s.dims) {
        best = std::min(best, RingSeconds(mesh, CollectiveKind::kReduceScatter, run, held));
      }
    }
    return best;
  }
  bool same_pieces = true;
  for (size_t d = 0; d < s.dims.size(); ++d) {
    same_pieces = same_pieces && mesh.Size(s.dims[d]) == mesh.Size(t.dims[d]);
    for (size_t run = 1; run <= s.dims[d].size(); ++run) {
      Sharding dropped = DropRun(s, d, run);
      if (dropped == t)
        best = std::min(best, RingSeconds(mesh, CollectiveKind::kAllGather, Run(s, d, run), after));
      for (size_t e = 0; e < s.dims.size(); ++e) {
        if (e == d) continue;
        Sharding moved = dropped;
        for (AxisIndex axis : Run(s, d, run)) moved.dims[e].push_back(axis);
        if (moved == t)
          best = std::min(best, RingSeconds(mesh, CollectiveKind::kAllToAll, Run(s, d, run), held));
      }
    }
    if (!t.dims[d].empty() && DropRun(t, d, 1) == s) best = 0;
  }
  if (same_pieces) {
    AxisList changed;
    for (size_t a = 0; a < mesh.rank(); ++a) {
      AxisIndex axis = static_cast<AxisIndex>(a);
      if (Place(s, axis) != Place(t, axis)) changed.push_back(axis);
    }
    best = std::min(best, RingSeconds(mesh, CollectiveKind::kCollectivePermute, changed, held));
  }
  return best;
}

// Shortest distances between all of `states`.
std::vector<std::vector<double>> Distances(const Shape& shape, const Mesh& mesh,
                                           const std::vector<Sharding>& states) {
  size_t n = states.size();
  std::vector<std::vector<double>> distance(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      distance[i][j] = i == j ? 0 : OneStep(shape, mesh, states[i], states[j]);
    }
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        distance[i][j] = std::min(distance[i][j], distance[i][k] + distance[k][j]);
      }
    }
  }
  return distance;
}

// The axes and the dimensions a resharding may use: those that either end does.
struct InMotion {
  std::set<AxisIndex> axes;
  std::set<size_t> dims;
  friend auto operator<=>(const InMotion&, const InMotion&) = default;

  bool Includes(const InMotion& other) const {
    return std::includes(axes.begin(), axes.end(), other.axes.begin(), other.axes.end()) &&
           std::includes(dims.begin(), dims.end(), other.dims.begin(), other.dims.end());
  }
};

void AddTo(InMotion& motion, const Sharding& sharding) {
  motion.axes.insert(sharding.unreduced.begin(), sharding.unreduced.end());
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    motion.axes.insert(sharding.dims[d].begin(), sharding.dims[d].end());
    if (!sharding.dims[d].empty()) motion.dims.insert(d);
  }
}

void CheckAgainstOracle(const std::vector<int64_t>& sizes, const std::vector<int64_t>& dims,
                        bool unreduced) {
  Mesh mesh = TestMesh(sizes);
  Shape shape = Shape::Array(ElementType::kF32, dims);
  std::vector<Sharding> all;
  for (const Sharding& sharding : AllShardings(mesh, shape.rank(), unreduced)) {
    if (DividesEvenly(shape, sharding, mesh)) all.push_back(sharding);
  }
  std::map<InMotion, std::vector<std::pair<size_t, size_t>>> pairs;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      InMotion motion;
      AddTo(motion, all[i]);
      AddTo(motion, all[j]);
      pairs[motion].push_back({i, j});
    }
  }
  std::vector<std::vector<double>> direct(all.size(), std::vector<double>(all.size()));
  for (const auto& [motion, list] : pairs) {
    std::vector<Sharding> states;
    std::vector<size_t> position(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      InMotion used;
      AddTo(used, all[i]);
      if (!motion.Includes(used)) continue;
      position[i] = states.size();
      states.push_back(all[i]);
    }
    std::vector<std::vector<double>> distance = Distances(shape, mesh, states);
    for (const auto& [i, j] : list) direct[i][j] = distance[position[i]][position[j]];
  }
  // Partial sums that are not combined at once leave no choice but from leg to leg.
  const auto index = [&](const Sharding& sharding) {
    return static_cast<size_t>(std::find(all.begin(), all.end(), sharding) - all.begin());
  };
  size_t dearer = 0, legs = 0;
  double worst = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      double best = 0;
      size_t at = i;
      for (auto next = ScatteredFirst(shape, all[i], all[j], mesh); next.has_value(); ++legs) {
        best += direct[at][index(*next)];
        at = index(*next);
        next = ScatteredFirst(shape, all[at], all[j], mesh);
      }
      best += direct[at][j];
      Resharding resharding = PlanResharding(shape, all[i], all[j], mesh, RingPrice(mesh));
      std::string what = all[i].ToString(mesh) + " -> " + all[j].ToString(mesh) + ": " +
                         StepsText(resharding, mesh);
      ASSERT_EQ(resharding.possible, std::isfinite(best)) << what;
      if (!resharding.possible) continue;
      ASSERT_GE(resharding.seconds, best * (1 - 1e-12)) << what;
      if (resharding.seconds <= best * (1 + 1e-9)) continue;
      ++dearer;
      worst = std::max(worst, resharding.seconds / best);
      if (dearer < 10)
        std::cout << "oracle " << best << " ours " << resharding.seconds << " " << what << "\n";
    }
  }
  std::cout << all.size() * all.size() << " pairs, " << dearer
            << " dearer than the oracle, at most " << worst << " times\n";
  EXPECT_GT(all.size(), 4u);
  EXPECT_TRUE(legs > 0 || !unreduced);
  EXPECT_EQ(dearer, 0u);
}

TEST(Reshard, CheapestOverAllShardingsTwoAxes) {
  CheckAgainstOracle({2, 2}, {512, 256}, true);
  CheckAgainstOracle({2, 4}, {512, 256, 8}, true);
  CheckAgainstOracle({4, 2}, {64}, true);
}

TEST(Reshard, CheapestOverAllShardingsThreeAxes) {
  CheckAgainstOracle({2, 2, 2}, {1024, 512}, true);
  CheckAgainstOracle({2, 4, 2}, {1024, 512}, false);
}

// A detour over a sharding of the same axes and dimensions never pays, but where partial sums are
// to be combined in legs: there the partitioner takes them even if all at once were cheaper.
TEST(Reshard, TriangleInequality) {
  Mesh mesh = TestMesh({2, 4, 2});
  Shape shape = Shape::Array(ElementType::kF32, {256, 64});
  std::vector<Sharding> all = AllShardings(mesh, 2, /*unreduced=*/true);
  constexpr uint32_t kSeed = 20261128;
  SCOPED_TRACE("seed 20261128");
  std::mt19937 random(kSeed);
  auto seconds = [&](const Sharding& from, const Sharding& to) {
    Resharding resharding = PlanResharding(shape, from, to, mesh, RingPrice(mesh));
    return resharding.possible ? resharding.seconds : std::numeric_limits<double>::infinity();
  };
  int checked = 0;
  for (int i = 0; i < 3000; ++i) {
    const Sharding& a = all[random() % all.size()];
    const Sharding& b = all[random() % all.size()];
    const Sharding& c = all[random() % all.size()];
    InMotion ends, middle;
    AddTo(ends, a);
    AddTo(ends, c);
    AddTo(middle, b);
    if (!ends.Includes(middle) || ScatteredFirst(shape, a, c, mesh).has_value()) continue;
    double direct = seconds(a, c), detour = seconds(a, b) + seconds(b, c);
    if (!std::isfinite(detour)) continue;
    ++checked;
    EXPECT_LE(direct, detour * (1 + 1e-9))
        << a.ToString(mesh) << " -> " << b.ToString(mesh) << " -> " << c.ToString(mesh);
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace meshwright
