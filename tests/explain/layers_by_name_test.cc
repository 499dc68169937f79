#include "meshwright/explain/layers_by_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/part_summary.h"
#include "meshwright/plan/make/plan_program.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Two layers without any mark but names, there and back, and Adam's update: the weights' own
// numbers count, not those of the optimizer's state or of the norms.
TEST(LayersByName, WhereThePlanKnowsNone) {
  Plan plan;
  plan.mesh = {{"x", 2}};
  const auto add = [&](const std::string& name, const std::string& opcode,
                       std::vector<int64_t> operands, const std::string& op_name) {
    PlanInstruction one;
    one.name = name;
    one.opcode = *FromWord<PlanOpcode>(opcode);
    one.operands = std::move(operands);
    one.op_name = static_cast<int64_t>(plan.program.op_names.size());
    plan.program.op_names.push_back(op_name);
    one.strategy = "replicated";
    plan.program.instructions.push_back(one);
    return static_cast<int64_t>(plan.program.instructions.size()) - 1;
  };
  std::vector<int64_t> weights, moments;
  for (int layer = 0; layer < 3; ++layer) {
    for (int norm = 1; norm <= 2; ++norm) {
      add(absl::StrCat("n", layer, norm), "parameter", {},
          absl::StrCat("state[0]['layer", layer, "']['norm", norm, "']"));
    }
    weights.push_back(add(absl::StrCat("w", layer), "parameter", {},
                          absl::StrCat("state[0]['layer", layer, "']['w']")));
    moments.push_back(add(absl::StrCat("m", layer), "parameter", {},
                          absl::StrCat("state[1]['layer", layer, "']['w']")));
  }
  const int64_t x = add("x", "parameter", {}, "x");
  std::vector<int64_t> values = {add("scale", "multiply", {x, x}, "jit(step)/mul")};
  const auto first = static_cast<size_t>(values[0]);
  for (const int64_t weight : weights) {
    values.push_back(add(absl::StrCat("f", weight), "dot", {values.back(), weight}, "jvp()/dot"));
  }
  int64_t gradient = values.back();
  for (int layer = 2; layer >= 0; --layer) {
    gradient =
        add(absl::StrCat("b", layer), "dot", {gradient, values[layer + 1]}, "transpose(jvp())/dot");
    const int64_t clipped = add(absl::StrCat("c", layer), "add", {gradient}, "jit(step)/clip");
    add(absl::StrCat("u", layer), "add", {clipped, moments[layer]}, "jit(step)/add");
  }
  add("norm", "add", {gradient, values[3]}, "jit(step)/norm");
  const PlanPart part = PartsOf(plan)[0];
  const PhasesAndLayers found = FindPhasesAndLayers(part);
  const auto tail = [&](const auto& list) {
    return std::vector<int64_t>(list.begin() + static_cast<int64_t>(first), list.end());
  };
  EXPECT_THAT(tail(found.phase), ElementsAre(1, 1, 1, 1, 2, 3, 3, 2, 3, 3, 2, 3, 3, 3));
  EXPECT_THAT(tail(found.layer), ElementsAre(-1, 0, 1, 2, 2, 2, 2, 1, 1, 1, 0, 0, 0, -1));
  EXPECT_EQ(found.layer[4 + 1], 1);  // state[0]['layer1']['norm2']
}

// Parameters that are named by HLO: numbers that only tell instructions apart.
TEST(LayersByName, NumbersOfInstructionsAreNoLayers) {
  for (const bool with_names : {false, true}) {
    Plan plan;
    plan.mesh = {{"x", 2}};
    for (const std::string name :
         {"while.51/carry{1}", "while.88/carry{2}", "Arg_0.3", "Arg_1.7"}) {
      PlanInstruction one;
      one.name = name;
      one.opcode = PlanOpcode::kParameter;
      if (with_names && !absl::StartsWith(name, "Arg")) {
        one.op_name = static_cast<int64_t>(plan.program.op_names.size());
        plan.program.op_names.push_back(name);
      }
      plan.program.instructions.push_back(one);
    }
    const PhasesAndLayers found = FindPhasesAndLayers(PartsOf(plan)[0]);
    EXPECT_THAT(found.layer, ElementsAre(-1, -1, -1, -1)) << with_names;
  }
}

