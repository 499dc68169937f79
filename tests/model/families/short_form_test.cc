#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/model/model_reader.h"
#include "meshwright/model/tensors.h"

namespace meshwright::transformer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

Model ReadShort(const std::string& text) {
  absl::StatusOr<Model> model = ReadShortForm(text, "model.yaml");
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

int64_t Parameters(const std::string& text) {
  return CountParameters(Tensors(ReadShort(text))).total;
}

std::string ShortError(const std::string& text) {
  const absl::StatusOr<Model> model = ReadShortForm(text, "model.yaml");
  EXPECT_FALSE(model.ok());
  return std::string(model.status().message());
}

// The same models as those known by name have the same parameters.
TEST(ShortForm, DescribesKnownModels) {
  EXPECT_EQ(Parameters("model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, "
                       "gated: true, vocab: 128256}"),
            8'030'261'248);
  EXPECT_EQ(Parameters("model: {layers: 12, hidden: 768, heads: 12, vocab: 50257, tied: true, "
                       "norm: layer, bias: true, position: learned, max_seq: 1024}"),
            124'439'808);
  EXPECT_EQ(Parameters("model:\n  layers: 28\n  hidden: 3584\n  heads: 28\n  kv_heads: 4\n"
                       "  ffn: 18944\n  gated: true\n  vocab: 152064\n  qkv_bias: true\n"),
            7'615'616'512);
  EXPECT_EQ(Parameters("model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, gated: true, "
                       "vocab: 32000, experts: {count: 8, top_k: 2, ffn: 14336}}"),
            46'702'792'704);
  // DeepSeek V3 without its balance biases and prediction module.
  EXPECT_EQ(Parameters("model: {layers: 61, hidden: 7168, heads: 128, ffn: 18432, gated: true, "
                       "vocab: 129280, experts: {count: 256, top_k: 8, ffn: 2048, shared_ffn: "
                       "2048, first: 3}, latent: {q_rank: 1536, kv_rank: 512, nope_head_dim: 128, "
                       "rope_head_dim: 64, v_head_dim: 128}}"),
            671'026'404'352);
}

TEST(ShortForm, PlacesWindowsExpertsAndStacks) {
  const Model windows = ReadShort(
      "model: {layers: 4, hidden: 8, heads: 2, vocab: 5, window: 16, "
      "full_every: 2}");
  EXPECT_THAT(windows.stacks[0].layers, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(windows.stacks[0].layer(0).attention.window, 16);
  const Model experts = ReadShort(
      "model: {layers: 5, hidden: 8, heads: 2, vocab: 5, "
      "experts: {count: 4, top_k: 1, ffn: 8, first: 1, every: 2}}");
  EXPECT_THAT(experts.stacks[0].layers, ElementsAre(0, 1, 0, 1, 0));
  EXPECT_TRUE(experts.stacks[0].layer(1).moe.has_value());
  const Model both =
      ReadShort("model: {layers: 2, hidden: 8, heads: 2, vocab: 5, encoder_layers: 3}");
  ASSERT_THAT(both.stacks, SizeIs(2));
  EXPECT_FALSE(both.stacks[0].kinds[0].attention.causal);
  EXPECT_TRUE(both.stacks[1].kinds[0].attention.causal);
  EXPECT_TRUE(both.stacks[1].kinds[0].cross_attention.has_value());
}

TEST(ShortFormErrors, SayWhereAndWhatIsValid) {
  EXPECT_THAT(ShortError("model: {layer: 3}"),
              StartsWith("model.yaml:1:9: unknown key \"layer\" in a model; did you mean "
                         "\"layers\"? Valid are name, layers, "));
  EXPECT_THAT(ShortError("model: {layers: 3}"), HasSubstr("a model needs the key \"hidden\""));
  EXPECT_THAT(ShortError("model: {layers: -3}"),
              StartsWith("model.yaml:1:17: layers: expected a whole number from 1 to 4096"));
  EXPECT_THAT(ShortError("model: {layers: 3, layers: 3}"), HasSubstr("twice"));
  EXPECT_THAT(ShortError("model: {gated: maybe}"), HasSubstr("expected true or false"));
  EXPECT_THAT(ShortError("model: {norm: batch}"), HasSubstr("norm: valid are rms, layer"));
  EXPECT_THAT(ShortError("model: {layers: 1, hidden: 8, vocab: 5, heads: 3}"),
              StartsWith("model.yaml:1:48: hidden 8 is no multiple of 3 heads; valid numbers of "
                         "heads near it are 1, 2, 4, 8, or give head_dim"));
  EXPECT_THAT(ShortError("model: {layers: 1, hidden: 8, heads: 4, vocab: 5, kv_heads: 3}"),
              StartsWith("model.yaml:1:61: 4 heads cannot share 3 kv_heads evenly"));
  EXPECT_THAT(ShortError("model: {layers: 1, hidden: 8, heads: 4, vocab: 5, gated: true}"),
              HasSubstr("a gated MLP needs the key \"ffn\""));
  EXPECT_THAT(ShortError("model: {layers: 1, hidden: 8, heads: 4, vocab: 5, full_every: 2}"),
              HasSubstr("there is no window"));
  EXPECT_THAT(ShortError("model: {layers: 1, hidden: 8, heads: 4, vocab: 5, position: learned}"),
              HasSubstr("need the key \"max_seq\""));
  EXPECT_THAT(ShortError("model: {layers: 1, hidden: 8, heads: 4, vocab: 5, "
                         "experts: {count: 2, top_k: 3, ffn: 8}}"),
              HasSubstr("a token cannot go to top_k = 3 of 2 experts"));
  EXPECT_EQ(ShortError("model: {name: four, layers: 1, hidden: 8, heads: 4, vocab: 5, "
                       "latent: {kv_rank: 1, nope_head_dim: 1048576, rope_head_dim: 1048576, "
                       "v_head_dim: 1}}"),
            "model.yaml:1:8: layer kind dense: attention: the heads together have more than "
            "4194304 elements");
  EXPECT_THAT(ShortError(""), HasSubstr("the file is empty"));
  EXPECT_THAT(ShortError("model: ["), HasSubstr("not valid YAML"));
  EXPECT_THAT(ShortError("model: {}\n---\nmodel: {}"), HasSubstr("a second document"));
}

}  // namespace
}  // namespace meshwright::transformer
