#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_binary.h"

// `meshwright model` as users run it.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kConfig[] = R"({"model_type": "qwen2", "hidden_size": 64, "num_hidden_layers": 2,
 "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100})";

void ExpectError(const RunResult& run, const std::string& message) {
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, StartsWith("meshwright: "));
  EXPECT_THAT(run.err, HasSubstr(message));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

TEST(ModelCommand, PrintsStructureTensorsAndFlops) {
  const RunResult run = RunMeshwright({"model", "llama3-8b", "--seq", "8192"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("32 x dense"));
  EXPECT_THAT(run.out, HasSubstr("32 heads, 8 of keys and values, of 128 elements, rope, causal"));
  EXPECT_THAT(run.out, HasSubstr("model.layers.{layer}.self_attn.k_proj.weight"));
  EXPECT_THAT(run.out, HasSubstr("8,030,261,248 parameters, exact: counted per tensor"));
  EXPECT_THAT(run.out, HasSubstr("Sequences of 8192 tokens"));
}

TEST(ModelCommand, PrintsTheSameAsJson) {
  const RunResult run = RunMeshwright({"model", "mixtral-8x7b", "--seq", "4096", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["parameters"]["total"], 46'702'792'704);
  EXPECT_EQ(json["parameters"]["active"], 12'879'925'248);
  int64_t total = 0;
  for (const nlohmann::json& tensor : json["tensors"]) total += tensor["parameters"].get<int64_t>();
  EXPECT_EQ(total, 46'702'792'704);
  EXPECT_EQ(json["tokens"], 4096);
  EXPECT_EQ(json["stacks"][0]["kinds"][0]["matmuls"].size(), 10u);
}

TEST(ModelCommand, TakesFilesFoldersAndStandardInput) {
  const ScratchFolder folder;
  const std::string config = folder.Write("config.json", kConfig);
  const std::string yaml =
      folder.Write("model.yaml",
                   "model: {layers: 2, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, gated: true, "
                   "vocab: 100, qkv_bias: true}");
  for (const RunResult& run :
       {RunMeshwright({"model", config}), RunMeshwright({"model", folder.Path("")}),
        RunMeshwright({"model", yaml}), RunMeshwright({"model", "-"}, kConfig)}) {
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("74,816 parameters"));
  }
}

TEST(ModelCommand, ListsWhatItKnows) {
  const RunResult run = RunMeshwright({"model", "--list"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(
      run.out,
      HasSubstr("deepseek-v3            deepseek_v3           671,026,404,352\n    https://"));
}

TEST(ModelCommand, SaysWhatIsWrong) {
  const ScratchFolder folder;
  ExpectError(RunMeshwright({"model"}), "MODEL is required");
  ExpectError(RunMeshwright({"model", "lama3-8b"}), "the nearest name is \"llama3-8b\"");
  ExpectError(RunMeshwright({"model", "gpt2", "--seq", "1025"}), "valid are 1 to 1024");
  ExpectError(RunMeshwright({"model", "vit-b-16", "--seq", "196"}), "a sequence of 197 tokens");
  ExpectError(RunMeshwright({"model", "gpt2", "--source-seq", "5"}), "has no encoder");
  const RunResult endless = RunMeshwright({"model", "llama3-8b", "--seq", "99999999999"});
  EXPECT_EQ(endless.exit_code, 2);
  EXPECT_THAT(endless.err, HasSubstr("--seq: Value 99999999999 not in range 1 to 16777216"));
  const std::string bad =
      folder.Write("bad.json", "{\"model_type\": \"qwen2\",\n \"hidden_size\": \"big\"}");
  ExpectError(RunMeshwright({"model", bad}), bad + ":2:17: hidden_size: expected a whole number");
  ExpectError(RunMeshwright({"model", folder.Path("")}), "config.json");
}

}  // namespace
}  // namespace meshwright
