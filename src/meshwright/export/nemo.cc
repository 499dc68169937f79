// NeMo: a pre-training program on Megatron-Bridge, which NeMo trains language models with. Fields
// are those of GPTModelProvider and MLAModelProvider (megatron/bridge/models), which inherit
// Megatron-Core's TransformerConfig, and of megatron/bridge/training/config.py; the program follows
// megatron/bridge/recipes/gpt/vanilla_gpt.py.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/stage_memory.h"
#include "meshwright/export/layer_split.h"
#include "meshwright/export/megatron_architecture.h"
#include "meshwright/export/megatron_rules.h"
#include "meshwright/export/node_launcher.h"
#include "meshwright/export/quoting.h"
#include "meshwright/export/target.h"
#include "meshwright/export/usual_choices.h"

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::Precision;
using transformer::Recompute;

// Keyword arguments of a Python call, one a line.
class KeywordArguments {
 public:
  template <typename Value>
  void Add(std::string_view name, const Value& value) {
    StrAppend(&text_, "        ", name, "=", value, ",\n");
  }
  void AddFlag(std::string_view name, bool value) { Add(name, value ? "True" : "False"); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void AddBridgeArchitecture(const MegatronArchitecture& a, KeywordArguments& out) {
  out.Add("num_layers", a.layers);
  out.Add("hidden_size", a.hidden);
  out.Add("ffn_hidden_size", a.ffn);
  out.Add("num_attention_heads", a.heads);
  if (a.latent.has_value()) {
    out.Add("q_lora_rank", a.latent->q_rank > 0 ? absl::StrCat(a.latent->q_rank) : "None");
    out.Add("kv_lora_rank", a.latent->kv_rank);
    out.Add("qk_head_dim", a.latent->nope_head_dim);
    out.Add("qk_pos_emb_head_dim", a.latent->rope_head_dim);
    out.Add("v_head_dim", a.v_head_dim);
    if (a.index.has_value()) {
      out.Add("experimental_attention_variant", "\"dsa\"");
      out.Add("dsa_indexer_n_heads", a.index->heads);
      out.Add("dsa_indexer_head_dim", a.index->head_dim);
      out.Add("dsa_indexer_topk", a.index->top_k);
      out.Add("dsa_indexer_loss_coeff", kIndexerLoss);
      out.AddFlag("apply_rope_fusion", false);
    }
  } else {
    out.Add("num_query_groups", a.query_groups);
    out.Add("kv_channels", a.head_dim);
  }
  out.Add("vocab_size", a.vocabulary);
  out.Add("position_embedding_type",
          a.rope ? "\"rope\"" : (a.learned_positions ? "\"learned_absolute\"" : "\"none\""));
  out.Add("normalization", a.rms_norm ? "\"RMSNorm\"" : "\"LayerNorm\"");
  out.Add("activation_func",
          a.gated_silu ? "F.silu" : (a.squared_relu ? "squared_relu" : "F.gelu"));
  out.AddFlag("gated_linear_unit", a.gated_silu);
  out.AddFlag("add_bias_linear", a.linear_bias);
  out.AddFlag("add_qkv_bias", a.qkv_bias);
  out.AddFlag("qk_layernorm", a.qk_norm);
  out.AddFlag("share_embeddings_and_output_weights", a.tied);
  if (a.prediction_modules > 0) out.Add("mtp_num_layers", a.prediction_modules);
}

void AddBridgeExperts(const MegatronArchitecture& a, const Configuration& c,
                      KeywordArguments& out) {
  if (a.experts == 0) return;
  out.Add("num_moe_experts", a.experts);
  out.Add("moe_router_topk", a.top_k);
  out.Add("moe_ffn_hidden_size", a.expert_ffn);
  if (!a.expert_layers.empty()) {
    out.Add("moe_layer_freq", absl::StrCat("[", absl::StrJoin(a.expert_layers, ", "), "]"));
  }
  if (a.shared_ffn > 0) out.Add("moe_shared_expert_intermediate_size", a.shared_ffn);
  if (a.balance_bias) {
    out.Add("moe_router_score_function", "\"sigmoid\"");
    out.AddFlag("moe_router_enable_expert_bias", true);
    out.Add("moe_router_load_balancing_type", "\"none\"");
  } else {
    out.Add("moe_router_load_balancing_type", "\"aux_loss\"");
    out.Add("moe_aux_loss_coeff", "1e-2");
  }
  out.Add("moe_token_dispatcher_type", "\"alltoall\"");
  out.AddFlag("moe_grouped_gemm", c.precision != Precision::kFp16);
  out.Add("expert_model_parallel_size", c.ep);
  out.Add("expert_tensor_parallel_size", c.etp);
}

void AddBridgeParallelism(const ModelLaunch& launch, const MegatronArchitecture& a,
                          KeywordArguments& out) {
  const Configuration& c = launch.configuration;
  out.Add("tensor_model_parallel_size", c.tp);
  out.Add("pipeline_model_parallel_size", c.pp);
  out.Add("context_parallel_size", c.cp);
  if (c.cp > 1) out.Add("cp_comm_type", absl::StrCat("\"", ContextCommunication(c.context), "\""));
  out.AddFlag("sequence_parallel", c.sequence_parallel);
  const LayerSplit split = SplitLayers(launch);
  if (split.kind == LayerSplit::Kind::kListed) {
    out.Add("pipeline_model_parallel_layout",
            QuotedString(LayoutText(split.layers, a.prediction_modules)));
  }
  if (c.virtual_stages > 1) {
    out.Add("virtual_pipeline_model_parallel_size", c.virtual_stages);
    out.Add("microbatch_group_size_per_vp_stage", MicroBatchGroup(c.pp, launch.MicroBatches(c)));
  }
  out.AddFlag("account_for_embedding_in_pipeline_split",
              split.kind == LayerSplit::Kind::kEndsCounted);
  out.AddFlag(
      "account_for_loss_in_pipeline_split",
      split.kind == LayerSplit::Kind::kEndsCounted || split.kind == LayerSplit::Kind::kHeadCounted);
  if (c.pp > 1) {
    out.Add("pipeline_dtype", c.precision == Precision::kFp16 ? "torch.float16" : "torch.bfloat16");
  }
  if (c.recompute == Recompute::kFull) {
    out.Add("recompute_granularity", "\"full\"");
    out.Add("recompute_method", c.recompute_layers > 0 ? "\"block\"" : "\"uniform\"");
    out.Add("recompute_num_layers", std::max<int64_t>(1, c.recompute_layers));
  } else if (c.recompute == Recompute::kSelective) {
    out.Add("recompute_granularity", "\"selective\"");
    out.Add("recompute_modules", "[\"core_attn\"]");
  }
  if (c.offload_activations) {
    out.AddFlag("cpu_offloading", true);
    out.Add("cpu_offloading_num_layers", c.offload_layers);
    out.AddFlag("cpu_offloading_weights", false);
  }
  out.Add("seq_length", launch.workload.sequence);
  if (launch.state.logit_bytes != transformer::StateOptions().logit_bytes) {
    out.AddFlag("cross_entropy_loss_fusion", true);
    out.Add("cross_entropy_fusion_impl", "\"te\"");
  }
  if (NeedsMegatronFsdp(c)) {
    out.AddFlag("init_model_with_meta_device", true);
    out.AddFlag("gradient_accumulation_fusion", false);
  }
}

bool ReducesInF32(const ModelLaunch& launch) {
  return launch.state.gradient_bytes == transformer::StateOptions().gradient_bytes;
}

KeywordArguments BridgeSharding(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  KeywordArguments out;
  out.AddFlag("check_for_nan_in_grad", true);
  out.AddFlag("grad_reduce_in_fp32", ReducesInF32(launch));
  out.AddFlag("overlap_grad_reduce", c.dp * c.cp > 1);
  out.AddFlag("use_distributed_optimizer", c.zero > 0);
  out.AddFlag("overlap_param_gather", c.zero > 0);
  if (OptimizerInstances(c) > 1) {
    out.Add("num_distributed_optimizer_instances", OptimizerInstances(c));
  }
  if (NeedsMegatronFsdp(c)) {
    out.AddFlag("use_megatron_fsdp", true);
    out.Add("data_parallel_sharding_strategy",
            c.zero == 2 ? "\"optim_grads\"" : "\"optim_grads_params\"");
    out.AddFlag("average_in_collective", false);
  }
  return out;
}

// megatron/bridge/training/mixed_precision.py.
std::string_view BridgePrecision(Precision precision) {
  switch (precision) {
    case Precision::kFp16:
      return "fp16_mixed";
    case Precision::kFp8:
      return "bf16_with_fp8_delayed_scaling_mixed";
    case Precision::kMxFp8:
      return "bf16_with_mxfp8_mixed";
    default:
      return "bf16_mixed";
  }
}

constexpr const char* kBridgeHead = R"(
import argparse

import torch
import torch.nn.functional as F
from megatron.bridge.models.gpt_provider import GPTModelProvider
from megatron.bridge.recipes.utils.optimizer_utils import distributed_fused_adam_with_cosine_annealing
from megatron.bridge.training import config as bridge
from megatron.bridge.training.config import (
    CheckpointConfig,
    ConfigContainer,
    DistributedInitConfig,
    GPTDatasetConfig,
    LoggerConfig,
    MockGPTDatasetConfig,
    RNGConfig,
    TokenizerConfig,
    TrainingConfig,
)
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import get_mixed_precision_config
from megatron.bridge.training.pretrain import pretrain
from megatron.core.activations import squared_relu
from megatron.core.distributed import DistributedDataParallelConfig
)";

// Lines of Python, behind those of the optimizer.
std::string OptimizerState(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  const bool moments = launch.state.moment_bytes != transformer::StateOptions().moment_bytes;
  std::string text;
  if (c.offload_optimizer) {
    StrAppend(
        &text,
        "\n    optimizer.optimizer_cpu_offload = True\n    optimizer.optimizer_offload_fraction "
        "= ",
        OffloadedState(c));
  }
  if (c.offload_optimizer || moments)
    StrAppend(&text, "\n    optimizer.use_precision_aware_optimizer = True");
  if (moments) {
    StrAppend(&text,
              "\n    optimizer.exp_avg_dtype = torch.bfloat16\n    optimizer.exp_avg_sq_dtype = "
              "torch.bfloat16");
  }
  return text;
}

std::string BridgeProgram(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  const MegatronArchitecture a = ArchitectureOf(launch);
  const bool latent = a.latent.has_value();
  KeywordArguments model;
  AddBridgeArchitecture(a, model);
  AddBridgeExperts(a, c, model);
  AddBridgeParallelism(launch, a, model);
  std::string text = absl::StrCat(
      "# Pre-trains ", CommentText(launch.model.name), " with Megatron-Bridge, ",
      transformer::ConfigurationText(c), ".\n# launch.sh starts it.\n", kBridgeHead,
      latent ? "from megatron.bridge.models.mla_provider import MLAModelProvider\n" : "",
      "\n\ndef model():\n    return ", latent ? "MLAModelProvider" : "GPTModelProvider", "(\n",
      model.text(), "    )\n\n\ndef sharding():\n    return DistributedDataParallelConfig(\n",
      BridgeSharding(launch).text(), "    )\n");
  StrAppend(&text, R"(

def data(arguments):
    common = dict(random_seed=1234, dataloader_type="single", reset_position_ids=False,
                  reset_attention_mask=False, eod_mask_loss=False)
    if arguments.data_path == "mock":
        return MockGPTDatasetConfig(seq_length=)",
            launch.workload.sequence, R"(, **common)
    return GPTDatasetConfig(seq_length=)",
            launch.workload.sequence, R"(, blend=([arguments.data_path], None), split="1000,0,0",
                            **common)


def tokenizer(arguments):
    if arguments.data_path == "mock":
        return TokenizerConfig(tokenizer_type="NullTokenizer", vocab_size=)",
            a.vocabulary, R"()
    return TokenizerConfig(tokenizer_type="HuggingFaceTokenizer", tokenizer_model=arguments.tokenizer)


def training(arguments):
    train = dict(
        train_iters=arguments.steps,
        global_batch_size=)",
            launch.workload.global_batch, R"(,
        micro_batch_size=)",
            c.micro_batch, R"(,
    )
    # Nothing is validated. Up to 0.3 that is part of the training.
    validation = dict(eval_interval=arguments.steps, eval_iters=0)
    if hasattr(bridge, "ValidationConfig"):
        return dict(train=TrainingConfig(**train), validation=bridge.ValidationConfig(**validation))
    return dict(train=TrainingConfig(**train, **validation))


