// DeepSpeed: its JSON (https://www.deepspeed.ai/docs/config-json/, deepspeed/runtime/config.py) and
// a training program. docs/export.md has the rules.

#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/export/huggingface_trainer.h"
#include "meshwright/export/layer_split.h"
#include "meshwright/export/node_launcher.h"
#include "meshwright/export/quoting.h"
#include "meshwright/export/target.h"
#include "meshwright/export/usual_choices.h"

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::Layer;
using transformer::Precision;
using transformer::Recompute;
using transformer::Stack;

void CheckDeepSpeedModel(const ModelLaunch&, Findings&) {}  // the program decides

void CheckDeepSpeedSplits(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  for (const Stack& stack : launch.model.stacks) {
    for (const Layer& layer : stack.kinds) {
      findings.Require(layer.attention.heads % c.tp == 0 && layer.attention.kv_heads % c.tp == 0,
                       "tensor_parallel: autotp_size ", c.tp, " must divide the ",
                       layer.attention.heads, " heads and the ", layer.attention.kv_heads,
                       " of keys and values");
      findings.Require(!layer.recurrence.has_value() || c.tp == 1,
                       "tensor_parallel: AutoTP splits attention and MLPs, not recurrences");
      if (!layer.moe.has_value()) continue;
      findings.Require(layer.moe->experts % c.ep == 0, "expert_parallel: autoep_size ", c.ep,
                       " must divide the ", layer.moe->experts, " experts");
    }
  }
  findings.Require(c.dp * c.tp % c.ep == 0, "expert_parallel: autoep_size ", c.ep,
                   " must divide dp x tp = ", c.dp * c.tp);
}

void CheckDeepSpeedConfiguration(const ModelLaunch& launch, const Configuration& c,
                                 Findings& findings) {
  RequireUsualChoices(c, findings);
  RequireEveryLayer(c, findings);
  RequireUsualRanks(c, findings);
  RequireNoOffload(c, findings);
  findings.Require(c.tp * c.cp * c.dp * c.pp == launch.nodes * launch.devices_per_node,
                   "degrees: tp x dp x pp must be all GPUs");
  findings.Require(launch.workload.global_batch % (c.micro_batch * c.dp) == 0,
                   "batch: train_batch_size ", launch.workload.global_batch,
                   " must be train_micro_batch_size_per_gpu ", c.micro_batch,
                   " x gradient_accumulation_steps x dp ", c.dp);
  CheckDeepSpeedSplits(launch, c, findings);
  findings.Require(c.cp == 1, "context parallel: DeepSpeed's JSON has no such degree, so cp ", c.cp,
                   " cannot be; 1 can");
  findings.Require(!c.sequence_parallel,
                   "tensor_parallel: AutoTP has no sequence parallelism of norms and residuals");
  findings.Require(c.tp == 1 || c.zero < 3,
                   "tensor_parallel: AutoTP trains with ZeRO 0 to 2, not 3");
  findings.Require(c.pp == 1 || c.zero < 2, "pipeline: pipelines go with ZeRO 0 and 1, not with ",
                   c.zero);
  findings.Require(c.pp == 1 || (c.tp == 1 && c.ep == 1),
                   "pipeline: AutoTP and AutoEP are not written together with a pipeline");
  findings.Require(c.virtual_stages == 1 && c.schedule == transformer::PipelineKind::k1F1B,
                   "pipeline: DeepSpeed runs 1f1b pipelines only");
  findings.Require(c.etp == 1, "expert_parallel: experts are not split, so etp ", c.etp,
                   " cannot be; 1 can");
  findings.Require(c.ep == 1 || c.zero < 3, "expert_parallel: AutoEP is written with ZeRO 0 to 2");
  findings.Require(c.zero == 0 || c.shard == 0,
                   "zero_optimization: ZeRO shards over all replicas, not over groups of ",
                   c.shard);
  findings.Require(c.precision == Precision::kBf16 || c.precision == Precision::kFp16,
                   "precision: bf16 or fp16, not ", transformer::PrecisionName(c.precision));
  findings.Require(c.recompute != Recompute::kSelective,
                   "recomputation: whole layers or none; the attention core alone is not written");
}

bool DeepSpeedNeedsScript(const ModelLaunch& launch, const Configuration& c) {
  return c.pp > 1 || !IsTrainable(launch);
}

