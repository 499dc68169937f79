// torchtitan, in both of its forms: the TOML file that it read until 0.2
// (torchtitan/config/job_config.py), and a Python module with a function that returns a
// Trainer.Config (--module, --config; torchtitan/config/manager.py and parallelism.py as of August
// 2026). docs/export.md has the rules.

#include <array>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"
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

// Models that torchtitan/models/*/__init__.py has by name, and their sizes.
struct Flavor {
  const char* module;
  const char* flavor;
  const char* function;  // in the module's config_registry
  const char* families;  // of our models, separated by spaces
  int64_t layers, hidden, heads, kv_heads, ffn, experts, vocabulary;
};

constexpr std::array<Flavor, 8> kFlavors = {{
    {"llama3", "8B", "llama3_8b", "llama", 32, 4096, 32, 8, 14336, 0, 128256},
    {"llama3", "70B", "llama3_70b", "llama", 80, 8192, 64, 8, 28672, 0, 128256},
    {"llama3", "405B", "llama3_405b", "llama", 126, 16384, 128, 8, 53248, 0, 128256},
    {"qwen3", "0.6B", "qwen3_0_6b", "qwen3", 28, 1024, 16, 8, 3072, 0, 151936},
    {"qwen3", "1.7B", "qwen3_1_7b", "qwen3", 28, 2048, 16, 8, 6144, 0, 151936},
    {"qwen3", "14B", "qwen3_14b", "qwen3", 40, 5120, 40, 8, 17408, 0, 151936},
    {"qwen3", "32B", "qwen3_32b", "qwen3", 64, 5120, 64, 8, 25600, 0, 151936},
    {"qwen3", "30B-A3B", "qwen3_30b_a3b", "qwen3_moe", 48, 2048, 32, 4, 768, 128, 151936},
}};

const Flavor* FlavorOf(const transformer::Model& model) {
  if (model.stacks.size() != 1 || model.stacks[0].kinds.size() != 1) return nullptr;
  const Layer& layer = model.stacks[0].kinds[0];
  if (!layer.feeds_forward()) return nullptr;
  const int64_t experts = layer.moe.has_value() ? layer.moe->experts : 0;
  const int64_t ffn = layer.moe.has_value() ? layer.moe->expert.ffn : layer.mlp->ffn;
  for (const Flavor& flavor : kFlavors) {
    if (flavor.families == model.family && flavor.layers == model.layers() &&
        flavor.hidden == model.hidden && flavor.heads == layer.attention.heads &&
        flavor.kv_heads == layer.attention.kv_heads && flavor.ffn == ffn &&
        flavor.experts == experts && flavor.vocabulary == model.embedding.vocabulary) {
      return &flavor;
    }
  }
  return nullptr;
}

std::string FlavorNames() {
  return absl::StrJoin(kFlavors, ", ", [](std::string* out, const Flavor& flavor) {
    absl::StrAppend(out, flavor.module, " ", flavor.flavor);
  });
}

// FSDP shards over data_parallel_shard_degree x context_parallel_degree.
int64_t TitanShard(const Configuration& c) {
  if (c.zero == 0) return 1;
  return c.shard == 0 ? c.dp : c.shard / c.cp;
}

// Layers that stages are made of: embedding and head count as layers where the plan says so
// (pipeline_parallel_first_stage_less_layers, ..._last_...).
struct TitanSplit {
  int64_t first_less = 0, last_less = 0, layers_per_stage = 0;
};

TitanSplit TitanSplitOf(const transformer::Model& model, const Configuration& c) {
  TitanSplit split;
  const LayerSplit::Kind kind = KindOfSplit(model, c);
  split.first_less = kind == LayerSplit::Kind::kEndsCounted ? 1 : 0;
  split.last_less =
      kind == LayerSplit::Kind::kEndsCounted || kind == LayerSplit::Kind::kHeadCounted ? 1 : 0;
  const int64_t layers = model.layers() + split.first_less + split.last_less;
  const int64_t stages = c.pp * c.virtual_stages;
  split.layers_per_stage = (layers + stages - 1) / stages;
  return split;
}