def mixed_precision():
    precision = get_mixed_precision_config(")",
            BridgePrecision(c.precision), R"(")
    precision.grad_reduce_in_fp32 = )",
            ReducesInF32(launch) ? "True" : "False", R"(
    return precision


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-path", required=True)
    parser.add_argument("--tokenizer", default="")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--checkpoint")
    arguments = parser.parse_args()
    optimizer, scheduler = distributed_fused_adam_with_cosine_annealing(
        lr_warmup_iters=max(1, arguments.steps // 100),
        lr_decay_iters=arguments.steps,
        max_lr=arguments.learning_rate,
        min_lr=0.1 * arguments.learning_rate,
    )
    optimizer.use_distributed_optimizer = )",
            c.zero > 0 ? "True" : "False", OptimizerState(launch), R"(
    config = ConfigContainer(
        model=model(),
        **training(arguments),
        optimizer=optimizer,
        scheduler=scheduler,
        ddp=sharding(),
        dataset=data(arguments),
        logger=LoggerConfig(log_interval=1),
        tokenizer=tokenizer(arguments),
        checkpoint=CheckpointConfig(
            save=arguments.checkpoint,
            load=arguments.checkpoint,
            save_interval=1000,
            ckpt_format=")",
            NeedsMegatronFsdp(c) ? "fsdp_dtensor" : "torch_dist", R"(",
        ),
        rng=RNGConfig(seed=1234),
        dist=DistributedInitConfig(use_megatron_fsdp=)",
            NeedsMegatronFsdp(c) ? "True" : "False",
            NumbersPipelineFirst(c) ? ", use_tp_pp_dp_mapping=True" : "", R"(),
        mixed_precision=mixed_precision(),
    )
    pretrain(config, forward_step)


