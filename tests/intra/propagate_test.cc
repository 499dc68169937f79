#include "meshwright/intra/propagate.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/intra/names.h"
#include "tests/intra/test_program.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

// Shardings that `program`'s annotations spread to, by name of the value.
class Propagated {
 public:
  explicit Propagated(std::string_view entry, std::string_view mesh = "x=2,y=2")
      : program_(ProgramFromText(
            absl::StrCat("HloModule t\nENTRY main {\n", std::string(entry), "}\n"))),
        mesh_(TestMesh(mesh, "4xh100-sxm")) {
    std::vector<int32_t> tied = TiedParameters(program_.graph, false);
    absl::StatusOr<Pins> pins = ResolvePins(program_.graph, mesh_, {}, &tied);
    EXPECT_TRUE(pins.ok()) << pins.status();
    EXPECT_EQ(pins->unused_annotations, "");
    pins_ = *std::move(pins);
    PropagatePins(program_.graph, AnalyzeFusion(program_.graph), mesh_, tied, &pins_);
  }

  std::string operator[](std::string_view name) const {
    for (const Op& op : program_.graph.ops) {
      if (op.name == name) return pins_.values[op.results[0].index()]->ToString(mesh_);
    }
    return "no such value";
  }

 private:
  TestProgram program_;
  Mesh mesh_;
  Pins pins_;
};

TEST(PropagatePins, BatchGoesThroughProductsAndElementwise) {
  const Propagated p(R"(
  a = f32[8,16] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  w = f32[16,32] parameter(1), sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  d = f32[8,32] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[8,32] tanh(d)
)");
  EXPECT_EQ(p["d"], "[x,y]");
  EXPECT_EQ(p["t"], "[x,y]");
}

TEST(PropagatePins, GivenShardingsStay) {
  const Propagated p(R"(
  a = f32[8,16] parameter(0), sharding={devices=[4,1]<=[4]}
  b = f32[8,16] parameter(1), sharding={replicated}
  s = f32[8,16] add(b, a)
  ROOT t = f32[8,16] negate(s)
)",
                     "x=4");
  EXPECT_EQ(p["b"], "[_,_]");
  EXPECT_EQ(p["s"], "[x,_]");  // what is closed does not keep others from it
  EXPECT_EQ(p["t"], "[x,_]");
}

TEST(PropagatePins, TheLargerTensorWins) {
  const std::string rows = R"(
  a = f32[8,16] parameter(0), sharding={devices=[4,1]<=[4]}
  w = f32[16,WIDTH] parameter(1), sharding={devices=[1,4]<=[4]}
  ROOT d = f32[8,WIDTH] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)";
  const auto with_width = [&](std::string width) {
    std::string text = rows;
    for (size_t at; (at = text.find("WIDTH")) != std::string::npos;) text.replace(at, 5, width);
    return text;
  };
  EXPECT_EQ(Propagated(with_width("4"), "x=4")["d"], "[x,_]");
  EXPECT_EQ(Propagated(with_width("64"), "x=4")["d"], "[_,x]");
  EXPECT_EQ(Propagated(with_width("8"), "x=4")["d"], "[x,_]");  // equals: the first operand
}

TEST(PropagatePins, ReshapesSplitAndMerge) {
  const Propagated p(R"(
  a = f32[8,16] parameter(0), sharding={devices=[1,4]<=[4]}
  heads = f32[8,4,4] reshape(a)
  swapped = f32[4,8,4] transpose(heads), dimensions={1,0,2}
  ROOT flat = f32[4,32] reshape(swapped)
)",
                     "x=4");
  EXPECT_EQ(p["heads"], "[_,x,_]");
  EXPECT_EQ(p["swapped"], "[x,_,_]");
  EXPECT_EQ(p["flat"], "[x,_]");
}

TEST(PropagatePins, WhatDoesNotDivideStaysWhole) {
  const Propagated p(R"(
  a = f32[8,6] parameter(0), sharding={devices=[4,1]<=[4]}
  flat = f32[48] reshape(a)
  ROOT six = f32[6,8] reshape(flat)
)",
                     "x=4");
  EXPECT_EQ(p["flat"], "[x]");
  EXPECT_EQ(p["six"], "[_,_]");
}

// Whether a sum of sums adds products is known of each from those before it.
TEST(PropagatePins, LongSumsTakeLinearTime) {
  std::string entry =
      "  p = f32[8,8] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}\n"
      "  x0 = f32[8,8] negate(p)\n";
  constexpr int kSums = RandomCases(100'000);
  for (int i = 1; i <= kSums; ++i) {
    absl::StrAppend(&entry, "  x", i, " = f32[8,8] add(x", i - 1, ", p)\n");
  }
  absl::StrAppend(&entry, "  ROOT r = f32[8,8] negate(x", kSums, ")\n");
  const std::clock_t begin = std::clock();
  EXPECT_EQ(Propagated(entry)["r"], "[x,_]");
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10);
}

TEST(PropagatePins, ContractionsComeLast) {
  // The contracted dimension reaches the left operand only where nothing else claims it.
  const Propagated p(R"(
  a = f32[8,16] parameter(0)
  w = f32[16,32] parameter(1), sharding={devices=[4,1]<=[4]}
  t = f32[8,16] tanh(a)
  ROOT d = f32[8,32] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)",
                     "x=4");
  EXPECT_EQ(p["t"], "[_,x]");
  EXPECT_EQ(p["a"], "[_,x]");
  EXPECT_EQ(p["d"], "[_,_]");
}

}  // namespace
}  // namespace meshwright