void CheckTitanModel(const ModelLaunch& launch, Findings& findings) {
  findings.Require(FlavorOf(launch.model) != nullptr,
                   "model: torchtitan has no flavor of these sizes; it has ", FlavorNames());
}

void CheckTitanPipeline(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  findings.Require(c.schedule != transformer::PipelineKind::kZeroBubble,
                   "schedule: torchtitan's zero-bubble schedules have 2 stages or more a rank, the "
                   "plan's has one");
  findings.Require(
      (c.virtual_stages > 1) == (c.schedule == transformer::PipelineKind::kInterleaved),
      "schedule: 1F1B has one stage a rank, Interleaved1F1B 2 or more");
  findings.Require(c.virtual_stages == 1 || c.pp > 1,
                   "schedule: virtual stages need pp of 2 or more");
  if (c.pp == 1) return;
  const TitanSplit split = TitanSplitOf(launch.model, c);
  const int64_t layers = launch.model.layers() + split.first_less + split.last_less;
  const int64_t stages = c.pp * c.virtual_stages;
  findings.Require(stages <= layers, "stages: pp ", c.pp, " x ", c.virtual_stages,
                   " stages are more than the ", layers, " layers");
  const int64_t made = (layers + split.layers_per_stage - 1) / split.layers_per_stage;
  findings.Require(made == stages, "stages: ", split.layers_per_stage, " layers a stage make ",
                   made, " stages of ", layers, " layers, not the plan's ", stages);
  const int64_t micro_batches = launch.MicroBatches(c);
  findings.Require(micro_batches >= c.pp, "schedule: pp ", c.pp,
                   " needs as many micro-batches, there are ", micro_batches);
  findings.Require(c.virtual_stages == 1 || micro_batches % c.pp == 0,
                   "schedule: Interleaved1F1B needs micro-batches that are a multiple of pp ", c.pp,
                   ", there are ", micro_batches);
}

void CheckTitanSharding(const Configuration& c, Findings& findings) {
  findings.Require(c.zero != 1,
                   "sharding: FSDP shards gradients too, so ZeRO 1 cannot be; 2 and 3 can");
  findings.Require(c.zero == 0 || c.shard == 0 || c.shard % c.cp == 0,
                   "sharding: FSDP shards over context parallel GPUs first, so cp ", c.cp,
                   " must divide shard ", c.shard);
  const int64_t shard = TitanShard(c);
  findings.Require(shard > 0 && c.dp % shard == 0, "degrees: data_parallel_shard_degree ", shard,
                   " must divide dp ", c.dp);
  // parallelize.py: "DDP has not supported > 1D parallelism", and context parallel GPUs shard.
  findings.Require(c.zero > 0 || c.dp * c.cp == 1 || (c.tp == 1 && c.pp == 1 && c.cp == 1),
                   "sharding: plain data parallelism goes with no other, so tp ", c.tp, ", cp ",
                   c.cp, " and pp ", c.pp, " with ZeRO 0 cannot be; ZeRO 2 and 3 can");
}

