// What a plan says of its program: types, data flow, source, layers, phases, memory over time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "meshwright/plan/make/plan_pipelined.h"
#include "meshwright/plan/make/plan_program.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

absl::StatusOr<PlannedProgram> PlanOnTwoByTwo(const std::string& program) {
  ProgramRequest request;
  request.program = HloData(program);
  request.cluster = "4xh100-sxm";
  request.mesh = "2x2";
  request.cost_model = "roofline";
  return PlanProgram(request);
}

int64_t Total(const MemoryByCategory& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

// Bytes alive at each time, added up value by value.
std::vector<int64_t> MemoryByTime(const IntraPlan& intra) {
  std::vector<int64_t> bytes(intra.schedule.order.size(), 0);
  const auto add = [&](const Interval& interval, int64_t size) {
    for (int32_t t = interval.begin; t < interval.end; ++t) bytes[t] += size;
  };
  for (size_t v = 0; v < intra.intervals.size(); ++v) add(intra.intervals[v], intra.bytes[v]);
  for (const auto& [interval, size] : intra.buffers) add(interval, size);
  return bytes;
}

TEST(PlanDataFlow, IsThatOfTheGraph) {
  for (const char* program : {"tiny_gpt.train.hlo.txt.gz", "llama3_8b.scan.train.hlo.txt.gz"}) {
    SCOPED_TRACE(program);
    const absl::StatusOr<PlannedProgram> planned = PlanOnTwoByTwo(program);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const Graph& graph = planned->program.graph;
    const std::vector<PlanInstruction>& instructions = planned->plan.program.instructions;
    ASSERT_EQ(instructions.size(), graph.ops.size());
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const Op& op = graph.ops[i];
      const PlanInstruction& instruction = instructions[i];
      if (!op.results.empty()) {
        EXPECT_EQ(instruction.type.shape, graph[op.results[0]].shape.dims);
        EXPECT_EQ(instruction.other_types.size(), op.results.size() - 1);
      }
      if (op.kind == OpKind::kLoopParameter || op.kind == OpKind::kLoopExit) continue;
      ASSERT_EQ(instruction.operands.size(), op.operands.size());
      for (size_t k = 0; k < op.operands.size(); ++k) {
        const Value& value = graph[op.operands[k]];
        EXPECT_EQ(instruction.operands[k], static_cast<int64_t>(value.producer.index()));
        EXPECT_EQ(instruction.operand_results.empty() ? 0 : instruction.operand_results[k],
                  value.result);
      }
    }
    for (const Carry& carry : graph.carries) {
      const auto position = [&](ValueId value) {
        return static_cast<int64_t>(graph[value].producer.index());
      };
      EXPECT_THAT(instructions[position(carry.parameter)].operands,
                  testing::ElementsAre(position(carry.init), position(carry.next)));
      EXPECT_THAT(instructions[position(carry.exit)].operands,
                  testing::ElementsAre(position(carry.next)));
    }
  }
}

// A matmul whose contracted dimension is cut has partial sums along that axis, and others
// have none.
TEST(PlanDataFlow, ReducedAxesAreThoseOfContractedDimensions) {
  const absl::StatusOr<PlannedProgram> planned = PlanOnTwoByTwo("mlp_4096x4.train.hlo.txt.gz");
  ASSERT_TRUE(planned.ok()) << planned.status();
  const Graph& graph = planned->program.graph;
  int cut = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kDot) continue;
    const PlanInstruction& dot = planned->plan.program.instructions[i];
    const PlanSpec& left = dot.operand_specs.empty()
                               ? planned->plan.program.instructions[dot.operands[0]].spec
                               : dot.operand_specs[0];
    std::vector<std::string> axes;
    for (int64_t d : op.instruction->dot.lhs_contracting)
      axes.insert(axes.end(), left[d].begin(), left[d].end());
    std::sort(axes.begin(), axes.end());
    EXPECT_EQ(dot.reduced_axes, axes) << dot.name;
    cut += axes.empty() ? 0 : 1;
  }
  EXPECT_GT(cut, 0);
}

