// What explanations say of pipelines: every stage under its own names, and times that add up to
// those of the stages.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/part_summary.h"
#include "meshwright/explain/plan_difference.h"
#include "meshwright/intra/names.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/plan_pipelined.h"
#include "tests/plan/document/sample_plan.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct PipelineCase {
  std::string program;
  int32_t stages = 2;
  int64_t micro_batches = 4;
  int64_t memory_bytes = 0;  // 0: that of the device
  std::string cluster = "4xh100-sxm";
};

absl::StatusOr<Plan> PlanCase(const PipelineCase& one) {
  ProgramRequest request;
  request.program = HloData(absl::StrCat(one.program, ".hlo.txt.gz"));
  request.cluster = one.cluster;
  request.cost_model = "roofline";
  request.pipeline.wanted = true;
  request.pipeline.stages = one.stages;
  request.pipeline.micro_batches = one.micro_batches;
  if (one.memory_bytes > 0) request.memory = {MemoryBudget::Kind::kBytes, one.memory_bytes};
  absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  if (!planned.ok()) return planned.status();
  if (!planned->pipeline.fits) return absl::InternalError("nothing fits");
  return std::move(planned->plan);
}

const std::vector<Plan>& Pipelines() {
  static const auto* const kAll = [] {
    auto* const all = new std::vector<Plan>();
    for (const PipelineCase& one :
         {PipelineCase{"tiny_gpt.train"}, PipelineCase{"tiny_gpt.train", 4, 8},
          PipelineCase{"tiny_gpt.train", 2, 4, int64_t{5} << 20},
          PipelineCase{"moe_gshard_16.train", 8, 2, 0, "8xh100-sxm"},
          PipelineCase{"mlp_4096x4.train", 4, 2}, PipelineCase{"pipeline/funnel.train"},
          PipelineCase{"pipeline/reversed.scan.train", 2, 2},
          PipelineCase{"pipeline/encoder_decoder.scan.train", 2, 2},
          PipelineCase{"pipeline/tied_clip.train", 2, 2}}) {
      absl::StatusOr<Plan> plan = PlanCase(one);
      EXPECT_TRUE(plan.ok()) << one.program << ": " << plan.status();
      if (plan.ok()) all->push_back(*std::move(plan));
    }
    return all;
  }();
  return *kAll;
}

// Rows of a stage are what the schedule of docs/plan-schema.md makes of its `seconds`: those of
// every micro-batch, and the update once.
TEST(ExplainPipelines, RowsAddUpToTheStage) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int recomputed = 0;
  for (size_t n = 0; n < Pipelines().size(); ++n) {
    const Plan& plan = Pipelines()[n];
    const auto micro_batches = static_cast<double>(plan.micro_batches);
    double busiest = 0;
    for (const PlanPart& part : PartsOf(plan)) {
      SCOPED_TRACE(absl::StrCat("pipeline ", n, " stage ", part.stages[0]));
      const PlanStage& stage = plan.pipeline->stages[part.stages[0]];
      std::map<std::string, double> rows;
      for (const PhaseSeconds& row : Summarize(part).phases)
        rows[row.phase] += row.compute + row.communication;
      const double again = stage.recompute ? micro_batches * stage.seconds.forward : 0;
      recomputed += stage.recompute ? 1 : 0;
      const double all =
          micro_batches * (stage.seconds.forward + stage.seconds.backward) + stage.seconds.update;
      const auto expect = [&](const char* phase, double seconds) {
        EXPECT_NEAR(rows[phase], seconds, 1e-9 * all) << phase;
      };
      expect("forward", micro_batches * stage.seconds.forward);
      expect("recomputation", again);
      expect("backward", micro_batches * stage.seconds.backward - again);
      expect("update", stage.seconds.update);
      expect("", 0);
      busiest = std::max(busiest, all);
      // The memory over time is of one micro-batch.
      const double once = stage.seconds.forward + stage.seconds.backward + stage.seconds.update;
      EXPECT_LE(stage.program.memory_timeline->points.back().seconds, once * (1 + 1e-9));
    }
    EXPECT_NEAR(plan.compute_seconds + plan.communication_seconds, busiest, 1e-9 * busiest);
  }
  EXPECT_GT(recomputed, 0);
}

// What groups of devices do and how long they wait, on the average, is the step.
TEST(ExplainPipelines, CausesOfADifferenceAddUpToIt) {
  for (const Plan& before : Pipelines()) {
    for (const Plan& after : Pipelines()) {
      double causes = 0;
      for (const ChangedSeconds& one : DiffPlans(before, after).seconds) {
        if (one.what.ends_with(", mean")) causes += one.after - one.before;
      }
      const double whole = after.objective_seconds - before.objective_seconds;
      EXPECT_NEAR(causes, whole, 1e-8 * (after.objective_seconds + before.objective_seconds));
    }
  }
}