void CheckTitanConfiguration(const ModelLaunch& launch, const Configuration& c,
                             Findings& findings) {
  RequireUsualChoices(c, findings);
  RequireEveryLayer(c, findings);
  RequireUsualRanks(c, findings);
  RequireNoOffload(c, findings);
  RequireRing(c, findings);
  const Layer& layer = launch.model.stacks[0].kinds[0];
  findings.Require(c.tp * c.cp * c.dp * c.pp == launch.nodes * launch.devices_per_node,
                   "degrees: replicate x shard x cp x tp x pp must be all GPUs");
  findings.Require(launch.workload.global_batch % (c.micro_batch * c.dp) == 0,
                   "batch: micro-batch ", c.micro_batch, " x dp ", c.dp,
                   " must divide the global batch of ", launch.workload.global_batch);
  findings.Require(layer.attention.kv_heads % c.tp == 0, "tensor parallel: tp ", c.tp,
                   " must divide the ", layer.attention.kv_heads, " heads of keys and values");
  findings.Require(layer.attention.heads % c.tp == 0, "tensor parallel: tp ", c.tp,
                   " must divide the ", layer.attention.heads, " heads");
  findings.Require(c.cp == 1 || launch.workload.sequence % (2 * c.cp) == 0,
                   "context parallel: 2 x cp ", c.cp, " must divide the sequence of ",
                   launch.workload.sequence, " tokens");
  // trainer.py: each GPU's two parts of a ring are divided again.
  const int64_t parts = c.tp * (c.cp > 1 ? 2 * c.cp : 1);
  findings.Require(!c.sequence_parallel || launch.workload.sequence % parts == 0,
                   "tensor parallel: with sequence parallelism ", parts, " parts (tp ", c.tp,
                   c.cp > 1 ? absl::StrCat(" x 2 x cp ", c.cp) : "",
                   ") must divide the sequence of ", launch.workload.sequence, " tokens");
  CheckTitanSharding(c, findings);
  CheckTitanPipeline(launch, c, findings);
  findings.Require(c.etp == 1, "expert parallel: experts are not split, so etp ", c.etp,
                   " cannot be; 1 can");
  if (layer.moe.has_value()) {
    findings.Require(TitanShard(c) * c.cp * c.tp % c.ep == 0, "expert parallel: ep ", c.ep,
                     " must divide shard x cp x tp = ", TitanShard(c) * c.cp * c.tp);
    findings.Require(c.ep >= c.tp, "expert parallel: ep ", c.ep, " must be at least tp ", c.tp);
    findings.Require(layer.moe->experts % c.ep == 0, "expert parallel: ep ", c.ep,
                     " must divide the ", layer.moe->experts, " experts");
  }
  findings.Require(c.precision == Precision::kBf16, "precision: training is written in bf16, not ",
                   transformer::PrecisionName(c.precision));
}

std::string_view RecomputeMode(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone:
      return "none";
    case Recompute::kSelective:
      return "selective";
    case Recompute::kFull:
      return "full";
    case Recompute::kModules:  // refused by its rules (usual_choices.h)
      break;
  }
  return "";
}

/// Sequences that a rank takes at once: a pipeline takes all of a step and splits them itself.
int64_t LocalBatch(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  return c.pp > 1 ? c.micro_batch * launch.MicroBatches(c) : c.micro_batch;
}

/// Versions with TOML split sequences wherever they split tensors.
bool TomlCanExpress(const Configuration& c) { return c.tp == 1 || c.sequence_parallel; }

std::string TitanToml(const ModelLaunch& launch, const Flavor& flavor,
                      const ExportOptions& options) {
  const Configuration& c = launch.configuration;
  std::string text = absl::StrCat(
      "# ", CommentText(launch.model.name), ", ", transformer::ConfigurationText(c),
      ".\n# For torchtitan 0.2 and earlier; 0.3 and later read meshwright_config.py.\n"
      "# launch.sh gives the tokenizer, the steps and the learning rate.\n\n"
      "[job]\ndump_folder = \"./outputs\"\ndescription = ",
      QuotedString(absl::StrCat(launch.model.name, " ", transformer::ConfigurationText(c))),
      "\n\n[metrics]\nlog_freq = 1\n\n[model]\nname = \"", flavor.module, "\"\nflavor = \"",
      flavor.flavor,
      "\"\n\n[optimizer]\nname = \"AdamW\"\n\n[training]\nlocal_batch_size = ", LocalBatch(launch),
      "\nglobal_batch_size = ", launch.workload.global_batch,
      "\nseq_len = ", launch.workload.sequence, "\nmax_norm = 1.0\ndataset = \"c4\"\n");
  StrAppend(&text, "\n[parallelism]\ndata_parallel_replicate_degree = ", c.dp / TitanShard(c),
            "\ndata_parallel_shard_degree = ", TitanShard(c), "\nfsdp_reshard_after_forward = \"",
            c.zero == 3 ? "always" : "never", "\"\ntensor_parallel_degree = ", c.tp,
            "\ncontext_parallel_degree = ", c.cp, "\npipeline_parallel_degree = ", c.pp, "\n");
  if (c.pp > 1) {
    const TitanSplit split = TitanSplitOf(launch.model, c);
    absl::StrAppend(&text, "pipeline_parallel_schedule = \"",
                    c.virtual_stages > 1 ? "Interleaved1F1B" : "1F1B",
                    "\"\npipeline_parallel_layers_per_stage = ", split.layers_per_stage,
                    "\npipeline_parallel_first_stage_less_layers = ", split.first_less,
                    "\npipeline_parallel_last_stage_less_layers = ", split.last_less,
                    "\npipeline_parallel_microbatch_size = ", c.micro_batch, "\n");
  }
  if (flavor.experts > 0) absl::StrAppend(&text, "expert_parallel_degree = ", c.ep, "\n");
  // Plans count fused kernels, in time and memory.
  absl::StrAppend(&text, "\n[compile]\nenable = true\n");
  StrAppend(&text, "\n[activation_checkpoint]\nmode = \"", RecomputeMode(c.recompute), "\"\n");
  if (c.recompute == Recompute::kSelective)
    absl::StrAppend(&text, "selective_ac_option = \"op\"\n");
  if (!options.checkpoint.empty()) {
    absl::StrAppend(&text,
                    "\n[checkpoint]\nenable = true\nfolder = ", QuotedString(options.checkpoint),
                    "\ninterval = 1000\n");
  }
  return text;
}