TEST(LayersByName, NumbersThatAreAPartOfAPathAreLayers) {
  for (const std::string name : {"p['layers'][*]['w']", "layers.*.w", "h/*/w", "block_*"}) {
    Plan plan;
    plan.mesh = {{"x", 2}};
    for (const std::string number : {"3", "4"}) {
      PlanInstruction& one = plan.program.instructions.emplace_back();
      one.opcode = PlanOpcode::kParameter;
      one.op_name = static_cast<int64_t>(plan.program.op_names.size());
      plan.program.op_names.push_back(absl::StrReplaceAll(name, {{"*", number}}));
    }
    EXPECT_THAT(FindPhasesAndLayers(PartsOf(plan)[0]).layer, ElementsAre(3, 4)) << name;
  }
}

// A stage whose layers are all in a loop has none of its own, whatever its parameters are called.
TEST(LayersByName, StagesHaveTheLayersThatPlanningFound) {
  Plan plan;
  PlanStage& stage = plan.pipeline.emplace().stages.emplace_back();
  for (const std::string name : {"w0", "w1"}) {
    PlanInstruction& one = stage.program.instructions.emplace_back();
    one.opcode = PlanOpcode::kParameter;
    one.op_name = static_cast<int64_t>(stage.program.op_names.size());
    stage.program.op_names.push_back(name);
  }
  EXPECT_THAT(FindPhasesAndLayers(PartsOf(plan)[0]).layer, ElementsAre(-1, -1));
}

// Outputs run where their values are made, whatever they are called.
TEST(LayersByName, OutputsAreInThePhaseOfTheirValues) {
  Plan plan;
  const auto add = [&](PlanOpcode opcode, std::vector<int64_t> operands, const char* op_name) {
    PlanInstruction& one = plan.program.instructions.emplace_back();
    one.opcode = opcode;
    one.operands = std::move(operands);
    one.op_name = static_cast<int64_t>(plan.program.op_names.size());
    plan.program.op_names.push_back(op_name);
  };
  add(PlanOpcode::kParameter, {}, "w");
  add(PlanOpcode::kDot, {0}, "jvp()/dot");
  add(PlanOpcode::kDot, {1}, "transpose(jvp())/dot");
  add(PlanOpcode::kOutput, {1}, "loss");
  add(PlanOpcode::kOutput, {2}, "gradient");
  EXPECT_THAT(FindPhasesAndLayers(PartsOf(plan)[0]).phase, ElementsAre(0, 1, 2, 1, 2));
}

// A step without a dimension that runs over the batch: planning finds no phases in it.
TEST(LayersByName, ExplanationsHaveThePhases) {
  ProgramRequest request;
  request.program = HloData("gpt_tensor.train.hlo.txt.gz");
  request.cluster = "4xh100-sxm";
  request.mesh = "4";
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::vector<PhaseSeconds> phases = PhasesOf(PartsOf(planned->plan)[0]);
  std::vector<std::string> names;
  double seconds = 0;
  for (const PhaseSeconds& one : phases) {
    names.push_back(one.phase);
    seconds += one.compute + one.communication;
  }
  EXPECT_THAT(names, ElementsAre("forward", "backward", "update"));
  EXPECT_NEAR(seconds, planned->plan.compute_seconds + planned->plan.communication_seconds, 1e-9);
  const std::string text = ExplainPlan(planned->plan);
  EXPECT_THAT(text, HasSubstr("no phases, as the program shows no batch (those"));
  EXPECT_THAT(text, Not(HasSubstr("phase not known")));
  EXPECT_THAT(text, Not(HasSubstr("of all layers")));  // no layer is known
}

}  // namespace
}  // namespace meshwright
