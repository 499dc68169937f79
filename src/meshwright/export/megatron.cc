// Megatron-LM: pretrain_gpt.py with its arguments. Options are those of
// megatron/training/arguments.py and of the dataclasses that it makes options from
// (megatron/core/model_parallel_config.py, megatron/core/transformer/transformer_config.py,
// megatron/training/config); docs/export.md has the rules.

#include <string>
#include <utility>
#include <vector>

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

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::Precision;
using transformer::Recompute;

// Lines of a bash array: options of one thing each.
class ArgumentArray {
 public:
  // Words as they are written into the script.
  template <typename... Words>
  void Add(const Words&... words) {
    text_ += " ";
    (StrAppend(&text_, " ", words), ...);
    text_ += "\n";
  }
  std::string Text() const { return StrCat("arguments=(\n", text_, ")\n"); }

 private:
  std::string text_;
};

void AddArchitecture(const MegatronArchitecture& a, ArgumentArray& out) {
  out.Add("--num-layers", a.layers, "--hidden-size", a.hidden, "--ffn-hidden-size", a.ffn);
  out.Add("--num-attention-heads", a.heads);
  if (a.latent.has_value()) {
    out.Add("--multi-latent-attention", "--kv-lora-rank", a.latent->kv_rank, "--qk-head-dim",
            a.latent->nope_head_dim, "--qk-pos-emb-head-dim", a.latent->rope_head_dim,
            "--v-head-dim", a.v_head_dim);
    if (a.latent->q_rank > 0) out.Add("--q-lora-rank", a.latent->q_rank);
    if (a.index.has_value()) {
      out.Add("--experimental-attention-variant", "dsa", "--dsa-indexer-n-heads", a.index->heads,
              "--dsa-indexer-head-dim", a.index->head_dim, "--dsa-indexer-topk", a.index->top_k);
      out.Add("--dsa-indexer-loss-coeff", kIndexerLoss, "--no-rope-fusion");
    }
  } else {
    out.Add("--kv-channels", a.head_dim);
    if (a.query_groups != a.heads) {
      out.Add("--group-query-attention", "--num-query-groups", a.query_groups);
    }
  }
  out.Add("--max-position-embeddings", a.positions, "--position-embedding-type",
          a.rope ? "rope" : (a.learned_positions ? "learned_absolute" : "none"));
  out.Add("--normalization", a.rms_norm ? "RMSNorm" : "LayerNorm");
  if (a.gated_silu) out.Add("--swiglu");
  if (a.squared_relu) out.Add("--squared-relu");
  if (!a.linear_bias) out.Add("--disable-bias-linear");
  if (!a.linear_bias && a.qkv_bias) out.Add("--add-qkv-bias");
  if (a.qk_norm) out.Add("--qk-layernorm");
  if (!a.tied) out.Add("--untie-embeddings-and-output-weights");
  if (a.prediction_modules > 0) out.Add("--mtp-num-layers", a.prediction_modules);
}

void AddExperts(const MegatronArchitecture& a, const Configuration& c, ArgumentArray& out) {
  if (a.experts == 0) return;
  out.Add("--num-experts", a.experts, "--moe-router-topk", a.top_k, "--moe-ffn-hidden-size",
          a.expert_ffn);
  if (!a.expert_layers.empty()) {
    out.Add("--moe-layer-freq", absl::StrCat("'([", absl::StrJoin(a.expert_layers, ","), "])'"));
  }
  if (a.shared_ffn > 0) out.Add("--moe-shared-expert-intermediate-size", a.shared_ffn);
  if (a.balance_bias) {
    out.Add("--moe-router-score-function", "sigmoid", "--moe-router-enable-expert-bias",
            "--moe-router-load-balancing-type", "none");
  } else {
    out.Add("--moe-router-load-balancing-type", "aux_loss", "--moe-aux-loss-coeff", "1e-2");
  }
  out.Add("--moe-token-dispatcher-type", "alltoall");
  if (c.precision != Precision::kFp16) out.Add("--moe-grouped-gemm");  // bf16 only
  out.Add("--expert-model-parallel-size", c.ep, "--expert-tensor-parallel-size", c.etp);
}

