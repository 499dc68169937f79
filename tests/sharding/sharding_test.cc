#include "meshwright/sharding/sharding.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sharding/test_mesh.h"

namespace meshwright {
namespace {

TEST(Sharding, TextRoundTrips) {
  Mesh mesh = TestMesh({2, 4, 1});
  struct Case {
    const char* text;
    int64_t rank;
  };
  for (const Case& c : std::vector<Case>{{"[]", 0},
                                         {"[_]", 1},
                                         {"[x]", 1},
                                         {"[x,_,y]", 3},
                                         {"[_,(x,y)]", 2},
                                         {"[(y,x)]", 1},
                                         {"[_,y]{sum:x}", 2},
                                         {"[_]{max:x,y}", 1}}) {
    absl::StatusOr<Sharding> sharding = ParseSharding(c.text, mesh, c.rank);
    ASSERT_TRUE(sharding.ok()) << sharding.status();
    EXPECT_EQ(sharding->ToString(mesh), c.text);
  }
}

TEST(Sharding, ReadsPartitionSpecsAndShortForms) {
  Mesh mesh = TestMesh({2, 4, 1});
  auto parsed = [&](std::string_view text, int64_t rank) {
    absl::StatusOr<Sharding> sharding = ParseSharding(text, mesh, rank);
    return sharding.ok() ? sharding->ToString(mesh) : std::string(sharding.status().message());
  };
  EXPECT_EQ(parsed("P('x', None)", 2), "[x,_]");
  EXPECT_EQ(parsed("P((\"x\",'y'),)", 3), "[(x,y),_,_]");
  EXPECT_EQ(parsed("P()", 2), "[_,_]");
  EXPECT_EQ(parsed(" [ x , None ] ", 2), "[x,_]");
  EXPECT_EQ(parsed("replicated", 2), "[_,_]");
  EXPECT_EQ(parsed("[]", 2), "[_,_]");
  EXPECT_EQ(parsed("[z,x]", 2), "[_,x]") << "z has one device";
}

TEST(Sharding, ErrorsNameWhatIsWrongAndWhatWouldBeRight) {
  Mesh mesh = TestMesh({2, 4});
  auto expect_error = [&](std::string_view text, std::string_view message) {
    absl::StatusOr<Sharding> sharding = ParseSharding(text, mesh, 2);
    ASSERT_FALSE(sharding.ok()) << text;
    EXPECT_NE(std::string(sharding.status().message()).find(message), std::string::npos)
        << sharding.status();
  };
  expect_error("[q]", "no axis 'q'; its axes are x, y");
  expect_error("[x,x]", "axis 'x' is used twice");
  expect_error("[x,_,y]", "more entries than the array has dimensions (2)");
  expect_error("[x", "expected ']', found the end");
  expect_error("[x] y", "'y' after its end");
  expect_error("x", "expected '[', found 'x'");
  expect_error("[]{avg:x}", "'avg' is no reduction");
  expect_error("", "expected '['");
}

TEST(Sharding, BytesPerDevicePadsUp) {
  Mesh mesh = TestMesh({2, 4});
  Shape shape = Shape::Array(ElementType::kBF16, {10, 6});
  EXPECT_EQ(BytesPerDevice(shape, *ParseSharding("[]", mesh, 2), mesh), 120);
  EXPECT_EQ(BytesPerDevice(shape, *ParseSharding("[x,y]", mesh, 2), mesh), 5 * 2 * 2);
  EXPECT_EQ(BytesPerDevice(shape, *ParseSharding("[(x,y)]", mesh, 2), mesh), 2 * 6 * 2);
  EXPECT_FALSE(DividesEvenly(shape, *ParseSharding("[x,y]", mesh, 2), mesh));
  EXPECT_TRUE(DividesEvenly(shape, *ParseSharding("[x,_]", mesh, 2), mesh));
  EXPECT_EQ(ParseSharding("[x,y]", mesh, 2)->shards(mesh), 8);
}

TEST(Sharding, RankSixtyFour) {
  Mesh mesh = TestMesh({2, 4});
  Sharding sharding = Sharding::Replicated(64);
  EXPECT_TRUE(sharding.is_replicated());
  sharding.dims[63].push_back(1);
  EXPECT_FALSE(sharding.is_replicated());
  absl::StatusOr<Sharding> again = ParseSharding(sharding.ToString(mesh), mesh, 64);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, sharding);
}

}  // namespace
}  // namespace meshwright
