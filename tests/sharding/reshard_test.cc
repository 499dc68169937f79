#include "meshwright/sharding/reshard.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sharding/all_shardings.h"
#include "tests/sharding/test_mesh.h"

namespace meshwright {
namespace {

constexpr CollectiveKind kAllReduce = CollectiveKind::kAllReduce;
constexpr CollectiveKind kAllGather = CollectiveKind::kAllGather;
constexpr CollectiveKind kReduceScatter = CollectiveKind::kReduceScatter;
constexpr CollectiveKind kAllToAll = CollectiveKind::kAllToAll;
constexpr CollectiveKind kPermute = CollectiveKind::kCollectivePermute;

// Ring collectives: a latency a step and the bytes each member sends over one link.
double RingSeconds(const Mesh& mesh, CollectiveKind kind, const AxisList& axes, int64_t bytes) {
  double n = static_cast<double>(mesh.Size(axes));
  double steps = kind == kPermute ? 1 : (kind == kAllReduce ? 2 : 1) * (n - 1);
  double sent = kind == kPermute ? 1 : (kind == kAllReduce ? 2 : 1) * (n - 1) / n;
  return steps * 1e-6 + sent * static_cast<double>(bytes) / 1e11;
}

CollectivePrice RingPrice(const Mesh& mesh) {
  return [&mesh](CollectiveKind kind, const AxisList& axes, int64_t bytes) {
    return RingSeconds(mesh, kind, axes, bytes);
  };
}

std::string Steps(const Resharding& resharding, const Mesh& mesh) {
  if (!resharding.possible) return "impossible";
  std::string text;
  for (const CollectiveStep& step : resharding.steps) {
    text += text.empty() ? "" : ", ";
    text += std::string(CollectiveName(step.kind)) + " ";
    for (AxisIndex axis : step.axes) text += mesh.axes[axis].name;
    text += " " + std::to_string(step.bytes);
  }
  return text;
}

TEST(Reshard, Examples) {
  Mesh mesh = TestMesh({2, 4});
  Shape shape = Shape::Array(ElementType::kF32, {1024, 1024});  // 4 MiB
  struct Case {
    const char *from, *to, *steps;
  };
  for (const Case& c : std::vector<Case>{
           {"[x,_]", "[x,_]", ""},
           {"[_,_]", "[x,y]", ""},
           {"[x,_]", "[(x,y),_]", ""},
           {"[x,_]", "[_,_]", "all-gather x 4194304"},
           {"[(x,y),_]", "[_,_]", "all-gather y 2097152, all-gather x 4194304"},
           {"[x,y]", "[x,_]", "all-gather y 2097152"},
           {"[(x,y),_]", "[x,_]", "all-gather y 2097152"},
           {"[x,_]", "[_,x]", "all-to-all x 2097152"},
           {"[(x,y),_]", "[x,y]", "all-to-all y 524288"},
           {"[(x,y),_]", "[(y,x),_]", "collective-permute xy 524288"},
           {"[(x,y),_]", "[y,_]", "collective-permute xy 524288, all-gather x 1048576"},
           {"[_,_]{sum:x}", "[_,_]", "all-reduce x 4194304"},
           {"[_,_]{sum:x}", "[x,_]", "reduce-scatter x 4194304"},
           {"[y,_]{sum:x}", "[y,x]", "reduce-scatter x 1048576"},
           {"[_,_]{sum:x,y}", "[(x,y),_]", "reduce-scatter x 4194304, reduce-scatter y 2097152"},
           {"[_,_]{sum:x,y}", "[_,_]{sum:y}", "all-reduce x 4194304"},
           {"[_,_]{sum:x}", "[y,_]", "all-reduce x 1048576"},
           {"[_,_]", "[_,_]{sum:x}", "impossible"},
           {"[_,_]{max:x}", "[_,_]{sum:x}", "impossible"},
           {"[_,_]{other:x}", "[_,_]", "impossible"},
           {"[_,_]{max:x}", "[y,_]{max:x}", ""}}) {
    Resharding resharding = PlanResharding(shape, *ParseSharding(c.from, mesh, 2),
                                           *ParseSharding(c.to, mesh, 2), mesh, RingPrice(mesh));
    EXPECT_EQ(Steps(resharding, mesh), c.steps) << c.from << " -> " << c.to;
    double seconds = 0;
    for (const CollectiveStep& step : resharding.steps) {
      seconds += RingSeconds(mesh, step.kind, step.axes, step.bytes);
    }
    EXPECT_DOUBLE_EQ(resharding.seconds, seconds) << c.from << " -> " << c.to;
  }
}

// --- what devices hold ---

// Which partial values of which elements a device holds: element -> the coordinates (along the axes
// unreduced at the start, one number each) of the partial values summed into it.
using Content = std::map<int64_t, std::multiset<int64_t>>;

class Devices {
 public:
  Devices(const Mesh& mesh, const Shape& shape, const AxisList& partial_axes)
      : mesh_(mesh), shape_(shape), partial_axes_(partial_axes) {}

