#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/intra/names.h"
#include "tests/intra/test_program.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;

// A program with its batch and layers.
struct FoundLayers {
  TestProgram program;
  std::vector<int32_t> tied;
  absl::StatusOr<BatchSplit> batch;
  absl::StatusOr<Layers> layers;

  explicit FoundLayers(TestProgram p, const LayerOptions& options = {})
      : program(std::move(p)),
        tied(TiedParameters(program.graph, true)),
        batch(FindBatch(program.graph, tied, {})),
        layers(absl::UnknownError("no batch")) {
    if (batch.ok()) {
      layers = FindLayers(program.graph, AnalyzeFusion(program.graph), *batch, tied, options);
    }
  }
  explicit FoundLayers(const std::string& file, const LayerOptions& options = {})
      : FoundLayers(ProgramFromData(file), options) {}

  const Graph& graph() const { return program.graph; }

  // Bytes of values that go from layer to layer in a phase, by (from, to).
  std::map<std::pair<int32_t, int32_t>, int64_t> Crossing(Phase phase) const {
    std::map<std::pair<int32_t, int32_t>, int64_t> bytes;
    for (const Value& value : graph().values) {
      const int32_t from = layers->layer[value.producer.index()];
      std::set<int32_t> to;
      for (OpId user : value.users) {
        const int32_t layer = layers->layer[user.index()];
        if (from >= 0 && layer >= 0 && layer != from && layers->phase[user.index()] == phase &&
            layers->phase[value.producer.index()] == phase) {
          to.insert(layer);
        }
      }
      for (int32_t layer : to) bytes[{from, layer}] += value.shape.bytes();
    }
    return bytes;
  }
  // The layer of the new value of a parameter.
  int32_t UpdatedIn(const std::string& parameter) const {
    for (size_t i = 0; i < tied.size(); ++i) {
      if (tied[i] < 0) continue;
      const Op& op = graph()[graph().parameters[tied[i]]];
      if (op.name == parameter) return layers->layer[graph().outputs[i].index()];
    }
    ADD_FAILURE() << "no parameter " << parameter;
    return -1;
  }
};

// Where values of a loop over layers enter and leave.
struct Border {
  int32_t enter, leave;
};

// What FindLayers promises of every program.
void CheckLayers(const Graph& graph, const BatchSplit& batch, const Layers& layers) {
  ASSERT_EQ(layers.layer.size(), graph.ops.size());
  ASSERT_EQ(layers.phase.size(), graph.ops.size());
  ASSERT_EQ(layers.kind.size(), static_cast<size_t>(layers.count));
  ASSERT_EQ(layers.flops.size(), static_cast<size_t>(layers.count));
  EXPECT_THAT(layers.layer, Each(AllOf(Gt(-2), Lt(layers.count))));
  EXPECT_THAT(layers.flops, Each(Gt(0)));
  std::map<int32_t, Border> borders;  // by loop of the graph
  for (const LayerLoop& loop : layers.loops) {
    const int32_t last = loop.first + loop.count - 1;
    ASSERT_LT(last, layers.count);
    ASSERT_EQ(graph.loops[loop.loop].trip_count, loop.count);
    borders[loop.loop] = loop.reversed ? Border{last, loop.first} : Border{loop.first, last};
  }
  const auto check = [&](OpId producer, int32_t from, OpId user, int32_t to) {
    if (from < 0 || to < 0) return;
    const Phase p = layers.phase[producer.index()], u = layers.phase[user.index()];
    EXPECT_LE(static_cast<int>(p), static_cast<int>(u))
        << graph[producer].name << " to " << graph[user].name;
    if (u == Phase::kUpdate) return;
    if (p == Phase::kBackward) {
      EXPECT_GE(from, to) << graph[producer].name << " to " << graph[user].name;
    } else {
      EXPECT_LE(from, to) << graph[producer].name << " to " << graph[user].name;
    }
  };
  const auto layer = [&](OpId op) { return layers.layer[op.index()]; };
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (ValueId v : graph.ops[i].operands) {
      check(graph[v].producer, layer(graph[v].producer), OpId(i), layers.layer[i]);
    }
  }
  for (const Carry& carry : graph.carries) {
    const auto border = borders.find(carry.loop);
    if (border == borders.end()) continue;
    // The loop takes stacks of what the forward phase of each of its layers left.
    const OpId in = graph[carry.init].producer, body = graph[carry.parameter].producer;
    if (!carry.invariant || layers.phase[in.index()] == layers.phase[body.index()]) {
      check(in, layer(in), body, border->second.enter);
    }
    if (!carry.exit.valid()) continue;
    const OpId exit = graph[carry.exit].producer;
    for (OpId user : graph[carry.exit].users) {
      check(exit, border->second.leave, user, layer(user));
    }
  }
  // Nothing that depends on data is everywhere, but for loops over layers and optimizers of stacks.
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (layers.layer[i] >= 0 || op.results.empty() || !layers.loops.empty()) continue;
    if (op.kind == OpKind::kInstruction && op.instruction->opcode == Opcode::kParameter) continue;
    const BatchRole role = batch.roles[op.results[0].index()];
    if (role == BatchRole::kConstant) continue;
    EXPECT_EQ(role, BatchRole::kSplit) << op.name;
    for (ValueId v : op.operands) {
      EXPECT_EQ(layer(graph[v].producer), -1) << op.name;
      EXPECT_THAT(batch.data, Each(testing::Ne(graph[v].producer))) << op.name;
    }
  }
}

