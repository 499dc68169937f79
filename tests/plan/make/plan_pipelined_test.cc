// From a program to a plan with a pipeline, and to the programs of its stages.

#include "meshwright/plan/make/plan_pipelined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "meshwright/hlo/text/reader.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/stage_modules.h"
#include "meshwright/plan/text/plan_table.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

ProgramRequest Request(const std::string& program) {
  ProgramRequest request;
  request.program = HloData(program);
  request.cluster = "2xh100-sxm";
  request.pipeline.wanted = true;
  request.pipeline.stages = 2;
  request.pipeline.micro_batches = 2;
  request.pipeline.schedule = "1f1b";
  request.cost_model = "roofline";
  return request;
}

std::string Message(const absl::StatusOr<PipelinedProgram>& planned) {
  return std::string(planned.status().message());
}

TEST(PlanPipelined, ThePlanReadsBackAndItsStagesAreProgramsThatFitTogether) {
  for (const char* program :
       {"pipeline/tied_clip.train.hlo.txt.gz", "pipeline/encoder_decoder.scan.train.hlo.txt.gz"}) {
    SCOPED_TRACE(program);
    const absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(Request(program));
    ASSERT_TRUE(planned.ok()) << planned.status();
    const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(planned->plan), "plan.json");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, planned->plan);
    EXPECT_THAT(PlanTable(*read), HasSubstr("2 stages, 2 micro-batches, 1f1b"));
    ASSERT_TRUE(read->time_use.has_value());  // whose parts the reader holds against the step
    EXPECT_GT(read->time_use->matmuls_at_peak, 0);
    EXPECT_LT(read->time_use->matmuls_at_peak, read->step_seconds);

    const absl::StatusOr<std::vector<StageFile>> files = StageModules(*planned);
    ASSERT_TRUE(files.ok()) << files.status();
    const Json index = Json::parse(files->back().contents);
    std::set<std::string> named, made, wanted;
    // By value that is combined over a loop's layers: the layers that outputs are of, and how many
    // there have to be.
    std::map<std::string, std::set<int64_t>> parts;
    std::map<std::string, size_t> combined;
    for (const Json& stage : index["stages"]) {
      for (const Json& module : stage["modules"]) {
        named.insert(module["file"]);
        const auto key = [](const Json& v) {
          return v["value"].dump() + v["layer"].dump() + v["layers"].dump();
        };
        for (const Json& output : module["outputs"]) {
          made.insert(key(output));
          if (!output["combine"].is_null()) {
            for (int64_t layer = output["layers"][0]; layer < output["layers"][1]; ++layer)
              EXPECT_TRUE(parts[output["value"].dump()].insert(layer).second);
          }
        }
        for (const Json& input : module["inputs"]) {
          if (!input["parameter"].is_null()) continue;
          if (input["combine"].is_null()) {
            wanted.insert(key(input));
          } else {
            combined[input["value"].dump()] = input["layers"][1];
          }
        }
      }
    }
    for (const std::string& value : wanted) EXPECT_TRUE(made.contains(value)) << value;
    for (const auto& [value, layers] : combined) EXPECT_EQ(parts[value].size(), layers) << value;
    EXPECT_EQ(named.size() + 1, files->size());
    for (size_t i = 0; i + 1 < files->size(); ++i) {
      EXPECT_TRUE(named.contains((*files)[i].name));
      const absl::StatusOr<Module> module = ParseHloText((*files)[i].contents, (*files)[i].name);
      EXPECT_TRUE(module.ok()) << module.status();
    }
  }
}

