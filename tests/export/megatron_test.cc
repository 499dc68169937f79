// What is exported for Megatron-LM, judged by megatron_checker.h.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "meshwright/base/json_value.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/space.h"
#include "meshwright/export/findings.h"
#include "meshwright/export/model_launch.h"
#include "meshwright/export/target.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/plan/make/begin_model_plan.h"
#include "tests/export/megatron_checker.h"
#include "tests/export/sample_plans.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

int64_t GpusOf(const Plan& plan) { return plan.cluster.parts[0].devices(); }

bool CanExpress(const Plan& plan, int64_t alternative) {
  const absl::StatusOr<ModelLaunch> launch = ReadModelLaunch(plan, alternative);
  EXPECT_TRUE(launch.ok()) << launch.status();
  Findings findings(/*wording=*/false);
  const ExportTarget target = **FindExportTarget("megatron");
  target.check_model(*launch, findings);
  if (findings.ok()) target.check_configuration(*launch, launch->configuration, findings);
  return findings.ok();
}

// Every candidate of the plan that can be expressed is exported and right.
void CheckAllCandidates(const Plan& plan, int& exported, int& refused) {
  const auto count = static_cast<int64_t>(plan.model->alternatives.size());
  for (int64_t i = 0; i <= count; ++i) {
    if (!CanExpress(plan, i)) {
      ++refused;
      continue;
    }
    const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions(), i);
    ASSERT_TRUE(files.ok()) << files.status();
    ++exported;
    EXPECT_THAT(BrokenMegatronRules(ContentsOf(*files, "launch.sh"), GpusOf(plan)), IsEmpty())
        << plan.model->model << " on " << plan.cluster.name << ", candidate " << i << "\n"
        << ContentsOf(*files, "launch.sh");
  }
}

TEST(MegatronPlans, EveryBuiltinModelOnEveryCluster) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int exported = 0, refused = 0;
  std::set<std::string> models;
  for (const char* const cluster : {"8xh100-sxm", "4x8xh100-sxm", "16x8xa100-80g"}) {
    for (const transformer::BuiltinModel& model : transformer::BuiltinModels()) {
      const absl::StatusOr<Plan> plan = TrySamplePlanOf(
          {.model = model.name, .cluster = cluster, .global_batch = 128, .top = 20});
      if (!plan.ok()) continue;  // does not fit
      const int before = exported;
      CheckAllCandidates(*plan, exported, refused);
      if (exported > before) models.insert(model.name);
    }
  }
  // Families that Megatron's GPT has.
  for (const char* const model :
       {"gpt2-xl", "gpt3-13b", "llama3-8b", "llama3-70b", "mistral-7b", "mixtral-8x7b",
        "qwen2.5-7b", "qwen3-8b", "qwen3-30b-a3b", "deepseek-v2-lite", "nemotron-4-15b"}) {
    EXPECT_TRUE(models.contains(model)) << model;
  }
  EXPECT_GT(exported, 1000);
  EXPECT_GT(refused, 100);
}