TEST(FindLayersTest, TransformerInBlocks) {
  const FoundLayers found("tiny_gpt.train.hlo.txt.gz");
  ASSERT_TRUE(found.layers.ok()) << found.layers.status();
  CheckLayers(found.graph(), *found.batch, *found.layers);
  // Embedding, two blocks, head.
  EXPECT_EQ(found.layers->count, 4);
  EXPECT_THAT(found.layers->kind, ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(found.layers->flops[1], found.layers->flops[2]);
  // Only the residual stream and its gradient cross: 8 x 64 x 128 in bf16.
  using testing::Pair;
  const int64_t bytes = 8 * 64 * 128 * 2;
  EXPECT_THAT(
      found.Crossing(Phase::kForward),
      ElementsAre(Pair(Pair(0, 1), bytes), Pair(Pair(1, 2), bytes), Pair(Pair(2, 3), bytes)));
  EXPECT_THAT(
      found.Crossing(Phase::kBackward),
      ElementsAre(Pair(Pair(1, 0), bytes), Pair(Pair(2, 1), bytes), Pair(Pair(3, 2), bytes)));
  EXPECT_THAT(found.Crossing(Phase::kUpdate), IsEmpty());
  EXPECT_EQ(found.UpdatedIn("state_0___embed__.1"), 0);
  EXPECT_EQ(found.UpdatedIn("state_0___pos__.1"), 0);
  EXPECT_EQ(found.UpdatedIn("state_1___layer0____w1__.1"), 1);
  EXPECT_EQ(found.UpdatedIn("state_2___layer1____norm2__.1"), 2);
  EXPECT_EQ(found.UpdatedIn("state_0___head__.1"), 3);
}

TEST(FindLayersTest, TiedEmbeddingMaskAndClipping) {
  const FoundLayers found("pipeline/tied_clip.train.hlo.txt.gz");
  ASSERT_TRUE(found.layers.ok()) << found.layers.status();
  CheckLayers(found.graph(), *found.batch, *found.layers);
  EXPECT_EQ(found.layers->count, 5);
  EXPECT_THAT(found.layers->kind, ElementsAre(0, 1, 1, 1, 2));
  // The shared weight is updated where it is used first; biases where they are added.
  EXPECT_EQ(found.UpdatedIn("state_0___e__.1"), 0);
  EXPECT_EQ(found.UpdatedIn("state_0___layers___0___c__.1"), 1);
  EXPECT_EQ(found.UpdatedIn("state_1___layers___2___b__.1"), 3);
  EXPECT_EQ(found.UpdatedIn("state_0___g__.1"), 4);
  // Only scalars are shared: norms, and the factor made of them.
  for (const auto& [layers, bytes] : found.Crossing(Phase::kUpdate)) EXPECT_LT(bytes, 4 * 100);
}

TEST(FindLayersTest, LoopsOverLayers) {
  const FoundLayers found("pipeline/encoder_decoder.scan.train.hlo.txt.gz");
  ASSERT_TRUE(found.layers.ok()) << found.layers.status();
  CheckLayers(found.graph(), *found.batch, *found.layers);
  // Two embeddings, three and five layers in loops (one recomputed), the head.
  EXPECT_EQ(found.layers->count, 11);
  // The first of the encoder also has the update of a weight that all of it uses.
  EXPECT_THAT(found.layers->kind, ElementsAre(0, 1, 2, 2, 3, 4, 4, 4, 4, 4, 5));
  EXPECT_EQ(found.UpdatedIn("state_0___shared__.1"), 1);
  std::vector<std::vector<int32_t>> loops;
  for (const LayerLoop& loop : found.layers->loops) {
    loops.push_back({loop.first, loop.count, loop.reversed ? 1 : 0});
  }
  EXPECT_THAT(loops, ElementsAre(ElementsAre(1, 3, 0), ElementsAre(1, 3, 1), ElementsAre(5, 5, 0),
                                 ElementsAre(5, 5, 1)));
  EXPECT_EQ(found.UpdatedIn("state_0___e__.1"), 0);
  EXPECT_EQ(found.UpdatedIn("state_0___d__.1"), 4);
  EXPECT_EQ(found.UpdatedIn("state_0___enc____w1__.1"), -1) << "all layers at once";
  EXPECT_EQ(found.UpdatedIn("state_0___head__.1"), 10);
}

TEST(FindLayersTest, PeriodOfTwoBlocksWithoutLoss) {
  const FoundLayers found("pipeline/alternating.train.hlo.txt.gz");
  ASSERT_TRUE(found.layers.ok()) << found.layers.status();
  CheckLayers(found.graph(), *found.batch, *found.layers);
  EXPECT_EQ(found.layers->count, 3);
  const int64_t bytes = 16 * 32 * 4;
  using testing::Pair;
  EXPECT_THAT(found.Crossing(Phase::kForward),
              ElementsAre(Pair(Pair(0, 1), bytes), Pair(Pair(1, 2), bytes)));
  EXPECT_THAT(found.Crossing(Phase::kBackward),
              ElementsAre(Pair(Pair(1, 0), bytes), Pair(Pair(2, 1), bytes)));
  int64_t forward = 0, backward = 0;
  for (size_t i = 0; i < found.graph().ops.size(); ++i) {
    const Op& op = found.graph().ops[i];
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kDot) continue;
    forward += found.layers->phase[i] == Phase::kForward ? 1 : 0;
    backward += found.layers->phase[i] == Phase::kBackward ? 1 : 0;
  }
  EXPECT_EQ(forward, 12);
  EXPECT_EQ(backward, 23) << "none for the gradient of the input";
}

