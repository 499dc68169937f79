// Accelerate: its YAML (accelerate/commands/config/config_args.py, utils/dataclasses.py,
// parallelism_config.py) and a training program. docs/export.md has the rules.

#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/export/huggingface_trainer.h"
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

void CheckAccelerateModel(const ModelLaunch&, Findings&) {}  // the program decides

// FSDP shards over dp_shard x cp.
int64_t ShardSize(const Configuration& c) {
  if (c.zero == 0) return 1;
  return c.shard == 0 ? c.dp : c.shard / c.cp;
}

void CheckAccelerateConfiguration(const ModelLaunch& launch, const Configuration& c,
                                  Findings& findings) {
  RequireUsualChoices(c, findings);
  RequireEveryLayer(c, findings);
  RequireUsualRanks(c, findings);
  RequireNoOffload(c, findings);
  RequireRing(c, findings);
  const int64_t world = launch.nodes * launch.devices_per_node;
  findings.Require(c.pp == 1, "degrees: Accelerate's FSDP has no pipelines, so pp ", c.pp,
                   " cannot be; 1 can");
  findings.Require(c.tp * c.cp * c.dp * c.pp == world,
                   "degrees: dp_replicate x dp_shard x tp x cp must be num_processes ", world);
  findings.Require(c.ep == 1 && c.etp == 1, "degrees: there is no expert parallelism, so ep ", c.ep,
                   " and etp ", c.etp, " cannot be; 1 can");
  findings.Require(!c.sequence_parallel,
                   "tp: transformers' tensor parallelism has no sequence parallelism of norms and "
                   "residuals");
  findings.Require(c.zero != 1,
                   "fsdp: FSDP shards gradients too, so ZeRO 1 cannot be; 2 and 3 can");
  findings.Require(c.zero == 0 || c.shard == 0 || c.shard % c.cp == 0,
                   "fsdp: FSDP shards over cp first, so cp ", c.cp, " must divide shard ", c.shard);
  const int64_t shard = ShardSize(c);
  findings.Require(shard > 0 && c.dp % shard == 0, "degrees: dp_shard ", shard, " must divide dp ",
                   c.dp);
  findings.Require(c.cp == 1 || c.zero > 0, "cp: context parallelism needs FSDP, ZeRO 2 or 3");
  findings.Require(c.tp * c.cp == 1 || shard > 1 || c.dp == 1,
                   "degrees: tp or cp with dp_replicate ", c.dp,
                   " needs dp_shard above 1: ZeRO 2 or 3");
  findings.Require(c.zero == 0 || shard * c.cp > 1, "fsdp: there is nothing to shard over");
  findings.Require(c.cp == 1 || launch.workload.sequence % (2 * c.cp) == 0, "cp: 2 x cp ", c.cp,
                   " must divide the sequence of ", launch.workload.sequence, " tokens");
  for (const Stack& stack : launch.model.stacks) {
    for (const Layer& layer : stack.kinds) {
      findings.Require(layer.attention.heads % c.tp == 0 && layer.attention.kv_heads % c.tp == 0,
                       "tp: tp ", c.tp, " must divide the ", layer.attention.heads,
                       " heads and the ", layer.attention.kv_heads, " of keys and values");
      findings.Require(!layer.recurrence.has_value() || c.tp == 1,
                       "tp: plans for tp split attention and MLPs, not recurrences");
    }
  }
  findings.Require(launch.workload.global_batch % (c.micro_batch * c.dp) == 0,
                   "batch: micro-batch ", c.micro_batch, " x dp ", c.dp,
                   " must divide the global batch of ", launch.workload.global_batch);
  findings.Require(c.precision == Precision::kBf16 || c.precision == Precision::kFp16,
                   "mixed_precision: bf16 or fp16, not ", transformer::PrecisionName(c.precision));
  findings.Require(c.recompute != Recompute::kSelective,
                   "fsdp_activation_checkpointing: whole layers or none");
}

bool AccelerateNeedsScript(const ModelLaunch& launch, const Configuration&) {
  return !IsTrainable(launch);
}

std::string AccelerateYaml(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  const int64_t world = launch.nodes * launch.devices_per_node;
  const bool sharded = c.zero > 0;
  std::string text = absl::StrCat(
      "# ", CommentText(launch.model.name), ", ", transformer::ConfigurationText(c),
      ".\n# launch.sh gives machine_rank and main_process_ip.\n"
      "compute_environment: LOCAL_MACHINE\ndistributed_type: ",
      sharded ? "FSDP" : (world > 1 ? "MULTI_GPU" : "'NO'"),
      "\nmixed_precision: ", c.precision == Precision::kFp16 ? "fp16" : "bf16",
      "\nnum_machines: ", launch.nodes, "\nnum_processes: ", world,
      "\nmachine_rank: 0\nmain_training_function: main\nrdzv_backend: static\nsame_network: true\n"
      "use_cpu: false\n");
  if (sharded) {
    absl::StrAppend(&text, "fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: ",
                    c.zero == 3 ? "true" : "false",
                    "\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                    "  fsdp_offload_params: false\n  fsdp_state_dict_type: SHARDED_STATE_DICT\n"
                    "  fsdp_cpu_ram_efficient_loading: false\n  fsdp_activation_checkpointing: ",
                    c.recompute == Recompute::kFull ? "true" : "false", "\n");
  }
  if (sharded || c.tp > 1) {
    absl::StrAppend(
        &text, "parallelism_config:\n  parallelism_config_dp_replicate_size: ", c.dp / ShardSize(c),
        "\n  parallelism_config_dp_shard_size: ", ShardSize(c),
        "\n  parallelism_config_tp_size: ", c.tp, "\n  parallelism_config_cp_size: ", c.cp, "\n");
  }
  return text;
}

