#include "meshwright/plan/text/step_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "meshwright/plan/text/largest_first.h"
#include "meshwright/plan/text/plan_table.h"
#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename Parts>
double SumOfParts(const Parts& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const auto& one) { return sum + one.seconds; });
}

// A plan with a time of its own for every part of the step, some of them none.
Plan RandomPlan(PlanKind kind, std::mt19937_64& random) {
  std::uniform_real_distribution<double> share(0, 1);
  const auto some = [&] { return share(random) < 0.3 ? 0 : share(random); };
  if (kind == PlanKind::kModel) {
    Plan plan = SampleModelPlan();
    PlanTransformer& part = *plan.model;
    part.seconds = {1 + some(), some(), some(), some(), some(), some(), some(), some(), some()};
    plan.step_seconds = 0;
    for (const NamedAmount& one : LargestFirst(part.seconds)) plan.step_seconds += one.amount;
    part.hfu = share(random) * part.seconds.compute / plan.step_seconds;
    part.mfu = share(random) < 0.3 ? part.hfu : share(random) * part.hfu;
    part.sensitivity = {{"peak flops +10 %", -some()}, {"memory bandwidth +10 %", -some()}};
    return plan;
  }
  Plan plan = kind == PlanKind::kProgram ? SamplePlan() : SamplePipelinePlan();
  plan.time_use = PlanTimeUse{1 + some(), some(), some(), some(), some(), some(), some()};
  plan.step_seconds = 0;
  for (const NamedAmount& one : LargestFirst(*plan.time_use)) plan.step_seconds += one.amount;
  return plan;
}

TEST(StepAccount, PartsAndLimitsAddUpToTheStepOfAnyPlan) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    for (const PlanKind kind : {PlanKind::kProgram, PlanKind::kPipeline, PlanKind::kModel}) {
      const Plan plan = RandomPlan(kind, random);
      const std::vector<StepPart> parts = StepParts(plan);
      EXPECT_NEAR(SumOfParts(parts), plan.step_seconds, 1e-5 * plan.step_seconds);
      EXPECT_NEAR(SumOfParts(StepLimits(plan)), plan.step_seconds, 1e-5 * plan.step_seconds);
      for (const StepPart& part : parts) {
        EXPECT_GT(part.seconds, 0) << part.name;
        if (!part.inner.empty()) {
          EXPECT_NEAR(SumOfParts(part.inner), part.seconds, 1e-5 * part.seconds);
        }
        for (const StepPart& inner : part.inner) EXPECT_GT(inner.seconds, 0) << inner.name;
      }
      const double useful = *ModelFlopsUtilization(plan) * plan.step_seconds;
      for (const StepPart& part : parts) {
        if (part.name == "compute") {
          EXPECT_NEAR(part.inner[0].seconds, useful, 1e-9);
        }
      }
    }
  }
}

// One figure for what a pipeline waits: in the account of the step and wherever else it stands.
TEST(StepAccount, TheBubbleIsThatOfTheParts) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    const Plan plan = RandomPlan(PlanKind::kPipeline, random);
    EXPECT_NEAR(BubbleShare(plan), plan.time_use->bubble / plan.step_seconds, 1e-9);
    EXPECT_THAT(PlanTable(plan),
                HasSubstr(absl::StrFormat("1f1b, bubble %.1f %%\n", 100 * BubbleShare(plan))));
  }
  Plan unknown = SamplePipelinePlan();
  unknown.time_use.reset();
  EXPECT_EQ(BubbleShare(unknown), unknown.bubble_share);
}

TEST(StepAccount, SaysWhereAProgramsMissingMfuGoes) {
  Plan plan = SamplePlan();
  plan.step_seconds = 0.2;
  plan.time_use = PlanTimeUse{0.08, 0.02, 0.03, 0, 0.05, 0, 0.02};
  EXPECT_EQ(StepPartsTable(plan),
            "  compute                     130 ms  65.0 %\n"
            "    matmuls at peak rate     80.0 ms  40.0 %\n"
            "    matmuls below peak rate  20.0 ms  10.0 %\n"
            "    other kernels            30.0 ms  15.0 %\n"
            "  exposed communication      50.0 ms  25.0 %\n"
            "  launch overhead            20.0 ms  10.0 %\n");
  EXPECT_EQ(MfuText(plan), "MFU 40.0 %");
  EXPECT_EQ(LimitsText(plan),
            "compute 50.0 %, network 25.0 %, memory bandwidth 15.0 %, launch 10.0 %");
  const std::string table = PlanTable(plan, "data parallelism over x (2)");
  EXPECT_THAT(table, HasSubstr("in short  data parallelism over x (2)\n"));
  EXPECT_THAT(table, HasSubstr("step      200 ms ± 13 %, MFU 40.0 %: compute 130 ms, exposed "
                               "communication 50.0\n          ms, launch overhead 20.0 ms\n"));
  EXPECT_THAT(table, HasSubstr("error     not measured on such devices: unknown call\n"));
  EXPECT_THAT(table, HasSubstr("limits    compute 50.0 %, network 25.0 %"));
}

TEST(StepAccount, TellsNothingWhereNothingIsKnown) {
  Plan plan = SamplePlan();
  plan.time_use.reset();
  EXPECT_THAT(StepParts(plan), IsEmpty());
  EXPECT_EQ(MfuText(plan) + LimitsText(plan) + StepPartsTable(plan), "");
  EXPECT_THAT(PlanTable(plan), Not(HasSubstr("limits")));
}

TEST(StepAccount, DoesNotTellAModelsKernelsApartWhereTheyWouldNotAddUp) {
  Plan plan = SampleModelPlan();
  plan.model->seconds.compute = 0.1 * plan.model->mfu * plan.step_seconds;
  EXPECT_THAT(StepPartsTable(plan), Not(HasSubstr("at peak rate")));
}

TEST(StepAccount, NamesMemoryBandwidthWhereItWouldDoMoreThanFlops) {
  Plan plan = SampleModelPlan();
  plan.model->sensitivity = {{"peak flops +10 %", -0.01}, {"memory bandwidth +10 %", -0.05}};
  EXPECT_THAT(LimitsText(plan), HasSubstr("memory bandwidth 77.5 %"));
  plan.model->sensitivity[0].step_change = -0.07;
  EXPECT_THAT(LimitsText(plan), HasSubstr("compute 75.0 %"));
}

TEST(LargestFirst, LeavesOutWhatRoundingLeaves) {
  PlanStepParts parts;
  parts.compute = 0.0645;
  parts.bubble = 4.44e-16;
  ASSERT_EQ(LargestFirst(parts).size(), 1u);
  EXPECT_EQ(LargestFirst(parts)[0].name, "compute");
}

TEST(StepAccount, SaysWhatIsFree) {
  Plan plan = SamplePlan();
  plan.peak_bytes = int64_t{41} << 30;
  plan.budget_bytes = int64_t{80} << 30;
  EXPECT_EQ(HeadroomText(plan, "a device"), "41.0 GiB ± 7 % of 80.0 GiB a device, 39.0 GiB free");
  plan.budget_bytes.reset();
  EXPECT_EQ(HeadroomText(plan, "a device"), "41.0 GiB ± 7 % a device");
}

}  // namespace
}  // namespace meshwright
