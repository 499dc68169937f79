#include "meshwright/blocks/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "meshwright/base/file.h"
#include "meshwright/blocks/block_kinds.h"
#include "meshwright/blocks/segments.h"
#include "tests/intra/test_program.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

// By the rules alone: whatever a member takes from another one is sharded as that makes it, or made
// by all devices and cut for nothing, and never partial.
void ExpectNoCommunicationInside(const Graph& graph, const Mesh& mesh, const BlockFinder& finder,
                                 const BlockAnalysis& analysis) {
  for (size_t b = 0; b < analysis.blocks.size(); ++b) {
    const ParallelBlock& block = analysis.blocks[b];
    ASSERT_TRUE(std::is_sorted(block.ops.begin(), block.ops.end()));
    ASSERT_FALSE(block.strategies.empty());
    for (size_t s = 0; s < block.strategies.size(); ++s) {
      SCOPED_TRACE(graph[block.contractions[0]].name + ": " + finder.StrategyText(block, s));
      for (OpId id : block.ops) {
        const Op& op = graph[id];
        ASSERT_EQ(analysis.block_of[id.index()], static_cast<int32_t>(b));
        const Rule rule = RuleFor(graph, op);
        const Strategy factors = finder.FactorsOf(block, block.strategies[s], id);
        for (size_t i = 0; i < op.operands.size(); ++i) {
          const Value& value = graph[op.operands[i]];
          if (analysis.block_of[value.producer.index()] != static_cast<int32_t>(b)) continue;
          const Op& producer = graph[value.producer];
          const auto made = ResultSharding(
              RuleFor(graph, producer),
              finder.FactorsOf(block, block.strategies[s], value.producer), value.result, mesh);
          const auto taken = OperandSharding(rule, factors, i, mesh);
          ASSERT_TRUE(made.has_value() && taken.has_value()) << op.name;
          EXPECT_TRUE(made->unreduced.empty()) << op.name << " takes partial " << producer.name;
          for (size_t d = 0; d < made->dims.size(); ++d) {
            // Axes that cut what is made cut what is taken in the same way.
            if (made->dims[d].empty()) continue;
            EXPECT_EQ(made->dims[d], taken->dims[d]) << op.name;
          }
        }
      }
    }
  }
}

struct Found {
  BlockAnalysis analysis;
  std::vector<int32_t> sequence;  // of kinds
  SegmentCover cover;
};

Found Analyze(const TestProgram& program, const std::string& mesh_text,
              const std::string& cluster) {
  const Mesh mesh = TestMesh(mesh_text, cluster);
  BlockFinder finder(program.graph, mesh);
  Found found;
  found.analysis = finder.Find();
  ExpectNoCommunicationInside(program.graph, mesh, finder, found.analysis);
  const std::vector<int32_t> kinds = FindBlockKinds(program.graph, found.analysis);
  found.sequence = KindSequence(program.graph, found.analysis, kinds);
  std::vector<double> strategies(kinds.size());
  for (size_t b = 0; b < kinds.size(); ++b)
    strategies[kinds[b]] = static_cast<double>(found.analysis.blocks[b].strategies.size());
  found.cover = CoverWithSegments(found.sequence, strategies, {});
  return found;
}

// Queries, keys and values with the attention that they meet in; its output; both halves of the
// feed-forward part; and the head.
TEST(Blocks, OfADenseLayer) {
  const TestProgram program = ProgramFromData("tiny_gpt.train.hlo.txt.gz");
  for (const char* mesh : {"2", "4", "2x2"}) {
    SCOPED_TRACE(mesh);
    const std::string cluster = mesh[0] == '4' || mesh[1] == 'x' ? "4xh100-sxm" : "2xh100-sxm";
    const Found found = Analyze(program, mesh, cluster);
    EXPECT_EQ(found.analysis.blocks.size(), 2 * 4 + 1U);
    EXPECT_TRUE(found.analysis.warnings.empty());
    // Attention: three projections and two products, each with two gradients.
    EXPECT_EQ(found.analysis.blocks[0].contractions.size(), 15U);
    for (size_t b = 1; b < 4; ++b) EXPECT_EQ(found.analysis.blocks[b].contractions.size(), 3U) << b;
  }
}