TEST(PlanDataFlow, SourcesLayersAndPhases) {
  const absl::StatusOr<PlannedProgram> planned = PlanOnTwoByTwo("tiny_gpt.train.hlo.txt.gz");
  ASSERT_TRUE(planned.ok()) << planned.status();
  const Plan& plan = planned->plan;
  std::map<std::string, std::set<std::string>> lines;  // by phase: of products
  std::set<int64_t> layers;
  for (const PlanInstruction& instruction : plan.program.instructions) {
    if (instruction.opcode != PlanOpcode::kDot) continue;
    ASSERT_TRUE(instruction.op_name.has_value() && instruction.source.has_value());
    EXPECT_THAT(plan.program.op_names[*instruction.op_name], testing::HasSubstr("dot_general"));
    EXPECT_THAT(plan.program.source_files[instruction.source->file],
                testing::EndsWith("jax_models.py"));
    EXPECT_GT(instruction.source->line, 0);
    lines[std::string(Word(instruction.phase))].insert(std::to_string(instruction.source->line));
    if (instruction.layer.has_value()) layers.insert(*instruction.layer);
    const bool weight_gradient = !instruction.batch_dimension.has_value();
    EXPECT_TRUE(!weight_gradient || instruction.phase == Phase::kBackward) << instruction.name;
  }
  // Every product of the forward phase is differentiated at its own line.
  EXPECT_FALSE(lines["forward"].empty());
  EXPECT_EQ(lines["forward"], lines["backward"]);
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_GT(layers.size(), 1u);
  // Each string once.
  EXPECT_EQ(
      std::set<std::string>(plan.program.op_names.begin(), plan.program.op_names.end()).size(),
      plan.program.op_names.size());
}

TEST(PlanMemoryTimeline, KeepsThePeakAndNoMoreThanItsPoints) {
  for (const char* program : {"mlp_4096x4.train.hlo.txt.gz", "tiny_gpt.train.hlo.txt.gz",
                              "llama3_8b.scan.train.hlo.txt.gz"}) {
    SCOPED_TRACE(program);
    const absl::StatusOr<PlannedProgram> planned = PlanOnTwoByTwo(program);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const Plan& plan = planned->plan;
    ASSERT_TRUE(plan.program.memory_timeline.has_value());
    const std::vector<PlanMemoryPoint>& points = plan.program.memory_timeline->points;
    const std::vector<int64_t> bytes = MemoryByTime(planned->intra);
    EXPECT_EQ(plan.program.memory_timeline->length, static_cast<int64_t>(bytes.size()));
    ASSERT_LE(points.size(), static_cast<size_t>(kMemoryPoints));
    EXPECT_EQ(points.front().time, 0);
    EXPECT_EQ(points.back().time, static_cast<int64_t>(bytes.size()) - 1);
    int64_t highest = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(Total(points[i].bytes), bytes[points[i].time]);
      EXPECT_EQ(points[i].instruction,
                static_cast<int64_t>(planned->intra.schedule.order[points[i].time].index()));
      if (Total(points[i].bytes) > highest) {
        highest = Total(points[i].bytes);
        if (highest == plan.peak_bytes) {
          EXPECT_EQ(points[i].bytes, plan.memory_by_category);
          EXPECT_EQ(plan.program.instructions[points[i].instruction].name, plan.peak_at);
        }
      }
      EXPECT_GE(points[i].seconds, i == 0 ? 0 : points[i - 1].seconds);
    }
    EXPECT_EQ(highest, plan.peak_bytes);
    // What is kept at the peak, and buffers, is all there is.
    int64_t at_peak = 0;
    for (const PlanInstruction& instruction : plan.program.instructions)
      at_peak += instruction.at_peak.has_value() ? instruction.at_peak->bytes : 0;
    int64_t buffers = 0;
    for (const auto& [interval, size] : planned->intra.buffers) {
      const bool now =
          interval.begin <= planned->intra.peak.time && planned->intra.peak.time < interval.end;
      buffers += now ? size : 0;
    }
    EXPECT_EQ(at_peak + buffers, plan.peak_bytes);
  }
}

TEST(PlanMemoryTimeline, StagesHaveTheirOwn) {
  ProgramRequest request;
  request.program = HloData("pipeline/encoder_decoder.scan.train.hlo.txt.gz");
  request.cluster = "2xh100-sxm";
  request.pipeline.wanted = true;
  request.pipeline.stages = 2;
  request.pipeline.micro_batches = 2;
  request.pipeline.schedule = "1f1b";
  request.cost_model = "roofline";
  const absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE(planned->plan.program.memory_timeline.has_value());
  ASSERT_EQ(planned->plan.pipeline->stages.size(), 2u);
  for (const PlanStage& stage : planned->plan.pipeline->stages) {
    EXPECT_EQ(Total(stage.memory_by_category), stage.bytes.peak_of_group);
    EXPECT_EQ(stage.program.memory_timeline.has_value(), !stage.same_as.has_value());
    std::set<std::string> phases;
    int batches = 0;
    for (const PlanInstruction& instruction : stage.program.instructions) {
      phases.insert(std::string(Word(instruction.phase)));
      batches += instruction.batch_dimension.has_value() ? 1 : 0;
    }
    if (stage.same_as.has_value()) continue;
    EXPECT_THAT(phases, testing::ElementsAre("backward", "forward", "update"));
    EXPECT_GT(batches, 10);
  }
}

}  // namespace
}  // namespace meshwright