TEST(ExplainPipelines, StagesThatAreAlikeHaveTheirOwnNames) {
  int alike = 0;
  for (const Plan& plan : Pipelines()) {
    const std::string parameters = *ExplainParameters(plan);
    const nlohmann::json json = nlohmann::json::parse(*ExplainParametersJson(plan));
    std::map<std::string, std::vector<int>> stages_of;
    for (const auto& one : json["parameters"])
      stages_of[one["name"]].push_back(one["stages"][0].get<int>());
    for (size_t i = 0; i < plan.pipeline->stages.size(); ++i) {
      const PlanStage& stage = plan.pipeline->stages[i];
      if (!stage.same_as.has_value()) continue;
      const PlanStage& listed = plan.pipeline->stages[static_cast<size_t>(*stage.same_as)];
      ASSERT_EQ(stage.parameter_names.size(), listed.program.parameters.size());
      for (size_t p = 0; p < listed.program.parameters.size(); ++p) {
        if (listed.program.parameters[p].category != MemoryCategory::kParameters) continue;
        const std::string& name = stage.parameter_names[p];
        SCOPED_TRACE(name);
        if (name == listed.program.parameters[p].name) {  // both read it
          EXPECT_THAT(stages_of[name], ::testing::Contains(static_cast<int>(i)));
          continue;
        }
        ++alike;
        EXPECT_THAT(parameters, HasSubstr(name));
        EXPECT_THAT(stages_of[name], ::testing::ElementsAre(static_cast<int>(i)));
        const nlohmann::json found = nlohmann::json::parse(*ExplainTensorsJson(plan, name));
        ASSERT_EQ(found["tensors"].size(), 1u);
        EXPECT_EQ(found["tensors"][0]["name"], name);
        EXPECT_EQ(found["tensors"][0]["stages"], nlohmann::json::array({i}));
        EXPECT_EQ(found["tensors"][0]["spec"], nlohmann::json(listed.program.parameters[p].spec));
      }
    }
  }
  EXPECT_GT(alike, 20);
}

// Every weight of the program is in the screen's groups, once, in names that match it alone.
TEST(ExplainPipelines, FoldedNamesStandForTheWeightsOfAllStages) {
  for (const Plan& plan : Pipelines()) {
    // Stages may hold parts of one array, each in its own way.
    std::map<std::string, std::set<PlanSpec>> specs;
    std::vector<PlanPart> parts = PartsOf(plan);
    std::vector<std::vector<ParameterParallelism>> judged;
    for (const PlanPart& part : parts) {
      judged.push_back(JudgeParameters(part));
      for (size_t m = 0; m < part.members(); ++m) {
        for (size_t p = 0; p < part.parameters.size(); ++p) {
          if (part.received[p]) continue;
          specs[part.ParameterName(m, p)].insert(part.parameters[p].spec);
        }
      }
    }
    std::vector<JudgedPart> all;
    for (size_t i = 0; i < parts.size(); ++i) all.push_back({parts[i], judged[i]});
    std::set<std::string> listed;
    for (const ParameterGroup& group : GroupParameters(all)) {
      if (!group.exact) continue;
      int64_t matched = 0;
      for (const auto& [name, kept] : specs) {
        if (!GlobMatch(group.name, name)) continue;
        ++matched;
        listed.insert(name);
        EXPECT_TRUE(kept.contains(group.spec)) << group.name << " " << name;
      }
      EXPECT_EQ(matched, group.count) << group.name;
    }
    EXPECT_GT(listed.size(), specs.size() / 2);
  }
}

// What comes from another stage is no parameter of the user's.
TEST(ExplainPipelines, WhatStagesHandOnIsNoParameter) {
  const Plan& plan = Pipelines()[0];
  int received = 0;
  for (const PlanPart& part : PartsOf(plan)) {
    for (size_t p = 0; p < part.parameters.size(); ++p) {
      if (!part.received[p]) continue;
      ++received;
      EXPECT_EQ(part.parameters[p].category, MemoryCategory::kInputs);
      EXPECT_THAT(*ExplainParameters(plan), Not(HasSubstr(part.parameters[p].name)));
    }
  }
  EXPECT_GE(received, 2);
  EXPECT_THAT(
      ExplainPlan(plan),
      HasSubstr("  stages 0-1: before layer 0, layers 0-1, after layer 1, each on 2 devices"));
}

// A change in a stage that names another as its own is found under its names.
TEST(DiffPlans, KnowsTheNamesOfAlikeStages) {
  Plan before = SamplePipelinePlan(), after = before;
  ASSERT_FALSE(before.pipeline->stages[1].parameter_names.empty());
  PlanStage& own = after.pipeline->stages[1];
  const PlanStage listed = after.pipeline->stages[0];
  own.same_as.reset();
  own.program.parameters = listed.program.parameters;
  for (size_t p = 0; p < own.program.parameters.size(); ++p) {
    own.program.parameters[p].name = before.pipeline->stages[1].parameter_names[p];
    own.program.parameters[p].spec.assign(own.program.parameters[p].shape.size(), {});
  }
  const PlanDifference difference = DiffPlans(before, after);
  std::vector<std::string> names;
  for (const ChangedArrays& one : difference.parameters) names.push_back(one.name);
  EXPECT_THAT(names, Not(IsEmpty()));
  for (const std::string& name : names) EXPECT_THAT(name, HasSubstr(".next"));
}

}  // namespace
}  // namespace meshwright