  int64_t Coordinate(int64_t device, AxisIndex axis) const {
    int64_t inner = 1;
    for (size_t a = axis + 1; a < mesh_.rank(); ++a) inner *= mesh_.axes[a].size;
    return device / inner % mesh_.axes[axis].size;
  }

  int64_t Digits(int64_t device, const AxisList& axes) const {
    int64_t number = 0;
    for (AxisIndex axis : axes) number = number * mesh_.axes[axis].size + Coordinate(device, axis);
    return number;
  }

  // Devices that differ from `device` along `axes` only.
  std::vector<int64_t> Group(int64_t device, const AxisList& axes) const {
    std::vector<int64_t> group;
    for (int64_t other = 0; other < mesh_.devices(); ++other) {
      bool same = true;
      for (size_t a = 0; a < mesh_.rank(); ++a) {
        AxisIndex axis = static_cast<AxisIndex>(a);
        bool varies = std::find(axes.begin(), axes.end(), axis) != axes.end();
        same = same && (varies || Coordinate(device, axis) == Coordinate(other, axis));
      }
      if (same) group.push_back(other);
    }
    return group;
  }

  // What `sharding` says that `device` holds.
  Content Expected(int64_t device, const Sharding& sharding) const {
    std::multiset<int64_t> partials;
    for (int64_t other : Group(device, partial_axes_)) {
      bool mine = true;
      for (AxisIndex axis : sharding.unreduced) {
        mine = mine && Coordinate(device, axis) == Coordinate(other, axis);
      }
      if (mine) partials.insert(Digits(other, partial_axes_));
    }
    Content content;
    for (int64_t element = 0; element < shape_.elements(); ++element) {
      int64_t rest = element;
      bool mine = true;
      for (size_t d = shape_.dims.size(); d-- > 0;) {
        int64_t pieces = mesh_.Size(sharding.dims[d]);
        int64_t index = rest % shape_.dims[d];
        rest /= shape_.dims[d];
        int64_t piece = (shape_.dims[d] + pieces - 1) / pieces;
        mine = mine && index / piece == Digits(device, sharding.dims[d]);
      }
      if (mine) content[element] = partials;
    }
    return content;
  }

  // Does what the move says with the real contents; fails if devices would lack data for it.
  void Apply(const ReshardMove& move, std::vector<Content>& held) const {
    std::vector<Content> next(held.size());
    for (int64_t device = 0; device < mesh_.devices(); ++device) {
      Content all;
      std::vector<int64_t> group =
          move.collective ? Group(device, move.axes) : std::vector<int64_t>{device};
      bool sums = move.collective == kAllReduce || move.collective == kReduceScatter;
      for (int64_t member : group) {
        for (const auto& [element, partials] : held[member]) {
          if (sums)
            all[element].insert(partials.begin(), partials.end());
          else
            all[element] = partials;
        }
      }
      Content wanted = Expected(device, move.after);
      if (move.collective == kAllGather || move.collective == kAllReduce) {
        next[device] = all;  // nothing may be left over
      } else {
        for (const auto& [element, partials] : wanted) {
          if (all.count(element)) next[device][element] = all[element];
        }
      }
      EXPECT_EQ(next[device], wanted) << "device " << device;
      if (move.collective == kPermute) {
        // Everything a member ends with lay on one member, and each sends to one.
        std::multiset<Content> before, after;
        for (int64_t member : group) {
          before.insert(held[member]);
          after.insert(Expected(member, move.after));
        }
        EXPECT_EQ(before, after) << "not a permutation within the group of device " << device;
      }
    }
    held = next;
  }