// Grouped queries, a gate beside the feed-forward part, layers in a loop, and gradients in another.
TEST(Blocks, OfAScannedLlama) {
  const TestProgram program = ProgramFromData("llama3_8b.scan.train.hlo.txt.gz");
  const Found found = Analyze(program, "8", "8xh100-sxm");
  ASSERT_EQ(found.analysis.blocks.size(), 5U);
  EXPECT_EQ(found.sequence.size(), 4 * 32 + 1U);
  EXPECT_EQ(found.cover.distinct.size(), 2U);
  EXPECT_EQ(found.analysis.blocks[2].contractions.size(), 6U);  // gate and what it gates
}

// Layers that take their weights out of one stack, each at an index of its own, no loop.
TEST(Blocks, OfLayersWithStackedWeights) {
  const TestProgram program = ProgramFromData("llama_stacked.train.hlo.txt.gz");
  const Found found = Analyze(program, "2x2", "4xh100-sxm");
  // Of the first and the last layer some operators are others.
  EXPECT_EQ(found.sequence,
            (std::vector<int32_t>{0, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 6, 7}));
}

// A product, and two that take what it makes and meet again, for each of two parts of the batch;
// all gradients belong with the products of their part, although both parts have the same weights.
TEST(Blocks, OfPartsOneAfterTheOther) {
  std::string text =
      R"(HloModule t, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias), {2}: (2, {}, may-alias) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  u = f32[64,64] parameter(0)
  v = f32[64,64] parameter(1)
  w = f32[64,64] parameter(2)
  x = f32[16,64] parameter(3)
  zero = f32[] constant(0)
  x1 = f32[8,64] slice(x), slice={[0:8],[0:64]}
  x2 = f32[8,64] slice(x), slice={[8:16],[0:64]}
)";
  for (const char* part : {"1", "2"}) {
    text += absl::StrReplaceAll(R"(
  z# = f32[8,64] dot(x#, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a# = f32[8,64] dot(z#, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b# = f32[8,64] dot(z#, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y# = f32[8,64] multiply(a#, b#)
  s# = f32[8,64] tanh(y#)
  l# = f32[] reduce(s#, zero), dimensions={0,1}, to_apply=sum
  dy# = f32[8,64] negate(s#)
  da# = f32[8,64] multiply(dy#, b#)
  db# = f32[8,64] multiply(dy#, a#)
  za# = f32[8,64] dot(da#, v), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  zb# = f32[8,64] dot(db#, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  dv# = f32[64,64] dot(z#, da#), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  dw# = f32[64,64] dot(z#, db#), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  dz# = f32[8,64] add(za#, zb#)
  du# = f32[64,64] dot(x#, dz#), lhs_contracting_dims={0}, rhs_contracting_dims={0}
)",
                                {{"#", part}});
  }
  text += R"(
  l = f32[] add(l1, l2)
  du = f32[64,64] add(du1, du2)
  dv = f32[64,64] add(dv1, dv2)
  dw = f32[64,64] add(dw1, dw2)
  u2 = f32[64,64] subtract(u, du)
  v2 = f32[64,64] subtract(v, dv)
  w2 = f32[64,64] subtract(w, dw)
  ROOT r = (f32[64,64], f32[64,64], f32[64,64], f32[]) tuple(u2, v2, w2, l)
})";
  const TestProgram program = ProgramFromText(text);
  const Found found = Analyze(program, "4", "4xh100-sxm");
  std::vector<std::vector<std::string>> names;
  for (const ParallelBlock& block : found.analysis.blocks) {
    std::vector<std::string>& of_block = names.emplace_back();
    for (OpId op : block.contractions) of_block.push_back(program.graph[op].name);
  }
  EXPECT_EQ(names,
            (std::vector<std::vector<std::string>>{{"z1", "du1"},
                                                   {"a1", "b1", "za1", "zb1", "dv1", "dw1"},
                                                   {"z2", "du2"},
                                                   {"a2", "b2", "za2", "zb2", "dv2", "dw2"}}));
}

