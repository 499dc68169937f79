#include "meshwright/published/runs/runs.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/check_model.h"
#include "meshwright/model/matmuls.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/published/runs/check.h"
#include "meshwright/published/runs/key.h"
#include "meshwright/published/runs/row.h"

namespace meshwright::transformer {
namespace {

constexpr double kGib = 1073741824.0;
constexpr int64_t kDefaultVocabulary = 51200;  // GPT-2's, padded as Megatron does

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The first built-in device whose words all occur in what a table calls a GPU, of which only
// letters and digits count.
struct GpuWords {
  std::string_view word;    // in lower case
  std::string_view other;   // that occurs too: memory or form; empty: any
  std::string_view device;  // empty: not among the built-in ones, but like one of those that follow
};
constexpr GpuWords kGpus[] = {
    {"gb300", "", "gb300-nvl72"},
    {"gb200", "", "gb200-nvl72"},
    {"gh200", "", ""},
    {"b300", "", "b300"},
    {"b200", "", "b200"},
    {"h200", "", "h200"},
    {"h100", "96g", "h100-96g"},
    {"h100", "pcie", "h100-pcie"},
    {"h100", "nvl", ""},
    {"h100", "", "h100-sxm"},
    {"a100", "40gpcie", "a100-40g-pcie"},
    {"a100", "pcie40g", "a100-40g-pcie"},
    {"a100", "pcie", ""},
    {"a100", "40g", "a100-40g"},
    {"a100", "", "a100-80g"},
    {"v100", "", "v100"},
    {"mi300x", "", "mi300x"},
    {"v5p", "", "tpu-v5p"},
    {"a10g", "", "a10g"},
};

std::string LettersAndDigits(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) letters += absl::ascii_tolower(c);
  }
  return letters;
}

// A decoder of the row's sizes.
Model ModelOfSizes(const std::string& name, int64_t layers, int64_t hidden, int64_t heads,
                   int64_t kv_heads, int64_t ffn, int64_t vocabulary) {
  Model model;
  model.family = "gpt2";
  model.name = name;
  model.hidden = hidden;
  model.embedding.vocabulary = vocabulary;
  model.embedding.dim = hidden;
  Layer layer;
  layer.name = "dense";
  layer.attention.heads = heads;
  layer.attention.kv_heads = kv_heads;
  layer.attention.qk_head_dim = hidden / heads;
  layer.attention.v_head_dim = hidden / heads;
  // An inner size other than four times the hidden size is that of gated MLPs.
  layer.mlp = Mlp{.ffn = ffn, .gated = ffn != 4 * hidden};
  layer.attention_norm = {.kind = NormKind::kRms};
  layer.mlp_norm = {.kind = NormKind::kRms};
  Stack stack;
  stack.kinds = {layer};
  stack.layers.assign(layers, 0);
  stack.final_norm = {.kind = NormKind::kRms};
  model.stacks = {stack};
  model.head.outputs = vocabulary;
  model.head.tied = ffn == 4 * hidden;
  return model;
}

// Sizes in the row count before a name; a name must agree with them.
absl::StatusOr<Model> ModelOf(RowReader& row) {
  std::string name = row.Text("model");
  if (const size_t variant = name.find(" ("); variant != std::string::npos) name.resize(variant);
  name.erase(0, name.rfind('/') + 1);  // the organisation, as of meta-llama/Llama-3.1-8B
  const auto layers = row.Count("layers"), hidden = row.Count("hidden");
  const auto heads = row.Count("heads"), kv_heads = row.Count("kv_heads");
  const auto ffn = row.Count("ffn"), vocabulary = row.Count("vocab");
  const bool sized = layers.has_value() && hidden.has_value() && heads.has_value();
  if (const BuiltinModel* builtin = FindBuiltinModel(name); builtin != nullptr) {
    MW_ASSIGN_OR_RETURN(Model model, ReadHuggingFaceConfig(builtin->config, builtin->name));
    if (!sized || (model.layers() == *layers && model.hidden == *hidden)) return model;
  }
  if (!sized) return absl::NotFoundError("model's sizes not published, nor a built-in model");
  if (*layers > kMaxLayers || *hidden > kMaxWidth || *heads > kMaxWidth || *hidden % *heads != 0) {
    return absl::InvalidArgumentError("model's sizes are not valid");
  }
  Model model = ModelOfSizes(name, *layers, *hidden, *heads, kv_heads.value_or(*heads),
                             ffn.value_or(4 * *hidden), vocabulary.value_or(kDefaultVocabulary));
  const auto experts = row.Count("experts", /*or_zero=*/true);
  if (experts.value_or(0) > 1) {
    // `ffn` is then that of an expert, and every layer has experts.
    const auto top_k = row.Count("topk");
    if (!top_k.has_value() || !ffn.has_value()) {
      return absl::NotFoundError("experts per token or their inner size not published");
    }
    Layer& layer = model.stacks[0].kinds[0];
    layer.name = "moe";
    layer.moe = Moe{.experts = *experts, .top_k = *top_k, .expert = *layer.mlp, .shared = {}};
    layer.mlp.reset();
  }
  MW_RETURN_IF_ERROR(CheckModel(model));
  return model;
}