std::string TitanPython(const ModelLaunch& launch, const Flavor& flavor,
                        const ExportOptions& options) {
  const Configuration& c = launch.configuration;
  const int64_t sequence = launch.workload.sequence;
  std::string text =
      absl::StrCat("# ", CommentText(launch.model.name), ", ", transformer::ConfigurationText(c),
                   ".\n# For torchtitan from 0.3 on; 0.2 and earlier read torchtitan.toml.\n"
                   "# --module meshwright_config --config meshwright\n\n"
                   "import os\n\n"
                   "from torchtitan.components.optimizer import default_adamw\n"
                   "from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC\n"
                   "from torchtitan.models.",
                   flavor.module, " import config_registry\n", R"(

def put(section, **values):
    """Sets what is there; a name that this version of torchtitan lacks is an error."""
    for name, value in values.items():
        if not hasattr(section, name):
            raise AttributeError(f"{type(section).__name__} of this torchtitan has no {name}")
        setattr(section, name, value)


def meshwright():
    config = config_registry.)",
                   flavor.function, R"(()
    if hasattr(config.training, "local_batch_size"):
        # 0.3 counts sequences.
        put(
            config.training,
            local_batch_size=)",
                   LocalBatch(launch), R"(,
            global_batch_size=)",
                   launch.workload.global_batch, R"(,
            seq_len=)",
                   sequence, R"(,
        )
    else:
        # After 0.3 tokens are counted.
        put(
            config.training,
            num_tokens_per_microbatch_per_dp_rank=)",
                   c.micro_batch * sequence, R"(,
            num_tokens_per_train_step=)",
                   launch.workload.global_batch * sequence, R"(,
            max_context_length=)",
                   sequence, R"(,
        )
    put(
        config.parallelism,
        data_parallel_replicate_degree=)",
                   c.dp / TitanShard(c), R"(,
        data_parallel_shard_degree=)",
                   TitanShard(c), R"(,
        fsdp_reshard_after_forward=")",
                   c.zero == 3 ? "always" : "never", R"(",
        tensor_parallel_degree=)",
                   c.tp, R"(,
        enable_sequence_parallel=)",
                   c.tp == 1 || c.sequence_parallel ? "True" : "False", R"(,
        context_parallel_degree=)",
                   c.cp, R"(,
        pipeline_parallel_degree=)",
                   c.pp, ",\n");
  if (c.pp > 1) {
    const TitanSplit split = TitanSplitOf(launch.model, c);
    absl::StrAppend(&text, "        pipeline_parallel_schedule=\"",
                    c.virtual_stages > 1 ? "Interleaved1F1B" : "1F1B",
                    "\",\n        pipeline_parallel_layers_per_stage=", split.layers_per_stage,
                    ",\n        pipeline_parallel_first_stage_less_layers=", split.first_less,
                    ",\n        pipeline_parallel_last_stage_less_layers=", split.last_less, ",\n");
  }
  absl::StrAppend(&text, "        expert_parallel_degree=", c.ep, ",\n    )\n");
  if (c.pp > 1) {
    absl::StrAppend(&text,
                    R"(    if hasattr(config.parallelism, "pipeline_parallel_microbatch_size"):
        put(config.parallelism, pipeline_parallel_microbatch_size=)",
                    c.micro_batch, R"()
    else:
        put(config.parallelism, num_pp_microbatches=)",
                    launch.MicroBatches(c), ")\n");
  }
  if (c.pp > 1 || c.ep > 1) {
    // 0.3's trainer.py refuses CUDA graphs with a pipeline and with the usual exchange of experts.
    absl::StrAppend(&text, R"(    if hasattr(config.training, "disable_cuda_graphs"):
        put(config.training, disable_cuda_graphs=True)
)");
  }
  absl::StrAppend(&text,
                  "    put(config.compile, enable=True)\n"
                  "    config.optimizer = default_adamw(lr=float(os.environ[\"LEARNING_RATE\"]))\n"
                  "    config.activation_checkpoint = ",
                  c.recompute == Recompute::kFull        ? "FullAC.Config()"
                  : c.recompute == Recompute::kSelective ? "SelectiveAC.Config()"
                                                         : "None",
                  "\n");
  if (!options.checkpoint.empty()) {
    absl::StrAppend(&text, "    put(config.checkpoint, enable=True, folder=",
                    QuotedString(options.checkpoint), ", interval=1000)\n");
  }
  return absl::StrCat(text, "    return config\n");
}

