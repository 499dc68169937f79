// Any legal configuration, exported for the frameworks whose rules are few: what the files say is
// held against the rules of docs/export.md, read back from the files alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/space.h"
#include "meshwright/export/findings.h"
#include "meshwright/export/model_launch.h"
#include "meshwright/export/target.h"
#include "meshwright/plan/make/begin_model_plan.h"
#include "tests/export/sample_plans.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

constexpr int kSeedOfPlans = 11;
constexpr int64_t kGpus = 32;

// Calls `judge` with the files of every sampled configuration that the target takes.
void JudgeSamples(const std::string& name, const std::function<void(const Artefacts&)>& judge) {
  SCOPED_TRACE(testing::Message() << "seed " << kSeedOfPlans);
  const ExportTarget target = **FindExportTarget(name);
  Plan plan = SamplePlanOf({.model = "llama3-8b", .cluster = "4x8xh100-sxm", .top = 1});
  const absl::StatusOr<ModelLaunch> launch = ReadModelLaunch(plan, 0);
  ASSERT_TRUE(launch.ok()) << launch.status();
  // These targets recompute every layer or none.
  transformer::Fixes every_layer;
  every_layer.recompute_layers = 0;
  const std::vector<transformer::Configuration> all =
      transformer::Space(launch->model, launch->workload, kGpus,
                         transformer::LaunchableFixes(every_layer), transformer::Precision::kBf16)
          .All();
  std::mt19937 random(kSeedOfPlans);
  int exported = 0;
  for (int i = 0; i < 30'000 && exported < 150; ++i) {
    const transformer::Configuration& c = all[random() % all.size()];
    Findings findings(/*wording=*/false);
    target.check_configuration(*launch, c, findings);
    if (!findings.ok()) continue;
    plan.model->configuration = WithoutUsualPlacement(c);
    ExportOptions options = CompleteOptions();
    options.script = c.pp > 1 && name == "deepspeed" ? "train.py" : "";
    const absl::StatusOr<Artefacts> files = ExportTo(name, plan, options);
    ASSERT_TRUE(files.ok()) << files.status();
    ++exported;
    SCOPED_TRACE(ConfigurationText(c));
    judge(*files);
  }
  EXPECT_GE(exported, 50);
}

// The number behind ` name=` in Python, `otherwise` where it is not there.
int64_t KeywordNumber(const std::string& python, const std::string& name, int64_t otherwise) {
  const size_t at = python.find(" " + name + "=");
  return at == std::string::npos ? otherwise : std::stoll(python.substr(at + name.size() + 2));
}

TEST(TorchtitanPlans, ObeyTheRules) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  JudgeSamples("torchtitan", [](const Artefacts& files) {
    const std::string python = ContentsOf(files, "meshwright_config.py");
    const auto number = [&](const char* name) { return KeywordNumber(python, name, 1); };
    const int64_t replicas = number("data_parallel_replicate_degree"),
                  shard = number("data_parallel_shard_degree"),
                  tp = number("tensor_parallel_degree"), cp = number("context_parallel_degree"),
                  pp = number("pipeline_parallel_degree");
    EXPECT_EQ(replicas * shard * tp * cp * pp, kGpus);
    EXPECT_EQ(8 % tp, 0);  // heads of keys and values
    const int64_t local = number("local_batch_size"), global = number("global_batch_size");
    EXPECT_EQ(global % (local * replicas * shard), 0);
    if (pp == 1) return;
    const int64_t layers = 32 + number("pipeline_parallel_first_stage_less_layers") +
                           number("pipeline_parallel_last_stage_less_layers");
    const int64_t per_stage = number("pipeline_parallel_layers_per_stage");
    const int64_t stages = (layers + per_stage - 1) / per_stage;
    EXPECT_EQ(stages % pp, 0);
    EXPECT_LE(stages, layers);
    const bool many = python.find("\"Interleaved1F1B\"") != std::string::npos;
    EXPECT_EQ(stages / pp > 1, many);
    EXPECT_EQ(local % number("pipeline_parallel_microbatch_size"), 0);
    EXPECT_GE(local / number("pipeline_parallel_microbatch_size"), pp);
  });
}

TEST(DeepSpeedPlans, ObeyTheRules) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  JudgeSamples("deepspeed", [](const Artefacts& files) {
    const auto json = nlohmann::json::parse(ContentsOf(files, "ds_config.json"));
    const auto number = [&](const char* place) {
      const nlohmann::json::json_pointer pointer(place);
      return json.contains(pointer) ? json[pointer].get<int64_t>() : int64_t{1};
    };
    const int64_t tp = number("/tensor_parallel/autotp_size"), pp = number("/pipeline/stages");
    ASSERT_EQ(kGpus % (tp * pp), 0);
    EXPECT_EQ(json.contains("train_batch_size"), tp == 1);
    const int64_t batch = number("/train_micro_batch_size_per_gpu") *
                          number("/gradient_accumulation_steps") * (kGpus / tp / pp);
    EXPECT_EQ(batch, tp == 1 ? number("/train_batch_size") : SampleRequest().global_batch);
    const int64_t zero = number("/zero_optimization/stage");
    EXPECT_TRUE(zero <= 3 && (tp == 1 || zero <= 2) && (pp == 1 || zero <= 1));
    EXPECT_NE(json["bf16"]["enabled"], json["fp16"]["enabled"]);
  });
}

TEST(AcceleratePlans, ObeyTheRules) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  JudgeSamples("accelerate", [](const Artefacts& files) {
    const YAML::Node yaml = YAML::Load(ContentsOf(files, "accelerate.yaml"));
    EXPECT_EQ(yaml["num_processes"].as<int64_t>(), kGpus);
    const YAML::Node sizes = yaml["parallelism_config"];
    const std::string kind = yaml["distributed_type"].as<std::string>();
    EXPECT_EQ(kind == "FSDP", yaml["fsdp_config"].IsDefined());
    if (!sizes.IsDefined()) return;
    const auto size = [&](const std::string& name) {
      return sizes["parallelism_config_" + name + "_size"].as<int64_t>();
    };
    EXPECT_EQ(size("dp_replicate") * size("dp_shard") * size("tp") * size("cp"), kGpus);
    if (size("tp") > 1 || size("cp") > 1) {
      EXPECT_TRUE(size("dp_replicate") == 1 || size("dp_shard") > 1);
    }
  });
}

}  // namespace
}  // namespace meshwright