// Any legal configuration in place of the plan's own.
TEST(MegatronPlans, RandomConfigurationsOfSmallModels) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  constexpr int kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  int exported = 0;
  for (
      const char* const model :
      {"model: {layers: 22, hidden: 512, heads: 8, kv_heads: 4, ffn: 1024, gated: true, vocab: "
       "1000}",
       "model: {layers: 12, hidden: 512, heads: 8, ffn: 1024, gated: true, vocab: 1000, tied: true,"
       " experts: {count: 16, top_k: 2, ffn: 256, shared_ffn: 256, first: 1}}",
       "model: {layers: 13, hidden: 512, heads: 8, ffn: 1024, gated: true, vocab: 1000, mtp: 1}"}) {
    const SampleRequest request = {.model = model, .cluster = "4x8xh100-sxm", .top = 1};
    Plan plan = SamplePlanOf(request);
    const absl::StatusOr<ModelLaunch> launch = ReadModelLaunch(plan, 0);
    ASSERT_TRUE(launch.ok()) << launch.status();
    std::vector<transformer::Configuration> all =
        transformer::Space(launch->model, launch->workload, 32, transformer::LaunchableFixes(),
                           transformer::Precision::kBf16)
            .All();
    ASSERT_GT(all.size(), 1000u);
    for (int i = 0; i < 1500; ++i) {
      const transformer::Configuration& c = all[random() % all.size()];
      plan.model->configuration = WithoutUsualPlacement(c);
      if (!CanExpress(plan, 0)) {
        // The reasons for which a legal configuration is refused.
        EXPECT_TRUE(c.schedule == transformer::PipelineKind::kZeroBubble ||
                    (c.zero >= 2 && c.pp > 1) || (c.tp > 1 && !c.sequence_parallel) ||
                    c.shard > 0 || c.pp * c.virtual_stages > launch->model.layers())
            << ConfigurationText(c);
        continue;
      }
      const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
      ASSERT_TRUE(files.ok()) << files.status();
      ++exported;
      ASSERT_THAT(BrokenMegatronRules(ContentsOf(*files, "launch.sh"), 32), IsEmpty())
          << ContentsOf(*files, "launch.sh");
    }
  }
  EXPECT_GT(exported, 500);
}