absl::StatusOr<Precision> PrecisionOf(const std::string& text, const std::string& source) {
  const std::string dtype = LettersAndDigits(text);
  // NVIDIA's submissions train in 8 bits unless a row says otherwise (config_common.sh, FP8=True).
  if (dtype.empty() && Contains(source, "MLPerf Training")) return Precision::kFp8;
  if (Contains(dtype, "mx")) return Precision::kMxFp8;
  if (Contains(dtype, "fp4")) return Precision::kNvFp4;
  if (Contains(dtype, "fp8")) return Precision::kFp8;
  if (Contains(dtype, "bf16") || Contains(dtype, "bfloat16") || dtype.empty()) {
    return Precision::kBf16;
  }
  if (Contains(dtype, "fp16") || Contains(dtype, "float16")) return Precision::kFp16;
  return absl::InvalidArgumentError("dtype not known");
}

absl::StatusOr<Cluster> ClusterOf(const std::string& gpu, int64_t gpus) {
  const std::string name = LettersAndDigits(gpu);
  for (const GpuWords& words : kGpus) {
    if (!Contains(name, words.word) || !Contains(name, words.other)) continue;
    const DeviceType* const device = FindDevice(words.device);
    if (device == nullptr) break;
    int64_t inside = std::min<int64_t>(device->devices_per_node, gpus);
    while (gpus % inside != 0) --inside;
    Cluster cluster;
    cluster.name = absl::AsciiStrToLower(gpu);
    cluster.device = *device;
    cluster.devices_per_node = inside;
    cluster.nodes = gpus / inside;
    cluster.intra_node = device->intra_node;
    cluster.inter_node = device->inter_node;
    return cluster;
  }
  return absl::NotFoundError("GPU not known");
}

// What the row says of time, in seconds of a step.
std::optional<double> SecondsOf(RowReader& row, const Run& run) {
  const double tokens = static_cast<double>(run.workload.global_batch * run.workload.sequence);
  const double gpus = static_cast<double>(run.cluster.devices());
  if (const auto seconds = row.Number("iteration_time_s")) return seconds;
  if (const auto rate = row.Number("tokens_per_s_per_gpu")) return tokens / gpus / *rate;
  const auto tflops = row.Number("tflops_per_gpu");
  if (!tflops.has_value()) return std::nullopt;
  // Megatron's formula counts every pair of tokens; its earlier one, recomputation as well.
  const ModelFlops model =
      CountModelFlops(run.model, {.sequences = 1, .tokens = run.workload.sequence});
  const FlopCounts flops = model.total() + model.mtp;
  const bool again = Contains(row.Text("notes"), "counts recompute");
  const double counted = flops.dense_forward * (again ? 2 : 1) + flops.dense_backward;
  return counted * static_cast<double>(run.workload.global_batch) / gpus / (*tflops * 1e12);
}

bool HasLatentAttention(const Model& model) {
  return std::any_of(model.stacks.begin(), model.stacks.end(), [](const Stack& stack) {
    return std::any_of(stack.kinds.begin(), stack.kinds.end(),
                       [](const Layer& layer) { return layer.attention.latent.has_value(); });
  });
}

// "Megatron-Bridge perf summary 26.04.01 NeMo Container" is 26.04; 0: the source names none.
double NemoContainer(const std::string& source) {
  const size_t name = source.find(" NeMo Container");
  if (name == std::string::npos) return 0;
  const size_t start = source.rfind(' ', name - 1) + 1;
  double version = 0;
  return absl::SimpleAtod(source.substr(start, 5), &version) ? version : 0;
}

// What recipes set. NVIDIA's submissions to MLPerf reduce gradients in 16 bits (grad_sync_dtype:
// bf16 in their distributed_fused_adam.yaml). So do NeMo's and Megatron-Bridge's performance
// recipes, which submissions use from v5 on, and fuse the loss (grad_reduce_in_fp32 = False,
// cross_entropy_fusion_impl = "te"); those of models with latent attention keep moments in 16 bits
// (exp_avg_dtype, exp_avg_sq_dtype).
StateOptions StateOf(const std::string& source, const Model& model) {
  StateOptions state;
  if (Contains(source, "MLPerf Training")) state.gradient_bytes = 2;
  if (!Contains(source, "NeMo") && !Contains(source, "MLPerf Training v5")) return state;
  state.gradient_bytes = 2;
  state.logit_bytes = 4;
  if (HasLatentAttention(model)) state.moment_bytes = 2;
  return state;
}