TEST(FindLayersTest, ClustersWhatDoesNotRepeat) {
  for (int32_t count : {1, 2, 3, 4, 12}) {
    LayerOptions options;
    options.count = count;
    const FoundLayers found("pipeline/funnel.train.hlo.txt.gz", options);
    ASSERT_TRUE(found.layers.ok()) << found.layers.status();
    CheckLayers(found.graph(), *found.batch, *found.layers);
    EXPECT_EQ(found.layers->count, count);
    const std::vector<double>& flops = found.layers->flops;
    const double average = std::accumulate(flops.begin(), flops.end(), 0.0) / count;
    if (count <= 4) EXPECT_LT(*std::max_element(flops.begin(), flops.end()), 2 * average);
  }
}

TEST(FindLayersTest, CountsThatDoNotFit) {
  const auto message = [](const char* file, int32_t count) {
    LayerOptions options;
    options.count = count;
    return std::string(FoundLayers(file, options).layers.status().message());
  };
  EXPECT_EQ(message("pipeline/funnel.train.hlo.txt.gz", 13),
            "13 layers are wanted, but the forward phase has only 12 matmuls and "
            "convolutions");
  EXPECT_THAT(message("llama3_8b.scan.train.hlo.txt.gz", 4),
              HasSubstr("the program's loops over layers make 34"));
  EXPECT_EQ(message("llama3_8b.scan.train.hlo.txt.gz", 34), "");
  EXPECT_EQ(message("tiny_gpt.train.hlo.txt.gz", 2), "");
}