if __name__ == "__main__":
    main()
)");
  return text;
}

std::string BridgeSetup(const ModelLaunch& launch, const ExportOptions& options) {
  const Configuration& c = launch.configuration;
  std::string text = TrainingLength(options);
  absl::StrAppend(&text,
                  RequiredVariable("data_path", options.data_path, "DATA_PATH",
                                   "set it to the prefix of data that Megatron preprocessed, "
                                   "or export with --data-path; mock makes data up"));
  if (options.data_path != "mock") {
    absl::StrAppend(
        &text,
        RequiredVariable("tokenizer", options.tokenizer, "TOKENIZER",
                         "set it to a tokenizer of Hugging Face, or export with --tokenizer"));
  }
  if (!options.framework.empty()) {
    // Bridge as a checkout: src has it, 3rdparty/Megatron-LM what it is built on.
    absl::StrAppend(&text, "bridge=", ShellWord(options.framework),
                    "\nexport PYTHONPATH=\"$bridge/src:$bridge/3rdparty/Megatron-LM"
                    "${PYTHONPATH:+:$PYTHONPATH}\"\n");
  }
  if (NeedsMegatronFsdp(c)) {
    absl::StrAppend(&text, "unset CUDA_DEVICE_MAX_CONNECTIONS  # Megatron-FSDP overlaps without\n");
  } else if (c.tp > 1 || c.cp > 1) {
    absl::StrAppend(&text,
                    "export CUDA_DEVICE_MAX_CONNECTIONS=1  # tensor and context parallel "
                    "GPUs before Blackwell need it\n");
  }
  absl::StrAppend(&text,
                  "\narguments=(\n  --data-path \"$data_path\"\n  --steps \"$steps\" "
                  "--learning-rate \"$learning_rate\"\n");
  if (options.data_path != "mock") absl::StrAppend(&text, "  --tokenizer \"$tokenizer\"\n");
  if (!options.checkpoint.empty()) {
    absl::StrAppend(&text, "  --checkpoint ", ShellWord(options.checkpoint), "\n");
  }
  return absl::StrCat(text, ")\n");
}

