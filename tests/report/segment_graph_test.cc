#include "meshwright/report/segment_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/report/segment_dot.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A program without a pipeline, operator by operator.
class Builder {
 public:
  Builder() {
    plan_.mesh = {{"x", 2}};
    Add("w", "parameter", {}, -1, "");
  }

  int64_t Add(const std::string& name, const std::string& opcode, std::vector<int64_t> operands,
              int64_t layer, const std::string& phase, const std::string& axis = "") {
    PlanInstruction one;
    one.name = name;
    one.opcode = *FromWord<PlanOpcode>(opcode);
    one.type = {"f32", {8}};
    one.operands = std::move(operands);
    if (layer >= 0) one.layer = layer;
    one.phase = FromWord<Phase>(phase);
    one.spec = {axis.empty() ? std::vector<std::string>() : std::vector<std::string>{axis}};
    one.strategy = "replicated";
    one.seconds = opcode == "parameter" ? 0 : 1;
    plan_.program.instructions.push_back(one);
    return static_cast<int64_t>(plan_.program.instructions.size()) - 1;
  }

  // One layer: a product with the weights and a sum.
  int64_t AddLayer(int64_t input, int64_t layer, const std::string& phase,
                   const std::string& axis = "") {
    const std::string name = absl::StrCat(phase, layer);
    const int64_t dot = Add("dot." + name, "dot", {input, 0}, layer, phase, axis);
    return Add("add." + name, "add", {dot, input}, layer, phase, axis);
  }

  SegmentGraph Segments(int64_t micro_batches = 1) const {
    return SegmentsOf(ProgramsOf(plan_).programs[0], micro_batches);
  }
  Plan& plan() { return plan_; }

 private:
  Plan plan_;
};

std::vector<std::vector<int64_t>> Layers(const SegmentGraph& graph) {
  std::vector<std::vector<int64_t>> layers;
  for (const SegmentNode& node : graph.nodes) layers.push_back(node.layers);
  return layers;
}

TEST(SegmentGraph, EqualLayersAreOneSegment) {
  Builder builder;
  int64_t value = 0;
  for (int64_t layer = 0; layer < 4; ++layer) value = builder.AddLayer(value, layer, "forward");
  const SegmentGraph graph = builder.Segments();
  // The first layer takes the parameter itself, so it is another one.
  EXPECT_THAT(Layers(graph), ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
  EXPECT_EQ(graph.segments.size(), 2);
  EXPECT_EQ(graph.segments[1].operators, 2);
  EXPECT_DOUBLE_EQ(graph.segments[1].seconds, 2);
  EXPECT_EQ(graph.segments[1].label, "forward layer");
  EXPECT_THAT(graph.node_of, ElementsAre(-1, 0, 0, 1, 1, 1, 1, 1, 1));
  ASSERT_EQ(graph.edges.size(), 1);
  EXPECT_EQ(graph.edges[0].values, 2);  // the sum takes it again
}

TEST(SegmentGraph, ShardingsAndTheOrderWithinALayerCountAsTheyShould) {
  Builder builder;
  int64_t value = builder.AddLayer(0, 0, "forward");
  value = builder.AddLayer(value, 1, "forward");
  // The same layer, with an operator that nobody waits for first.
  const int64_t dot = builder.Add("d", "dot", {value, 0}, 2, "forward");
  value = builder.Add("a", "add", {dot, value}, 2, "forward");
  value = builder.AddLayer(value, 3, "forward", "x");
  EXPECT_THAT(Layers(builder.Segments()),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(3)));
}

TEST(SegmentGraph, OrderOfIndependentOperatorsDoesNotMatter) {
  Builder builder;
  const auto layer = [&](int64_t number, bool swap) {
    const std::string n = absl::StrCat(number);
    const std::vector<std::string> opcodes = swap ? std::vector<std::string>{"tanh", "exponential"}
                                                  : std::vector<std::string>{"exponential", "tanh"};
    for (const std::string& opcode : opcodes) builder.Add(opcode + n, opcode, {0}, number, "");
  };
  layer(0, false);
  layer(1, true);
  EXPECT_THAT(Layers(builder.Segments()), ElementsAre(ElementsAre(0, 1)));
}