std::string DeepSpeedJson(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  const bool half = c.precision == Precision::kFp16;
  Json json;
  // AutoTP counts the GPUs of a tensor parallel group as replicas there (runtime/config.py), though
  // they see the same data: the size of a step is left to what follows.
  if (c.tp == 1) json["train_batch_size"] = launch.workload.global_batch;
  json.update(
      Json{{"train_micro_batch_size_per_gpu", c.micro_batch},
           {"gradient_accumulation_steps", launch.MicroBatches(c)},
           {"gradient_clipping", 1.0},
           {"steps_per_print", 1},
           {"bf16", {{"enabled", !half}}},
           {"fp16", {{"enabled", half}}},
           {"optimizer",
            // The program sets the learning rate.
            {{"type", "AdamW"}, {"params", {{"betas", {0.9, 0.95}}, {"weight_decay", 0.1}}}}},
           {"zero_optimization", {{"stage", c.zero}}}});
  if (c.zero > 0) {
    json["zero_optimization"]["overlap_comm"] = true;
    json["zero_optimization"]["contiguous_gradients"] = true;
  }
  if (c.tp > 1) json["tensor_parallel"] = {{"autotp_size", c.tp}};
  if (c.ep > 1) {
    json["expert_parallel"] = {
        {"enabled", true}, {"autoep_size", c.ep}, {"expert_tensor_parallel_size", 1}};
  }
  if (c.pp > 1) {
    json["pipeline"] = {
        {"stages", c.pp},
        {"partition", "best"},
        {"activation_checkpoint_interval", c.recompute == Recompute::kFull ? 1 : 0}};
  }
  return absl::StrCat(json.dump(2), "\n");
}

std::string DeepSpeedProgram(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  return absl::StrCat(
      "\"\"\"Trains a language model from scratch with DeepSpeed; launch.sh starts it.\"\"\"\n\n"
      "import argparse\nimport json\nimport math\n\nimport deepspeed\nimport numpy\nimport torch\n"
      "from transformers import AutoConfig, AutoModelForCausalLM\n"
      "from transformers.integrations import HfDeepSpeedConfig\n",
      HuggingFaceCommon(launch), "\n\nTENSOR_PARALLEL = ", c.tp,
      "\nRECOMPUTE = ", c.recompute == Recompute::kFull ? "True" : "False", R"(


def main():
    arguments = read_arguments()
    deepspeed.init_distributed()
    torch.manual_seed(1234)
    with open("ds_config.json") as file:
        settings = json.load(file)
    settings["optimizer"]["params"]["lr"] = arguments.learning_rate
    kept = HfDeepSpeedConfig(settings)  # while this lives, ZeRO 3 shards the model as it is made
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("model"))
    if RECOMPUTE:
        model.gradient_checkpointing_enable()
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=settings
    )
    del kept
    # GPUs of a tensor parallel group see the same data.
    replicas = torch.distributed.get_world_size() // TENSOR_PARALLEL
    replica = torch.distributed.get_rank() // TENSOR_PARALLEL
    data = Sequences(arguments.data_path, arguments.steps)
    for step in range(arguments.steps):
        for group in engine.optimizer.param_groups:
            group["lr"] = arguments.learning_rate * cosine(step, arguments.steps)
        for micro_batch in range(MICRO_BATCHES):
            first = (step * MICRO_BATCHES + micro_batch) * replicas * MICRO_BATCH
            rows = range(first + replica * MICRO_BATCH, first + (replica + 1) * MICRO_BATCH)
            tokens = torch.stack([data[row] for row in rows]).to(engine.device)
            loss = loss_of(engine(input_ids=tokens[:, :-1]).logits, tokens[:, 1:])
            engine.backward(loss)
            engine.step()
        if torch.distributed.get_rank() == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    if arguments.checkpoint:
        engine.save_checkpoint(arguments.checkpoint)


if __name__ == "__main__":
    main()
)");
}

absl::StatusOr<Artefacts> WriteDeepSpeed(const ModelLaunch& launch, const ExportOptions& options) {
  const absl::Status trainable = CheckTrainable(launch, options);
  if (!trainable.ok()) return trainable;
  if (options.script.empty() && launch.configuration.pp > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a pipeline of DeepSpeed needs a program whose model is a PipelineModule of ",
                     launch.configuration.pp,
                     " stages: name yours with --script, or plan with "
                     "--fix pp=1"));
  }
  NodeLaunch node = LaunchOf(launch, "DeepSpeed");
  node.setup = TrainerSetup(options);
  if (!options.script.empty()) {
    absl::StrAppend(&node.setup, "arguments+=(--deepspeed --deepspeed_config ./ds_config.json)\n");
  }
  node.torchrun = absl::StrCat(TrainerCommand(options), " \"${arguments[@]}\"");
  Artefacts files = NodeLaunchFiles(node, options);
  files.push_back({"ds_config.json", DeepSpeedJson(launch), false});
  if (options.script.empty()) {
    files.push_back({"train.py", DeepSpeedProgram(launch), false});
    files.push_back({"model/config.json", HuggingFaceConfig(launch), false});
  }
  return files;
}

}  // namespace

ExportTarget DeepSpeedTarget() {
  return {.name = "deepspeed",
          .summary = "DeepSpeed: ds_config.json and a training program",
          .check_model = &CheckDeepSpeedModel,
          .check_configuration = &CheckDeepSpeedConfiguration,
          .write_model = &WriteDeepSpeed,
          .write_program = nullptr,
          .options = {"--data-path", "--checkpoint", "--script", "--steps", "--learning-rate"},
          .needs_script = &DeepSpeedNeedsScript};
}

}  // namespace meshwright
