#include "meshwright/cost/stated_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"

namespace meshwright {
namespace {

DeviceType Device(const std::string& name) { return *FindDevice(name); }

// Errors of different causes do not add up, and no part counts more than its share.
TEST(StatedError, IsThatOfTheParts) {
  const DeviceType device = Device("h200");
  TimeByClass step = {};
  EXPECT_EQ(ErrorOfStep(step, "roofline", device), 0);
  const auto set = [&](TimeClass one, double seconds) {
    step[static_cast<size_t>(one)] = seconds;
    return ErrorOf(one, "roofline", device).error;
  };
  const double matmul = set(TimeClass::kMatmul, 3);
  EXPECT_DOUBLE_EQ(ErrorOfStep(step, "roofline", device), matmul);
  const double loop = set(TimeClass::kLoop, 1);
  EXPECT_DOUBLE_EQ(ErrorOfStep(step, "roofline", device), std::hypot(3 * matmul, loop) / 4);
}

TEST(StatedError, IsLargerWhereNothingWasMeasured) {
  const auto error = [](TimeClass one, const char* cost_model, const char* device) {
    return ErrorOf(one, cost_model, Device(device));
  };
  EXPECT_TRUE(error(TimeClass::kLoop, "roofline", "h200").measured);
  EXPECT_TRUE(error(TimeClass::kLoop, "calibrated", "h100-sxm").measured);
  EXPECT_FALSE(error(TimeClass::kLoop, "roofline", "mi300x").measured);
  EXPECT_GT(error(TimeClass::kLoop, "roofline", "mi300x").error,
            error(TimeClass::kLoop, "roofline", "h200").error);
  EXPECT_LT(error(TimeClass::kLoop, "calibrated", "h100-sxm").error,
            error(TimeClass::kLoop, "roofline", "h200").error);
  EXPECT_FALSE(error(TimeClass::kUnknownCall, "roofline", "h200").measured);
  EXPECT_GT(ErrorOfModel(false).error, ErrorOfModel(true).error);
  for (size_t c = 0; c < kTimeClasses; ++c)
    EXPECT_GT(error(static_cast<TimeClass>(c), "roofline", "h200").error, 0) << c;
}

TEST(StatedError, ClassesOfOperators) {
  const auto of = [](const std::string& body) {
    const absl::StatusOr<Module> module =
        ParseHloText("HloModule m\n\nENTRY main {\n" + body + "}\n", "test");
    EXPECT_TRUE(module.ok()) << module.status();
    const absl::StatusOr<Graph> graph = BuildGraph(*module);
    EXPECT_TRUE(graph.ok()) << graph.status();
    const Value& result = (*graph)[(*graph)[graph->outputs[0]].operands[0]];
    const Op& op = (*graph)[result.producer];
    return ClassOf(op, RuleFor(*graph, op));
  };
  EXPECT_EQ(of("  a = f32[4,4] parameter(0)\n  ROOT r = f32[4,4] dot(a, a), "
               "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"),
            TimeClass::kMatmul);
  EXPECT_EQ(of("  a = f32[4,4] parameter(0)\n  ROOT r = f32[4,4] tanh(a)\n"), TimeClass::kLoop);
  EXPECT_EQ(
      of("  a = f32[2,8,4] parameter(0)\n  w = f32[3,1,4] parameter(1)\n  ROOT r = f32[2,6,4] "
         "convolution(a, w), window={size=3}, dim_labels=b0f_0io->b0f, "
         "feature_group_count=4\n"),
      TimeClass::kGroupedConvolution);
  EXPECT_EQ(of("  a = f32[4] parameter(0)\n  ROOT r = f32[4] custom-call(a), "
               "custom_call_target=\"unheard_of\"\n"),
            TimeClass::kUnknownCall);
  EXPECT_EQ(of("  a = c64[8,64] parameter(0)\n  ROOT r = c64[8,64] fft(a), fft_type=FFT, "
               "fft_length={64}\n"),
            TimeClass::kOrdered);
}

}  // namespace
}  // namespace meshwright