std::string AccelerateProgram(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  return absl::StrCat(
      "\"\"\"Trains a language model from scratch with Accelerate; launch.sh starts it.\"\"\"\n\n"
      "import argparse\nimport math\n\nimport numpy\nimport torch\nfrom accelerate import "
      "Accelerator\nfrom accelerate.utils import GradientAccumulationPlugin\n"
      "from transformers import AutoConfig, AutoModelForCausalLM\n",
      HuggingFaceCommon(launch), "\n\nTENSOR_PARALLEL = ", c.tp,
      // With FSDP Accelerate does that itself.
      "\nRECOMPUTE = ", c.recompute == Recompute::kFull && c.zero == 0 ? "True" : "False",
      // A shard's gradients are reduced each time, as planned; else they would be kept whole.
      "\nREDUCE_EACH = ", c.zero >= 2 ? "True" : "False", R"(


def make_model(accelerator):
    config = AutoConfig.from_pretrained("model")
    if TENSOR_PARALLEL == 1:
        return AutoModelForCausalLM.from_config(config)
    # Tensor parallel models are made by loading: the first process writes what is loaded.
    if accelerator.is_main_process:
        AutoModelForCausalLM.from_config(config).save_pretrained("model/initial")
    accelerator.wait_for_everyone()
    mesh = accelerator.torch_device_mesh
    return AutoModelForCausalLM.from_pretrained("model/initial", tp_plan="auto", device_mesh=mesh["tp"])


def main():
    arguments = read_arguments()
    torch.manual_seed(1234)
    accumulation = GradientAccumulationPlugin(num_steps=MICRO_BATCHES, sync_each_batch=REDUCE_EACH)
    accelerator = Accelerator(gradient_accumulation_plugin=accumulation)
    model = make_model(accelerator)
    if RECOMPUTE:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=arguments.learning_rate, betas=(0.9, 0.95), weight_decay=0.1
    )
    loader = torch.utils.data.DataLoader(
        Sequences(arguments.data_path, arguments.steps), batch_size=MICRO_BATCH
    )
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for number, tokens in enumerate(loader):
        step = number // MICRO_BATCHES
        for group in optimizer.param_groups:
            group["lr"] = arguments.learning_rate * cosine(step, arguments.steps)
        inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        positions = torch.arange(SEQUENCE, device=inputs.device).expand_as(inputs).contiguous()
        buffers = [inputs, targets, positions]
        with accelerator.accumulate(model), accelerator.maybe_context_parallel(
            buffers=buffers, buffer_seq_dims=[1, 1, 1], no_restore_buffers=set(buffers)
        ):
            loss = loss_of(model(input_ids=inputs, position_ids=positions).logits, targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        if (number + 1) % MICRO_BATCHES == 0:
            accelerator.print(f"step {step}: loss {loss.item():.4f}", flush=True)
    if arguments.checkpoint:
        accelerator.save_state(arguments.checkpoint)


if __name__ == "__main__":
    main()
)");
}

absl::StatusOr<Artefacts> WriteAccelerate(const ModelLaunch& launch, const ExportOptions& options) {
  const absl::Status trainable = CheckTrainable(launch, options);
  if (!trainable.ok()) return trainable;
  NodeLaunch node = LaunchOf(launch, "Accelerate");
  node.setup = TrainerSetup(options);
  node.command = absl::StrCat(
      "accelerate launch --config_file ./accelerate.yaml --machine_rank \"$node_rank\" \\\n"
      "  --main_process_ip \"$master_addr\" --main_process_port \"$master_port\" \\\n  ",
      TrainerCommand(options), " \"${arguments[@]}\" \"$@\"");
  Artefacts files = NodeLaunchFiles(node, options);
  files.push_back({"accelerate.yaml", AccelerateYaml(launch), false});
  if (options.script.empty()) {
    files.push_back({"train.py", AccelerateProgram(launch), false});
    files.push_back({"model/config.json", HuggingFaceConfig(launch), false});
  }
  return files;
}

}  // namespace

ExportTarget AccelerateTarget() {
  return {.name = "accelerate",
          .summary =
              "Hugging Face Accelerate: accelerate.yaml (FSDP 2, or plain data parallelism) and a "
              "training program",
          .check_model = &CheckAccelerateModel,
          .check_configuration = &CheckAccelerateConfiguration,
          .write_model = &WriteAccelerate,
          .write_program = nullptr,
          .options = {"--data-path", "--checkpoint", "--script", "--steps", "--learning-rate"},
          .needs_script = &AccelerateNeedsScript};
}

}  // namespace meshwright
