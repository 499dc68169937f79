#include "meshwright/sharding/hlo_sharding.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sharding/all_shardings.h"
#include "tests/sharding/test_mesh.h"

namespace meshwright {
namespace {

std::string Canonical(std::string_view text) {
  absl::StatusOr<HloSharding> sharding = ParseHloSharding(text);
  return sharding.ok() ? HloShardingText(*sharding) : std::string(sharding.status().message());
}

TEST(HloShardingText, CanonicalFormsAreKept) {
  for (const char* text :
       {"{replicated}",
        "{manual}",
        "{unknown}",
        "{unreduced}",
        "{maximal device=3}",
        "{devices=[2,4]<=[8]}",
        "{devices=[4,2]<=[2,4]T(1,0)}",
        "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}",
        "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
        "{devices=[4]0,3,1,2 shard_as 1}",
        "{devices=[3]0,2,1}",
        "{manual shard_like 12}",
        "{{replicated}, {devices=[2]<=[2]}}",
        "{}",
        "{mesh[], replicated}",
        "{mesh['x'=2,'y'=2], [{'x'}, {}]}",
        "{mesh['a'=2,'b'=4], [{'a', 'b':(1)2}, {?}], replicated={'b':(2)2}}",
        "{mesh['a'=2,'b'=2], [{}], unreduced={'a'}}",
        "{mesh['a'=2], manual}",
        "{mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)), [{'a'}, {'b', ?}], manual={}}"}) {
    std::string expected = text;
    if (size_t empty = expected.find(", manual={}"); empty != std::string::npos)
      expected.erase(empty, 11);
    EXPECT_EQ(Canonical(text), expected);
  }
}

TEST(HloShardingText, OtherSpellingsBecomeCanonical) {
  EXPECT_EQ(Canonical("{devices=[2,2]0,1,2,3}"), "{devices=[2,2]<=[4]}");
  EXPECT_EQ(Canonical("{devices=[4,2]0,4,1,5,2,6,3,7}"), "{devices=[4,2]<=[2,4]T(1,0)}");
  EXPECT_EQ(Canonical("{devices=[8]<=[2,2,2]T(0,1,2)}"), "{devices=[8]<=[8]}");
  EXPECT_EQ(Canonical("{ devices=[2, 2] <= [4] , metadata={op_name=\"a}\"} }"),
            "{devices=[2,2]<=[4]}");
  EXPECT_EQ(Canonical("{{replicated},/*index=1*/ {manual}}"), "{{replicated}, {manual}}");
  EXPECT_EQ(Canonical("{maximal_mesh[device_id=2]}"), "{maximal device=2}");
  EXPECT_EQ(Canonical("{mesh[x=2,\"y\"=2], [{x}, {\"y\"}]}"),
            "{mesh['x'=2,'y'=2], [{'x'}, {'y'}]}");
}

TEST(HloShardingText, ErrorsSayWhereAndWhat) {
  struct Case {
    const char *text, *message;
  };
  for (const Case& c : std::vector<Case>{
           {"", "expected"},
           {"{replicated", "expected"},
           {"{replicated} x", "expected the end after '}'"},
           {"{devices=[2,0]0,1}", "sharding:1:13: 0 is less than 1"},
           {"{devices=[2,2]0,1}", "2 devices for 4 tiles"},
           {"{devices=[2]0,0}", "not a permutation of 0 to 1"},
           {"{devices=[2]<=[2]T(1)}", "expected a permutation of 0 to 0"},
           {"{devices=[99999999999]<=[99999999999]}", "more than 1048576 devices"},
           {"{devices=[2]<=[2] last_tile_dims={odd}}", "expected replicated, manual or unreduced"},
           {"{devices=[2]<=[2] last_tile_dims={manual, manual}}", "more subgroups than the 1"},
           {"{maximal device=-1}", "not negative"},
           {"{mesh['x'=0], []}", "axis 'x' has size 0"},
           {"{mesh['x'], []}", "expected"},
           {"{tiled}", "expected replicated, maximal"},
           {"{{{{{{{{{{{{{{{{{{{{{{{{{{", "nested too deep"}}) {
    absl::StatusOr<HloSharding> sharding = ParseHloSharding(c.text);
    ASSERT_FALSE(sharding.ok()) << c.text;
    std::string message(sharding.status().message());
    EXPECT_NE(message.find(c.message), std::string::npos) << c.text << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(HloShardingText, MutatedTextNeverCrashes) {
  const std::vector<std::string> seeds = {
      "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}",
      "{{replicated}, {devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}}",
      "{mesh['a'=2,'b'=4], [{'a', 'b':(1)2}, {?}], unreduced={'b':(2)2}}",
      "{maximal device=3 shard_as 1}"};
  Mesh mesh = TestMesh({2, 4});
  std::mt19937 random(20261128);
  SCOPED_TRACE("seed 20261128");
  for (int i = 0; i < 20000; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (uint32_t edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size();
      if (random() % 2)
        text[at] = "{}[]=<,'01249Tx:()?"[random() % 19];
      else if (text.size() > 1)
        text.erase(at, 1);
    }
    absl::StatusOr<HloSharding> sharding = ParseHloSharding(text);
    if (!sharding.ok()) continue;
    std::string canonical = HloShardingText(*sharding);
    absl::StatusOr<HloSharding> again = ParseHloSharding(canonical);
    ASSERT_TRUE(again.ok()) << text << " -> " << canonical << ": " << again.status();
    EXPECT_EQ(*again, *sharding) << text << " -> " << canonical;
    FromHloSharding(*sharding, mesh, 2).IgnoreError();
  }
}

// Every sharding of an array over the mesh reads back from its own text.
TEST(HloSharding, RoundTripsEverySharding) {
  int count = 0;
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{8}, {2, 4}, {4, 2}, {2, 2, 2}, {1, 8}, {1}}) {
    Mesh mesh = TestMesh(sizes);
    for (int64_t rank = 0; rank <= 3; ++rank) {
      for (Sharding sharding : AllShardings(mesh, rank, /*unreduced=*/true)) {
        bool lists_single = false;  // axes of size 1 are never listed
        for (const AxisList& list : sharding.dims) {
          for (AxisIndex axis : list) lists_single |= mesh.axes[axis].size == 1;
        }
        for (AxisIndex axis : sharding.unreduced) lists_single |= mesh.axes[axis].size == 1;
        if (lists_single) continue;
        std::string text = ToHloShardingText(sharding, mesh);
        absl::StatusOr<HloSharding> hlo = ParseHloSharding(text);
        ASSERT_TRUE(hlo.ok()) << hlo.status();
        EXPECT_EQ(HloShardingText(*hlo), text);
        absl::StatusOr<Sharding> back = FromHloSharding(*hlo, mesh, rank);
        ASSERT_TRUE(back.ok()) << back.status();
        EXPECT_EQ(*back, sharding) << text << " for " << sharding.ToString(mesh);
        ++count;
      }
    }
  }
  EXPECT_GT(count, 200);
}

TEST(HloSharding, WritesWhatXlaWrites) {
  Mesh mesh = TestMesh({2, 4});
  auto text = [&](std::string_view sharding, int64_t rank) {
    return ToHloShardingText(*ParseSharding(sharding, mesh, rank), mesh);
  };
  EXPECT_EQ(text("[x,y]", 2), "{devices=[2,4]<=[8]}");
  EXPECT_EQ(text("[y,x]", 2), "{devices=[4,2]<=[2,4]T(1,0)}");
  EXPECT_EQ(text("[_,x]", 2), "{devices=[1,2,4]<=[8] last_tile_dim_replicate}");
  EXPECT_EQ(text("[y,_]", 2), "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  EXPECT_EQ(text("[(x,y)]", 1), "{devices=[8]<=[8]}");
  EXPECT_EQ(text("[]", 2), "{replicated}");
  EXPECT_EQ(text("[y]{sum:x}", 1), "{devices=[4,2]<=[2,4]T(1,0) last_tile_dims={unreduced}}");
}

TEST(HloSharding, ReadsNamedMeshesOfOtherShapes) {
  Mesh mesh = TestMesh({2, 4});
  auto read = [&](std::string_view text, int64_t rank) {
    absl::StatusOr<HloSharding> hlo = ParseHloSharding(text);
    if (!hlo.ok()) return std::string(hlo.status().message());
    absl::StatusOr<Sharding> sharding = FromHloSharding(*hlo, mesh, rank);
    return sharding.ok() ? sharding->ToString(mesh) : std::string(sharding.status().message());
  };
  EXPECT_EQ(read("{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}", 2), "[x,y]");
  EXPECT_EQ(read("{mesh['a'=8], [{'a'}, {}]}", 2), "[(x,y),_]");
  EXPECT_EQ(read("{mesh['a'=8], [{'a':(1)2}, {'a':(2)4}]}", 2), "[x,y]");
  EXPECT_EQ(read("{mesh['a'=2,'b'=2,'c'=2], [{'b', 'c'}]}", 2), "[y,_]");
  EXPECT_EQ(read("{mesh['a'=2,'b'=4], [{'a'}], unreduced={'b'}}", 1), "[x]{sum:y}");
  EXPECT_EQ(read("{mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)), [{'a'}, {'b'}]}", 2), "[y,x]");
  EXPECT_EQ(read("{mesh[], replicated}", 2), "[_,_]");
  EXPECT_EQ(read("{unreduced}", 1), "[_]{sum:x,y}");
}

TEST(HloSharding, ErrorsWhereAxesCannotExpressIt) {
  Mesh mesh = TestMesh({2, 4});
  struct Case {
    const char *text, *message;
  };
  for (const Case& c :
       std::vector<Case>{{"{devices=[4,2]<=[8]}", "is not a combination of the axes"},
                         {"{devices=[8,1]1,0,2,3,4,5,6,7}", "is not a combination of the axes"},
                         {"{devices=[2,2]<=[4]}", "is over 4 devices, the mesh has 8"},
                         {"{devices=[8]<=[8]}", "has 1 dimensions, the array has 2"},
                         {"{manual}", "is manual"},
                         {"{devices=[1,1,8]<=[8] last_tile_dims={manual}}", "is manual"},
                         {"{maximal device=0}", "puts everything on one of 8 devices"},
                         {"{unknown}", "says nothing"},
                         {"{{replicated}}", "is of a tuple"},
                         {"{mesh['a'=8], [{'b'}, {}]}", "names axis 'b'"},
                         {"{mesh['a'=8], [{'a'}, {'a'}]}", "uses an axis more than once"},
                         {"{mesh['a'=8], [{'a':(3)2}, {}]}", "does not divide its axis"}}) {
    absl::StatusOr<HloSharding> hlo = ParseHloSharding(c.text);
    ASSERT_TRUE(hlo.ok()) << hlo.status();
    absl::StatusOr<Sharding> sharding = FromHloSharding(*hlo, mesh, 2);
    ASSERT_FALSE(sharding.ok()) << c.text;
    EXPECT_NE(std::string(sharding.status().message()).find(c.message), std::string::npos)
        << sharding.status();
  }
}

}  // namespace
}  // namespace meshwright
