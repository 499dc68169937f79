// Plans at prices of memory, and operators that run less often than what they use is made.

#include "meshwright/intra/priced_planner.h"

#include <gtest/gtest.h>

#include <vector>

#include "meshwright/cost/roofline.h"
#include "meshwright/intra/planner.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

// Bytes in use when `at` runs, without the buffers of reshardings.
int64_t BytesAt(const IntraPlan& plan, OpId at) {
  const int32_t time = plan.schedule.time[at.index()];
  int64_t bytes = 0;
  for (size_t v = 0; v < plan.bytes.size(); ++v) {
    if (plan.intervals[v].begin <= time && time < plan.intervals[v].end) bytes += plan.bytes[v];
  }
  return bytes;
}

TEST(PricedPlannerTest, NoPriceIsAnUnlimitedBudgetAndMoreMakesSmallerPlans) {
  const TestProgram program = ProgramFromData("mlp_wide_batch.train.hlo.txt");
  const RooflineCostModel cost_model(TestMesh("2x4", "8xh100-sxm"));
  PlannerOptions options;
  options.solver.target_gap = 0;
  const absl::StatusOr<IntraPlan> unlimited = PlanIntra(program.graph, cost_model, options);
  ASSERT_TRUE(unlimited.ok()) << unlimited.status();
  const OpId middle = unlimited->schedule.order[unlimited->schedule.order.size() / 2];
  const auto planner = PricedPlanner::Make(program.graph, cost_model, options, middle);
  ASSERT_TRUE(planner.ok()) << planner.status();
  std::vector<IntraPlan> plans;
  for (double price : {0.0, 1e-12, 1e-11, 1e-10, 1e-9}) {
    absl::StatusOr<IntraPlan> plan = (*planner)->Plan(price);
    ASSERT_TRUE(plan.ok()) << plan.status();
    plans.push_back(*std::move(plan));
  }
  EXPECT_DOUBLE_EQ(plans.front().objective, unlimited->objective);
  EXPECT_DOUBLE_EQ(plans.front().bound, unlimited->bound);
  for (size_t i = 1; i < plans.size(); ++i) {
    EXPECT_LE(BytesAt(plans[i], middle), BytesAt(plans[i - 1], middle)) << i;
    EXPECT_GE(plans[i].objective, plans[i - 1].objective * (1 - 1e-6)) << i;
  }
  EXPECT_LT(BytesAt(plans.back(), middle), BytesAt(plans.front(), middle));
}

// The weights' gradients are summed over a batch that is sharded; what uses them runs once in 16
// executions of the rest, but they are added up as they are kept: reduced each time, to whole sums
// or to the shards of which the new weights are gathered in the end.
TEST(PricedPlannerTest, SumsMoveAsOftenAsTheyAreMade) {
  TestProgram program = ProgramFromData("mlp_wide_batch.train.hlo.txt");
  const RooflineCostModel cost_model(TestMesh("8", "8xh100-sxm"));
  const absl::StatusOr<IntraPlan> always = PlanIntra(program.graph, cost_model, {});
  ASSERT_TRUE(always.ok()) << always.status();
  ASSERT_FALSE(always->collectives.empty());
  // From the outputs that replace weights back to the sums, everything is elementwise but for
  // transposes.
  for (size_t i = program.graph.ops.size(); i-- > 0;) {
    Op& op = program.graph.ops[i];
    bool once = op.kind == OpKind::kOutput;
    if (op.kind == OpKind::kInstruction && !op.results.empty() &&
        (IsElementwise(op.instruction->opcode) || op.instruction->opcode == Opcode::kTranspose)) {
      once = true;
      for (OpId user : program.graph[op.results[0]].users)
        once = once && program.graph[user].multiplicity < 1;
    }
    if (once) op.multiplicity = 1.0 / 16;
  }
  const absl::StatusOr<IntraPlan> rarely = PlanIntra(program.graph, cost_model, {});
  ASSERT_TRUE(rarely.ok()) << rarely.status();
  EXPECT_GT(rarely->communication, always->communication / 2);
  for (const PlannedCollective& collective : rarely->collectives) {
    const OpId made = program.graph[collective.value].producer;
    EXPECT_EQ(collective.multiplicity, program.graph[collective.user].multiplicity);
    if (program.graph[made].instruction->opcode == Opcode::kDot) {
      EXPECT_EQ(collective.user, made) << program.graph[made].name;
    }
  }
}

}  // namespace
}  // namespace meshwright