TEST(SegmentGraph, AlternatingLayersAreOneBlock) {
  Builder builder;
  for (int64_t layer = 0; layer < 6; ++layer) {
    builder.Add(absl::StrCat("op", layer), layer % 2 == 0 ? "tanh" : "sine", {0}, layer, "forward");
  }
  const SegmentGraph graph = builder.Segments();
  EXPECT_THAT(Layers(graph), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
  EXPECT_EQ(graph.nodes[0].block, graph.nodes[1].block);
}

// A B A B A: the longest whole repetition counts, what is left stands alone.
TEST(SegmentGraph, APatternThatBreaksOff) {
  Builder builder;
  for (int64_t layer = 0; layer < 5; ++layer) {
    builder.Add(absl::StrCat("op", layer), layer % 2 == 0 ? "tanh" : "sine", {0}, layer, "forward");
  }
  const SegmentGraph graph = builder.Segments();
  EXPECT_THAT(Layers(graph), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4)));
  EXPECT_EQ(graph.nodes[2].segment, graph.nodes[0].segment);
  EXPECT_NE(graph.nodes[2].block, graph.nodes[0].block);
}

TEST(SegmentGraph, CollectivesStandWhereTheValueComesFrom) {
  Builder builder;
  const int64_t first = builder.AddLayer(0, 0, "forward");
  const int64_t second = builder.AddLayer(first, 0, "backward");
  PlanInstruction& dot = builder.plan().program.instructions[3];
  dot.collective = {{"all-gather", {"x"}, 1, 64, 0.5, "add.forward0"},
                    {"all-reduce", {"x"}, 2, 32, 0.25, dot.name},
                    {"all-reduce", {"x"}, 1, 32, 0.25, dot.name}};
  EXPECT_EQ(second, 4);
  const SegmentGraph graph = builder.Segments();
  ASSERT_EQ(graph.edges.size(), 1);
  EXPECT_THAT(graph.edges[0].collectives,
              ElementsAre(PlanCollective{"all-gather", {"x"}, 1, 64, 0.5, ""}));
  const DrawnSegment& backward = graph.segments[graph.nodes[1].segment];
  EXPECT_THAT(backward.collectives,
              ElementsAre(PlanCollective{"all-reduce", {"x"}, 3, 64, 0.5, ""}));
  EXPECT_DOUBLE_EQ(backward.communication_seconds, 1);
}

// Layers in a loop of 30 rounds between two that are not, of 4 micro-batches.
TEST(SegmentGraph, ALoopIsASegmentByHowOftenItGoesRound) {
  Builder builder;
  int64_t value = builder.AddLayer(0, 0, "forward");
  for (int k = 0; k < 2; ++k)
    value = builder.Add(absl::StrCat("loop", k), "dot", {value, 0}, -1, "forward");
  value = builder.AddLayer(value, 31, "forward");
  builder.Add("scale", "multiply", {value}, -1, "forward");
  builder.Add("update", "add", {value}, -1, "update");
  for (PlanInstruction& one : builder.plan().program.instructions) {
    one.executions = absl::StartsWith(one.name, "loop") ? 120 : one.phase == Phase::kUpdate ? 1 : 4;
  }
  const SegmentGraph graph = builder.Segments(4);
  std::vector<std::string> labels;
  for (const SegmentNode& node : graph.nodes) labels.push_back(graph.segments[node.segment].label);
  EXPECT_THAT(labels, ElementsAre("forward, outside the layers", "forward layer",
                                  "forward, in a loop of 30 rounds", "forward layer",
                                  "update, outside the layers"));
  EXPECT_EQ(graph.segments[graph.nodes[2].segment].rounds, 30);
  EXPECT_EQ(graph.segments[graph.nodes[2].segment].operators, 2);
}