// A loop inside attention, over blocks of keys: a part of its layer.
TEST(FindLayersTest, OtherLoopsArePartsOfLayers) {
  const FoundLayers found(
      ProgramFromText(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
body {
  p = (s32[], f32[8,4], f32[3,8,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  sum = f32[8,4] get-tuple-element(p), index=1
  blocks = f32[3,8,4] get-tuple-element(p), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  block = f32[1,8,4] dynamic-slice(blocks, i, zero, zero), dynamic_slice_sizes={1,8,4}
  flat = f32[8,4] reshape(block)
  scores = f32[8,4,4] dot(sum, flat), lhs_batch_dims={0}, rhs_batch_dims={0}
  none = f32[] constant(0)
  all = f32[8,4] reduce(scores, none), dimensions={2}, to_apply=add
  ROOT t = (s32[], f32[8,4], f32[3,8,4]) tuple(next, all, blocks)
}
condition {
  p = (s32[], f32[8,4], f32[3,8,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  w = f32[4,4] parameter(0)
  x = f32[8,4] parameter(1)
  start = s32[] constant(0)
  y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  keys = f32[3,8,4] broadcast(y), dimensions={1,2}
  init = (s32[], f32[8,4], f32[3,8,4]) tuple(start, y, keys)
  run = (s32[], f32[8,4], f32[3,8,4]) while(init), condition=condition, body=body
  z = f32[8,4] get-tuple-element(run), index=1
  u = f32[8,4] dot(z, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dw = f32[4,4] dot(z, u), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  new = f32[4,4] subtract(w, dw)
  none = f32[] constant(0)
  loss = f32[] reduce(u, none), dimensions={0,1}, to_apply=add
  ROOT out = (f32[4,4], f32[]) tuple(new, loss)
})"));
  ASSERT_TRUE(found.layers.ok()) << found.layers.status();
  CheckLayers(found.graph(), *found.batch, *found.layers);
  EXPECT_THAT(found.layers->loops, IsEmpty());
  for (size_t i = 0; i < found.graph().ops.size(); ++i) {
    if (found.graph().ops[i].loop >= 0) EXPECT_GE(found.layers->layer[i], 0);
  }
}

void CheckLayers(const std::string& path) {
  SCOPED_TRACE(path);
  const absl::StatusOr<Module> module = ReadHlo(path);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Graph> graph = BuildGraph(*module);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<int32_t> tied = TiedParameters(*graph, true);
  const absl::StatusOr<BatchSplit> batch = FindBatch(*graph, tied, {});
  ASSERT_TRUE(batch.ok()) << batch.status();
  const FusionInfo fusion = AnalyzeFusion(*graph);
  const absl::StatusOr<Layers> layers = FindLayers(*graph, fusion, *batch, tied, {});
  ASSERT_TRUE(layers.ok()) << layers.status();
  CheckLayers(*graph, *batch, *layers);
  std::printf("%-50s %3d layers of %zu kinds\n", path.substr(path.rfind('/') + 1).c_str(),
              layers->count, std::set<int32_t>(layers->kind.begin(), layers->kind.end()).size());
}

TEST(FindLayersTest, OwnPrograms) {
  for (const char* name : {"mlp_4096x4.train.hlo.txt.gz", "llama3_8b.scan.train.hlo.txt.gz",
                           "mlp_adam.train.hlo.txt", "mlp_wide_batch.train.hlo.txt"}) {
    CheckLayers(HloData(name));
  }
}

TEST(FindLayersTest, ReferencePrograms) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  size_t count = 0;
  for (const char* folder : {"/hlo", "/measured"}) {
    const std::string path = StrCat(MESHWRIGHT_SHARED, folder);
    if (!std::filesystem::exists(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (!entry.path().string().ends_with(".hlo.txt.gz")) continue;
      CheckLayers(entry.path().string());
      ++count;
    }
  }
  std::printf("%zu reference programs in ../shared\n", count);
}

}  // namespace
}  // namespace meshwright