void CheckBridgeConfiguration(const ModelLaunch& launch, const Configuration& c,
                              Findings& findings) {
  RequireUsualChoices(c, findings);
  CheckMegatronConfiguration(launch, c, findings);
  findings.Require(c.precision != Precision::kNvFp4,
                   "mixed precision: nvfp4 is not written for Megatron-Bridge");
}

absl::StatusOr<Artefacts> WriteNemo(const ModelLaunch& launch, const ExportOptions& options) {
  NodeLaunch node = LaunchOf(launch, "NeMo (Megatron-Bridge)");
  node.setup = BridgeSetup(launch, options);
  node.torchrun = "pretrain.py \"${arguments[@]}\"";
  Artefacts files = NodeLaunchFiles(node, options);
  files.push_back({"pretrain.py", BridgeProgram(launch), false});
  return files;
}

}  // namespace

ExportTarget NemoTarget() {
  return {.name = "nemo",
          .summary = "NeMo: a pre-training program on Megatron-Bridge",
          .check_model = &CheckMegatronModel,
          .check_configuration = &CheckBridgeConfiguration,
          .write_model = &WriteNemo,
          .write_program = nullptr,
          .options = {"--data-path", "--tokenizer", "--checkpoint", "--framework", "--steps",
                      "--learning-rate"},
          .groups = TakesGroups::kAlike,
          .writes_state = true};
}

}  // namespace meshwright