// How the row's framework runs a model that it does not train with FSDP. Attention's kernels are
// those of the year: MLPerf v3.0's containers had the first flash attention, v3.1's the second (its
// Dockerfile installs flash-attn 2.0.8), later ones cuDNN's.
std::string MegatronOf(const std::string& source, Precision precision) {
  // Megatron trained in fp16 before flash attention.
  if (precision == Precision::kFp16) return "megatron-2021";
  if (Contains(source, "MLPerf Training v3.0")) return "megatron-23.04";
  if (Contains(source, "MLPerf Training v3.1")) return "megatron-23.09";
  return NemoContainer(source) >= 26.06 ? "megatron-26.06" : "megatron";
}

absl::StatusOr<Run> RunOf(RowReader& row) {
  Run run;
  const auto incomplete = [](std::string_view what) {
    return absl::NotFoundError(StrCat(what, " not published"));
  };
  MW_ASSIGN_OR_RETURN(run.model, ModelOf(row));
  const auto sequence = row.Count("seq");
  auto gpus = row.Count("n_gpus"), batch = row.Count("gbs");
  const auto product = [&](std::initializer_list<const char*> columns) -> std::optional<int64_t> {
    int64_t all = 1;
    for (const char* const column : columns) {
      const auto one = row.Count(column);
      if (!one.has_value() || *one > kMaxDevices) return std::nullopt;
      all = std::min(all * *one, kMaxDevices + 1);
    }
    return all;
  };
  // What follows from other columns. Without context parallelism its column may be empty.
  if (!gpus.has_value()) {
    gpus = row.Text("cp").empty() ? product({"tp", "pp", "dp"}) : product({"tp", "pp", "cp", "dp"});
  }
  if (!batch.has_value()) batch = product({"mbs", "grad_accum", "dp"});
  if (!gpus.has_value()) return incomplete("number of GPUs");
  if (!sequence.has_value()) return incomplete("sequence length");
  if (!batch.has_value()) return incomplete("global batch");
  if (*gpus > kMaxDevices || *sequence > kMaxSequence) {
    return absl::InvalidArgumentError("GPUs or sequence beyond what is accepted");
  }
  MW_ASSIGN_OR_RETURN(run.cluster, ClusterOf(row.Text("gpu"), *gpus));
  run.workload = {.sequence = *sequence, .global_batch = *batch};

  Configuration& c = run.configuration;
  MW_ASSIGN_OR_RETURN(c.precision, PrecisionOf(row.Text("dtype"), row.Text("source")));
  const auto tp = row.Count("tp"), pp = row.Count("pp");
  if (!tp.has_value() || !pp.has_value()) return incomplete("tensor or pipeline degree");
  c.tp = *tp;
  c.pp = *pp;
  c.cp = row.Count("cp").value_or(1);
  c.ep = row.Count("ep").value_or(1);
  c.etp = row.Count("etp").value_or(1);
  if (c.tp > *gpus || c.cp > *gpus || c.pp > *gpus || *gpus % (c.tp * c.cp) != 0 ||
      *gpus / (c.tp * c.cp) % c.pp != 0) {
    return absl::InvalidArgumentError(StrCat("tp ", c.tp, ", cp ", c.cp, " and pp ", c.pp,
                                             " do not divide the ", *gpus, " GPUs"));
  }
  c.dp = *gpus / (c.tp * c.cp * c.pp);
  c.sequence_parallel = c.tp > 1;
  const auto zero = row.Count("zero", /*or_zero=*/true);
  if (zero.value_or(0) > 3) {
    return absl::InvalidArgumentError(StrCat("zero ", *zero, "; valid: 0, 1, 2, 3"));
  }
  MW_ASSIGN_OR_RETURN(const FsdpShard shard, FsdpShardOf(row, c));
  // FSDP's SHARD_GRAD_OP (2) is close to 3. Megatron-class frameworks shard the optimizer state
  // unless told otherwise.
  const bool fsdp = zero.value_or(0) >= 2 || shard.sharded;
  c.zero = fsdp ? 3 : static_cast<int>(zero.value_or(1));
  c.shard = shard.group;
  // torchtitan cuts a replica's batch into as many micro-batches as there are stages, Megatron into
  // single sequences.
  const int64_t each = std::max<int64_t>(1, *batch / c.dp);
  const int64_t usual = c.pp == 1 ? each : fsdp ? std::max<int64_t>(1, each / c.pp) : 1;
  const auto parts = row.Count("mbs").has_value() ? std::nullopt : row.Count("grad_accum");
  c.micro_batch =
      row.Count("mbs").value_or(parts.has_value() ? std::max<int64_t>(1, each / *parts) : usual);
  // llm-foundry's micro-batches need not divide: as many as it takes, of equal size.
  if (Contains(row.Text("source"), "llm-foundry") && *batch % c.dp == 0 && c.micro_batch <= each &&
      each % c.micro_batch != 0) {
    int64_t equal = (each + c.micro_batch - 1) / c.micro_batch;
    while (each % equal != 0) ++equal;
    c.micro_batch = each / equal;
  }
  c.virtual_stages = row.Count("vpp").value_or(1);
  if (c.virtual_stages > 1) c.schedule = PipelineKind::kInterleaved;
  // Megatron recomputed whole layers by default before flash attention.
  const bool early = !fsdp && c.precision == Precision::kFp16;
  run.framework = fsdp ? "fsdp" : MegatronOf(row.Text("source"), c.precision);
  if (!fsdp) run.state = StateOf(row.Text("source"), run.model);
  // Hugging Face's classes, which FSDP trains, leave multi-token prediction out.
  if (fsdp || Contains(row.Text("model"), "w/o MTP")) run.model.mtp.modules = 0;
  const int64_t stages = c.pp * c.virtual_stages, layers = run.model.layers();
  c.ends_as_layers =
      !fsdp && run.model.mtp.modules == 0 && layers % stages != 0 && (layers + 2) % stages == 0;
  MW_ASSIGN_OR_RETURN(const std::optional<Recompute> recompute, RecomputeOf(row));
  c.recompute = recompute.value_or(early ? Recompute::kFull : Recompute::kNone);
  run.memory_gib = row.Number("mem_gib");
  const std::optional<double> seconds = SecondsOf(row, run);
  if (!seconds.has_value()) return incomplete("time");
  run.seconds = *seconds;
  MW_RETURN_IF_ERROR(CheckGivenDegrees(row, run.model, c));
  MW_RETURN_IF_ERROR(CheckConfiguration(run.model, run.workload, run.cluster, c));
  MW_ASSIGN_OR_RETURN(run.note, CheckAccumulation(row, run.workload, c));
  MW_RETURN_IF_ERROR(CheckMeasured(run));
  return run;
}

}  // namespace

