// What single targets express, and what they refuse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/space.h"
#include "meshwright/export/model_launch.h"
#include "meshwright/export/nearest_plan.h"
#include "meshwright/export/target.h"
#include "meshwright/plan/document/plan_json.h"
#include "tests/export/megatron_checker.h"
#include "tests/export/sample_plans.h"
#include "tests/plan/document/sample_plan.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string RefusalOf(const std::string& target, const SampleRequest& request) {
  const absl::StatusOr<Artefacts> files =
      ExportTo(target, SamplePlanOf(request), CompleteOptions());
  EXPECT_EQ(files.status().code(), absl::StatusCode::kInvalidArgument) << target;
  return std::string(files.status().message());
}

TEST(Torchtitan, SaysTheSameInBothForms) {
  const Plan plan = SamplePlanOf(
      {.model = "llama3-70b",
       .cluster = "8x8xh100-sxm",
       .global_batch = 128,
       .fixes = "tp=4,sp=on,cp=1,pp=2,dp=8,zero=3,shard=4,schedule=interleaved,vp=4,mbs=1,"
                "recompute=full"});
  const absl::StatusOr<Artefacts> files = ExportTo("torchtitan", plan, ExportOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string toml = ContentsOf(*files, "torchtitan.toml");
  const std::string python = ContentsOf(*files, "meshwright_config.py");
  for (const char* const both :
       {"data_parallel_replicate_degree", "data_parallel_shard_degree", "tensor_parallel_degree",
        "context_parallel_degree", "pipeline_parallel_degree", "pipeline_parallel_layers_per_stage",
        "pipeline_parallel_first_stage_less_layers", "pipeline_parallel_last_stage_less_layers",
        "fsdp_reshard_after_forward", "pipeline_parallel_schedule"}) {
    const auto value = [&](const std::string& text, const std::string& separator) {
      const size_t at = text.find(std::string(both) + separator);
      EXPECT_NE(at, std::string::npos) << both;
      const size_t from = at + std::string(both).size() + separator.size();
      return text.substr(from, text.find_first_of(",\n", from) - from);
    };
    EXPECT_EQ(value(toml, " = "), value(python, "=")) << both;
  }
  EXPECT_THAT(toml, HasSubstr("flavor = \"70B\""));
  EXPECT_THAT(toml, HasSubstr("[compile]\nenable = true"));
  EXPECT_THAT(python, HasSubstr("put(config.compile, enable=True)"));
  EXPECT_THAT(toml,
              HasSubstr("data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 4"));
  EXPECT_THAT(toml, HasSubstr("pipeline_parallel_layers_per_stage = 10"));
  EXPECT_THAT(toml, HasSubstr("local_batch_size = 16\nglobal_batch_size = 128\nseq_len = 2048"));
  EXPECT_THAT(python, HasSubstr("num_pp_microbatches=16"));
  EXPECT_THAT(python, HasSubstr("pipeline_parallel_microbatch_size=1"));
  EXPECT_THAT(python, HasSubstr("disable_cuda_graphs=True"));
  EXPECT_THAT(python, HasSubstr("local_batch_size=16,\n            global_batch_size=128,\n"
                                "            seq_len=2048"));
  EXPECT_THAT(python, HasSubstr("num_tokens_per_microbatch_per_dp_rank=2048"));
  EXPECT_THAT(python, HasSubstr("num_tokens_per_train_step=262144"));
  EXPECT_THAT(python, HasSubstr("config.activation_checkpoint = FullAC.Config()"));
}

TEST(Torchtitan, WritesNoTomlOfWhatItsVersionsCannot) {
  const Plan plan = SamplePlanOf({.fixes = "tp=2,sp=off,cp=1,pp=1,zero=2"});
  const absl::StatusOr<Artefacts> files = ExportTo("torchtitan", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  for (const Artefact& file : *files) EXPECT_NE(file.name, "torchtitan.toml");
  EXPECT_THAT(ContentsOf(*files, "launch.sh"), HasSubstr("needs torchtitan 0.3 or later"));
  EXPECT_THAT(ContentsOf(*files, "meshwright_config.py"),
              HasSubstr("enable_sequence_parallel=False"));
}

TEST(Torchtitan, RefusesWithItsRules) {
  EXPECT_THAT(RefusalOf("torchtitan", {.fixes = "zero=1,pp=1"}), HasSubstr("ZeRO 1 cannot be"));
  EXPECT_THAT(RefusalOf("torchtitan", {.fixes = "zero=3,pp=2,schedule=zero-bubble"}),
              HasSubstr("zero-bubble schedules have 2 stages"));
  EXPECT_THAT(
      RefusalOf("torchtitan", {.model = "qwen3-30b-a3b", .fixes = "zero=3,tp=8,sp=on,pp=1"}),
      HasSubstr("heads of keys and values"));
  EXPECT_THAT(RefusalOf("torchtitan", {.model = "gpt3-1.3b"}),
              HasSubstr("no flavor of these sizes"));
  EXPECT_THAT(RefusalOf("torchtitan", {.fixes = "zero=0,tp=4,sp=on,pp=1"}),
              HasSubstr("plain data parallelism goes with no other"));
  EXPECT_THAT(RefusalOf("torchtitan", {.fixes = "zero=3,pp=1", .precision = "fp8"}),
              HasSubstr("bf16, not fp8"));
}

TEST(DeepSpeed, WritesItsJson) {
  const Plan plan = SamplePlanOf({.fixes = "tp=2,sp=off,cp=1,pp=1,zero=2,mbs=2,recompute=full"});
  const absl::StatusOr<Artefacts> files = ExportTo("deepspeed", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const auto json = nlohmann::json::parse(ContentsOf(*files, "ds_config.json"));
  EXPECT_FALSE(json.contains("train_batch_size"));
  EXPECT_EQ(json["train_micro_batch_size_per_gpu"], 2);
  EXPECT_EQ(json["gradient_accumulation_steps"], 4);
  EXPECT_EQ(json["zero_optimization"]["stage"], 2);
  EXPECT_EQ(json["tensor_parallel"]["autotp_size"], 2);
  EXPECT_EQ(json["bf16"]["enabled"], true);
  EXPECT_EQ(json["fp16"]["enabled"], false);
  const auto model = nlohmann::json::parse(ContentsOf(*files, "model/config.json"));
  EXPECT_EQ(model["hidden_size"], 4096);
  EXPECT_THAT(ContentsOf(*files, "train.py"), HasSubstr("RECOMPUTE = True"));
}

TEST(DeepSpeed, RefusesWithItsRules) {
  EXPECT_THAT(RefusalOf("deepspeed", {.fixes = "tp=2,sp=off,pp=1,zero=3"}),
              HasSubstr("AutoTP trains with ZeRO 0 to 2, not 3"));
  EXPECT_THAT(RefusalOf("deepspeed", {.fixes = "tp=1,pp=2,zero=2,schedule=1f1b"}),
              HasSubstr("pipelines go with ZeRO 0 and 1, not with 2"));
  EXPECT_THAT(RefusalOf("deepspeed", {.fixes = "tp=1,cp=2,pp=1"}), HasSubstr("cp 2 cannot be"));
  EXPECT_THAT(RefusalOf("deepspeed", {.fixes = "tp=1,cp=1,pp=1,zero=3,shard=8"}),
              HasSubstr("not over groups of 8"));
  EXPECT_THAT(RefusalOf("deepspeed",
                        {.model = "model: {layers: 4, hidden: 64, heads: 4, ffn: 96, vocab: 100}",
                         .fixes = "tp=1,cp=1,pp=1,zero=0,recompute=none"}),
              HasSubstr("--script"));
}

TEST(Accelerate, WritesItsYaml) {
  const Plan plan =
      SamplePlanOf({.fixes = "tp=2,sp=off,cp=1,pp=1,dp=8,zero=3,shard=4,mbs=2,recompute=full"});
  const absl::StatusOr<Artefacts> files = ExportTo("accelerate", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const YAML::Node yaml = YAML::Load(ContentsOf(*files, "accelerate.yaml"));
  EXPECT_EQ(yaml["distributed_type"].as<std::string>(), "FSDP");
  EXPECT_EQ(yaml["num_machines"].as<int>(), 2);
  EXPECT_EQ(yaml["num_processes"].as<int>(), 16);
  EXPECT_EQ(yaml["fsdp_config"]["fsdp_version"].as<int>(), 2);
  EXPECT_TRUE(yaml["fsdp_config"]["fsdp_reshard_after_forward"].as<bool>());
  EXPECT_TRUE(yaml["fsdp_config"]["fsdp_activation_checkpointing"].as<bool>());
  const YAML::Node sizes = yaml["parallelism_config"];
  EXPECT_EQ(sizes["parallelism_config_dp_replicate_size"].as<int>(), 2);
  EXPECT_EQ(sizes["parallelism_config_dp_shard_size"].as<int>(), 4);
  EXPECT_EQ(sizes["parallelism_config_tp_size"].as<int>(), 2);
  EXPECT_EQ(sizes["parallelism_config_cp_size"].as<int>(), 1);
  EXPECT_THAT(ContentsOf(*files, "train.py"), HasSubstr("REDUCE_EACH = True"));
}

TEST(Accelerate, RefusesWithItsRules) {
  EXPECT_THAT(RefusalOf("accelerate", {.fixes = "tp=1,pp=2"}), HasSubstr("pp 2 cannot be"));
  EXPECT_THAT(RefusalOf("accelerate", {.fixes = "tp=2,sp=off,pp=1,dp=8,zero=0"}),
              HasSubstr("needs dp_shard above 1"));
  EXPECT_THAT(RefusalOf("accelerate", {.fixes = "tp=1,cp=1,pp=1,zero=1"}),
              HasSubstr("ZeRO 1 cannot be"));
}

TEST(Nemo, HasThePlansDegrees) {
  const Plan plan = SamplePlanOf(
      {.fixes = "tp=4,sp=on,cp=1,pp=2,dp=2,mbs=2,schedule=interleaved,vp=4,zero=1,recompute=full"});
  const absl::StatusOr<Artefacts> files = ExportTo("nemo", plan, CompleteOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string program = ContentsOf(*files, "pretrain.py");
  for (const char* const field :
       {"num_layers=32,", "tensor_model_parallel_size=4,", "pipeline_model_parallel_size=2,",
        "virtual_pipeline_model_parallel_size=4,", "sequence_parallel=True,",
        "use_distributed_optimizer=True,", "recompute_granularity=\"full\",", "seq_length=2048,",
        "global_batch_size=64,", "micro_batch_size=2,", "pipeline_dtype=torch.bfloat16,",
        "validation=bridge.ValidationConfig(**validation)",
        "TrainingConfig(**train, **validation)"}) {
    EXPECT_THAT(program, HasSubstr(field));
  }
}

TEST(Jax, TakesPlansOfPrograms) {
  Plan plan = SamplePlan();
  const absl::StatusOr<Artefacts> files = ExportTo("jax", plan, ExportOptions());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(ContentsOf(*files, "train.py"), HasSubstr("mw.Plan.load"));
  EXPECT_THAT(ContentsOf(*files, "plan.json"), HasSubstr("\"schema\""));
  const absl::StatusOr<Artefacts> model = ExportTo("jax", SamplePlanOf({}), ExportOptions());
  EXPECT_THAT(std::string(model.status().message()), HasSubstr("launches plans of programs"));
  const absl::StatusOr<Artefacts> other = ExportTo("megatron", plan, ExportOptions());
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("launches plans of models"));
}

TEST(Targets, AreFoundByName) {
  EXPECT_TRUE(FindExportTarget("nemo").ok());
  const std::string message(FindExportTarget("megatorn").status().message());
  EXPECT_THAT(message, HasSubstr("did you mean \"megatron\""));
  EXPECT_THAT(message, HasSubstr("torchtitan, deepspeed, accelerate, nemo, slurm, jax"));
}

// ---- what a plan may hold ----

// Choices of plans for which no launch is written, each by itself.
TEST(ModelLaunch, ChoicesThatNoFrameworkHasAreRefused) {
  const auto refused = [](const std::function<void(transformer::Configuration&)>& choose,
                          const char* why) {
    Plan plan = SamplePlanOf({.fixes = "tp=4,zero=1,schedule=1f1b"});
    choose(plan.model->configuration);
    for (const ExportTarget& target : ExportTargets()) {
      if (target.write_model == nullptr) continue;
      const absl::Status status = ExportPlan(plan, target, 0, CompleteOptions()).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << target.name;
      EXPECT_THAT(std::string(status.message()), HasSubstr(why)) << target.name;
    }
  };
  refused([](transformer::Configuration& d) { d.tp2 = 2, d.panels = 1; }, "matmuls over a grid");
  refused([](transformer::Configuration& d) { d.inside = {.tp = 2, .dp = 4}; }, "ranks: ");
  refused(
      [](transformer::Configuration& d) {
        d.inside = {.tp = 2, .cp = 1, .dp = 4, .pp = 1, .tp2 = 1};
      },
      "ranks: ");
  refused([](transformer::Configuration& d) { d.recompute = transformer::Recompute::kModules; },
          "single modules");
  refused(
      [](transformer::Configuration& d) {
        d.dp = d.dp * d.pp / 2;
        d.pp = 2;
        d.recompute = transformer::Recompute::kFull, d.recompute_stages = 1;
      },
      "in the first 1 pipeline groups alone");
  refused([](transformer::Configuration& d) { d.ends_as_layers = true; }, "counted as layers");
}

// Both orders of ranks, and what is offloaded: Megatron has options for them, others have not.
TEST(ModelLaunch, MegatronNumbersThePipelineFirst) {
  Plan plan = SamplePlanOf({.fixes = "tp=4,pp=2,dp=2,zero=1,schedule=1f1b"});
  plan.model->configuration.inside = {.tp = 4, .cp = 1, .dp = 1, .pp = 2, .tp2 = 1};
  const std::string script =
      ContentsOf(*ExportTo("megatron", plan, CompleteOptions()), "launch.sh");
  EXPECT_THAT(script, HasSubstr("--use-tp-pp-dp-mapping"));
  EXPECT_THAT(BrokenMegatronRules(script, 16), testing::IsEmpty());
  EXPECT_THAT(ContentsOf(*ExportTo("nemo", plan, CompleteOptions()), "pretrain.py"),
              HasSubstr("use_tp_pp_dp_mapping=True"));
  EXPECT_THAT(std::string(ExportTo("torchtitan", plan, CompleteOptions()).status().message()),
              HasSubstr("place must be order"));
  plan.model->configuration.zero = 3;
  EXPECT_THAT(std::string(ExportTo("megatron", plan, CompleteOptions()).status().message()),
              HasSubstr("does not go with Megatron-FSDP"));
  const Plan usual = SamplePlanOf({.fixes = "tp=4,pp=2,dp=2,zero=1,schedule=1f1b"});
  EXPECT_THAT(ContentsOf(*ExportTo("megatron", usual, CompleteOptions()), "launch.sh"),
              testing::Not(HasSubstr("mapping")));
}

// The state that a plan was costed with is what is launched.
TEST(ModelLaunch, MegatronAndNemoWriteTheState) {
  Plan plan = SamplePlanOf({.fixes = "tp=4,pp=2,dp=2,zero=1"});
  plan.model->state = {.gradient_bytes = 2, .moment_bytes = 2, .logit_bytes = 4};
  const std::string script =
      ContentsOf(*ExportTo("megatron", plan, CompleteOptions()), "launch.sh");
  EXPECT_THAT(script, HasSubstr("--grad-reduce-in-bf16\n"));
  EXPECT_THAT(script, HasSubstr("--use-precision-aware-optimizer\n"));
  EXPECT_THAT(script, HasSubstr("--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16\n"));
  EXPECT_THAT(script, HasSubstr("--cross-entropy-loss-fusion --cross-entropy-fusion-impl te\n"));
  EXPECT_THAT(BrokenMegatronRules(script, 16), testing::IsEmpty());
  const std::string program = ContentsOf(*ExportTo("nemo", plan, CompleteOptions()), "pretrain.py");
  EXPECT_THAT(program, HasSubstr("grad_reduce_in_fp32=False,\n"));
  EXPECT_THAT(program, HasSubstr("precision.grad_reduce_in_fp32 = False\n"));
  EXPECT_THAT(program, HasSubstr("cross_entropy_loss_fusion=True,\n"));
  EXPECT_THAT(program, HasSubstr("optimizer.exp_avg_dtype = torch.bfloat16\n"));
  EXPECT_THAT(std::string(ExportTo("torchtitan", plan, CompleteOptions()).status().message()),
              HasSubstr("are written for Megatron-LM and NeMo only"));
  plan.model->configuration.zero = 0;
  EXPECT_THAT(std::string(ExportTo("megatron", plan, CompleteOptions()).status().message()),
              HasSubstr("moments of 16 bits are the distributed optimizer's"));
  plan.model->state = {.logit_bytes = 1.5};
  EXPECT_THAT(std::string(ExportTo("nemo", plan, CompleteOptions()).status().message()),
              HasSubstr("(--loss chunked) is written for no framework"));
}

TEST(ModelLaunch, MegatronOffloads) {
  const Plan plan = SamplePlanOf(
      {.fixes = "tp=4,pp=1,zero=1,recompute=none,offload_optimizer=on,offload_percent=30,"
                "offload_activations=on,offload_layers=5"});
  const std::string script =
      ContentsOf(*ExportTo("megatron", plan, CompleteOptions()), "launch.sh");
  EXPECT_THAT(script, HasSubstr("--optimizer-cpu-offload --optimizer-offload-fraction 0.3 "
                                "--use-precision-aware-optimizer\n"));
  EXPECT_THAT(script, HasSubstr("--cpu-offloading-num-layers 5\n"));
  EXPECT_THAT(BrokenMegatronRules(script, 16), testing::IsEmpty());
  const std::string program = ContentsOf(*ExportTo("nemo", plan, CompleteOptions()), "pretrain.py");
  EXPECT_THAT(program, HasSubstr("optimizer.optimizer_offload_fraction = 0.3\n"));
  EXPECT_THAT(program, HasSubstr("cpu_offloading_num_layers=5,\n"));
  const auto refusal = [&](const char* target,
                           const std::function<void(transformer::Configuration&)>& choose) {
    Plan other = plan;
    choose(other.model->configuration);
    return std::string(ExportTo(target, other, CompleteOptions()).status().message());
  };
  EXPECT_THAT(refusal("torchtitan", [](transformer::Configuration&) {}),
              HasSubstr("Megatron-LM and NeMo only"));
  EXPECT_THAT(refusal("megatron", [](transformer::Configuration& d) { d.offload_layers = 0; }),
              HasSubstr("fewer than all layers"));
  EXPECT_THAT(
      refusal("megatron",
              [](transformer::Configuration& d) { d.recompute = transformer::Recompute::kFull; }),
      HasSubstr("does not go with recomputation"));
  EXPECT_THAT(refusal("megatron", [](transformer::Configuration& d) { d.zero = 0; }),
              HasSubstr("with the distributed optimizer"));
  EXPECT_THAT(refusal("megatron", [](transformer::Configuration& d) { d.offload_percent = 35; }),
              HasSubstr("offload_percent: found 35"));
}

TEST(ModelLaunch, ContextParallelismIsHandedOn) {
  const Plan ring = SamplePlanOf({.fixes = "cp=2,tp=2,zero=1,schedule=1f1b"});
  EXPECT_THAT(ContentsOf(*ExportTo("megatron", ring, CompleteOptions()), "launch.sh"),
              HasSubstr("--cp-comm-type p2p"));
  const Plan gathered = SamplePlanOf({.fixes = "cp=2,tp=2,zero=1,schedule=1f1b,context=allgather"});
  EXPECT_THAT(ContentsOf(*ExportTo("megatron", gathered, CompleteOptions()), "launch.sh"),
              HasSubstr("--cp-comm-type all_gather"));
  EXPECT_THAT(ContentsOf(*ExportTo("nemo", gathered, CompleteOptions()), "pretrain.py"),
              HasSubstr("cp_comm_type=\"all_gather\""));
  EXPECT_THAT(std::string(ExportTo("torchtitan", gathered, CompleteOptions()).status().message()),
              HasSubstr("context=allgather"));
}

TEST(ModelLaunch, WhatIsNotKnownIsRefused) {
  Plan plan = SamplePlanOf({});
  plan.cluster.parts.push_back(plan.cluster.parts[0]);
  EXPECT_THAT(std::string(ReadModelLaunch(plan, 0).status().message()), HasSubstr("2 types"));
  plan = SamplePlanOf({});
  plan.model->description.clear();
  EXPECT_THAT(std::string(ReadModelLaunch(plan, 0).status().message()), HasSubstr("description"));
  plan = SamplePlanOf({.top = 3});
  EXPECT_THAT(std::string(ReadModelLaunch(plan, 3).status().message()),
              HasSubstr("2 alternatives"));
  EXPECT_TRUE(ReadModelLaunch(plan, 2).ok());
  plan.model->configuration.micro_batch = 7;
  EXPECT_THAT(std::string(ExportTo("megatron", plan, CompleteOptions()).status().message()),
              HasSubstr("rule 3: "));
  plan.model->configuration.micro_batch = 0;
  EXPECT_FALSE(ReadModelLaunch(plan, 0).ok());
}

// ---- the nearest plan that a target can express ----

int Changes(const transformer::Configuration& a, const transformer::Configuration& b) {
  int changes = 0;
  for (const bool differs :
       {a.tp != b.tp, a.sequence_parallel != b.sequence_parallel, a.cp != b.cp, a.dp != b.dp,
        a.pp != b.pp, a.virtual_stages != b.virtual_stages, a.schedule != b.schedule, a.ep != b.ep,
        a.etp != b.etp, a.micro_batch != b.micro_batch, a.zero != b.zero, a.shard != b.shard,
        a.recompute != b.recompute, a.recompute_layers != b.recompute_layers,
        a.precision != b.precision}) {
    changes += differs ? 1 : 0;
  }
  return changes;
}

TEST(NearestPlan, NoneIsNearer) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Plan plan = SamplePlanOf(
      {.model = "model: {layers: 6, hidden: 64, heads: 4, ffn: 96, vocab: 100, experts: {count: 4,"
                " top_k: 2, ffn: 32}}",
       .cluster = "8xh100-sxm",
       .global_batch = 16,
       .sequence = 64});
  absl::StatusOr<ModelLaunch> launch = ReadModelLaunch(plan, 0);
  ASSERT_TRUE(launch.ok()) << launch.status();
  const std::vector<transformer::Configuration> all =
      transformer::Space(launch->model, launch->workload, 8, transformer::LaunchableFixes(),
                         transformer::Precision::kBf16)
          .All();
  for (const ExportTarget& target : ExportTargets()) {
    if (target.write_model == nullptr) continue;
    int refused = 0;
    for (size_t i = 0; i < all.size() && refused < 40; i += 97) {
      launch->configuration = all[i];
      Findings own(false);
      target.check_configuration(*launch, all[i], own);
      if (own.ok()) continue;
      ++refused;
      int least = 100;
      for (const transformer::Configuration& other : all) {
        const int changes = Changes(all[i], other);
        if (changes >= least) continue;
        Findings findings(false);
        target.check_configuration(*launch, other, findings);
        if (findings.ok()) least = changes;
      }
      const std::optional<transformer::Configuration> nearest = NearestExpressible(*launch, target);
      ASSERT_TRUE(nearest.has_value());
      EXPECT_EQ(Changes(all[i], *nearest), least) << target.name;
      Findings findings(false);
      target.check_configuration(*launch, *nearest, findings);
      EXPECT_TRUE(findings.ok());
    }
    EXPECT_TRUE(refused > 5 || std::string(target.name) == "slurm") << target.name;
  }
}

}  // namespace
}  // namespace meshwright
