#include "meshwright/explain/compute_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "meshwright/explain/explain_model.h"
#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

double SumOf(const std::vector<NamedAmount>& parts) {
  double sum = 0;
  for (const NamedAmount& one : parts) sum += one.amount;
  return sum;
}

TEST(ComputeParts, AddUpToTheComputationOfAnyStep) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> share(0, 1);
  for (int i = 0; i < 1000; ++i) {
    Plan plan = SampleModelPlan();
    PlanTransformer& part = *plan.model;
    part.seconds.compute = share(random);
    part.seconds.bubble = share(random);
    plan.step_seconds = SumOf(LargestFirst(part.seconds));
    part.hfu = share(random) * part.seconds.compute / plan.step_seconds;
    part.mfu = i % 3 == 0 ? part.hfu : share(random) * part.hfu;
    const std::vector<NamedAmount> parts = ComputeParts(plan);
    ASSERT_FALSE(parts.empty());
    EXPECT_NEAR(SumOf(parts), part.seconds.compute, 3e-6 * part.seconds.compute);
    for (const NamedAmount& one : parts) EXPECT_GE(one.amount, 0) << one.name;
  }
}

TEST(ComputeParts, AreNotToldWhereTheyWouldNotAddUp) {
  Plan plan = SampleModelPlan();
  plan.model->seconds.compute = 0.1 * plan.model->mfu * plan.step_seconds;
  EXPECT_THAT(ComputeParts(plan), IsEmpty());
  EXPECT_THAT(ExplainModel(plan), Not(HasSubstr("at peak rate")));
}

TEST(ComputeParts, StandBelowTheComputation) {
  Plan plan = SampleModelPlan();
  plan.step_seconds = 2;
  plan.model->seconds.compute = 1.5;
  plan.model->mfu = 0.4;
  plan.model->hfu = 0.5;
  const std::string text = ExplainModel(plan);
  EXPECT_THAT(text, HasSubstr("model flops at peak rate"));
  EXPECT_THAT(text, HasSubstr("recomputation"));
  EXPECT_THAT(text, HasSubstr("kernels below peak rate"));
  EXPECT_THAT(text, HasSubstr("25 %"));  // kernels
}

}  // namespace
}  // namespace meshwright
