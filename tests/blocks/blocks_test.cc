#include "meshwright/blocks/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "meshwright/base/file.h"
#include "meshwright/blocks/block_kinds.h"
#include "meshwright/blocks/segments.h"
#include "tests/intra/test_program.h"

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
            if (!made->dims[d].empty()) EXPECT_EQ(made->dims[d], taken->dims[d]) << op.name;
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
