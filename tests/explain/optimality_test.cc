// What is said of a plan's bound is of the time that the bound is one of.

#include "meshwright/explain/optimality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/explain/explain.h"
#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A step that overlaps, and so takes less than its bound one operator after the other.
Plan WithTimes(Plan plan, double step, double objective, double bound) {
  plan.options.cost_model = "calibrated";
  plan.options.rest = Completion::kLeastCost;
  plan.step_seconds = step;
  plan.objective_seconds = objective;
  plan.bound_seconds = bound;
  plan.gap = 1 - bound / objective;
  return plan;
}

TEST(OptimalityText, ComparesTheBoundWithTheTimeItIsOf) {
  for (const Plan& sample : {SamplePlan(), SamplePipelinePlan()}) {
    const std::string text = OptimalityText(WithTimes(sample, 0.08, 0.1, 0.09));
    EXPECT_THAT(text, HasSubstr("serial 100 ms; no plan "));
    EXPECT_THAT(
        text,
        HasSubstr(
            "takes less than 90.0 ms without overlap under this cost model: at most 10 % less"));
  }
}

TEST(OptimalityText, OfOneTimeSaysNoOther) {
  for (const Plan& sample : {SamplePlan(), SamplePipelinePlan()}) {
    const std::string text = OptimalityText(WithTimes(sample, 0.1, 0.1, 0.09));
    EXPECT_THAT(text,
                HasSubstr("takes less than 90.0 ms under this cost model: at most 10 % less"));
    EXPECT_THAT(text, Not(HasSubstr("one operator after the other")));
  }
}

TEST(OptimalityText, ProvenIsTheTimeOfTheBound) {
  EXPECT_THAT(OptimalityText(WithTimes(SamplePlan(), 0.08, 0.1, 0.1)),
              HasSubstr("is faster under this cost model, without overlap"));
  EXPECT_THAT(OptimalityText(WithTimes(SamplePlan(), 0.1, 0.1, 0.1)),
              Not(HasSubstr("one operator after the other")));
}

TEST(OptimalityText, OfAModelSaysWhetherTheSearchWasOver) {
  Plan plan;
  plan.options.cost_model = "calibrated";
  PlanTransformer& part = plan.model.emplace();
  part.objective = ModelObjective::kTime;
  part.search = {.legal = 100, .evaluated = 10, .fitting = 5, .pruned = 90};
  EXPECT_THAT(OptimalityText(plan), HasSubstr("searched exactly for the shortest step"));
  part.search.pruned = 80;
  EXPECT_THAT(OptimalityText(plan),
              HasSubstr("not proven for the shortest step: 10 of 100 legal configurations costed, "
                        "5 of them fit; the search was ended before it was over: this is the "
                        "best, but the next best may be others"));
  plan.gap = 0.125;
  EXPECT_THAT(OptimalityText(plan), HasSubstr("the best may take up to 12.5 % less time"));
  part.objective = ModelObjective::kMemory;
  EXPECT_THAT(OptimalityText(plan), HasSubstr("the best may take up to 12.5 % less memory"));
}

}  // namespace
}  // namespace meshwright
