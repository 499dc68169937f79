#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "meshwright/model/families.h"
#include "meshwright/model/matmuls.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/model/tensors.h"

// What is read from configurations, family by family; tensors_test.cc counts the parameters.

namespace meshwright::transformer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

Model Read(const std::string& config) {
  absl::StatusOr<Model> model = ReadHuggingFaceConfig(config, "config.json");
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

std::string Error(const std::string& config) {
  const absl::StatusOr<Model> model = ReadHuggingFaceConfig(config, "config.json");
  EXPECT_FALSE(model.ok());
  return std::string(model.status().message());
}

// Small sizes of a model in Llama's form, with `more` fields in front.
std::string Small(const std::string& type, const std::string& more = "") {
  return "{\"model_type\": \"" + type + "\", " + more +
         R"("hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
            "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100})";
}

TEST(HuggingFaceReader, ReadsLlama) {
  const Model model = Read(Small("llama", R"("max_position_embeddings": 512, )"));
  Layer layer;
  layer.name = "dense";
  layer.attention = {.heads = 4, .kv_heads = 2, .qk_head_dim = 16, .v_head_dim = 16};
  layer.mlp = Mlp{.ffn = 96, .gated = true, .activation = Activation::kSilu};
  layer.attention_norm = layer.mlp_norm = {.kind = NormKind::kRms};
  Model expected;
  expected.family = "llama";
  expected.name = "config.json";
  expected.hidden = 64;
  expected.max_sequence = 512;
  expected.embedding = {.vocabulary = 100, .dim = 64};
  expected.stacks = {{.kinds = {layer}, .layers = {0, 0, 0, 0}, .final_norm = layer.mlp_norm}};
  expected.head = {.outputs = 100};
  EXPECT_TRUE(model == expected);
}

TEST(HuggingFaceReader, TiesHeadsByDefaultWhereTransformersDoes) {
  EXPECT_FALSE(Read(Small("llama")).head.tied);
  EXPECT_TRUE(Read(Small("gemma")).head.tied);
  EXPECT_TRUE(Read(Small("llama", R"("tie_word_embeddings": true, )")).head.tied);
}

TEST(HuggingFaceReader, TellsAbsentFromNullWindows) {
  const auto window = [](const Model& model) { return model.stacks[0].kinds[0].attention.window; };
  EXPECT_EQ(window(Read(Small("mistral"))), 4096);
  EXPECT_EQ(window(Read(Small("mistral", R"("sliding_window": null, )"))), 0);
  EXPECT_EQ(window(Read(Small("mistral", R"("sliding_window": 7, )"))), 7);
}

TEST(HuggingFaceReader, AlternatesWindows) {
  const Model gemma2 = Read(Small("gemma2", R"("sliding_window": 8, )"));
  EXPECT_THAT(gemma2.stacks[0].layers, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(gemma2.stacks[0].layer(0).attention.window, 8);
  EXPECT_EQ(gemma2.stacks[0].layer(1).attention.window, 0);
  EXPECT_TRUE(gemma2.stacks[0].layer(0).mlp_output_norm.present());
  const Model gemma3 = Read(Small("gemma3_text", R"("sliding_window_pattern": 3, )"));
  EXPECT_THAT(gemma3.stacks[0].layers, ElementsAre(0, 0, 1, 0));
  const Model oss = Read(Small("gpt_oss", R"("num_local_experts": 4,
      "layer_types": ["full_attention", "full_attention", "sliding_attention", "full_attention"], )"));
  EXPECT_THAT(oss.stacks[0].layers, ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(oss.stacks[0].layer(2).attention.window, 128);
}

TEST(HuggingFaceReader, PlacesExperts) {
  const std::string experts = R"("moe_intermediate_size": 32, "num_experts": 8, )";
  const Model every_other = Read(Small("qwen3_moe", experts + R"("decoder_sparse_step": 2, )"));
  EXPECT_THAT(every_other.stacks[0].layers, ElementsAre(0, 1, 0, 1));
  EXPECT_TRUE(every_other.stacks[0].layer(1).moe.has_value());
  const Model listed = Read(Small("qwen2_moe", experts + R"("mlp_only_layers": [2], )"));
  EXPECT_THAT(listed.stacks[0].layers, ElementsAre(0, 0, 1, 0));
  EXPECT_TRUE(listed.stacks[0].layer(2).mlp.has_value());
  const Model deepseek = Read(Small("deepseek_v3", R"("moe_intermediate_size": 32,
      "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, )"));
  EXPECT_THAT(deepseek.stacks[0].layers, ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(deepseek.mtp, (MultiTokenPrediction{.modules = 1, .kind = 1}));
  EXPECT_TRUE(deepseek.stacks[0].layer(3).moe->balance_bias);
}

TEST(HuggingFaceReader, ReadsLlama4InsideWhatSeesImages) {
  const std::string text = Small("llama4_text", R"("intermediate_size_mlp": 128, "head_dim": 16,
      "num_local_experts": 8, "interleave_moe_layer_step": 2, "attention_chunk_size": 32, )");
  const Model model = Read(R"({"model_type": "llama4", "vision_config": {"hidden_size": 7},
      "architectures": ["Llama4ForConditionalGeneration"], "text_config": )" +
                           text + "}");
  EXPECT_EQ(model.hidden, 64);
  EXPECT_THAT(model.notes, SizeIs(1));
  const Stack& stack = model.stacks[0];
  EXPECT_THAT(stack.layers, ElementsAre(0, 1, 0, 2));
  EXPECT_EQ(stack.layer(0).mlp->ffn, 128);
  EXPECT_EQ(stack.layer(1).moe->expert.ffn, 96);
  EXPECT_EQ(stack.layer(1).attention.chunk, 32);
  EXPECT_EQ(stack.layer(1).attention.qk_norm, QkNorm::kNoWeight);
  // Every fourth layer sees everything, without rotations.
  EXPECT_EQ(stack.layer(3).attention.chunk, 0);
  EXPECT_EQ(stack.layer(3).attention.position, PositionKind::kNone);
}

TEST(HuggingFaceReader, ReadsBothStacksOfT5) {
  const Model model = Read(R"({"model_type": "t5", "d_model": 32, "d_kv": 8, "d_ff": 64,
      "num_layers": 3, "num_decoder_layers": 2, "num_heads": 4, "vocab_size": 50,
      "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})");
  ASSERT_THAT(model.stacks, SizeIs(2));
  EXPECT_THAT(model.stacks[0].layers, ElementsAre(0, 1, 1));
  EXPECT_THAT(model.stacks[1].layers, ElementsAre(0, 1));
  EXPECT_FALSE(model.stacks[0].layer(0).attention.causal);
  EXPECT_TRUE(model.stacks[1].layer(1).attention.causal);
  EXPECT_FALSE(model.stacks[1].layer(1).cross_attention->causal);
  EXPECT_EQ(model.stacks[1].layer(0).attention.relative_buckets, 32);
  EXPECT_EQ(model.stacks[1].layer(1).attention.relative_buckets, 0);
  EXPECT_FALSE(model.head.tied);
}

TEST(HuggingFaceReader, ChoosesHeadsByTheClass) {
  const auto bert = [](const std::string& name) {
    return Read(R"({"architectures": ["Bert)" + name + R"("], "hidden_size": 32,
        "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64,
        "vocab_size": 50})")
        .head;
  };
  EXPECT_EQ(bert("Model"), (Head{.pooler = 32}));
  EXPECT_EQ(bert("ForMaskedLM"),
            (Head{.outputs = 50, .tied = true, .bias = true, .transform = true}));
  EXPECT_EQ(bert("ForPreTraining"), (Head{.outputs = 50,
                                          .tied = true,
                                          .bias = true,
                                          .transform = true,
                                          .pooler = 32,
                                          .pooled_outputs = 2}));
  EXPECT_EQ(Read(Small("llama", R"("architectures": ["LlamaModel"], )")).head, Head());
}

TEST(HuggingFaceReader, KnowsFamiliesByTheClassToo) {
  for (const Family& family : Families()) {
    SCOPED_TRACE(family.model_type);
    // The family has been found: sizes are missing, or as they usually are.
    const std::string config =
        std::string(R"({"architectures": [")") + family.prefix + R"(Model"]})";
    const absl::StatusOr<Model> model = ReadHuggingFaceConfig(config, "config.json");
    if (model.ok()) {
      EXPECT_EQ(model->family, family.model_type);
    } else {
      EXPECT_THAT(std::string(model.status().message()),
                  HasSubstr("is missing; it must be a whole number"));
    }
  }
}

TEST(HuggingFaceReaderErrors, NameTheNearestArchitecture) {
  EXPECT_THAT(
      Error("{\n  \"model_type\": \"lama\"}"),
      testing::AllOf(StartsWith("config.json:2:17: model_type: unknown architecture "
                                "\"lama\"; did you mean \"llama\"? Known are apertus, bamba,"),
                     HasSubstr("vit")));
  // By fields, not by spelling: these are BERT's, and those of experts beside a shared one.
  EXPECT_THAT(
      Error(R"({"model_type": "electra", "hidden_size": 64, "num_hidden_layers": 4,
                        "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100,
                        "type_vocab_size": 2, "max_position_embeddings": 512,
                        "hidden_act": "gelu"})"),
      HasSubstr("\"electra\"; the nearest by its fields is \"bert\". Known are apertus, bamba, "));
  EXPECT_THAT(Error(R"({"model_type": "unheard", "n_embd": 64, "n_layer": 4, "n_head": 4,
                        "n_positions": 64, "n_inner": 96, "vocab_size": 100})"),
              HasSubstr("the nearest by its fields is \"gpt2\""));
  // Spelled nearly like Mamba 2, but with fields of attention and MLPs.
  EXPECT_THAT(Error(R"({"model_type": "zamba2", "hidden_size": 64, "num_hidden_layers": 4,
                        "num_attention_heads": 4, "num_key_value_heads": 4, "mamba_d_state": 16,
                        "intermediate_size": 96, "mamba_d_conv": 4, "mamba_expand": 2,
                        "vocab_size": 100, "max_position_embeddings": 64})"),
              HasSubstr("the nearest by its fields is \"bamba\""));
  EXPECT_THAT(Error(Small("qwen3_mo", R"("num_experts": 4, "decoder_sparse_step": 1, )")),
              HasSubstr("did you mean \"qwen3_moe\"?"));
  EXPECT_THAT(Error(R"({"architectures": ["XlstmForCausalLM"]})"),
              StartsWith("config.json:1:19: architectures: unknown architecture"));
  EXPECT_THAT(Error("{}"), StartsWith("config.json:1:1: the field \"model_type\" is missing"));
  EXPECT_THAT(Error(Small("llama", R"("architectures": ["LlamaForTokenClassification"], )")),
              HasSubstr("a head that is not described; valid are ...ForCausalLM"));
}

TEST(HuggingFaceReader, TakesNumbersThatJsonHasNot) {
  const Model usual = Read(Small("llama"));
  EXPECT_EQ(Read(Small("llama",
                       R"("time_step_limit": [0.0, Infinity], "a\"NaN": "-Infinity", "c": -Infinity,
                                   "b": NaN, )")),
            usual);
  EXPECT_THAT(Error(Small("llama", R"("attention_bias": Infinit, )")), HasSubstr("line 1"));
}

TEST(HuggingFaceReader, TakesListsOfEqualNumbersAsOne) {
  EXPECT_EQ(Read(Small("llama", R"("head_dim": [8, 8, 8], )")),
            Read(Small("llama", R"("head_dim": 8, )")));
  EXPECT_THAT(Error(Small("llama", R"("head_dim": [8, 9], )")), HasSubstr("found a list"));
  EXPECT_THAT(Error(Small("llama", R"("head_dim": [], )")), HasSubstr("found a list"));
}

TEST(HuggingFaceReader, GivesSoundTheEncodersTokens) {
  const Model model = Read(R"({"model_type": "whisper", "d_model": 384, "vocab_size": 51865})");
  EXPECT_EQ(CountParameters(Tensors(model)).untrained, 1500 * 384);  // sinusoids
  const Batch batch = {.sequences = 2, .tokens = 100, .source_tokens = 7};
  EXPECT_EQ(TokensOfStack(model, model.stacks[0], batch), 1500);
  EXPECT_EQ(TokensOf(model, batch), 2 * (1500 + 100));
  const Matmul convolution = EmbeddingMatmuls(model, batch).front();
  EXPECT_EQ(convolution.m, 2 * 3000);  // before every second is dropped
  EXPECT_EQ(convolution.backward_matmuls, 1);
}

TEST(HuggingFaceReader, LetsSparseAttentionSeeChosenTokens) {
  const Model model = Read(R"({"model_type": "deepseek_v32", "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100,
    "moe_intermediate_size": 32, "index_n_heads": 2, "index_head_dim": 16, "index_topk": 8,
    "num_experts_per_tok": 2, "n_routed_experts": 4, "max_position_embeddings": 64})");
  const Layer& layer = model.stacks[0].kinds[0];
  EXPECT_EQ(AttendedPairs(layer.attention, 64), 36 + 56 * 8);
  EXPECT_EQ(AttendedPairs(layer.attention, 8), 36);
  int untrained = 0;
  for (const Matmul& one : LayerMatmuls(model, model.stacks[0], layer, {.tokens = 64}))
    untrained += one.backward_matmuls == 0 ? 1 : 0;
  EXPECT_EQ(untrained, 4);  // three projections of the indexer, and its scores
}

TEST(HuggingFaceReader, AnEncoderOfT5Alone) {
  const std::string config = R"({"model_type": "t5", "architectures": ["T5EncoderModel"],
    "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "vocab_size": 32128})";
  const Model model = Read(config);
  ASSERT_EQ(model.stacks.size(), 1u);
  EXPECT_EQ(model.stacks[0].role, StackRole::kEncoder);
  EXPECT_EQ(CountParameters(Tensors(model)).total, 35330816);  // transformers' class
}

TEST(HuggingFaceReaderErrors, SayWhereAndWhatIsValid) {
  const std::string good = Small("llama");
  const auto with = [&](const char* from, const char* to) {
    return Error(absl::StrReplaceAll(good, {{from, to}}));
  };
  EXPECT_EQ(
      with("\"num_hidden_layers\": 4", "\"num_hidden_layers\": \"4\""),
      "config.json:1:65: num_hidden_layers: expected a whole number from 1 to 4096, found \"4\"");
  EXPECT_THAT(with("\"num_hidden_layers\": 4", "\"num_hidden_layers\": 1000000000"),
              HasSubstr("from 1 to 4096, found 1000000000"));
  EXPECT_THAT(with("\"hidden_size\": 64", "\"hidden_size\": 1099511627776"),
              HasSubstr("hidden_size: expected a whole number from 1 to 1048576"));
  EXPECT_THAT(with("\"hidden_size\": 64", "\"hidden_size\": -64"), HasSubstr("found -64"));
  EXPECT_THAT(with("\"hidden_size\": 64", "\"hidden_size\": 64.5"), HasSubstr("found 64.5"));
  EXPECT_THAT(with("\"hidden_size\": 64", "\"hidden_size\": 1e300"), HasSubstr("found 1e+300"));
  EXPECT_THAT(with("\"hidden_size\": 64", "\"hidden_size\": 18446744073709551615"),
              HasSubstr("found 18446744073709551615"));
  EXPECT_THAT(with("\"hidden_size\": 64, ", ""),
              HasSubstr("config.json:1:1: the field \"hidden_size\" is missing; it must be"));
  EXPECT_THAT(with("\"hidden_size\": 64", "\"hidden_size\": null"), HasSubstr("is missing"));
  EXPECT_THAT(with("\"num_attention_heads\": 4", "\"num_attention_heads\": 5"),
              HasSubstr("num_attention_heads: the hidden size 64 is no multiple of 5 heads; valid "
                        "numbers of heads near it are 1, 2, 4, 8, 16, 32, 64"));
  EXPECT_THAT(with("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3"),
              HasSubstr("num_key_value_heads: 4 heads cannot share 3 heads of keys and values "
                        "evenly; valid near it are 1, 2, 4"));
  EXPECT_THAT(Error("{\"model_type\": \"llama\", }"),
              StartsWith("config.json: not valid JSON, at $.model_type: "));
  EXPECT_THAT(Error("[1]"), StartsWith("config.json:1:1: expected an object"));
  EXPECT_THAT(Error(R"({"a": 1, "a": 2})"), HasSubstr("occurs twice"));
}

TEST(HuggingFaceReaderErrors, CheckListsOfLayers) {
  EXPECT_THAT(Error(Small("qwen3", R"("layer_types": ["full_attention"], )")),
              HasSubstr("layer_types: expected 4 elements, one per layer, found 1"));
  EXPECT_THAT(Error(Small("qwen3", R"("layer_types": ["full_attention", "linear_attention",
                          "full_attention", "full_attention"], )")),
              HasSubstr("layer_types[1]: \"linear_attention\" layers are not described"));
  EXPECT_THAT(Error(Small("mixtral", R"("num_local_experts": 4, "num_experts_per_tok": 5, )")),
              HasSubstr("a token cannot go to 5 of 4 experts; valid are 1 to 4"));
  EXPECT_THAT(Error(Small("llama4_text", R"("moe_layers": [4], )")), HasSubstr("moe_layers[0]"));
}

TEST(HuggingFaceReaderErrors, RefuseModelsBeyondAllMeasure) {
  EXPECT_THAT(Error(R"({"model_type": "mixtral", "hidden_size": 1048576, "num_hidden_layers": 4096,
                        "num_attention_heads": 1, "num_key_value_heads": 1,
                        "intermediate_size": 16777216, "vocab_size": 268435456,
                        "num_local_experts": 65536, "num_experts_per_tok": 65536})"),
              HasSubstr("more than 1000000000000000 parameters"));
}

}  // namespace
}  // namespace meshwright::transformer
