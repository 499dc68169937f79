#include "meshwright/published/runs/runs.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/words.h"
#include "meshwright/degrees/layer_partition.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/check_model.h"
#include "meshwright/model/matmuls.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/published/runs/check.h"
#include "meshwright/published/runs/columns.h"
#include "meshwright/published/runs/key.h"
#include "meshwright/published/runs/row.h"

namespace meshwright::transformer {
namespace {

constexpr double kGib = 1073741824.0;
constexpr double kBytesOfGbit = 1e9 / 8;
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

// A model, and the text that it is read from: a configuration, or our own short form.
struct ReadText {
  Model model;
  std::string text;
};

// A built-in model, whose table of positions is as long as the sequences that it was trained on.
absl::StatusOr<ReadText> ReadBuiltin(const BuiltinModel& builtin, int64_t sequence) {
  ReadText read{Model(), builtin.config};
  MW_ASSIGN_OR_RETURN(read.model, ReadHuggingFaceConfig(read.text, builtin.name));
  if (read.model.embedding.positions == 0 || read.model.max_sequence >= sequence) return read;
  MW_ASSIGN_OR_RETURN(Json config, ParseJson(read.text, builtin.name));
  for (const char* const field : {"max_seq_len", "n_positions", "max_position_embeddings"}) {
    if (config.contains(field)) config[field] = sequence;
  }
  read.text = config.dump();
  MW_ASSIGN_OR_RETURN(read.model, ReadHuggingFaceConfig(read.text, builtin.name));
  return read;
}

absl::StatusOr<ReadText> ReadSizes(const std::string& text, const std::string& name) {
  MW_ASSIGN_OR_RETURN(Model model, ReadShortForm(text, name));
  return ReadText{std::move(model), text};
}

// Sizes in the row count before a name; a name must agree with them.
absl::StatusOr<ReadText> ModelOf(RowReader& row) {
  std::string name = row.Text("model");
  if (const size_t variant = name.find(" ("); variant != std::string::npos) name.resize(variant);
  name.erase(0, name.rfind('/') + 1);  // the organisation, as of meta-llama/Llama-3.1-8B
  const auto layers = row.Count("layers"), hidden = row.Count("hidden");
  const auto heads = row.Count("heads"), kv_heads = row.Count("kv_heads");
  const auto ffn = row.Count("ffn"), vocabulary = row.Count("vocab");
  const bool sized = layers.has_value() && hidden.has_value() && heads.has_value();
  if (const BuiltinModel* builtin = FindBuiltinModel(name); builtin != nullptr) {
    MW_ASSIGN_OR_RETURN(ReadText read, ReadBuiltin(*builtin, row.Count("seq").value_or(1)));
    if (!sized || (read.model.layers() == *layers && read.model.hidden == *hidden)) return read;
  }
  if (!sized) return absl::NotFoundError("model's sizes not published, nor a built-in model");
  if (*layers > kMaxLayers || *hidden > kMaxWidth || *heads > kMaxWidth || *hidden % *heads != 0) {
    return absl::InvalidArgumentError("model's sizes are not valid");
  }
  // An inner size other than four times the hidden size is that of gated MLPs.
  const int64_t usual = 4 * *hidden, inner = ffn.value_or(usual);
  const auto word = [](bool is) { return is ? "true" : "false"; };
  std::string text =
      StrCat("model: {name: ", Json(name).dump(), ", layers: ", *layers, ", hidden: ", *hidden,
             ", heads: ", *heads, ", kv_heads: ", kv_heads.value_or(*heads), ", ffn: ", inner,
             ", gated: ", word(inner != usual), ", tied: ", word(inner == usual),
             ", vocab: ", vocabulary.value_or(kDefaultVocabulary));
  const auto experts = row.Count("experts", /*or_zero=*/true);
  if (experts.value_or(0) > 1) {
    // `ffn` is then that of an expert, and every layer has experts.
    const auto top_k = row.Count("topk");
    if (!top_k.has_value() || !ffn.has_value()) {
      return absl::NotFoundError("experts per token or their inner size not published");
    }
    StrAppend(&text, ", experts: {count: ", *experts, ", top_k: ", *top_k, ", ffn: ", *ffn, "}");
  }
  return ReadSizes(StrCat(text, "}"), name);
}

absl::StatusOr<Precision> PrecisionOf(const std::string& text) {
  const std::string dtype = LettersAndDigits(text);
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
  const bool again = !row.Text("counts_recompute").empty();
  const double counted = flops.dense_forward * (again ? 2 : 1) + flops.dense_backward;
  return counted * static_cast<double>(run.workload.global_batch) / gpus / (*tflops * 1e12);
}

// A column that holds one of the words of an enum.
template <typename Enum>
absl::StatusOr<std::optional<Enum>> WordOf(const RowReader& row, std::string_view column) {
  const std::string text = absl::AsciiStrToLower(row.Text(column));
  if (text.empty()) return std::optional<Enum>();
  const std::optional<Enum> word = FromWord<Enum>(text);
  if (word.has_value()) return word;
  return absl::InvalidArgumentError(StrCat(column, " \"", text, "\"; valid: ", WordList<Enum>()));
}

absl::Status SetBytes(const RowReader& row, std::string_view column, double& bytes) {
  constexpr double kBf16 = 2, kF32 = 4;
  const std::string text = absl::AsciiStrToLower(row.Text(column));
  if (!text.empty() && text != "bf16" && text != "f32")
    return absl::InvalidArgumentError(StrCat(column, " \"", text, "\"; valid: bf16, f32"));
  if (!text.empty()) bytes = text == "bf16" ? kBf16 : kF32;
  return absl::OkStatus();
}

// Where no column says by what a row was run, weights over replicas are FSDP's. So they are where
// the framework is one that shards them by a wrapper beside its own (Megatron-FSDP, NeMo's FSDP).
std::string FrameworkOf(const RowReader& row, bool shards_weights) {
  const std::string name = row.Text("framework");
  const Framework* const framework = FindFramework(name);
  const bool usual = name.empty() || (framework != nullptr && framework->trains_mtp);
  if (usual && shards_weights) return "fsdp";
  return name.empty() ? std::string(FrameworkTable().front().name) : name;
}

absl::StatusOr<ChosenFramework> ChosenBy(const RowReader& row, bool shards_weights,
                                         Precision precision, const Model& model) {
  const std::string name = FrameworkOf(row, shards_weights);
  std::string release = row.Text("release");
  // Megatron trained in fp16 before flash attention.
  if (release.empty() && row.Text("framework").empty() && precision == Precision::kFp16)
    release = FindFramework(name)->releases.front().first;
  MW_ASSIGN_OR_RETURN(ChosenFramework chosen, ChooseFramework(name, release, model));
  MW_ASSIGN_OR_RETURN(chosen.attention, WordOf<AttentionKernel>(row, "attention"));
  MW_RETURN_IF_ERROR(SetBytes(row, "grads", chosen.state.gradient_bytes));
  MW_RETURN_IF_ERROR(SetBytes(row, "moments", chosen.state.moment_bytes));
  MW_ASSIGN_OR_RETURN(const std::optional<Loss> loss, WordOf<Loss>(row, "loss"));
  if (loss.has_value()) chosen.state.logit_bytes = LogitBytes(*loss, model);
  return chosen;
}

absl::StatusOr<Run> RunOf(RowReader& row, const CostParameters& parameters) {
  Run run;
  const auto incomplete = [](std::string_view what) {
    return absl::NotFoundError(StrCat(what, " not published"));
  };
  MW_ASSIGN_OR_RETURN(ReadText read, ModelOf(row));
  run.model = std::move(read.model);
  run.description = std::move(read.text);
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
  run.network_gbits = row.Number("network");
  if (run.network_gbits.has_value())
    run.cluster.inter_node.bandwidth_bytes_per_second = *run.network_gbits * kBytesOfGbit;
  run.workload = {.sequence = *sequence, .global_batch = *batch};

  Configuration& c = run.configuration;
  MW_ASSIGN_OR_RETURN(
      c.precision,
      PrecisionOf(row.Text("precision").empty() ? row.Text("dtype") : row.Text("precision")));
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
  MW_ASSIGN_OR_RETURN(const std::optional<Switch> sequence_parallel,
                      WordOf<Switch>(row, "sequence_parallel"));
  c.sequence_parallel = c.tp > 1 && sequence_parallel != Switch::kOff;
  const auto zero = row.Count("zero", /*or_zero=*/true);
  if (zero.value_or(0) > 3) {
    return absl::InvalidArgumentError(StrCat("zero ", *zero, "; valid: 0, 1, 2, 3"));
  }
  MW_ASSIGN_OR_RETURN(const FsdpShard shard, FsdpShardOf(row, c));
  MW_ASSIGN_OR_RETURN(
      run.framework, ChosenBy(row, zero.value_or(0) >= 2 || shard.sharded, c.precision, run.model));
  const Framework& framework = *run.framework.framework;
  const bool fsdp = framework.zero == 3;
  // FSDP's SHARD_GRAD_OP (2) is close to 3.
  const bool weights = shard.sharded || (fsdp && zero.value_or(3) >= 2);
  c.zero = weights ? 3 : static_cast<int>(zero.value_or(framework.zero));
  // There is nothing to shard over.
  if (c.dp * c.cp == 1) c.zero = 0;
  c.shard = shard.group;
  // torchtitan cuts a replica's batch into as many micro-batches as there are stages, Megatron into
  // single sequences.
  const int64_t each = std::max<int64_t>(1, *batch / c.dp);
  const int64_t usual = c.pp == 1                         ? each
                        : framework.micro_batch_per_group ? std::max<int64_t>(1, each / c.pp)
                                                          : 1;
  const auto parts = row.Count("mbs").has_value() ? std::nullopt : row.Count("grad_accum");
  c.micro_batch =
      row.Count("mbs").value_or(parts.has_value() ? std::max<int64_t>(1, each / *parts) : usual);
  // As many as it takes, of equal size.
  if (framework.shrinks_micro_batches && *batch % c.dp == 0 && c.micro_batch <= each &&
      each % c.micro_batch != 0) {
    int64_t equal = (each + c.micro_batch - 1) / c.micro_batch;
    while (each % equal != 0) ++equal;
    c.micro_batch = each / equal;
  }
  c.virtual_stages = row.Count("vpp").value_or(1);
  if (c.virtual_stages > 1) c.schedule = PipelineKind::kInterleaved;
  run.mtp = row.Count("mtp", /*or_zero=*/true);
  if (run.mtp.value_or(0) > run.model.mtp.modules) {
    return absl::InvalidArgumentError(
        StrCat("mtp ", *run.mtp, "; ", run.model.name, " has ", run.model.mtp.modules));
  }
  run.model.mtp.modules = run.mtp.value_or(framework.trains_mtp ? run.model.mtp.modules : 0);
  const int64_t stages = c.pp * c.virtual_stages, layers = run.model.layers();
  c.ends_as_layers =
      framework.trains_mtp && run.model.mtp.modules == 0 && layers % stages != 0 &&
      (layers + kEndsAsLayers) % stages == 0 && c.pp <= layers &&
      !PartitionLayers(run.model, c.pp, true).Equals(PartitionLayers(run.model, c.pp, false));
  MW_ASSIGN_OR_RETURN(const std::optional<Recompute> recompute, RecomputeOf(row));
  // Before flash attention whole layers were recomputed by default.
  const bool early = run.framework.Parameters(parameters).score_traffic > 0;
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

namespace {

// The least that a run takes by what its row says, which may leave open what was recomputed.
int64_t LeastBytesOf(const Run& run, bool says_recompute, int64_t bytes, StepCoster& coster) {
  if (says_recompute) return bytes;
  Configuration c = run.configuration;
  for (const Recompute recompute : {Recompute::kSelective, Recompute::kModules, Recompute::kFull}) {
    c.recompute = recompute;
    bytes = std::min(bytes, coster.Cost(c).peak_bytes);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::vector<RunPrediction>> PredictRuns(const CsvTable& given, std::string_view file,
                                                       const CostParameters& parameters) {
  const CsvTable table = WithRunColumns(given);
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
    absl::StatusOr<Run> run = RunOf(row, parameters);
    MW_RETURN_IF_ERROR(row.status());
    if (!run.ok()) {
      one.skipped = std::string(FromAbsl(run.status().message()));
      continue;
    }
    StepCoster coster(run->model, run->workload, run->cluster, parameters, run->framework);
    StepCost cost = coster.Cost(run->configuration);
    // Recipes recompute what latent attention makes of its latents where memory is short
    // (recompute_modules), which rows do not say. What was run has fit.
    if (cost.peak_bytes > run->cluster.device.memory_bytes && HasLatentAttention(run->model) &&
        run->framework.framework->recomputes_modules_to_fit && row.Text("recompute").empty()) {
      run->configuration.recompute = Recompute::kModules;
      cost = coster.Cost(run->configuration);
    }
    one.seconds = run->seconds;
    one.predicted_seconds = cost.time.seconds;
    one.memory_gib = run->memory_gib;
    one.note = run->note;
    one.predicted_gib = static_cast<double>(cost.peak_bytes) / kGib;
    const int64_t memory = run->cluster.device.memory_bytes;
    one.over_memory = cost.peak_bytes > memory && LeastBytesOf(*run, !row.Text("recompute").empty(),
                                                               cost.peak_bytes, coster) > memory;
    one.run = *std::move(run);
  }
  return predictions;
}

}  // namespace meshwright::transformer
