#include "meshwright/model/recurrence.h"

#include <gtest/gtest.h>

#include <string>

#include "meshwright/model/check_model.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/model/model_table.h"

namespace meshwright::transformer {
namespace {

Model ReadRecurrent(const std::string& json) {
  absl::StatusOr<Model> model = ReadHuggingFaceConfig(json, "config.json");
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

// As published for 2.7 billion parameters: of each layer the projection in (gate, channels, B and C
// of one group, a step a head), the convolution, three numbers a head, both norms and the
// projection out.
TEST(Recurrence, CountsMamba2) {
  const Model model =
      ReadRecurrent(R"({"model_type": "mamba2", "hidden_size": 2560, "num_hidden_layers": 64,
      "vocab_size": 50288, "num_heads": 80, "head_dim": 64, "state_size": 128, "n_groups": 1,
      "tie_word_embeddings": true, "time_step_limit": [0.0, Infinity]})");
  const int64_t layer =
      2560 * (2 * 5120 + 2 * 128 + 80) + 5 * (5120 + 2 * 128) + 3 * 80 + 5120 + 2560 + 5120 * 2560;
  EXPECT_EQ(CountParameters(Tensors(model)).total, 64 * layer + 50288 * 2560 + 2560);
  EXPECT_EQ(model.stacks[0].kinds.size(), 1u);
  EXPECT_FALSE(model.stacks[0].kinds[0].attends());
  EXPECT_FALSE(model.stacks[0].kinds[0].feeds_forward());
}

// arXiv:2405.21060, section 6: a token takes part in matmuls of its chunk of Q tokens with states
// of N, and of heads with states of N x P, there and back.
TEST(Recurrence, ScansChunksByMatmuls) {
  const Recurrence r = {.kind = RecurrenceKind::kStateSpaceDual,
                        .heads = 80,
                        .head_dim = 64,
                        .groups = 2,
                        .state = 128,
                        .taps = 4,
                        .chunk = 256};
  const FlopCounts flops = CountFlops(ScanMatmuls(r, 4096));
  EXPECT_DOUBLE_EQ(flops.forward, 4096.0 * 2 * (256 * 128 * 2 + 256 * 64 * 80 + 2 * 128 * 64 * 80));
  EXPECT_DOUBLE_EQ(flops.backward, 2 * flops.forward);
  // What is shorter than a chunk is one.
  EXPECT_EQ(ScanMatmuls(r, 100).front().m, 100);
  Recurrence one_by_one = r;
  one_by_one.kind = RecurrenceKind::kSelective;
  one_by_one.chunk = 0;
  EXPECT_TRUE(ScanMatmuls(one_by_one, 4096).empty());
}

TEST(Recurrence, StandsBesideAttentionOrAlone) {
  const Model model =
      ReadRecurrent(R"({"model_type": "nemotron_h", "hidden_size": 64, "vocab_size": 100,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96,
      "mamba_num_heads": 4, "mamba_head_dim": 32, "n_groups": 2, "ssm_state_size": 16,
      "hybrid_override_pattern": "M-M*E"})");
  ASSERT_EQ(model.layers(), 5);
  const Stack& stack = model.stacks[0];
  EXPECT_TRUE(stack.layer(0).recurrence.has_value());
  EXPECT_EQ(stack.layers[2], stack.layers[0]);
  EXPECT_TRUE(stack.layer(1).mlp.has_value());
  EXPECT_FALSE(stack.layer(1).attends());
  EXPECT_TRUE(stack.layer(3).attends());
  EXPECT_TRUE(stack.layer(4).moe.has_value());
  const std::string table = ModelTable(model, {.sequences = 1, .tokens = 64});
  EXPECT_NE(table.find("state space in chunks, 4 heads of 32 channels, states of 16 in 2 groups"),
            std::string::npos)
      << table;
}

TEST(Recurrence, OfMiniMaxAndRwkv) {
  const std::string sizes = R"("hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 2,
      "num_attention_heads": 4, "intermediate_size": 96)";
  const Model lightning =
      ReadRecurrent(R"({"model_type": "minimax", "num_key_value_heads": 2, )" + sizes + "}");
  EXPECT_TRUE(lightning.stacks[0].layer(0).attends());
  const Recurrence& r = *lightning.stacks[0].layer(1).recurrence;
  // In chunks as attention: queries times keys, times values, and what goes through the state.
  EXPECT_EQ(ScanMatmuls(r, 512).size(), 4u);
  EXPECT_NE(ModelTable(lightning, {.tokens = 64}).find("lightning attention, 4 heads of 16"),
            std::string::npos);
  const Model rwkv = ReadRecurrent(R"({"model_type": "rwkv", )" + sizes + "}");
  EXPECT_TRUE(ScanMatmuls(*rwkv.stacks[0].layer(0).recurrence, 512).empty());
  EXPECT_NE(ModelTable(rwkv, {.tokens = 64}).find("weighted sum of values, 64 channels"),
            std::string::npos);
}

TEST(Recurrence, Errors) {
  const auto error = [](const std::string& json) {
    return std::string(ReadHuggingFaceConfig(json, "c.json").status().message());
  };
  EXPECT_EQ(error(R"({"model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 2,
 "num_heads": 3, "vocab_size": 100})"),
            "c.json:2:15: num_heads: 3 heads of 64 channels are not the 128 of expand x the hidden "
            "size");
  EXPECT_EQ(error(R"({"model_type": "bamba", "hidden_size": 64, "num_hidden_layers": 2,
 "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
 "vocab_size": 100, "mamba_n_heads": 4,
 "layer_types": ["linear_attention", "chunked"]})"),
            "c.json:4:38: layer_types[1]: \"chunked\" layers are not described; valid are "
            "attention, full_attention, mamba, linear_attention, conv");
  Model model =
      ReadRecurrent(R"({"model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 2})");
  model.stacks[0].kinds[0].attention = {
      .heads = 4, .kv_heads = 4, .qk_head_dim = 16, .v_head_dim = 16};
  EXPECT_NE(std::string(CheckModel(model).message()).find("attention and a recurrence"),
            std::string::npos);
}

}  // namespace
}  // namespace meshwright::transformer
