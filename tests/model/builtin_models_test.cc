#include "meshwright/model/builtin_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "meshwright/model/model_reader.h"
#include "meshwright/model/tensors.h"

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;

ParameterCounts Count(const std::string& name) {
  const absl::StatusOr<Model> model = LoadModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? CountParameters(Tensors(*model)) : ParameterCounts();
}

TEST(BuiltinModels, AreReadable) {
  std::set<std::string> families;
  for (const BuiltinModel& builtin : BuiltinModels()) {
    SCOPED_TRACE(builtin.name);
    const absl::StatusOr<Model> model = LoadModel(builtin.name);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->name, builtin.name);
    EXPECT_EQ(FindBuiltinModel(builtin.name), &builtin);  // no other has its name
    EXPECT_FALSE(std::string(builtin.source).empty());
    EXPECT_TRUE(model->notes.empty());
    families.insert(model->family);
  }
  // Others are read from configurations only.
  EXPECT_GE(families.size(), 28u);
}

TEST(BuiltinModels, AreFoundHoweverTheyAreWritten) {
  for (const char* name : {"llama3.1-405b", "LLAMA3.1_405B", "Llama 3.1 405B"}) {
    ASSERT_NE(FindBuiltinModel(name), nullptr) << name;
    EXPECT_STREQ(FindBuiltinModel(name)->name, "llama3.1-405b");
  }
  EXPECT_STREQ(FindBuiltinModel("GPT3-13B")->name, "gpt3-13b");
  EXPECT_STREQ(FindBuiltinModel("GPT3-1.3B")->name, "gpt3-1.3b");
  EXPECT_STREQ(FindBuiltinModel("DeepSeek V3 671B")->name, "deepseek-v3");
  EXPECT_STREQ(FindBuiltinModel("Qwen3 MoE 30B")->name, "qwen3-30b-a3b");
  const std::pair<const char*, const char*> kSpellings[] = {
      {"Nemotron-340B", "nemotron-4-340b"},      {"Nemotron4 340B", "nemotron-4-340b"},
      {"NVIDIA Nemotron-15B", "nemotron-4-15b"}, {"Nemotron-4-15B", "nemotron-4-15b"},
      {"NEMOTRON-22B", "nemotron-3-22b"},        {"nemotron3_8b", "nemotron-3-8b"},
      {"Meta-Llama-3-8B", "llama3-8b"},          {"Meta Llama 3.1 405B", "llama3.1-405b"},
      {"OpenAI GPT-OSS-120B", "gpt-oss-120b"},   {"nvidia/nemotron-4-340b", "nemotron-4-340b"}};
  for (const auto& [spelling, name] : kSpellings) {
    ASSERT_NE(FindBuiltinModel(spelling), nullptr) << spelling;
    EXPECT_STREQ(FindBuiltinModel(spelling)->name, name) << spelling;
  }
  EXPECT_EQ(FindBuiltinModel("nvidia"), nullptr);
  EXPECT_EQ(FindBuiltinModel("nvidia nvidia nemotron-4-340b"), nullptr);
  EXPECT_EQ(FindBuiltinModel("Nemotron 3 Super"), nullptr);
  EXPECT_EQ(FindBuiltinModel("configs/llama3-8b"), nullptr);
  EXPECT_EQ(FindBuiltinModel(""), nullptr);
  EXPECT_EQ(FindBuiltinModel("llama3"), nullptr);
  EXPECT_THAT(std::string(LoadModel("llama3-8c").status().message()),
              HasSubstr("the nearest name is \"llama3-8b\""));
}

struct Published {
  const char* name;
  int64_t parameters;
};

