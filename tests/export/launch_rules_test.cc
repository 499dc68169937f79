// The frameworks' rules, one by one: a launch that breaks the rule is refused with a sentence that
// says so, and the nearest configuration that obeys them all is found. Rules about options that are
// never written are at the end: scripts of plans that could call for them lack them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/export/model_launch.h"
#include "meshwright/export/nearest_plan.h"
#include "meshwright/export/target.h"
#include "tests/export/megatron_checker.h"
#include "tests/export/sample_plans.h"

namespace meshwright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using transformer::Configuration;

// 16 GPUs, 64 sequences of 2,048 tokens; 32 layers, 32 heads, 8 of keys and values.
constexpr char kDense[] = "llama3-8b";
// Latent attention, 64 experts in all layers but the first.
constexpr char kLatent[] = "deepseek-v2-lite";
// 32 layers, 8 experts.
constexpr char kExperts[] = "mixtral-8x7b";

struct RuleCase {
  const char* target;
  const char* model;
  std::function<void(ModelLaunch&)> breaks;
  const char* says;
  bool has_nearest = true;  // false: no configuration obeys with this model or workload
};

Configuration& Of(ModelLaunch& launch) { return launch.configuration; }

// As DeepSeek V3.2.
void ChooseTokens(ModelLaunch& launch) {
  for (transformer::Layer& layer : launch.model.stacks[0].kinds)
    layer.attention.index = {.heads = 64, .head_dim = 128, .top_k = 2048};
}

