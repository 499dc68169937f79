#include "meshwright/plan/text/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "meshwright/base/quantity_text.h"
#include "meshwright/plan/document/spec_text.h"
#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlanTable, Units) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.00 KiB");
  EXPECT_EQ(BytesText(int64_t{80} << 30), "80.0 GiB");
  EXPECT_EQ(BytesText((int64_t{1} << 30) - 1), "1.00 GiB");
  EXPECT_EQ(BytesText(INT64_MAX), "8.00 EiB");
  EXPECT_EQ(SecondsText(0), "0 s");
  EXPECT_EQ(SecondsText(1.5), "1.50 s");
  EXPECT_EQ(SecondsText(0.99999), "1.00 s");
  EXPECT_EQ(SecondsText(0.0123), "12.3 ms");
  EXPECT_EQ(SecondsText(123e-6), "123 us");
  EXPECT_EQ(SecondsText(3600), "3600 s");
}

TEST(PlanTable, Spec) {
  EXPECT_EQ(SpecText({}), "[]");
  EXPECT_EQ(SpecText({{"x"}, {}, {"y", "z"}}), "[x,_,(y,z)]");
}

// Layers that are sharded alike share a line; one that is not keeps its own.
TEST(PlanTable, RepeatedParametersShareALine) {
  Plan plan = SamplePlan();
  plan.program.parameters.clear();
  for (int i = 0; i < 12; ++i) {
    plan.program.parameters.push_back({i,
                                       "p['layer" + std::to_string(i) + "']",
                                       "f32",
                                       {8, 8},
                                       {{}, {"y"}},
                                       64,
                                       MemoryCategory::kParameters});
  }
  plan.program.parameters[7].spec = {{"x"}, {}};
  const std::string table = PlanTable(plan);
  EXPECT_THAT(table, HasSubstr("p['layer{0..6,8..11}']"));
  EXPECT_THAT(table, HasSubstr("x11"));
  EXPECT_THAT(table, HasSubstr("p['layer7']"));
  EXPECT_THAT(table, Not(HasSubstr("p['layer3']")));
}

TEST(PlanTable, LinesFitATerminal) {
  Plan plan = SamplePlan();
  plan.warnings.clear();
  plan.inputs[0].path = std::string(300, 'p');
  plan.peak_at = std::string(300, 'q');
  plan.program.parameters[0].name = std::string(300, 'r');
  std::istringstream lines(PlanTable(plan));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(PlanTable, EqualStagesShareALine) {
  const std::string table = PlanTable(SamplePipelinePlan());
  EXPECT_THAT(table, HasSubstr("2 stages, 8 micro-batches, 1f1b, bubble 5.0 %\n"));
  EXPECT_THAT(table, HasSubstr("\n  0-1    0-5       2 x 2  2     10.0 ms   20.0 ms  1.00 ms  "
                               "2.00 GiB*\n  * activations are recomputed\n"));
}

TEST(PlanTable, DevicesOfSeveralTypes) {
  Plan plan = SamplePipelinePlan();
  plan.cluster = {"2xh100-sxm+2xa100-40g",
                  {{"h100-sxm", 1, 2, int64_t{80} << 30}, {"a100-40g", 1, 2, int64_t{40} << 30}}};
  plan.pipeline->stages[1].device = "a100-40g";
  plan.pipeline->stages[1].device_memory_bytes = int64_t{40} << 30;
  plan.pipeline->stages[1].budget_bytes.reset();
  plan.pipeline->stages[1].bytes.peak_of_group = int64_t{3} << 30;
  const std::string table = PlanTable(plan);
  EXPECT_THAT(table, HasSubstr("\n  h100-sxm      1       2  80.0 GiB   75.0 GiB  2.00 GiB\n"
                               "  a100-40g      1       2  40.0 GiB  unlimited  3.00 GiB\n"));
  EXPECT_THAT(table, HasSubstr("\n  0      0-2     2 h100-sxm  2"));
  EXPECT_THAT(table, HasSubstr("\n  1      3-5     2 a100-40g  2"));
}

TEST(PlanTable, PlansOfModels) {
  const std::string text = PlanTable(SampleModelPlan());
  EXPECT_THAT(text, HasSubstr("degrees   tp=2 pp=2 dp=1 sp=on schedule=interleaved vp=2 mbs=2\n"
                              "          recompute=selective recompute_stages=1 ends=on "
                              "offload_activations=on\n"
                              "          offload_layers=3 tp_in=2 pp_in=2\n"));
  EXPECT_THAT(text,
              HasSubstr("step      2.00 s, MFU 40.0 %, HFU 45.0 %, 8192 tokens/s/GPU, exposed\n"
                        "          communication 300 ms\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "  compute                      1.50 s  75.0 %\n    model flops at peak rate   800 ms"));
  EXPECT_THAT(text, HasSubstr("memory    28.0 GiB of 80.0 GiB a GPU at peak, 52.0 GiB free\n"));
  EXPECT_THAT(text, HasSubstr("  optimizer  activ.  logits  comm.  framew.\n"));
  EXPECT_THAT(
      text, HasSubstr("  activ.: activations; comm.: communication buffers; framew.: framework\n"));
  EXPECT_THAT(text, HasSubstr("  in the host's memory: group 0 9 B, group 1 8 B\n"));
  EXPECT_THAT(text,
              HasSubstr("state     master weights f32, moments bf16, gradients f32, loss f32\n"));
  EXPECT_THAT(text, HasSubstr("goodput   93.0 %, 12346 tokens a second: a failure every 36000 s"));
  EXPECT_THAT(text, HasSubstr("+25.00 %       7 B  tp=2 pp=2"));
  EXPECT_THAT(text, HasSubstr("compute +600 ms, bubble -100 ms\n"));
  EXPECT_THAT(text, HasSubstr("nvlink4 bandwidth +10 %       -1.20 %\n"));
  Plan moved = SampleModelPlan();
  transformer::Configuration& degrees = moved.model->configuration;
  degrees.dp = 2;
  degrees.inside = {.tp = 1, .cp = 1, .dp = 2, .pp = 2, .tp2 = 1};
  degrees.offload_layers = 0;
  EXPECT_THAT(PlanTable(moved), HasSubstr(" dp_in=2 pp_in=2"));
  degrees.unit = {.tp = 2, .cp = 1, .dp = 1, .pp = 4, .tp2 = 1};
  degrees.offload_optimizer = true;
  degrees.offload_percent = 40;
  const std::string placed = PlanTable(moved);
  EXPECT_THAT(placed, HasSubstr("offload_percent=40"));
  EXPECT_THAT(placed, HasSubstr(" dp_in=2 pp_in=2 tp_unit=2\n          pp_unit=4\n"));
}

}  // namespace
}  // namespace meshwright
