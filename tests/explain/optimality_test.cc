// What is said of a plan's bound is of the time that the bound is one of.

#include "meshwright/explain/optimality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/explain/explain.h"
#include "tests/plan/sample_plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A step that overlaps, and so takes less than its bound one operator after the other.
Plan WithTimes(Plan plan, double step, double objective, double bound) {
  plan.options.cost_model = "calibrated";
  plan.options.rest = "least-cost";
  plan.step_seconds = step;
  plan.objective_seconds = objective;
  plan.bound_seconds = bound;
  plan.gap = 1 - bound / objective;
  return plan;
}

TEST(OptimalityText, ComparesTheBoundWithTheTimeItIsOf) {
  for (const Plan& sample : {SamplePlan(), SamplePipelinePlan()}) {
    const std::string text = OptimalityText(WithTimes(sample, 0.08, 0.1, 0.09));
    EXPECT_THAT(text, HasSubstr("one operator after the other 100 ms; no plan "));
    EXPECT_THAT(text, HasSubstr("takes less than 90.0 ms so by these prices: at most 10 % less"));
  }
}

TEST(OptimalityText, OfOneTimeSaysNoOther) {
  for (const Plan& sample : {SamplePlan(), SamplePipelinePlan()}) {
    const std::string text = OptimalityText(WithTimes(sample, 0.1, 0.1, 0.09));
    EXPECT_THAT(text, HasSubstr("takes less than 90.0 ms by these prices: at most 10 % less"));
    EXPECT_THAT(text, Not(HasSubstr("one operator after the other")));
  }
}

TEST(OptimalityText, ProvenIsTheTimeOfTheBound) {
  EXPECT_THAT(OptimalityText(WithTimes(SamplePlan(), 0.08, 0.1, 0.1)),
              HasSubstr("is faster by these prices, one operator after the other"));
  EXPECT_THAT(OptimalityText(WithTimes(SamplePlan(), 0.1, 0.1, 0.1)),
              Not(HasSubstr("one operator after the other")));
}

// A device cannot work for longer than the step that is named beside it.
TEST(OptimalityText, WorkOfAStageIsAPartOfTheTimeItIsNamedWith) {
  Plan plan = WithTimes(SamplePipelinePlan(), 0.08, 0.1, 0.09);
  plan.compute_seconds = 0.07;
  plan.communication_seconds = 0.02;
  EXPECT_THAT(ExplainPlan(plan),
              HasSubstr("100 ms, of which a device of the longest stage works for 90.0 ms"));
}

}  // namespace
}  // namespace meshwright