// Every stage says what its own devices are and have.
TEST(PlanPipelined, DevicesOfSeveralTypes) {
  ProgramRequest request = Request("pipeline/tied_clip.train.hlo.txt.gz");
  request.cluster = "1xh100-sxm+1xa100-40g";
  const absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const Plan& plan = planned->plan;
  const std::vector<PlanClusterPart> parts = {{"h100-sxm", 1, 1, int64_t{80} << 30},
                                              {"a100-40g", 1, 1, int64_t{40} << 30}};
  EXPECT_EQ(plan.cluster, (PlanCluster{"1xh100-sxm+1xa100-40g", parts}));
  ASSERT_EQ(plan.pipeline->stages.size(), 2);
  std::set<int64_t> used;
  for (const PlanStage& stage : plan.pipeline->stages) {
    ASSERT_EQ(stage.devices.size(), 1);
    used.insert(stage.devices[0]);
    const PlanClusterPart& part = parts[stage.devices[0]];
    EXPECT_EQ(stage.device, part.device);
    EXPECT_EQ(stage.device_memory_bytes, part.device_memory_bytes);
    EXPECT_EQ(stage.budget_bytes, part.device_memory_bytes);
    EXPECT_EQ(stage.bytes.peak, stage.bytes.fixed + stage.max_in_flight * stage.bytes.in_flight);
    EXPECT_EQ(stage.bytes.peak_of_group, stage.bytes.peak);
  }
  EXPECT_EQ(used.size(), 2);
  const auto share = [](int64_t peak, const std::optional<int64_t>& budget) {
    return static_cast<double>(peak) / static_cast<double>(*budget);
  };
  EXPECT_EQ(share(plan.peak_bytes, plan.budget_bytes),
            std::max(share(plan.pipeline->stages[0].bytes.peak_of_group,
                           plan.pipeline->stages[0].budget_bytes),
                     share(plan.pipeline->stages[1].bytes.peak_of_group,
                           plan.pipeline->stages[1].budget_bytes)));
  const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(plan), "plan.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, plan);
  EXPECT_THAT(PlanTable(plan), HasSubstr("1 a100-40g"));
}

TEST(PlanPipelined, GroupsOfSeveralStages) {
  ProgramRequest request = Request("tiny_gpt.train.hlo.txt.gz");
  request.pipeline.stages = 0;
  request.mesh = "1";
  request.pipeline.schedule = "interleaved";
  const absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const Plan& plan = planned->plan;
  ASSERT_GT(plan.chunks, 1);
  const size_t groups = plan.pipeline->stages.size() / plan.chunks;
  for (size_t g = 0; g < groups; ++g) {
    int64_t fixed = 0, alone = 0, in_flight = 0;
    const int64_t together = plan.pipeline->stages[g].bytes.peak_of_group;
    for (size_t i = g; i < plan.pipeline->stages.size(); i += groups) {
      const PlanStage& stage = plan.pipeline->stages[i];
      EXPECT_EQ(stage.devices, plan.pipeline->stages[g].devices);
      EXPECT_EQ(stage.bytes.peak, stage.bytes.fixed + stage.max_in_flight * stage.bytes.in_flight);
      EXPECT_EQ(stage.bytes.peak_of_group, together);
      EXPECT_LE(stage.bytes.peak, together);
      EXPECT_LE(stage.max_in_flight, plan.micro_batches);
      fixed += stage.bytes.fixed;
      alone += stage.bytes.peak;
      in_flight += stage.max_in_flight;
    }
    EXPECT_GT(together, fixed);
    EXPECT_LE(together, alone);
    EXPECT_GE(in_flight, planned->pipeline.simulation.peak_in_flight[g]);
  }
}

TEST(PlanPipelined, WeightsOfAProgramThatTrainsNothingAreItsInputs) {
  ProgramRequest request = Request("");
  request.program = testing::TempDir() + "/chain.hlo.txt";
  std::ofstream(request.program) << R"(HloModule chain

ENTRY main {
  x = f32[64,256] parameter(0)
  w0 = f32[256,256] parameter(1)
  w1 = f32[256,256] parameter(2)
  a = f32[64,256] dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[64,256] tanh(a)
  c = f32[64,256] dot(b, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT d = f32[64,256] tanh(c)
}
)";
  request.pipeline.data = {"x"};
  const absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const MemoryByCategory& memory = planned->plan.memory_by_category;
  EXPECT_EQ(memory[static_cast<size_t>(MemoryCategory::kGradients)], 0);
  EXPECT_GE(memory[static_cast<size_t>(MemoryCategory::kInputs)], 256 * 256 * 4);
}

