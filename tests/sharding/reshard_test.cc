#include "meshwright/sharding/reshard.h"

#include <cmath>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/sharding/reshard_space.h"
#include "tests/sharding/all_shardings.h"
#include "tests/sharding/ring_price.h"
#include "tests/sharding/test_mesh.h"

namespace meshwright {
namespace {

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
    EXPECT_EQ(StepsText(resharding, mesh), c.steps) << c.from << " -> " << c.to;
    double seconds = 0;
    for (const CollectiveStep& step : resharding.steps) {
      seconds += RingSeconds(mesh, step.kind, step.axes, step.bytes);
    }
    EXPECT_DOUBLE_EQ(resharding.seconds, seconds) << c.from << " -> " << c.to;
  }
}

// Padding travels too, and uneven pieces of several axes are cut and joined at once: a device's 2
// of 10 rows on 2x4 are not among its 5 on 2.
TEST(Reshard, UnevenExamples) {
  Mesh mesh = TestMesh({2, 4});
  Shape shape = Shape::Array(ElementType::kF32, {10, 8});
  struct Case {
    const char *from, *to, *steps;
  };
  for (const Case& c : std::vector<Case>{{"[_,_]", "[y,_]", ""},
                                         {"[_,_]", "[(x,y),_]", ""},
                                         {"[y,_]", "[_,_]", "all-gather y 384"},
                                         {"[(x,y),_]", "[_,_]", "all-gather xy 512"},
                                         {"[(x,y),_]", "[(y,x),_]", "collective-permute xy 64"},
                                         {"[y,_]", "[_,y]", "all-to-all y 96"},
                                         {"[_,y]", "[y,_]", "all-to-all y 96"},  // 12 x 2
                                         {"[_,_]{sum:y}", "[y,_]", "reduce-scatter y 384"}}) {
    Resharding resharding = PlanResharding(shape, *ParseSharding(c.from, mesh, 2),
                                           *ParseSharding(c.to, mesh, 2), mesh, RingPrice(mesh));
    EXPECT_EQ(StepsText(resharding, mesh), c.steps) << c.from << " -> " << c.to;
  }
  EXPECT_TRUE(PiecesNest(10, 1, 8));
  EXPECT_TRUE(PiecesNest(12, 2, 4));
  EXPECT_TRUE(PiecesNest(7, 2, 8));
  EXPECT_FALSE(PiecesNest(10, 2, 8));
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
    return StepsText(PlanResharding(shape, *ParseSharding(from, mesh, 2),
                                    *ParseSharding(to, mesh, 2), mesh, price),
                     mesh);
  };
  EXPECT_EQ(steps("[(x,y),_]", "[_,_]"), "all-gather xy 4194304");
  EXPECT_EQ(steps("[(x,y),_]", "[_,(x,y)]"), "all-to-all xy 524288");
  EXPECT_EQ(steps("[_,_]{sum:x,y}", "[_,_]"), "all-reduce xy 4194304");
  EXPECT_EQ(steps("[_,_]{sum:x,y}", "[(y,x),_]"), "reduce-scatter yx 4194304");
  // Though at once would be cheaper: XLA's partitioner does so.
  EXPECT_EQ(steps("[_,_]{sum:x,y}", "[y,_]"), "reduce-scatter y 4194304, all-reduce x 1048576");
  EXPECT_EQ(steps("[_,_]{sum:x,y}", "[x,y]"), "all-reduce xy 4194304");
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