std::string TitanSetup(const Configuration& c, const ExportOptions& options) {
  std::string text =
      absl::StrCat(TrainingLength(options),
                   RequiredVariable("assets", options.tokenizer, "HF_ASSETS",
                                    "set it to the folder of the tokenizer, or export with "
                                    "--tokenizer"));
  if (!options.framework.empty()) {
    absl::StrAppend(&text, "torchtitan=", ShellWord(options.framework),
                    "\nexport PYTHONPATH=\"$torchtitan${PYTHONPATH:+:$PYTHONPATH}\"\n");
  }
  absl::StrAppend(&text, R"(export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
arguments=(--training.steps "$steps")
if python3 -c 'import torchtitan.config.job_config' 2>/dev/null; then
)",
                  TomlCanExpress(c)
                      ? "  # 0.2 and earlier.\n"
                        "  arguments+=(--job.config_file ./torchtitan.toml --optimizer.lr "
                        "\"$learning_rate\" --model.hf_assets_path \"$assets\")\n"
                      : "  fail 'tensor parallelism without sequence parallelism needs torchtitan "
                        "0.3 or later'\n",
                  R"(else
  arguments+=(--module meshwright_config --config meshwright --hf_assets_path "$assets")
  export LEARNING_RATE=$learning_rate
fi
)");
  return text;
}

absl::StatusOr<Artefacts> WriteTorchtitan(const ModelLaunch& launch, const ExportOptions& options) {
  const Flavor& flavor = *FlavorOf(launch.model);
  NodeLaunch node = LaunchOf(launch, "torchtitan");
  node.setup = TitanSetup(launch.configuration, options);
  node.torchrun = "-m torchtitan.train \"${arguments[@]}\"";
  Artefacts files = NodeLaunchFiles(node, options);
  if (TomlCanExpress(launch.configuration)) {
    files.push_back({"torchtitan.toml", TitanToml(launch, flavor, options), false});
  }
  files.push_back({"meshwright_config.py", TitanPython(launch, flavor, options), false});
  return files;
}

}  // namespace

ExportTarget TorchtitanTarget() {
  return {.name = "torchtitan",
          .summary = "torchtitan: the TOML of versions up to 0.2, and the Python of later ones",
          .check_model = &CheckTitanModel,
          .check_configuration = &CheckTitanConfiguration,
          .write_model = &WriteTorchtitan,
          .write_program = nullptr,
          .options = {"--tokenizer", "--checkpoint", "--framework", "--steps", "--learning-rate"}};
}

}  // namespace meshwright