void AddPipeline(const ModelLaunch& launch, const MegatronArchitecture& a, ArgumentArray& out) {
  const Configuration& c = launch.configuration;
  const LayerSplit split = SplitLayers(launch);
  if (split.kind == LayerSplit::Kind::kListed) {
    // One of layout, stages and layers a stage only; the layout says how many stages there are.
    out.Add("--pipeline-model-parallel-layout",
            ShellWord(LayoutText(split.layers, a.prediction_modules)));
  } else if (c.virtual_stages > 1) {
    out.Add("--num-virtual-stages-per-pipeline-rank", c.virtual_stages);
  }
  if (split.kind == LayerSplit::Kind::kEndsCounted) {
    out.Add("--account-for-embedding-in-pipeline-split");
  }
  if (split.kind == LayerSplit::Kind::kEndsCounted ||
      split.kind == LayerSplit::Kind::kHeadCounted) {
    out.Add("--account-for-loss-in-pipeline-split");
  }
  if (c.virtual_stages == 1) return;
  const int64_t group = MicroBatchGroup(c.pp, launch.MicroBatches(c));
  if (group != c.pp) out.Add("--microbatch-group-size-per-virtual-pipeline-stage", group);
}

void AddSharding(const Configuration& c, ArgumentArray& out) {
  if (c.dp * c.cp > 1) out.Add("--overlap-grad-reduce");
  if (c.zero == 0) return;
  out.Add("--use-distributed-optimizer", "--overlap-param-gather");
  if (OptimizerInstances(c) > 1) {
    out.Add("--num-distributed-optimizer-instances", OptimizerInstances(c));
  }
  if (!NeedsMegatronFsdp(c)) return;
  out.Add("--use-megatron-fsdp", "--data-parallel-sharding-strategy",
          c.zero == 2 ? "optim_grads" : "optim_grads_params");
  if (OptimizerInstances(c) > 1) out.Add("--outer-dp-sharding-strategy", "no_shard");
  out.Add("--init-model-with-meta-device", "--ckpt-format", "fsdp_dtensor",
          "--no-gradient-accumulation-fusion");
}

void AddRecompute(const Configuration& c, ArgumentArray& out) {
  if (c.recompute == Recompute::kFull) {
    // Block: the first of each stage; uniform: all, each by itself.
    const bool some = c.recompute_layers > 0;
    out.Add("--recompute-granularity", "full", "--recompute-method", some ? "block" : "uniform",
            "--recompute-num-layers", some ? c.recompute_layers : 1);
  } else if (c.recompute == Recompute::kSelective) {
    out.Add("--recompute-granularity", "selective", "--recompute-modules", "core_attn");
  }
}

void AddOffload(const Configuration& c, ArgumentArray& out) {
  if (c.offload_optimizer) {
    out.Add("--optimizer-cpu-offload", "--optimizer-offload-fraction", OffloadedState(c),
            "--use-precision-aware-optimizer");
  }
  if (c.offload_activations) out.Add("--cpu-offloading-num-layers", c.offload_layers);
}

void AddState(const ModelLaunch& launch, ArgumentArray& out) {
  const transformer::StateOptions usual;
  const transformer::StateOptions& state = launch.state;
  const bool moments = state.moment_bytes != usual.moment_bytes;
  if (state.gradient_bytes != usual.gradient_bytes) out.Add("--grad-reduce-in-bf16");
  if (moments && !launch.configuration.offload_optimizer)
    out.Add("--use-precision-aware-optimizer");
  if (moments) out.Add("--exp-avg-dtype", "bf16", "--exp-avg-sq-dtype", "bf16");
  if (state.logit_bytes != usual.logit_bytes)
    out.Add("--cross-entropy-loss-fusion", "--cross-entropy-fusion-impl", "te");
}

void AddPrecision(const Configuration& c, ArgumentArray& out) {
  out.Add(c.precision == Precision::kFp16 ? "--fp16" : "--bf16");
  if (c.precision == Precision::kFp8) out.Add("--fp8-format", "hybrid");
  if (c.precision == Precision::kMxFp8) out.Add("--fp8-format", "e4m3", "--fp8-recipe", "mxfp8");
  if (c.precision == Precision::kNvFp4) out.Add("--fp4-format", "e2m1", "--fp4-recipe", "nvfp4");
}

