#include "meshwright/hlo/counted_indices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/verify/verifier.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Rows of `x` by `rows`, columns by labels.
struct Indexed {
  Module module;
  Graph graph;

  explicit Indexed(const std::string& rows, const std::string& size = "8") {
    const absl::StatusOr<Module> read = ParseHloText(
        StrCat(
            R"(HloModule m
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[)",
            size, R"(,4] parameter(0)
  labels = s32[8,1] parameter(1)
  given = s32[8] parameter(2)
)",
            rows, R"(
  index = s32[8,2] concatenate(row1, labels), dimensions={1}
  hit = f32[8] gather(x, index), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
  grad = f32[)",
            size,
            R"(,4] scatter(x, index, hit), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=sum
  ROOT out = (f32[8], f32[)",
            size, R"(,4], s32[8,2]) tuple(hit, grad, index)
})"),
        "test");
    EXPECT_TRUE(read.ok()) << read.status();
    module = *read;
    graph = *BuildGraph(module);
  }

  std::vector<CountedIndex> Of(const std::string& name) const {
    for (const Op& op : graph.ops) {
      if (op.name == name) return CountedIndices(graph, op);
    }
    return {};
  }
};

constexpr CountedIndex kRow = {.component = 0, .operand_dimension = 0, .indices_dimension = 0};

TEST(CountedIndicesTest, AreMadeOfIota) {
  for (const char* const rows :
       {"row1 = s32[8,1] iota(), iota_dimension=0",
        "i = s32[8] iota(), iota_dimension=0\n row1 = s32[8,1] reshape(i)",
        "i = s32[8] constant({0,1,2,3,4,5,6,7})\n row1 = s32[8,1] reshape(i)",
        "i = u8[8] iota(), iota_dimension=0\n j = s32[8] convert(i)\n"
        "row1 = s32[8,1] broadcast(j), dimensions={0}",
        // As JAX writes x[arange(8), labels].
        "i = s32[8] iota(), iota_dimension=0\n z = s32[] constant(0)\n"
        "zs = s32[8] broadcast(z), dimensions={}\n low = pred[8] compare(i, zs), direction=LT\n"
        "n = s32[] constant(8)\n ns = s32[8] broadcast(n), dimensions={}\n"
        "up = s32[8] add(i, ns)\n r = s32[8] select(low, up, i)\n row1 = s32[8,1] reshape(r)"}) {
    SCOPED_TRACE(rows);
    const Indexed indexed(rows);
    EXPECT_THAT(indexed.Of("hit"), ElementsAre(kRow));
    EXPECT_THAT(indexed.Of("grad"), ElementsAre(kRow));
  }
}

TEST(CountedIndicesTest, AreNotWhatElseComesAsIndex) {
  const char* const iota = "row1 = s32[8,1] iota(), iota_dimension=0";
  EXPECT_THAT(Indexed(iota, "9").Of("hit"), IsEmpty()) << "a row more than are taken";
  for (const char* const rows :
       {"row1 = s32[8,1] reshape(given)",
        "i = s32[8] constant({0,1,2,3,4,5,7,6})\n row1 = s32[8,1] reshape(i)",
        "i = s32[8] iota(), iota_dimension=0\n j = s32[8] add(i, i)\n"
        "row1 = s32[8,1] reshape(j)"}) {
    SCOPED_TRACE(rows);
    EXPECT_THAT(Indexed(rows).Of("hit"), IsEmpty());
  }
}

// Neither as deep as the program is long, nor along every path of selections.
TEST(CountedIndicesTest, AreLookedForNearby) {
  std::string copies = "  row0 = s32[8] iota(), iota_dimension=0\n", selections = copies;
  StrAppend(&selections,
            "  zero = s32[] constant(0)\n  zeros = s32[8] broadcast(zero), dimensions={}\n");
  constexpr int kDeep = 100;
  for (int i = 1; i <= kDeep; ++i) {
    const std::string before = StrCat("row", i - 1, i == 1 ? "" : "_");
    StrAppend(&copies, "  row", i, "_ = s32[8] copy(", before, ")\n");
    StrAppend(&selections, "  below", i, " = pred[8] compare(", before,
              ", zeros), direction=LT\n  row", i, "_ = s32[8] select(below", i, ", given, ", before,
              ")\n");
  }
  const std::string last = StrCat("  row1 = s32[8,1] reshape(row", kDeep, "_)");
  EXPECT_THAT(Indexed(copies + last).Of("hit"), IsEmpty());
  EXPECT_THAT(Indexed(selections + last).Of("hit"), IsEmpty());
}

TEST(CountedIndicesTest, BecomeBatchingDimensions) {
  const Indexed indexed("row1 = s32[8,1] iota(), iota_dimension=0");
  const Module batched = WithBatchedIndices(indexed.graph);
  EXPECT_EQ(FindVerifierError(batched), std::nullopt);
  const absl::StatusOr<Graph> graph = BuildGraph(batched);
  ASSERT_TRUE(graph.ok()) << graph.status();
  int seen = 0;
  for (const Op& op : graph->ops) {
    if (op.name == "hit") {
      ++seen;
      const GatherDimensions& gather = op.instruction->gather;
      EXPECT_THAT(gather.collapsed_slice_dims, ElementsAre(1));
      EXPECT_THAT(gather.start_index_map, ElementsAre(1));
      EXPECT_THAT(gather.operand_batching_dims, ElementsAre(0));
      EXPECT_THAT(gather.start_indices_batching_dims, ElementsAre(0));
      EXPECT_EQ((*graph)[(*graph)[op.operands[1]].producer].name, "labels");
    }
    if (op.name == "grad") {
      ++seen;
      const ScatterDimensions& scatter = op.instruction->scatter;
      EXPECT_THAT(scatter.inserted_window_dims, ElementsAre(1));
      EXPECT_THAT(scatter.scatter_dims_to_operand_dims, ElementsAre(1));
      EXPECT_THAT(scatter.input_batching_dims, ElementsAre(0));
      EXPECT_THAT(scatter.scatter_indices_batching_dims, ElementsAre(0));
    }
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace meshwright
