// What devices hold while an array is resharded: every move of a path is done with real contents.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/sharding/reshard.h"
#include "tests/sharding/all_shardings.h"
#include "tests/sharding/ring_price.h"
#include "tests/sharding/test_mesh.h"

namespace meshwright {
namespace {

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
      bool sums = move.collective == CollectiveKind::kAllReduce ||
                  move.collective == CollectiveKind::kReduceScatter;
      for (int64_t member : group) {
        for (const auto& [element, partials] : held[member]) {
          if (sums)
            all[element].insert(partials.begin(), partials.end());
          else
            all[element] = partials;
        }
      }
      Content wanted = Expected(device, move.after);
      if (move.collective == CollectiveKind::kAllGather ||
          move.collective == CollectiveKind::kAllReduce) {
        next[device] = all;  // nothing may be left over
      } else {
        for (const auto& [element, partials] : wanted) {
          if (all.count(element)) next[device][element] = all[element];
        }
      }
      EXPECT_EQ(next[device], wanted) << "device " << device;
      if (move.collective == CollectiveKind::kCollectivePermute) {
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

// Moves real contents from device to device, along every path between shardings of small arrays;
// `uneven`: also those that pad pieces.
void CheckContents(const std::vector<int64_t>& sizes, const std::vector<int64_t>& dims,
                   bool uneven = false) {
  Mesh mesh = TestMesh(sizes);
  Shape shape = Shape::Array(ElementType::kF32, dims);
  std::vector<Sharding> all = AllShardings(mesh, shape.rank(), /*unreduced=*/true);
  size_t moves = 0;
  for (const Sharding& from : all) {
    if (!uneven && !DividesEvenly(shape, from, mesh)) continue;
    for (const Sharding& to : all) {
      if (!uneven && !DividesEvenly(shape, to, mesh)) continue;
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
          const Sharding& full =
              move.collective == CollectiveKind::kAllGather ? move.after : before;
          const int64_t bytes = BytesPerDevice(shape, full, mesh);
          if (DividesEvenly(shape, before, mesh) && DividesEvenly(shape, move.after, mesh)) {
            EXPECT_EQ(move.bytes, bytes);
          } else {
            EXPECT_GE(move.bytes, bytes);
          }
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
TEST(Reshard, UnevenContentsArrive) {
  CheckContents({2, 4}, {10, 6}, true);
  CheckContents({4, 2}, {7, 8}, true);
}
TEST(Reshard, ContentsArriveThreeAxes) { CheckContents({2, 2, 2}, {8}); }

}  // namespace
}  // namespace meshwright
