#include <gtest/gtest.h>

#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/check_model.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/model/model_table.h"
#include "tests/hlo/mutator.h"

// Damaged descriptions: the readers must answer with a model that can be printed, or with an error
// of one line that names the file.

namespace meshwright::transformer {
namespace {

constexpr std::string_view kPieces[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ":",
                                        ",",
                                        "\"",
                                        "\\",
                                        "null",
                                        "true",
                                        "false",
                                        "0",
                                        "-1",
                                        "1.5",
                                        "1e9",
                                        "1e400",
                                        "\"32\"",
                                        "\n",
                                        "1000000000",
                                        "1099511627776",
                                        "{}",
                                        "[]",
                                        "[[[[",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "# ",
                                        "&a ",
                                        "*a",
                                        "<<: ",
                                        "- ",
                                        "\t",
                                        "\xff",
                                        "\\ud800",
                                        "\"text_config\": {",
                                        "\"model_type\": \"vit\", "};

void Check(const absl::StatusOr<Model>& model, const std::string& text) {
  if (!model.ok()) {
    const std::string message(model.status().message());
    ASSERT_TRUE(absl::StartsWith(message, "damaged")) << message << "\n" << text;
    ASSERT_EQ(message.find('\n'), std::string::npos) << message << "\n" << text;
    ASSERT_LT(message.size(), 1000u) << text;
    return;
  }
  const int64_t tokens = model->embedding.patches.has_value() ? model->embedding.positions : 1;
  if (!CheckSequence(*model, tokens).ok()) return;
  ASSERT_FALSE(ModelTable(*model, {.tokens = tokens}).empty());
}

TEST(ReadersFuzz, SurviveDamagedConfigurations) {
  constexpr uint64_t kSeed = 20;
  Mutator mutator(kSeed, kPieces);
  std::cout << "seed " << kSeed << "\n";
  int readable = 0;
  for (int round = 0; round < 40; ++round) {
    for (const BuiltinModel& builtin : BuiltinModels()) {
      const std::string text = mutator.Mutate(builtin.config);
      const absl::StatusOr<Model> model = ReadHuggingFaceConfig(text, "damaged");
      readable += model.ok();
      ASSERT_NO_FATAL_FAILURE(Check(model, text));
    }
  }
  EXPECT_GT(readable, 100);  // the checks behind the reader are met, too
}

// Every field of every known model, and some that they lack, with every odd value.
TEST(ReadersFuzz, SurviveOddValues) {
  const nlohmann::json odd = nlohmann::json::parse(R"([null, true, "32", -1, 0, 1, 3, 0.5, 1048576,
      268435456, 9223372036854775807, 18446744073709551615, [], {}, [1, 1], ["full_attention"]])");
  const char* const extra[] = {"architectures",      "layer_types",         "no_rope_layers",
                               "moe_layers",         "mlp_only_layers",     "head_dim",
                               "text_config",        "attn_config",         "sliding_window",
                               "use_sliding_window", "decoder_sparse_step", "num_labels",
                               "id2label",           "moe_layer_freq",      "expansion_ratio"};
  std::set<std::string> seen;
  for (const BuiltinModel& builtin : BuiltinModels()) {
    nlohmann::json config = nlohmann::json::parse(builtin.config);
    if (!seen.insert(config["model_type"]).second) continue;
    for (const char* field : extra) config.emplace(field, nullptr);
    for (const auto& [field, value] : config.items()) {
      for (const nlohmann::json& one : odd) {
        nlohmann::json changed = config;
        changed[field] = one;
        const std::string text = changed.dump();
        ASSERT_NO_FATAL_FAILURE(Check(ReadHuggingFaceConfig(text, "damaged"), text));
      }
    }
  }
}

TEST(ReadersFuzz, SurviveDamagedShortForms) {
  constexpr std::string_view kForms[] = {
      "model: {layers: 4, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, gated: true, vocab: 100}\n",
      "model:\n  name: x\n  layers: 4\n  hidden: 64\n  heads: 4\n  vocab: 100\n  max_seq: 64\n"
      "  position: learned\n  norm: layer\n  bias: true\n  encoder_layers: 3\n",
      "model: {layers: 6, hidden: 64, heads: 4, vocab: 100, mtp: 1, window: 8, full_every: 2,\n"
      "  experts: {count: 8, top_k: 2, ffn: 32, shared_ffn: 16, first: 1, every: 2},\n"
      "  latent: {q_rank: 8, kv_rank: 8, nope_head_dim: 4, rope_head_dim: 4, v_head_dim: 8}}\n"};
  constexpr uint64_t kSeed = 21;
  Mutator mutator(kSeed, kPieces);
  std::cout << "seed " << kSeed << "\n";
  int readable = 0;
  for (int round = 0; round < 1500; ++round) {
    for (const std::string_view form : kForms) {
      const std::string text = mutator.Mutate(std::string(form));
      const absl::StatusOr<Model> model = ReadShortForm(text, "damaged");
      readable += model.ok();
      ASSERT_NO_FATAL_FAILURE(Check(model, text));
    }
  }
  EXPECT_GT(readable, 100);
}

// Every field of the short form, alone and in pairs, with every odd value.
TEST(ReadersFuzz, SurviveOddShortForms) {
  constexpr std::string_view kOdd[] = {
      "",
      "~",
      "null",
      "true",
      "no",
      "'4'",
      "\"4\"",
      "0",
      "-1",
      "1",
      "3",
      "4096",
      "1.5",
      "4.0",
      "1e3",
      "0x10",
      "017",
      "1_000",
      "+4",
      " 4 ",
      "4 4",
      ".inf",
      ".nan",
      "4096.0",
      "[]",
      "{}",
      "[4]",
      "{4: 4}",
      "rms",
      "learned",
      "silu",
      "*a",
      "&a 4",
      "!!int 4",
      "!x 4",
      "99999999999999999999",
      "16777216",
      "268435456",
      "1099511627776",
      "9223372036854775807",
      "{count: 8, top_k: 2, ffn: 32}",
      "{count: 8, top_k: 2, ffn: 32, first: 4096, every: 4096}",
      "{kv_rank: 8, nope_head_dim: 4, rope_head_dim: 4, v_head_dim: 8}",
      "{q_rank: 1, kv_rank: 1, nope_head_dim: 1048576, rope_head_dim: 1048576, v_head_dim: 1}"};
  constexpr std::string_view kKeys[] = {
      "name",           "layers",  "hidden",  "heads",      "kv_heads", "head_dim", "ffn",
      "vocab",          "max_seq", "gated",   "bias",       "qkv_bias", "tied",     "qk_norm",
      "parallel",       "causal",  "norm",    "activation", "position", "window",   "full_every",
      "encoder_layers", "mtp",     "experts", "latent",     "Layers"};
  const auto form = [](const std::map<std::string_view, std::string_view>& changed) {
    std::map<std::string_view, std::string_view> values = {
        {"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"vocab", "100"}};
    for (const auto& [key, value] : changed) values[key] = value;
    std::string text = "model:\n";
    for (const auto& [key, value] : values)
      text += "  " + std::string(key) + ": " + std::string(value) + "\n";
    return text;
  };
  int readable = 0;
  const auto check = [&](const std::string& text) {
    const absl::StatusOr<Model> model = ReadShortForm(text, "damaged");
    readable += model.ok();
    Check(model, text);
  };
  for (const std::string_view key : kKeys) {
    for (const std::string_view odd : kOdd) {
      ASSERT_NO_FATAL_FAILURE(check(form({{key, odd}})));
    }
  }
  constexpr uint64_t kSeed = 22;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937_64 random(kSeed);
  const auto any = [&](const auto& all) { return all[random() % std::size(all)]; };
  for (int round = 0; round < 3000; ++round) {
    ASSERT_NO_FATAL_FAILURE(
        check(form({{any(kKeys), any(kOdd)}, {any(kKeys), any(kOdd)}, {any(kKeys), any(kOdd)}})));
  }
  EXPECT_GT(readable, 100);
}

TEST(ReadersFuzz, SurviveDepth) {
  for (const char* open : {"[", "{\"a\":", "{\"model_type\":\"llama\",\"text_config\":"}) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += open;
    Check(ReadHuggingFaceConfig(text, "damaged"), open);
    Check(ReadShortForm(text, "damaged"), open);
  }
}

}  // namespace
}  // namespace meshwright::transformer
