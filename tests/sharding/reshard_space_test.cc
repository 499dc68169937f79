#include "meshwright/sharding/reshard_space.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sharding/all_shardings.h"
#include "tests/sharding/test_mesh.h"

namespace meshwright {
namespace {

TEST(ReshardSpace, StatesAreTheShardingsOfWhatIsInMotion) {
  const Mesh mesh = TestMesh({2, 3, 4});
  const Shape shape = Shape::Array(ElementType::kF32, {7, 96, 48});  // the first piece is uneven
  Sharding from = Sharding::Replicated(3), to = from;
  from.unreduced = {0};
  from.reduction = Reduction::kSum;
  from.dims[0] = {1};
  to.dims[2] = {2};
  const ReshardSpace space(shape, from, to, mesh);
  EXPECT_EQ(space.axes(), 3u);
  EXPECT_EQ(space.array_dims(), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(space.Size(1), 48);
  std::set<uint64_t> keys;
  size_t shardings = 0;
  for (const Sharding& sharding : AllShardings(mesh, 3, /*unreduced=*/true)) {
    if (!sharding.dims[1].empty()) continue;
    const ReshardState state = space.Pack(sharding);
    EXPECT_EQ(space.Unpack(state), sharding) << sharding.ToString(mesh);
    EXPECT_EQ(space.Bytes(state), BytesPerDevice(shape, sharding, mesh)) << sharding.ToString(mesh);
    EXPECT_EQ(space.HeldBytes(sharding), space.Bytes(state)) << sharding.ToString(mesh);
    keys.insert(state.Key(space.axes()));
    ++shardings;
  }
  EXPECT_EQ(keys.size(), shardings);
}

TEST(ReshardSpace, UnevenCutsAreThoseOfTheEnds) {
  const Mesh mesh = TestMesh({2, 4});
  const Shape shape = Shape::Array(ElementType::kF32, {10, 6});
  const Sharding from = *ParseSharding("[(x,y),_]", mesh, 2);
  const Sharding to = *ParseSharding("[_,y]", mesh, 2);
  const ReshardSpace space(shape, from, to, mesh);
  const auto allowed = [&](std::string_view sharding, size_t dim) {
    return space.CutAllowed(space.Pack(*ParseSharding(sharding, mesh, 2)), dim);
  };
  EXPECT_TRUE(allowed("[x,_]", 0));       // even
  EXPECT_TRUE(allowed("[(x,y),_]", 0));   // as the start
  EXPECT_FALSE(allowed("[(y,x),_]", 0));  // as many pieces, of other owners
  EXPECT_FALSE(allowed("[y,_]", 0));
  EXPECT_TRUE(allowed("[_,y]", 1));  // as the end
  EXPECT_FALSE(allowed("[_,(y,x)]", 1));
}

TEST(ReshardSpace, MovesToTheMinorEnd) {
  const Mesh mesh = TestMesh({2, 4});
  const Shape shape = Shape::Array(ElementType::kF32, {64, 64});
  const Sharding from = *ParseSharding("[(x,y),_]", mesh, 2);
  const Sharding to = *ParseSharding("[_,(y,x)]", mesh, 2);
  const ReshardSpace space(shape, from, to, mesh);
  ReshardState state = space.Pack(from);
  ReshardSpace::Move(state, {1}, 1, 0);
  EXPECT_EQ(space.Unpack(state), *ParseSharding("[x,y]", mesh, 2));
  ReshardSpace::Move(state, {0}, 1, 1);
  EXPECT_EQ(space.Unpack(state), to);
  ReshardSpace::Move(state, {1, 0}, ReshardState::kUnused, 0);
  EXPECT_EQ(space.Unpack(state), Sharding::Replicated(2));
}

TEST(ReshardSpace, BytesBeyondTheirTypeStayTheLargest) {
  const Mesh mesh = TestMesh({2});
  const Shape shape = Shape::Array(ElementType::kF32, {int64_t{1} << 40, int64_t{1} << 40});
  const Sharding from = *ParseSharding("[x,_]", mesh, 2);
  const ReshardSpace space(shape, from, from, mesh);
  EXPECT_EQ(space.HeldBytes(from), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace meshwright
