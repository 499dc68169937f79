#include "meshwright/hetero/layer_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/reference_texts.h"

namespace meshwright::transformer::hetero {
namespace {

using ::testing::HasSubstr;

constexpr char kProfileText[] =
    "gpu,tp,layer_id,forward_seconds,micro_batch,backward_seconds\n"
    "A100,1,0,1,1,2\n"
    "A100,1,1,10,1,20\n"
    "A100,1,0,2,4,5\n"
    "A100,1,1,25,4,44\n"
    "A100,4,0,1,1,2\n"
    "A100,4,1,4,1,8\n";

double ForwardOf(const LayerProfile& profile, int64_t tp, int64_t micro_batch) {
  const auto found = profile.Find("a100-40g", tp, micro_batch);
  EXPECT_TRUE(found.has_value());
  return (*found)[1].forward;
}

std::string ProfileError(const std::string& text, const std::string& model = "m") {
  return std::string(LayerProfile::Parse(text, "p.csv", {model}).status().message());
}

// Names as others write them: FASOP's "gpt2XL" and "A10" are gpt2-xl and a10g.
TEST(LayerProfileTest, KnowsModelsAndDevicesByOtherNames) {
  const std::string text =
      "model,gpu,tp,layer_id,forward_seconds\ngpt2XL,A10,1,0,1\nT5,A10,1,0,2\n";
  const auto profile = LayerProfile::Parse(text, "p.csv", {"gpt2-xl"});
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_TRUE(profile->Find("a10g", 1, 1).has_value());
  EXPECT_EQ((*profile->Find("a10g", 1, 1))[0].forward, 1);
  EXPECT_FALSE(profile->Find("a100-40g", 1, 1).has_value());
  EXPECT_THAT(ProfileError(text, "gpt2-large"),
              HasSubstr("no rows of model \"gpt2-large\" (found \"T5\", \"gpt2XL\")"));
  EXPECT_THAT(ProfileError("model,gpu,tp,layer_id,forward_seconds\n,A10,1,0,1\n"),
              HasSubstr("(found \"\")"));
}

TEST(LayerProfileTest, Interpolates) {
  const auto profile = LayerProfile::Parse(kProfileText, "p.csv", {"any"});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->entries(), 2u);
  EXPECT_EQ(profile->Measured(), "A100 (tp 1, 4)");
  EXPECT_EQ(profile->Find("A100", 1, 1), (std::vector<LayerTime>{{1, 2}, {10, 20}}));
  EXPECT_EQ(profile->Find("a100-80g", 1, 4), (std::vector<LayerTime>{{2, 5}, {25, 44}}));
  EXPECT_DOUBLE_EQ(ForwardOf(*profile, 1, 2), 15) << "between";
  EXPECT_DOUBLE_EQ(ForwardOf(*profile, 1, 7), 40) << "on the last line";
  EXPECT_DOUBLE_EQ(ForwardOf(*profile, 4, 3), 12) << "one micro-batch: proportional";
  // 1/2 lies a third of the way from 1/4 to 1.
  EXPECT_DOUBLE_EQ(ForwardOf(*profile, 2, 1), 6);
  EXPECT_FALSE(profile->Find("a100", 8, 1).has_value());
  EXPECT_FALSE(profile->Find("a1000", 1, 1).has_value());
  EXPECT_FALSE(profile->Find("h100-sxm", 1, 1).has_value());
}

TEST(LayerProfileTest, NearestDegree) {
  const auto profile = LayerProfile::Parse(kProfileText, "p.csv", {"any"});
  ASSERT_TRUE(profile.ok()) << profile.status();
  const auto nearest = [&](int64_t tp) { return profile->NearestDegree("a100-40g", tp); };
  EXPECT_EQ(nearest(1), 1);
  EXPECT_EQ(nearest(2), 1);
  EXPECT_EQ(nearest(3), 4);
  EXPECT_EQ(nearest(8), 4);
  EXPECT_EQ(profile->NearestDegree("h100-sxm", 1), 0);
}

TEST(LayerProfileTest, LargerMicroBatchesTakeNoLessThanTheLargestMeasured) {
  const auto profile = LayerProfile::Parse(
      "gpu,tp,layer_id,micro_batch,forward_seconds\nA,1,0,1,4\nA,1,0,2,3\n", "p.csv", {"any"});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->Find("A", 1, 64), (std::vector<LayerTime>{{3, 6}}));
}

TEST(LayerProfileTest, RowsOfOtherModelsAreLeftOut) {
  const std::string text =
      "model,gpu,tp,layer_id,forward_seconds\n"
      "bert,A10,1,0,1\n"
      "T5,A10,1,0,2\nT5,A10,1,1,3\n";
  const auto profile = LayerProfile::Parse(text, "p.csv", {"t5"});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->Find("a10", 1, 1), (std::vector<LayerTime>{{2, 4}, {3, 6}}));
  EXPECT_THAT(ProfileError(text, "gpt"),
              HasSubstr("no rows of model \"gpt\" (found \"T5\", \"bert\")"));
}

TEST(LayerProfileTest, RowsOfOtherLengthsAndTypesAreLeftOut) {
  const std::string text =
      "gpu,tp,layer_id,forward_seconds,sequence,dtype,kind\n"
      "A10,1,0,1,512,bf16,layer\nA10,1,0,2,1024,bf16,layer\nA10,1,0,3,1024,fp8,layer\n";
  const auto profile = LayerProfile::Parse(text, "p.csv", {"any", 1024, "fp8"});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->Find("a10", 1, 1), (std::vector<LayerTime>{{3, 6}}));
  EXPECT_THAT(
      std::string(LayerProfile::Parse(text, "p.csv", {"any", 2048, "fp8"}).status().message()),
      HasSubstr("p.csv: no rows of sequence \"2048\" (found \"1024\", \"512\")"));
}

TEST(LayerProfileTest, Errors) {
  const std::string header = "gpu,tp,layer_id,forward_seconds\n";
  EXPECT_THAT(ProfileError("gpu,tp,layer_id\n"), HasSubstr("no column \"forward_seconds\""));
  EXPECT_THAT(ProfileError(header), HasSubstr("no rows"));
  EXPECT_THAT(ProfileError(header + "A,0,0,1\n"), HasSubstr("p.csv:2: tp: found \"0\""));
  EXPECT_THAT(ProfileError(header + "A,1,x,1\n"), HasSubstr("layer_id: found \"x\""));
  EXPECT_THAT(ProfileError(header + "A,1,0,-1\n"), HasSubstr("forward_seconds: found \"-1\""));
  EXPECT_THAT(ProfileError(header + "A,1,0,1\nA,1,1,0\n"),
              HasSubstr("p.csv:3: forward_seconds: found \"0\", expected measured seconds, from "
                        "1e-09 to 1e+06"));
  EXPECT_THAT(ProfileError("gpu,tp,layer_id,forward_seconds,backward_seconds\nA,1,0,1,0\n"),
              HasSubstr("p.csv:2: backward_seconds: found \"0\""));
  EXPECT_THAT(ProfileError(header + "A,1,0,1\nA,1,0,1\n"), HasSubstr("stands here twice"));
  EXPECT_THAT(ProfileError(header + "A,1,0,1\nA,1,2,1\n"), HasSubstr("has 2 entries up to 2"));
  EXPECT_THAT(ProfileError(header + "A,1,0,1\nA,2,0,1\nA,2,1,1\n"), HasSubstr("expected 0 to 0"));
  EXPECT_THAT(ProfileError(header + ",1,0,1\n"), HasSubstr("gpu: empty"));
}

}  // namespace
}  // namespace meshwright::transformer::hetero
