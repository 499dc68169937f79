#include "meshwright/explain/in_short.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/explain/explain.h"
#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

TEST(InShort, IsTheHeadlineOfEveryKindOfPlan) {
  EXPECT_THAT(ExplainPlan(SamplePlan()), HasSubstr("in short  "));
  EXPECT_EQ(InShort(SampleModelPlan()), "mixed parallelism: tensor 2, pipeline 2");
  Plan pipeline = SamplePipelinePlan();
  EXPECT_THAT(InShort(pipeline), HasSubstr("pipeline of 2 stages; each: "));
  // Stages of one device each have no parallelism of their own.
  pipeline.pipeline->stages[0].devices = {0};
  pipeline.pipeline->stages[1].devices = {1};
  EXPECT_EQ(InShort(pipeline), "pipeline of 2 stages; each: one device");
}

}  // namespace
}  // namespace meshwright
