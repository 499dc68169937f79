#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/cost/alpha_beta.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/intra/planner.h"
#include "meshwright/intra/prepared_problem.h"
#include "tests/intra/test_program.h"

// What is said where there is no plan, and where there nearly was none.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSlice[] = R"(HloModule m
ENTRY e {
  p = f32[64,64] parameter(0)
  s = f32[4,64] slice(p), slice={[0:4], [0:64]}
  ROOT c = f32[4,64] negate(s)
})";

TEST(NoAnswer, FollowersThatCannotFollowTakeTheirOperandResharded) {
  const TestProgram program = ProgramFromText(kSlice);
  PlannerOptions options;
  options.space = StrategySpace::kAlpa;
  options.fixes = {{"p", "[x,_]", ""}};
  const AlphaBetaCostModel cost_model(TestMesh("x=2,y=4", "8xh100-sxm"), {});
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, cost_model, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->collectives.size(), 1u);
  EXPECT_EQ(plan->collectives[0].step.kind, CollectiveKind::kAllGather);
}

TEST(NoAnswer, TheDeadlineIsBlamedOnlyIfItHasPassed) {
  const TestProgram program = ProgramFromText(kSlice);
  PlannerOptions options;
  const RooflineCostModel cost_model(TestMesh("x=2,y=4", "8xh100-sxm"));
  const auto prepared = PreparedProblem::Make(program.graph, cost_model, options);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  solve::Solution none;
  const auto message = [&](bool timed_out) {
    return std::string((*prepared)->NoAnswer(none, timed_out).message());
  };
  EXPECT_THAT(message(true), HasSubstr("before the deadline"));
  EXPECT_THAT(message(false), Not(HasSubstr("deadline")));
  none.outcome = solve::Outcome::kInfeasible;
  none.infeasible_node = 0;
  EXPECT_EQ(message(true),
            "no plan is possible: no strategy of \"p\" goes with those of its operands and users; "
            "fix less");
  EXPECT_EQ((*prepared)->NoAnswer(none, true).code(), absl::StatusCode::kInvalidArgument);
}

TEST(NoAnswer, AnInterruptIsNoDeadline) {
  const TestProgram program = ProgramFromText(kSlice);
  PlannerOptions options;
  options.solver.stop = [] { return true; };
  const RooflineCostModel cost_model(TestMesh("x=2,y=4", "8xh100-sxm"));
  const auto prepared = PreparedProblem::Make(program.graph, cost_model, options);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(std::string((*prepared)->NoAnswer(solve::Solution(), true).message()),
            "interrupted before a plan was found");
}

}  // namespace
}  // namespace meshwright