// Gradients added up in a loop over parts of the batch, and in it the loops over layers.
TEST(Blocks, OfAScannedLlamaInParts) {
  const TestProgram program = ProgramFromData("llama_accumulated.scan.train.hlo.txt.gz");
  const Found found = Analyze(program, "2x2", "4xh100-sxm");
  ASSERT_EQ(found.analysis.blocks.size(), 5U);
  std::vector<int32_t> of_a_part;
  for (int layer = 0; layer < 3; ++layer) of_a_part.insert(of_a_part.end(), {0, 1, 2, 3});
  of_a_part.push_back(4);
  std::vector<int32_t> sequence;
  for (int part = 0; part < 4; ++part)
    sequence.insert(sequence.end(), of_a_part.begin(), of_a_part.end());
  EXPECT_EQ(found.sequence, sequence);
  EXPECT_EQ(found.cover.distinct.size(), 2U);
  // Gate and what it gates, once more when the layer is computed again, and their gradients.
  EXPECT_EQ(found.analysis.blocks[2].contractions.size(), 8U);
}

// More devices than heads of keys: those cannot be cut with what they meet.
TEST(Blocks, HeadsThatCannotBeCutStandAlone) {
  const TestProgram program = ProgramFromData("llama3_8b.scan.train.hlo.txt.gz");
  const Found found = Analyze(program, "16", "2x8xh100-sxm");
  EXPECT_GT(found.analysis.blocks.size(), 5U);
}

// A chain of products: each contracts what the one before it cuts.
TEST(Blocks, OfProductsInARow) {
  const TestProgram program = ProgramFromData("mlp_4096x4.train.hlo.txt.gz");
  const Found found = Analyze(program, "4", "4xh100-sxm");
  EXPECT_EQ(found.analysis.blocks.size(), 4U);
}

TEST(Blocks, OfAProgramWithoutABatch) {
  const TestProgram program = ProgramFromText(R"(HloModule t
ENTRY main {
  a = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  y = f32[64,64] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[64,64] tanh(y)
})");
  const Found found = Analyze(program, "4", "4xh100-sxm");
  ASSERT_EQ(found.analysis.blocks.size(), 1U);
  EXPECT_EQ(found.analysis.blocks[0].strategies.size(), 4U);  // all alike, and one a dimension
}

// What norms are made of leads no blocks.
TEST(Blocks, NotOfInnerProducts) {
  const TestProgram program = ProgramFromText(R"(HloModule t
ENTRY main {
  a = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  y = f32[64,64] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  rows = f32[64] dot(y, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  all = f32[] dot(y, y), lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}
  ROOT r = (f32[64,64], f32[64], f32[]) tuple(y, rows, all)
})");
  const Found found = Analyze(program, "4", "4xh100-sxm");
  ASSERT_EQ(found.analysis.blocks.size(), 1U);
  EXPECT_EQ(found.analysis.blocks[0].contractions.size(), 1U);
}

TEST(Blocks, OfNothing) {
  const TestProgram program = ProgramFromText(R"(HloModule t
ENTRY main {
  a = f32[64] parameter(0)
  ROOT r = f32[64] tanh(a)
})");
  const Found found = Analyze(program, "4", "4xh100-sxm");
  EXPECT_TRUE(found.analysis.blocks.empty());
  EXPECT_TRUE(found.sequence.empty());
}

// Larger networks: at most four blocks a dense layer, and one segment besides the two ends, also of
// pairs of a dense layer and one of experts.
TEST(Blocks, SharedPrograms) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  struct Case {
    const char* name;
    size_t layers, blocks_a_layer, segments;
  };
  for (const Case& c : {Case{"gpt2_345m", 24, 4, 3}, Case{"llama2_13b", 40, 4, 3},
                        Case{"gpt3_175b", 96, 4, 3}, Case{"moe_gshard_16", 16, 5, 3}}) {
    const std::string path = std::string(MESHWRIGHT_SHARED "/hlo/") + c.name + ".train.hlo.txt.gz";
    if (!std::filesystem::exists(path)) {
      std::cout << path << " is not here\n";
      continue;
    }
    SCOPED_TRACE(path);
    std::cout << "compared with " << path << "\n";
    const Found found = Analyze(ProgramFromText(*ReadFileMaybeGzip(path)), "8", "8xh100-sxm");
    EXPECT_LE(found.analysis.blocks.size(), c.layers * c.blocks_a_layer + 1);
    EXPECT_TRUE(found.cover.exact);
    EXPECT_EQ(found.cover.distinct.size(), c.segments);
  }
}

}  // namespace
}  // namespace meshwright