void AddTraining(const ModelLaunch& launch, const MegatronArchitecture& a,
                 const ExportOptions& options, ArgumentArray& out) {
  out.Add("--seq-length", launch.workload.sequence);
  out.Add("--micro-batch-size", launch.configuration.micro_batch, "--global-batch-size",
          launch.workload.global_batch);
  out.Add("--train-iters", "\"$steps\"", "--lr", "\"$learning_rate\"", "--lr-decay-style", "cosine",
          "--lr-warmup-fraction", "0.01");
  out.Add("--adam-beta1", "0.9", "--adam-beta2", "0.95", "--weight-decay", "0.1", "--clip-grad",
          "1.0", "--init-method-std", "0.02");
  out.Add("--attention-dropout", "0", "--hidden-dropout", "0");
  out.Add("--log-interval", "1", "--log-throughput", "--eval-iters", "0");
  if (options.data_path == "mock") {
    out.Add("--mock-data", "--tokenizer-type", "NullTokenizer", "--vocab-size", a.vocabulary - 1);
  } else {
    out.Add("--data-path", "\"$data_path\"", "--split", "'1000,0,0'");
    out.Add("--tokenizer-type", "HuggingFaceTokenizer", "--tokenizer-model", "\"$tokenizer\"");
  }
  if (!options.checkpoint.empty()) {
    out.Add("--save", "\"$checkpoint\"", "--load", "\"$checkpoint\"", "--save-interval", "1000");
  }
}

std::string Setup(const ModelLaunch& launch, const ExportOptions& options) {
  const Configuration& c = launch.configuration;
  const MegatronArchitecture a = ArchitectureOf(launch);
  std::string text = absl::StrCat(
      RequiredVariable("megatron", options.framework, "MEGATRON_PATH",
                       "set it to a checkout of Megatron-LM, or export with --framework"),
      TrainingLength(options));
  if (options.data_path != "mock") {
    absl::StrAppend(
        &text,
        RequiredVariable("data_path", options.data_path, "DATA_PATH",
                         "set it to the prefix of data that Megatron preprocessed, or export with "
                         "--data-path; --data-path mock makes data up"),
        RequiredVariable("tokenizer", options.tokenizer, "TOKENIZER",
                         "set it to a tokenizer of Hugging Face, or export with --tokenizer"));
  }
  if (!options.checkpoint.empty()) {
    absl::StrAppend(&text, "checkpoint=", ShellWord(options.checkpoint), "\n");
  }
  absl::StrAppend(&text,
                  "[ -f \"$megatron/pretrain_gpt.py\" ] || fail \"$megatron has no "
                  "pretrain_gpt.py; it is no checkout of Megatron-LM\"\n",
                  "export PYTHONPATH=\"$megatron${PYTHONPATH:+:$PYTHONPATH}\"\n");
  if (NeedsMegatronFsdp(c)) {
    absl::StrAppend(&text, "unset CUDA_DEVICE_MAX_CONNECTIONS  # Megatron-FSDP overlaps without\n");
  } else if (c.tp > 1 || c.cp > 1) {
    absl::StrAppend(&text,
                    "export CUDA_DEVICE_MAX_CONNECTIONS=1  # tensor and context parallel "
                    "GPUs before Blackwell need it\n");
  }
  ArgumentArray out;
  out.Add("--tensor-model-parallel-size", c.tp, "--pipeline-model-parallel-size", c.pp,
          "--context-parallel-size", c.cp);
  if (c.cp > 1) out.Add("--cp-comm-type", ContextCommunication(c.context));
  if (c.sequence_parallel) out.Add("--sequence-parallel");
  if (NumbersPipelineFirst(c)) out.Add("--use-tp-pp-dp-mapping");
  AddPipeline(launch, a, out);
  AddSharding(c, out);
  AddRecompute(c, out);
  AddOffload(c, out);
  AddState(launch, out);
  AddPrecision(c, out);
  AddArchitecture(a, out);
  AddExperts(a, c, out);
  AddTraining(launch, a, options, out);
  return absl::StrCat(text, "\n", out.Text());
}

absl::StatusOr<Artefacts> WriteMegatron(const ModelLaunch& launch, const ExportOptions& options) {
  NodeLaunch node = LaunchOf(launch, "Megatron-LM");
  node.setup = Setup(launch, options);
  node.torchrun = "\"$megatron/pretrain_gpt.py\" \"${arguments[@]}\"";
  return NodeLaunchFiles(node, options);
}

}  // namespace

ExportTarget MegatronTarget() {
  return {.name = "megatron",
          .summary = "Megatron-LM: pretrain_gpt.py and its arguments",
          .check_model = &CheckMegatronModel,
          .check_configuration = &CheckMegatronConfiguration,
          .write_model = &WriteMegatron,
          .write_program = nullptr,
          .options = {"--data-path", "--tokenizer", "--checkpoint", "--framework", "--steps",
                      "--learning-rate"},
          .groups = TakesGroups::kAlike,
          .writes_state = true};
}

}  // namespace meshwright