 private:
  const Mesh& mesh_;
  const Shape& shape_;
  AxisList partial_axes_;
};

// --- an oracle for the price: all pairs of shardings, one step apart or not, and Floyd-Warshall
// ---

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
    if (s.dims == t.dims) best = RingSeconds(mesh, kAllReduce, reduced, held);
    for (size_t d = 0; d < s.dims.size(); ++d) {
      if (t.dims[d].size() < reduced.size()) continue;
      AxisList run = Run(t, d, reduced.size()), sorted = run;
      std::sort(sorted.begin(), sorted.end());
      if (sorted == reduced && DropRun(t, d, run.size()).dims == s.dims) {
        best = std::min(best, RingSeconds(mesh, kReduceScatter, run, held));
      }
    }
    return best;
  }
  bool same_pieces = true;
  for (size_t d = 0; d < s.dims.size(); ++d) {
    same_pieces = same_pieces && mesh.Size(s.dims[d]) == mesh.Size(t.dims[d]);
    for (size_t run = 1; run <= s.dims[d].size(); ++run) {
      Sharding dropped = DropRun(s, d, run);
      if (dropped == t) best = std::min(best, RingSeconds(mesh, kAllGather, Run(s, d, run), after));
      for (size_t e = 0; e < s.dims.size(); ++e) {
        if (e == d) continue;
        Sharding moved = dropped;
        for (AxisIndex axis : Run(s, d, run)) moved.dims[e].push_back(axis);
        if (moved == t) best = std::min(best, RingSeconds(mesh, kAllToAll, Run(s, d, run), held));
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
    best = std::min(best, RingSeconds(mesh, kPermute, changed, held));
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
  size_t dearer = 0;
  double worst = 1;
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
    for (const auto& [i, j] : list) {
      double best = distance[position[i]][position[j]];
      Resharding resharding = PlanResharding(shape, all[i], all[j], mesh, RingPrice(mesh));
      std::string what =
          all[i].ToString(mesh) + " -> " + all[j].ToString(mesh) + ": " + Steps(resharding, mesh);
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

// All ends at once cost what each does alone.
void CheckTogether(const std::vector<int64_t>& sizes, const std::vector<int64_t>& dims) {
  const Mesh mesh = TestMesh(sizes);
  const Shape shape = Shape::Array(ElementType::kF32, dims);
  const std::vector<Sharding> all = AllShardings(mesh, shape.rank(), /*unreduced=*/true);
  for (const Sharding& from : all) {
    const std::vector<double> seconds = PlanReshardings(shape, from, all, mesh, RingPrice(mesh));
    ASSERT_EQ(seconds.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const Resharding alone = PlanResharding(shape, from, all[i], mesh, RingPrice(mesh));
      const std::string what = from.ToString(mesh) + " -> " + all[i].ToString(mesh);
      ASSERT_EQ(std::isfinite(seconds[i]), alone.possible) << what;
      if (alone.possible) ASSERT_EQ(seconds[i], alone.seconds) << what;
    }
  }
}

TEST(Reshard, ManyEndsCostWhatEachDoes) {
  CheckTogether({2, 4}, {512, 256, 8});
  CheckTogether({2, 4}, {6, 8});
  CheckTogether({2, 2, 2}, {1024, 512});
  CheckTogether({2, 4, 2}, {1024, 24});
}

// With a latency that does not grow with the group, axes go together in one collective.
TEST(Reshard, CombinesAxesWhereThatIsCheaper) {
  Mesh mesh = TestMesh({2, 4});
  Shape shape = Shape::Array(ElementType::kF32, {1024, 1024});
  CollectivePrice price = [&](CollectiveKind, const AxisList&, int64_t) { return 1.0; };
  auto steps = [&](std::string_view from, std::string_view to) {
    return Steps(PlanResharding(shape, *ParseSharding(from, mesh, 2), *ParseSharding(to, mesh, 2),
                                mesh, price),
                 mesh);
  };
  EXPECT_EQ(steps("[(x,y),_]", "[_,_]"), "all-gather xy 4194304");
  EXPECT_EQ(steps("[(x,y),_]", "[_,(x,y)]"), "all-to-all xy 524288");
  EXPECT_EQ(steps("[_,_]{sum:x,y}", "[_,_]"), "all-reduce xy 4194304");
  EXPECT_EQ(steps("[_,_]{sum:x,y}", "[(y,x),_]"), "reduce-scatter yx 4194304");
}

// Moves real contents from device to device, along every path between shardings of small arrays.
void CheckContents(const std::vector<int64_t>& sizes, const std::vector<int64_t>& dims) {
  Mesh mesh = TestMesh(sizes);
  Shape shape = Shape::Array(ElementType::kF32, dims);
  std::vector<Sharding> all = AllShardings(mesh, shape.rank(), /*unreduced=*/true);
  size_t moves = 0;
  for (const Sharding& from : all) {
    if (!DividesEvenly(shape, from, mesh)) continue;
    for (const Sharding& to : all) {
      if (!DividesEvenly(shape, to, mesh)) continue;
      std::optional<std::vector<ReshardMove>> path =
          ReshardingPath(shape, from, to, mesh, RingPrice(mesh));
      if (!path) continue;
      SCOPED_TRACE(from.ToString(mesh) + " -> " + to.ToString(mesh));
      Devices devices(mesh, shape, from.unreduced);
      std::vector<Content> held;
      for (int64_t d = 0; d < mesh.devices(); ++d) held.push_back(devices.Expected(d, from));
      Sharding before = from;
      for (const ReshardMove& move : *path) {
        SCOPED_TRACE(move.after.ToString(mesh));
        devices.Apply(move, held);
        if (testing::Test::HasFailure()) return;
        if (move.collective) {
          const Sharding& full = move.collective == kAllGather ? move.after : before;
          EXPECT_EQ(move.bytes, BytesPerDevice(shape, full, mesh));
        }
        before = move.after;
        ++moves;
      }
      for (int64_t d = 0; d < mesh.devices(); ++d) {
        ASSERT_EQ(held[d], devices.Expected(d, to)) << "device " << d;
      }
    }
  }
  EXPECT_GT(moves, all.size());
}

TEST(Reshard, ContentsArriveTwoAxes) {
  CheckContents({2, 2}, {4, 4});
  CheckContents({2, 4}, {8, 8});
}
TEST(Reshard, ContentsArriveThreeAxes) { CheckContents({2, 2, 2}, {8}); }

// A detour over a sharding of the same axes and dimensions never pays.
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
    if (!ends.Includes(middle)) continue;
    double direct = seconds(a, c), detour = seconds(a, b) + seconds(b, c);
    if (!std::isfinite(detour)) continue;
    ++checked;
    EXPECT_LE(direct, detour * (1 + 1e-9))
        << a.ToString(mesh) << " -> " << b.ToString(mesh) << " -> " << c.ToString(mesh);
  }
  EXPECT_GT(checked, 100);
}

TEST(Reshard, UnevenShardsAreReachable) {
  Mesh mesh = TestMesh({2, 4});
  Shape shape = Shape::Array(ElementType::kF32, {10, 6});
  Resharding resharding = PlanResharding(shape, *ParseSharding("[(x,y),_]", mesh, 2),
                                         *ParseSharding("[_,y]", mesh, 2), mesh, RingPrice(mesh));
  EXPECT_TRUE(resharding.possible);
  EXPECT_GT(resharding.seconds, 0);
}

TEST(Reshard, ManyAxesAndDimensionsStayBounded) {
  Mesh mesh = TestMesh({2, 2, 2, 2, 2, 2});
  Shape shape = Shape::Array(ElementType::kF32, std::vector<int64_t>(64, 2));
  Sharding from = Sharding::Replicated(64), to = from;
  for (AxisIndex a = 0; a < 6; ++a) {
    from.dims[a].push_back(a);
    to.dims[63 - a].push_back(static_cast<AxisIndex>(5 - a));
  }
  std::clock_t begin = std::clock();
  Resharding resharding = PlanResharding(shape, from, to, mesh, RingPrice(mesh));
  double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_TRUE(resharding.possible);
  EXPECT_FALSE(resharding.steps.empty());
  std::cout << "six axes over twelve dimensions: " << seconds * 1e3 << " ms\n";
}

// Prints the processor time of a call; no bound, as machines differ.
void PrintSpeed(const std::vector<int64_t>& sizes) {
  Mesh mesh = TestMesh(sizes);
  Shape shape = Shape::Array(ElementType::kBF16, {64, 2048, 4096});
  std::vector<Sharding> all = AllShardings(mesh, 3, /*unreduced=*/true);
  CollectivePrice price = RingPrice(mesh);
  std::clock_t begin = std::clock();
  size_t calls = 0, steps = 0;
  for (size_t i = 0; i < all.size(); i += mesh.rank()) {
    for (size_t j = 0; j < all.size(); ++j, ++calls) {
      steps += PlanResharding(shape, all[i], all[j], mesh, price).steps.size();
    }
  }
  double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_GT(steps, 0u);
  std::cout << calls << " reshardings over " << mesh.rank() << " axes, "
            << seconds / static_cast<double>(calls) * 1e6 << " us each\n";
}

TEST(Reshard, Speed) {
  PrintSpeed({8});
  PrintSpeed({2, 4});
  PrintSpeed({2, 4, 2});
}

}  // namespace
}  // namespace meshwright