std::vector<RuleCase> RuleCases() {
  using transformer::PipelineKind;
  using transformer::Precision;
  using transformer::Recompute;
  return {
      {"slurm", kDense, [](ModelLaunch& l) { Of(l).dp = 3; }, "degrees: tp x cp x dp x pp"},
      {"slurm", kDense, [](ModelLaunch& l) { Of(l).ep = 4; }, "of a model without experts"},
      {"slurm", kExperts, [](ModelLaunch& l) { Of(l).etp = 5; }, "etp 5 does not divide 14336"},
      {"slurm", kDense, [](ModelLaunch& l) { Of(l).shard = 3; }, "shard 3 does not divide "},
      {"slurm", kDense, [](ModelLaunch& l) { Of(l).virtual_stages = 9; }, "9 virtual stages"},
      {"slurm", kDense, [](ModelLaunch& l) { Of(l).schedule = PipelineKind::kInterleaved; },
       "1 virtual stages under interleaved"},
      {"megatron", kDense, [](ModelLaunch& l) { Of(l).dp = 3; }, "rule 1: "},
      {"megatron", kExperts, [](ModelLaunch& l) { Of(l).etp = 32; }, "rule 2: "},
      {"megatron", kDense, [](ModelLaunch& l) { Of(l).micro_batch = 3; }, "rule 3: "},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         Of(l).tp = 16;
         Of(l).dp = 1;
         l.model.stacks[0].kinds[0].attention.heads = 24;
       },
       "rule 4: tp 16 must divide the 24 heads"},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         Of(l).tp = 4;
         l.model.stacks[0].kinds[0].attention.kv_heads = 6;
       },
       "rule 5: "},
      {"megatron", kDense, [](ModelLaunch& l) { Of(l).pp = 33; }, "rule 8: "},
      {"megatron", kDense, [](ModelLaunch& l) { Of(l).virtual_stages = 2; }, "rule 11: "},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         Of(l).pp = 8;
         Of(l).dp = 2;
         Of(l).tp = 1;
         Of(l).micro_batch = 16;
         Of(l).virtual_stages = 2;
         Of(l).schedule = PipelineKind::kInterleaved;
         Of(l).sequence_parallel = false;
       },
       "rule 11: an interleaved pipeline of pp 8 needs as many micro-batches"},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         Of(l).tp = 1;
         Of(l).dp = 16;
         Of(l).sequence_parallel = true;
       },
       "rule 12: sequence parallelism needs tp"},
      {"megatron", kDense, [](ModelLaunch& l) { Of(l).ep = 2; }, "rule 14: ep 2"},
      {"megatron", kExperts, [](ModelLaunch& l) { Of(l).ep = 16; }, "rule 14: ep 16"},
      {"megatron", kExperts, [](ModelLaunch& l) { Of(l).sequence_parallel = false; },
       "rule 14: experts with tp"},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         l.workload.sequence = 2050;
         Of(l).cp = 2;
         Of(l).dp = 2;
         Of(l).sequence_parallel = false;
       },
       "rule 15: "},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         Of(l).zero = 1;
         Of(l).shard = 3;
       },
       "rule 16: shard 3"},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         Of(l).zero = 3;
         Of(l).pp = 2;
         Of(l).dp = 2;
       },
       "rule 16: ZeRO 3 is Megatron-FSDP"},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         Of(l).recompute = Recompute::kFull;
         Of(l).recompute_layers = 40;
       },
       "rule 17: recompute_layers 40 are more than the 32 layers"},
      {"megatron", kDense,
       [](ModelLaunch& l) {
         Of(l).precision = Precision::kFp8;
         l.ranks.kinds[0].device = "a100-80g";
       },
       "has fp8 on devices with hardware for it only, and a100-80g has none"},
      {"megatron", kLatent,
       [](ModelLaunch& l) {
         ChooseTokens(l);
         Of(l).cp = 2;
         Of(l).dp = 2;
       },
       "rule 22: attention to chosen tokens goes without context parallelism"},
      {"nemo", kLatent,
       [](ModelLaunch& l) {
         ChooseTokens(l);
         Of(l).precision = Precision::kFp16;
       },
       "rule 22: the indexer rotates"},
      {"nemo", kDense, [](ModelLaunch& l) { Of(l).micro_batch = 3; }, "rule 3: "},
      {"nemo", kDense, [](ModelLaunch& l) { Of(l).precision = Precision::kNvFp4; }, "nvfp4"},
      {"nemo", kDense, [](ModelLaunch& l) { Of(l).precision = Precision::kF32; }, "not in f32"},
      {"megatron", kDense, [](ModelLaunch& l) { Of(l).precision = Precision::kF32; }, "not in f32"},

      {"deepspeed", kDense, [](ModelLaunch& l) { Of(l).micro_batch = 3; },
       "train_batch_size 64 must be train_micro_batch_size_per_gpu 3"},
      {"deepspeed", kDense,
       [](ModelLaunch& l) {
         Of(l).pp = 2;
         Of(l).dp = 2;
         Of(l).zero = 2;
       },
       "pipelines go with ZeRO 0 and 1"},
      {"deepspeed", kDense, [](ModelLaunch& l) { Of(l).zero = 3; },
       "AutoTP trains with ZeRO 0 to 2"},
      {"deepspeed", kDense, [](ModelLaunch& l) { Of(l).precision = Precision::kFp8; },
       "bf16 or fp16, not fp8"},

      {"torchtitan", kDense, [](ModelLaunch& l) { Of(l).dp = 3; },
       "replicate x shard x cp x tp x pp must be all GPUs"},
      {"torchtitan", "qwen3-30b-a3b",
       [](ModelLaunch& l) {
         Of(l).ep = 32;
         Of(l).zero = 3;
       },
       "must divide shard x cp x tp"},
      {"torchtitan", kDense,
       [](ModelLaunch& l) {
         Of(l).pp = 2;
         Of(l).dp = 2;
         Of(l).zero = 3;
         Of(l).virtual_stages = 2;
       },
       "1F1B has one stage a rank"},
      {"torchtitan", kDense,
       [](ModelLaunch& l) {
         Of(l).pp = 33;
         Of(l).zero = 3;
       },
       "stages are more than the"},
      {"torchtitan", kDense,
       [](ModelLaunch& l) {
         Of(l).pp = 12;
         Of(l).zero = 3;
       },
       "not the plan's 12"},
      {"torchtitan", kDense,
       [](ModelLaunch& l) {
         Of(l).tp = 16;
         Of(l).dp = 1;
       },
       "must divide the 8 heads of keys and values"},

      {"accelerate", kDense, [](ModelLaunch& l) { Of(l).dp = 3; }, "must be num_processes 16"},
      {"accelerate", kDense, [](ModelLaunch& l) { Of(l).zero = 0; }, "needs dp_shard above 1"},
      {"accelerate", kDense,
       [](ModelLaunch& l) {
         Of(l).pp = 2;
         Of(l).dp = 2;
       },
       "pp 2 cannot be"},
      {"accelerate", kDense, [](ModelLaunch& l) { Of(l).recompute = Recompute::kSelective; },
       "whole layers or none"},
  };
}

