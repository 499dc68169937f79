#include "meshwright/degrees/framework.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/model/model_reader.h"

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;

std::string ParametersOf(std::string_view name, std::string_view release) {
  return ChooseFramework(name, release, Model())->Parameters(BuiltinCostParameters()).framework;
}

TEST(ChooseFramework, TakesTheParametersOfTheLastReleaseThatIsNotNewer) {
  EXPECT_EQ(ParametersOf("megatron", "20.12"), "megatron-2021");
  EXPECT_EQ(ParametersOf("megatron", "23.04.01"), "megatron-23.04");
  EXPECT_EQ(ParametersOf("megatron", "23.10"), "megatron-23.09");
  EXPECT_EQ(ParametersOf("megatron", ""), "megatron");
  EXPECT_EQ(ParametersOf("nemo", "26.04.01"), "megatron");
  EXPECT_EQ(ParametersOf("nemo", "26.6"), "megatron-26.06");
  for (const Framework& row : FrameworkTable()) {
    EXPECT_FALSE(ParametersOf(row.name, "").empty()) << row.name;
    EXPECT_EQ(FindFramework(row.name), &row);
  }
}

TEST(ChooseFramework, HasTheStateOfTheFramework) {
  const Model dense = *LoadModel("llama3-8b"), latent = *LoadModel("deepseek-v3");
  EXPECT_EQ(ChooseFramework("megatron", "", dense)->state, StateOptions());
  EXPECT_EQ(ChooseFramework("nemo", "", dense)->state,
            (StateOptions{.gradient_bytes = 2, .moment_bytes = 4, .logit_bytes = 4}));
  EXPECT_EQ(ChooseFramework("nemo", "", latent)->state.moment_bytes, 2);
  EXPECT_EQ(ChosenFramework(), *ChooseFramework("megatron", "", dense));
}

TEST(ChooseFramework, SaysWhatThereIs) {
  EXPECT_THAT(ChooseFramework("torch-titan", "", Model()).status().message(),
              HasSubstr("did you mean \"torchtitan\"? Frameworks are megatron, nemo, fsdp"));
  EXPECT_EQ(ChooseFramework("nemo", "v2", Model()).status().message(),
            "found the release \"v2\", expected a year and month such as 26.06");
}

// The kernel alone: all else stays the release's.
TEST(ChosenFramework, TakesAnotherAttentionKernel) {
  ChosenFramework chosen;
  const FrameworkParameters usual = chosen.Parameters(BuiltinCostParameters());
  chosen.attention = AttentionKernel::kEager;
  const FrameworkParameters eager = chosen.Parameters(BuiltinCostParameters());
  EXPECT_GT(eager.score_traffic, 0);
  EXPECT_EQ(eager.elementwise, usual.elementwise);
  chosen.attention = AttentionKernel::kFlash2;
  EXPECT_LT(chosen.Parameters(BuiltinCostParameters()).attention, usual.attention);
}

TEST(Loss, IsToldByTheBytesOfALogit) {
  const Model model = *LoadModel("llama3-8b");
  for (const Loss loss : {Loss::kF32, Loss::kFused, Loss::kChunked})
    EXPECT_EQ(LossOf(LogitBytes(loss, model)), loss);
  // 128,256 logits for 4,096 hidden elements.
  EXPECT_EQ(LogitBytes(Loss::kChunked, model), 12.0 / 32);
  EXPECT_EQ(LossOf(0), std::nullopt);
}

}  // namespace
}  // namespace meshwright::transformer