TEST(Megatron, SaysWhatThePlanDecided) {
  const Plan plan = SamplePlanOf(
      {.fixes = "tp=4,sp=on,cp=1,pp=2,dp=2,mbs=2,schedule=interleaved,vp=4,zero=1,recompute=full"});
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string script = ContentsOf(*files, "launch.sh");
  EXPECT_THAT(BrokenMegatronRules(script, 16), IsEmpty());
  const MegatronArguments arguments = ReadMegatronArguments(script);
  const auto values = [&](const char* name) {
    const auto found = arguments.find(name);
    return found == arguments.end() ? std::vector<std::string>{"absent"} : found->second;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(values("--tensor-model-parallel-size"), Words{"4"});
  EXPECT_EQ(values("--pipeline-model-parallel-size"), Words{"2"});
  EXPECT_EQ(values("--context-parallel-size"), Words{"1"});
  EXPECT_EQ(values("--num-virtual-stages-per-pipeline-rank"), Words{"4"});
  EXPECT_EQ(values("--micro-batch-size"), Words{"2"});
  EXPECT_EQ(values("--global-batch-size"), Words{"64"});
  EXPECT_EQ(values("--seq-length"), Words{"2048"});
  EXPECT_EQ(values("--recompute-granularity"), Words{"full"});
  EXPECT_EQ(values("--num-layers"), Words{"32"});
  EXPECT_EQ(values("--hidden-size"), Words{"4096"});
  EXPECT_EQ(values("--ffn-hidden-size"), Words{"14336"});
  EXPECT_EQ(values("--num-query-groups"), Words{"8"});
  EXPECT_EQ(values("--kv-channels"), Words{"128"});
  EXPECT_EQ(values("--normalization"), Words{"RMSNorm"});
  EXPECT_EQ(values("--position-embedding-type"), Words{"rope"});
  for (const char* const flag :
       {"--sequence-parallel", "--use-distributed-optimizer", "--overlap-grad-reduce", "--bf16",
        "--overlap-param-gather", "--swiglu", "--disable-bias-linear",
        "--untie-embeddings-and-output-weights"}) {
    EXPECT_EQ(values(flag), Words()) << flag;
  }
  EXPECT_EQ(values("--use-megatron-fsdp"), Words{"absent"});
  EXPECT_THAT(script, HasSubstr("exec torchrun --nnodes 2 --nproc-per-node 8 --node-rank"));
}

// Megatron-LM's and NeMo's names of it.
TEST(Megatron, SomeLayersOfEachStageAreComputedAgain) {
  const Plan plan =
      SamplePlanOf({.fixes = "tp=4,sp=on,cp=1,pp=2,dp=2,mbs=2,schedule=interleaved,vp=4,zero=1,"
                             "recompute=full,recompute_layers=3"});
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string script = ContentsOf(*files, "launch.sh");
  EXPECT_THAT(BrokenMegatronRules(script, 16), IsEmpty());
  const MegatronArguments arguments = ReadMegatronArguments(script);
  EXPECT_EQ(arguments.at("--recompute-granularity")[0], "full");
  EXPECT_EQ(arguments.at("--recompute-method")[0], "block");
  EXPECT_EQ(arguments.at("--recompute-num-layers")[0], "3");
  const absl::StatusOr<Artefacts> nemo = ExportTo("nemo", plan, CompleteOptions());
  ASSERT_TRUE(nemo.ok()) << nemo.status();
  const std::string program = ContentsOf(*nemo, "pretrain.py");
  EXPECT_THAT(program, HasSubstr("recompute_method=\"block\""));
  EXPECT_THAT(program, HasSubstr("recompute_num_layers=3"));
  for (const char* const other : {"torchtitan", "deepspeed", "accelerate"}) {
    EXPECT_THAT(std::string(ExportTo(other, plan, CompleteOptions()).status().message()),
                HasSubstr("of 3 layers of each stage is written for Megatron-LM and NeMo only"));
  }
}

TEST(Megatron, UnevenStagesAreALayout) {
  const Plan plan = SamplePlanOf(
      {.model = "model: {layers: 7, hidden: 512, heads: 8, ffn: 1024, gated: true, vocab: 1000}",
       .fixes = "tp=1,cp=1,pp=2,zero=1,schedule=1f1b"});
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const MegatronArguments arguments = ReadMegatronArguments(ContentsOf(*files, "launch.sh"));
  ASSERT_TRUE(arguments.contains("--pipeline-model-parallel-layout"));
  EXPECT_EQ(arguments.at("--pipeline-model-parallel-layout")[0], "Etttt|tttL");
}

TEST(Megatron, LatentAttentionAndExperts) {
  const Plan plan =
      SamplePlanOf({.model = "deepseek-v2-lite", .fixes = "zero=1,schedule=1f1b,ep=8"});
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const MegatronArguments arguments = ReadMegatronArguments(ContentsOf(*files, "launch.sh"));
  for (const auto& [name, value] :
       {std::pair{"--kv-lora-rank", "512"},
        {"--qk-head-dim", "128"},
        {"--qk-pos-emb-head-dim", "64"},
        {"--v-head-dim", "128"},
        {"--num-experts", "64"},
        {"--moe-router-topk", "6"},
        {"--moe-ffn-hidden-size", "1408"},
        {"--moe-shared-expert-intermediate-size", "2816"},
        {"--ffn-hidden-size", "10944"},
        {"--expert-model-parallel-size", "8"},
        {"--moe-layer-freq", "([0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])"}}) {
    ASSERT_TRUE(arguments.contains(name)) << name;
    EXPECT_EQ(arguments.at(name)[0], value) << name;
  }
  EXPECT_TRUE(arguments.contains("--multi-latent-attention"));
  EXPECT_TRUE(arguments.contains("--qk-layernorm"));
  EXPECT_FALSE(arguments.contains("--q-lora-rank"));
}

// DeepSeek V3.2: names of tests/functional_tests/test_cases/gpt/gpt3_mcore_te_tp2_pp2_dsa in
// Megatron-LM.
TEST(Megatron, AttentionToChosenTokens) {
  Plan plan =
      SamplePlanOf({.model = "deepseek-v2-lite", .fixes = "zero=1,schedule=1f1b,cp=1,ep=8"});
  Json config = Json::parse(plan.model->description);
  config.update({{"model_type", "deepseek_v32"},
                 {"q_lora_rank", 1536},
                 {"index_n_heads", 16},
                 {"index_head_dim", 128},
                 {"index_topk", 512}});
  plan.model->description = config.dump();
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const MegatronArguments arguments = ReadMegatronArguments(ContentsOf(*files, "launch.sh"));
  for (const auto& [name, value] : {std::pair{"--experimental-attention-variant", "dsa"},
                                    {"--dsa-indexer-n-heads", "16"},
                                    {"--dsa-indexer-head-dim", "128"},
                                    {"--dsa-indexer-topk", "512"}}) {
    ASSERT_TRUE(arguments.contains(name)) << name;
    EXPECT_EQ(arguments.at(name)[0], value) << name;
  }
  EXPECT_TRUE(arguments.contains("--no-rope-fusion"));
  const absl::StatusOr<Artefacts> nemo = ExportTo("nemo", plan, CompleteOptions());
  ASSERT_TRUE(nemo.ok()) << nemo.status();
  EXPECT_THAT(ContentsOf(*nemo, "pretrain.py"),
              AllOf(HasSubstr("experimental_attention_variant=\"dsa\""),
                    HasSubstr("dsa_indexer_topk=512"), HasSubstr("apply_rope_fusion=False")));
}

TEST(Megatron, RefusalsNameTheRuleAndTheNearestPlan) {
  const Plan plan =
      SamplePlanOf({.fixes = "tp=4,sp=on,pp=2,dp=2,mbs=2,schedule=zero-bubble,zero=1"});
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
  ASSERT_EQ(files.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(files.status().message());
  EXPECT_THAT(message, HasSubstr("schedules: Megatron runs 1f1b and interleaved pipelines"));
  EXPECT_THAT(message, HasSubstr("(schedule zero-bubble -> 1f1b), which is planned by\n"
                                 "    meshwright plan llama3-8b --cluster 2x8xh100-sxm"));
  EXPECT_THAT(message, HasSubstr("schedule=1f1b"));
}

TEST(Megatron, RefusesModelsThatItsGptIsNot) {
  for (const auto& [model, reason] : {std::pair{"t5-base", "trains decoders"},
                                      {"bert-base", "has an encoder"},
                                      {"vit-b-16", "text"},
                                      {"mpt-7b", "alibi"},
                                      {"falcon-7b", "in sequence, not in parallel"},
                                      {"gemma2-2b", "norms before"}}) {
    const Plan plan = SamplePlanOf({.model = model, .cluster = "8xh100-sxm"});
    const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
    ASSERT_FALSE(files.ok()) << model;
    EXPECT_THAT(std::string(files.status().message()), HasSubstr(reason)) << model;
    EXPECT_THAT(std::string(files.status().message()), HasSubstr("targets that take this model"));
  }
}

TEST(MegatronChecker, FindsWhatIsWrong) {
  const Plan plan = SamplePlanOf({.fixes = "tp=4,sp=on,cp=1,pp=2,dp=2,mbs=2,zero=1,schedule=1f1b"});
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string right = ContentsOf(*files, "launch.sh");
  ASSERT_THAT(BrokenMegatronRules(right, 16), IsEmpty());
  const auto broken_by = [&](const std::string& what, const std::string& with) {
    std::string wrong = right;
    const size_t at = wrong.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    wrong.replace(at, what.size(), with);
    return BrokenMegatronRules(wrong, 16);
  };
  for (const auto& [what, with] :
       {std::pair{"--tensor-model-parallel-size 4", "--tensor-model-parallel-size 3"},
        {"--micro-batch-size 2", "--micro-batch-size 3"},
        {"--num-query-groups 8", "--num-query-groups 3"},
        {"--num-layers 32", "--num-layers 33"},
        {"--overlap-grad-reduce", "--disable-bias-linear"},
        {"--bf16", "--bf16 --fp16"},
        {"CUDA_DEVICE_MAX_CONNECTIONS=1", "CUDA_DEVICE_MAX_CONNECTIONS=2"},
        {"--sequence-parallel", "--sequence-parallel --no-such-option"}}) {
    EXPECT_THAT(broken_by(what, with), Not(IsEmpty())) << what;
  }
}

}  // namespace
}  // namespace meshwright