TEST(LaunchRules, EachIsCheckedAndHasANearestPlan) {
  for (const RuleCase& rule : RuleCases()) {
    SCOPED_TRACE(std::string(rule.target) + ": " + rule.says);
    const Plan plan =
        SamplePlanOf({.model = rule.model, .fixes = "tp=4,sp=on,cp=1,pp=1,dp=4,mbs=1"});
    absl::StatusOr<ModelLaunch> launch = ReadModelLaunch(plan, 0);
    ASSERT_TRUE(launch.ok()) << launch.status();
    rule.breaks(*launch);
    const ExportTarget* const target = *FindExportTarget(rule.target);
    Findings findings(/*wording=*/true);
    target->check_configuration(*launch, launch->configuration, findings);
    EXPECT_THAT(findings.sentences(), Contains(HasSubstr(rule.says)));
    const std::optional<Configuration> nearest = NearestExpressible(*launch, *target);
    EXPECT_EQ(nearest.has_value(), rule.has_nearest);
    if (!nearest.has_value()) continue;
    Findings of_nearest(/*wording=*/true);
    target->check_configuration(*launch, *nearest, of_nearest);
    EXPECT_THAT(of_nearest.sentences(), IsEmpty());
  }
}

// Rules 6, 7, 9, 10, 13, 17, 18, 19, 20 and 21 are about how a configuration is said.
TEST(LaunchRules, ScriptsObeyThoseAboutOptions) {
  for (const char* const fixes :
       {"tp=4,sp=on,pp=2,dp=2,zero=1,schedule=1f1b,recompute=full",
        "tp=2,sp=on,pp=2,dp=4,vp=4,zero=1,schedule=interleaved,recompute=selective",
        "tp=1,pp=1,dp=16,zero=3,recompute=none", "tp=2,sp=off,cp=2,pp=1,dp=4,zero=1"}) {
    SCOPED_TRACE(fixes);
    const absl::StatusOr<Artefacts> files =
        ExportTo("megatron", SamplePlanOf({.fixes = fixes}), CompleteOptions());
    ASSERT_TRUE(files.ok()) << files.status();
    const std::string script = ContentsOf(*files, "launch.sh");
    EXPECT_THAT(BrokenMegatronRules(script, 16), IsEmpty());
    for (const char* const never :
         {"--decoder-first-pipeline-num-layers", "--num-layers-per-virtual-pipeline-stage",
          "--tp-comm-overlap", "--distribute-saved-activations", "--use-torch-fsdp2",
          "--cpu-offloading", "--no-overlap-p2p-communication"}) {
      EXPECT_THAT(script, Not(HasSubstr(never)));
    }
  }
}

// Of learned positions there are as many as the model has, whatever the plan says.
TEST(LaunchRules, SequencesEndAtTheLastPosition) {
  Plan plan = SamplePlanOf({.model = "gpt2-xl", .sequence = 1024, .fixes = "tp=1,pp=1,dp=16"});
  EXPECT_TRUE(ExportTo("megatron", plan, CompleteOptions()).ok());
  plan.model->sequence = 1025;
  for (const char* const target : {"megatron", "deepspeed", "slurm"}) {
    EXPECT_EQ(ExportTo(target, plan, CompleteOptions()).status().message(),
              "gpt2-xl: a sequence of 1025 tokens is not possible; valid are 1 to 1024");
  }
}

}  // namespace
}  // namespace meshwright