// Of the checkpoints on the models' pages at Hugging Face, or of the papers.
constexpr Published kPublished[] = {
    {"gpt2", 124'439'808},
    {"gpt2-medium", 354'823'168},
    {"gpt2-large", 774'030'080},
    {"gpt2-xl", 1'557'611'200},
    {"opt-125m", 125'239'296},
    {"opt-350m", 331'196'416},
    {"opt-1.3b", 1'315'758'080},
    {"opt-2.7b", 2'651'596'800},
    {"opt-6.7b", 6'658'473'984},
    {"opt-13b", 12'853'473'280},
    {"opt-30b", 29'974'540'288},
    {"bloom-560m", 559'214'592},
    {"bloom-7b1", 7'069'016'064},
    {"bloom-176b", 176'247'271'424},
    {"gpt-neox-20b", 20'554'567'680},
    {"pythia-6.9b", 6'857'302'016},
    {"pythia-12b", 11'846'072'320},
    {"mpt-125m", 125'311'488},
    {"mpt-350m", 355'985'408},
    {"mpt-760m", 760'470'528},
    {"mpt-1b", 1'315'950'592},
    {"mpt-7b", 6'649'286'656},
    {"mpt-13b", 12'853'954'560},
    {"mpt-70b", 64'862'437'376},
    {"falcon-7b", 6'921'720'704},
    {"llama-7b", 6'738'415'616},
    {"llama-13b", 13'015'864'320},
    {"llama-33b", 32'528'943'616},
    {"llama-65b", 65'285'660'672},
    {"llama2-7b", 6'738'415'616},
    {"llama2-70b", 68'976'648'192},
    {"llama3-8b", 8'030'261'248},
    {"llama3-70b", 70'553'706'496},
    {"llama3.1-405b", 405'853'388'800},
    {"llama3.2-1b", 1'235'814'400},
    {"llama3.2-3b", 3'212'749'824},
    {"mistral-7b", 7'241'732'096},
    {"mistral-7b-v0.3", 7'248'023'552},
    {"mixtral-8x7b", 46'702'792'704},
    {"mixtral-8x22b", 140'620'634'112},
    {"qwen2-0.5b", 494'032'768},
    {"qwen2-1.5b", 1'543'714'304},
    {"qwen2-72b", 72'706'203'648},
    {"qwen1.5-moe-a2.7b", 14'315'784'192},
    {"qwen2.5-3b", 3'085'938'688},
    {"qwen2.5-7b", 7'615'616'512},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-32b", 32'763'876'352},
    {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},
    {"qwen3-14b", 14'768'307'200},
    {"qwen3-32b", 32'762'123'264},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"qwen3-235b-a22b", 235'093'634'560},
    {"gemma-2b", 2'506'172'416},
    {"gemma-7b", 8'537'680'896},
    {"gemma2-2b", 2'614'341'888},
    {"gemma2-9b", 9'241'705'984},
    {"gemma2-27b", 27'227'128'320},
    {"gemma3-1b", 999'885'952},
    {"phi-1.5", 1'418'270'720},
    {"phi-2", 2'779'683'840},
    {"phi-3-mini", 3'821'079'552},
    {"phi-3-medium", 13'960'238'080},
    {"phi-4", 14'659'507'200},
    {"phi-3.5-moe", 41'873'153'344},
    {"deepseek-v2-lite", 15'706'484'224},
    {"deepseek-v2", 235'741'434'880},
    {"gpt-oss-20b", 20'914'757'184},
    {"gpt-oss-120b", 116'829'156'672},
    {"bert-base", 110'106'428},
    {"t5-small", 60'506'624},
    {"t5-base", 222'903'552},
    {"t5-large", 737'668'096},
    {"t5-3b", 2'851'598'336},
    {"t5-11b", 11'307'321'344},
    {"t5-v1.1-base", 247'577'856},
    {"t5-v1.1-large", 783'150'080},
    {"t5-v1.1-xl", 2'849'757'184},
    {"t5-v1.1-xxl", 11'135'332'352},
    {"vit-b-16", 86'567'656},
    {"vit-l-16", 304'326'632},
    {"vit-h-14", 632'045'800},
};

TEST(BuiltinModels, HaveThePublishedParameters) {
  for (const Published& published : kPublished) {
    EXPECT_EQ(Count(published.name).total, published.parameters) << published.name;
  }
}

// The checkpoint has the balance biases, too; prediction modules stand in files of their own.
TEST(BuiltinModels, CountDeepSeekV3) {
  const ParameterCounts counts = Count("deepseek-v3");
  EXPECT_EQ(counts.total + counts.untrained, 671'026'419'200);
  EXPECT_EQ(counts.untrained, 58 * 256);
  EXPECT_NEAR(static_cast<double>(counts.active), 37e9, 0.6e9);
  // "14B of the multi-token prediction module", of which embedding and head are shared.
  EXPECT_NEAR(static_cast<double>(counts.mtp), 14e9 - 2 * 0.927e9, 0.6e9);
}

// As the models' cards round them: without the embedding, or with it where it says so.
TEST(BuiltinModels, ActivateThePublishedShares) {
  const auto active = [](const char* name, bool embedding) {
    const ParameterCounts counts = Count(name);
    return static_cast<double>(counts.active - (embedding ? 0 : counts.embedding)) / 1e9;
  };
  EXPECT_NEAR(active("mixtral-8x7b", true), 12.9, 0.05);
  EXPECT_NEAR(active("mixtral-8x22b", true), 39, 0.5);
  EXPECT_NEAR(active("qwen3-30b-a3b", true), 3.3, 0.1);
  EXPECT_NEAR(active("qwen3-235b-a22b", true), 22, 0.3);
  EXPECT_NEAR(active("deepseek-v2", true), 21, 0.5);
  EXPECT_NEAR(active("llama4-scout", true), 17, 0.2);
  EXPECT_NEAR(active("llama4-maverick", true), 17, 0.2);
  EXPECT_NEAR(active("gpt-oss-20b", false), 3.61, 0.01);
  EXPECT_NEAR(active("gpt-oss-120b", false), 5.13, 0.01);
  EXPECT_NEAR(active("kimi-k2", false), 32, 0.5);
}

// arXiv:2104.04473, table 1, in billions to one decimal.
TEST(BuiltinModels, AreMegatronsSizes) {
  const std::pair<const char*, double> kSizes[] = {
      {"megatron-1.7b", 1.7},   {"megatron-3.6b", 3.6},   {"megatron-7.5b", 7.5},
      {"megatron-18b", 18.4},   {"megatron-39b", 39.1},   {"megatron-76b", 76.1},
      {"megatron-145b", 145.6}, {"megatron-310b", 310.1}, {"megatron-530b", 529.6},
      {"megatron-1t", 1008.0}};
  for (const auto& [name, billions] : kSizes) {
    EXPECT_NEAR(static_cast<double>(Count(name).total) / 1e9, billions, 0.051) << name;
  }
}

}  // namespace
}  // namespace meshwright::transformer
