#include "meshwright/plan/annotate/apply_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/hlo/text/writer.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/plan_program.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

PlannedProgram PlanData(const std::string& name) {
  ProgramRequest request;
  request.program = HloData(name);
  request.cluster = "8xh100-sxm";
  request.mesh = "2x4";
  absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return *std::move(planned);
}

// Loops, calls that are inlined several times, outputs that leave otherwise than they are kept.
TEST(ApplyPlan, APlanSaysWhatTheSearchDecided) {
  for (const char* name :
       {"tiny_gpt.train.hlo.txt.gz", "llama3_8b.scan.train.hlo.txt.gz", "mlp_adam.train.hlo.txt"}) {
    SCOPED_TRACE(name);
    const PlannedProgram planned = PlanData(name);
    const absl::StatusOr<Plan> plan = ParsePlanJson(PlanToJson(planned.plan), "plan");
    ASSERT_TRUE(plan.ok()) << plan.status();
    const absl::StatusOr<Module> module = AnnotateFromPlan(planned.program, *plan);
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ(ToHloText(*module), AnnotatedText(planned));
  }
}

TEST(ApplyPlan, StablehloKeepsItsForm) {
  const PlannedProgram planned = PlanData("tiny_gpt.train.stablehlo.mlir.gz");
  const absl::StatusOr<Plan> plan = ParsePlanJson(PlanToJson(planned.plan), "plan");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::StatusOr<std::string> text = AnnotatedFromPlan(planned.program, *plan);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, AnnotatedText(planned));
  EXPECT_NE(text->find("sdy.sharding_constraint"), std::string::npos);
}

TEST(ApplyPlan, RefusesThePlanOfAnotherProgram) {
  const PlannedProgram planned = PlanData("mlp_adam.train.hlo.txt");
  const Graph& graph = planned.program.graph;
  const auto expect_refused = [&](const Plan& plan, const std::string& reason) {
    const absl::StatusOr<AppliedPlan> applied = ApplyPlan(graph, plan);
    EXPECT_EQ(applied.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(applied.status().message(),
                testing::AllOf(HasSubstr("the plan is of another program"), HasSubstr(reason)));
  };
  Plan plan = planned.plan;
  plan.program.instructions.pop_back();
  expect_refused(plan, "operators, the program");
  plan = planned.plan;
  plan.program.instructions[1].name = "elsewhere";
  expect_refused(plan, "operator 1 is elsewhere in the plan");
  plan = planned.plan;
  plan.program.instructions[0].spec.emplace_back();
  expect_refused(plan, "dimensions, in the plan");
}

}  // namespace
}  // namespace meshwright