absl::StatusOr<std::vector<RunPrediction>> PredictRuns(const CsvTable& table, std::string_view file,
                                                       const CostParameters& parameters) {
  for (const std::string_view column : {"source", "model", "gpu", "n_gpus", "seq", "gbs"}) {
    if (std::find(table.header.begin(), table.header.end(), column) == table.header.end()) {
      return absl::InvalidArgumentError(StrCat(file, ":1: no column \"", column, "\""));
    }
  }
  std::vector<RunPrediction> predictions;
  for (const CsvRow& csv_row : table.rows) {
    RowReader row(table, csv_row, file);
    RunPrediction& one = predictions.emplace_back();
    one.line = csv_row.line;
    one.source = row.Text("source");
    one.gpu = row.Text("gpu");
    one.dtype = row.Text("dtype");
    one.key = RunKey(row);
    one.fitted = parameters.fitted_runs.contains(one.key);
    row.CheckNumbers();
    absl::StatusOr<Run> run = RunOf(row);
    MW_RETURN_IF_ERROR(row.status());
    if (!run.ok()) {
      one.skipped = std::string(FromAbsl(run.status().message()));
      continue;
    }
    StepCoster coster(run->model, run->workload, run->cluster, parameters, run->framework,
                      run->state);
    StepCost cost = coster.Cost(run->configuration);
    // Megatron-Bridge's recipes recompute what latent attention makes of its latents where memory
    // is short (recompute_modules), which rows do not say. What was run has fit.
    if (cost.peak_bytes > run->cluster.device.memory_bytes && HasLatentAttention(run->model) &&
        Contains(one.source, "Megatron-Bridge") && row.Text("recompute").empty()) {
      run->configuration.recompute = Recompute::kModules;
      cost = coster.Cost(run->configuration);
    }
    one.seconds = run->seconds;
    one.predicted_seconds = cost.time.seconds;
    one.memory_gib = run->memory_gib;
    one.note = run->note;
    one.predicted_gib = static_cast<double>(cost.peak_bytes) / kGib;
    one.run = *std::move(run);
  }
  return predictions;
}

}  // namespace meshwright::transformer
