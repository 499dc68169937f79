#include "meshwright/sharding/sdy_sharding.h"

#include <gtest/gtest.h>

#include "tests/sharding/test_mesh.h"

namespace meshwright {
namespace {

TEST(SdySharding, Texts) {
  const Mesh mesh = TestMesh({2, 4, 1});
  EXPECT_EQ(SdyMeshText(mesh), "<[\"x\"=2, \"y\"=4, \"z\"=1]>");
  const auto text = [&](const char* sharding, int64_t rank) {
    return SdyShardingText(ParseSharding(sharding, mesh, rank).value(), mesh, "m");
  };
  EXPECT_EQ(text("[]", 0), "<@m, []>");
  EXPECT_EQ(text("[x,_,y]", 3), "<@m, [{\"x\"}, {}, {\"y\"}]>");
  EXPECT_EQ(text("[(y,x),_]", 2), "<@m, [{\"y\", \"x\"}, {}]>");
  EXPECT_EQ(text("[_,y]{sum:x}", 2), "<@m, [{}, {\"y\"}], unreduced={\"x\"}>");
  EXPECT_EQ(OpenSdyShardingText(2, "m"), "<@m, [{?}, {?}]>");
  EXPECT_EQ(OpenSdyShardingText(0, "m"), "<@m, []>");
}

}  // namespace
}  // namespace meshwright