TEST(PlanPipelined, WhatDoesNotGoTogetherIsRefused) {
  ProgramRequest request = Request("pipeline/tied_clip.train.hlo.txt.gz");
  request.mesh = "3";
  EXPECT_THAT(Message(PlanPipelinedProgram(request)), HasSubstr("a stage can have 1, 2 devices"));
  request = Request("pipeline/tied_clip.train.hlo.txt.gz");
  request.fixes = {{"x", "[]", "--fix #1"}};
  EXPECT_THAT(Message(PlanPipelinedProgram(request)), HasSubstr("cannot be fixed"));
  request = Request("pipeline/tied_clip.train.hlo.txt.gz");
  request.cost_model = "alpha_beta";
  EXPECT_THAT(Message(PlanPipelinedProgram(request)), HasSubstr("unitless"));
  request = Request("pipeline/tied_clip.train.hlo.txt.gz");
  request.cluster = "2xh100-sxm+2xh100-sxn";
  EXPECT_THAT(Message(PlanPipelinedProgram(request)), HasSubstr("h100-sxm"));
}

TEST(PlanPipelined, NothingFits) {
  ProgramRequest request = Request("pipeline/tied_clip.train.hlo.txt.gz");
  request.memory = {MemoryBudget::Kind::kBytes, 100};
  const absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE(planned->pipeline.fits);
  EXPECT_THAT(PipelineShortageText(*planned), HasSubstr("--memory "));
  // What is named is enough.
  request.memory.bytes = planned->pipeline.smallest_bytes;
  const absl::StatusOr<PipelinedProgram> enough = PlanPipelinedProgram(request);
  ASSERT_TRUE(enough.ok()) << enough.status();
  EXPECT_TRUE(enough->pipeline.fits);
}

TEST(PlanPipelined, ProgramsThatCannotBeCutStayWhole) {
  ProgramRequest request = Request("gpt_tensor.train.hlo.txt.gz");  // a batch of one sample
  request.pipeline.stages = 0;
  request.pipeline.micro_batches = 0;
  const absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_THAT(planned->whole_because, HasSubstr("nothing to divide"));
  EXPECT_TRUE(!planned->plan.pipeline.has_value());
  EXPECT_FALSE(planned->plan.program.parameters.empty());
  ASSERT_FALSE(planned->plan.warnings.empty());
  EXPECT_THAT(planned->plan.warnings[0], HasSubstr("not cut into stages: the batch of"));
  request.pipeline.stages = 2;
  EXPECT_THAT(Message(PlanPipelinedProgram(request)), HasSubstr("nothing to divide"));
  request.pipeline.stages = 0;
  request.pipeline.micro_batches = 2;
  EXPECT_THAT(Message(PlanPipelinedProgram(request)), HasSubstr("nothing to divide"));
}

// Micro-batches of one row of seven numbers: a stage's second device repeats what the first does.
TEST(PlanPipelined, DevicesThatRepeatOthersWorkAreNamed) {
  constexpr std::string_view kProgram = R"(HloModule odd
ENTRY e {
  x = f32[4,7] parameter(0)
  a = f32[7,7] parameter(1)
  b = f32[7,7] parameter(2)
  c = f32[4,7] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[4,7] tanh(c)
  e = f32[4,7] dot(d, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT f = f32[4,7] tanh(e)
})";
  ProgramRequest request = Request("");
  request.contents = kProgram;
  request.cluster = "4xh100-sxm";
  request.pipeline.micro_batches = 4;
  const absl::StatusOr<PipelinedProgram> idle = PlanPipelinedProgram(request);
  ASSERT_TRUE(idle.ok()) << idle.status();
  EXPECT_THAT(idle->plan.warnings,
              testing::Contains("nothing is sharded over mesh axis x=2 of every stage: 2 devices "
                                "would be at least as fast as these 4"));
  request.pipeline.micro_batches = 2;  // of two rows
  const absl::StatusOr<PipelinedProgram> busy = PlanPipelinedProgram(request);
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_THAT(busy->plan.warnings, testing::Each(testing::Not(HasSubstr("nothing is sharded"))));
}

}  // namespace
}  // namespace meshwright