// Whatever takes time is in a segment: all together take what the program does, and outputs, which
// may be gathered, do not keep equal layers apart.
TEST(SegmentGraph, TimesAddUp) {
  Builder builder;
  int64_t value = builder.AddLayer(0, 0, "forward");
  std::vector<int64_t> made;
  for (int64_t layer = 1; layer < 4; ++layer) {
    value = builder.AddLayer(value, layer, "forward");
    made.push_back(value);
  }
  for (const int64_t one : made) {
    const int64_t output = builder.Add(absl::StrCat("output", one), "output", {one}, -1, "");
    PlanInstruction& instruction = builder.plan().program.instructions[output];
    instruction.seconds = 0;
    instruction.strategy = absl::StrCat("as w", one);
    instruction.collective = {{"all-gather", {"x"}, 1, 64, 0.25, instruction.name}};
  }
  PlanInstruction& constant =
      builder.plan().program.instructions[builder.Add("c", "constant", {}, -1, "")];
  constant.strategy = "free";
  constant.seconds = 0.125;
  double expected = 0, sum = 0;
  for (const PlanInstruction& one : builder.plan().program.instructions) {
    expected += one.seconds;
    for (const PlanCollective& move : one.collective) expected += move.seconds;
  }
  const SegmentGraph graph = builder.Segments();
  for (const SegmentNode& node : graph.nodes) {
    const DrawnSegment& segment = graph.segments[node.segment];
    sum +=
        static_cast<double>(node.layers.size()) * (segment.seconds + segment.communication_seconds);
  }
  EXPECT_DOUBLE_EQ(sum, expected);
  EXPECT_THAT(Layers(graph), ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3), ElementsAre(-1)));
}

TEST(SegmentGraph, LoopsAndEmptyPrograms) {
  Builder builder;
  EXPECT_THAT(builder.Segments().nodes, IsEmpty());
  // Reads what stands after it, as the parameter of a loop does.
  builder.Add("loop", "loop-parameter", {0, 2}, 0, "forward");
  builder.Add("body", "tanh", {1}, 0, "forward");
  EXPECT_EQ(builder.Segments().nodes.size(), 1);
}

TEST(SegmentGraph, StagesThatRunTheSameShareAProgram) {
  Plan plan;
  plan.pipeline.emplace().stages.resize(3);
  plan.pipeline->stages[1].same_as = 0;
  for (const size_t s : {0, 2}) plan.pipeline->stages[s].program.instructions.resize(1);
  const DevicePrograms programs = ProgramsOf(plan);
  EXPECT_THAT(programs.of_stage, ElementsAre(0, 0, 1));
  EXPECT_EQ(&programs.programs[1].instructions, &plan.pipeline->stages[2].program.instructions);
}

TEST(SegmentGraph, StagesWithoutOperatorsHaveNoProgram) {
  Plan plan;
  plan.pipeline.emplace().stages.resize(3);
  EXPECT_THAT(ProgramsOf(plan).programs, IsEmpty());
  EXPECT_THAT(ProgramsOf(plan).of_stage, IsEmpty());
  plan.pipeline->stages.clear();
  EXPECT_THAT(ProgramsOf(plan).programs, IsEmpty());
}

TEST(SegmentDot, HasNodesAndEdges) {
  Builder builder;
  const int64_t first = builder.AddLayer(0, 0, "forward");
  builder.AddLayer(first, 1, "forward");
  builder.plan().inputs = {{"a \"quoted\\ name\n.hlo", "hlo_text", ""}};
  builder.plan().program.instructions[3].collective = {
      {"all-gather", {"x"}, 1, 64, 0.5, "add.forward0"}};
  const std::string dot = SegmentDot(builder.plan());
  EXPECT_THAT(dot, HasSubstr(R"(digraph "a \"quoted\\ name\n.hlo" {)"));
  EXPECT_THAT(
      dot,
      HasSubstr(R"(p0_0 [label="forward layer 0\n2 operators, 2.00 s", fillcolor="#d6e9fb"];)"));
  EXPECT_THAT(dot, HasSubstr(R"(p0_0 -> p0_1 [label="all-gather x, 64 B, 500 ms", color=red)"));
}

}  // namespace
}  // namespace meshwright
