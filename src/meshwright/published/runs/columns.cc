#include "meshwright/published/runs/columns.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::transformer {
namespace {

// What all rows of a source have in common. Empty: what the framework does by itself.
struct SourceColumns {
  std::string_view source;  // that the column `source` begins with; of several the longest counts
  std::string_view framework, release;
  std::string_view grads, precision, sequence_parallel, loss;
};

// NVIDIA's submissions to MLPerf reduce gradients in 16 bits (grad_sync_dtype: bf16 in their
// distributed_fused_adam.yaml), and train in 8 bits unless a row says otherwise (FP8=True in their
// config_common.sh); from v5 on they use NeMo's recipes. v3.0's containers had the first flash
// attention, v3.1's the second (its Dockerfile installs flash-attn 2.0.8). BigScience ran
// Megatron-DeepSpeed of 2021, without sequence parallelism. llm-foundry's MPT has flash attention's
// fused cross entropy unless a configuration says otherwise (loss_fn in modeling_mpt.py).
constexpr SourceColumns kSources[] = {
    {"Megatron-LM SC'21 table 1 / repo", "megatron", "21.04"},
    {"Megatron-LM README 2020 scaling", "megatron", "20.12"},
    {"Korthikanti et al. 2022 table 5", "megatron", "22.05"},
    {"Megatron-Core r0.8.0 README", "megatron", "24.07"},
    {"Megatron-LM examples/llama README", "megatron", "25.02"},
    {"BigScience A100 prequel", "megatron", "21.11", "", "", "off"},
    {"InternEvo", "megatron", "23.09"},
    {"torchtitan", "torchtitan", "24.12"},
    {"torchtitan 2025-06", "torchtitan", "25.06"},
    {"MosaicML llm-foundry MPT benchmarks", "fsdp", "23.10", "", "", "", "fused"},
    {"litgpt Thunder README", "fsdp", "24.10"},
    {"NeMo AutoModel perf summary", "fsdp", "25.09"},
    {"ml-engineering DeepSpeed", "deepspeed", "25.06"},
    {"MaxText", "maxtext", "24.04"},
    {"NeMo long-sequence table (24.03.01)", "nemo", "24.03.01"},
    {"NeMo perf summary 24.07", "nemo", "24.07"},
    {"NeMo perf summary 24.12", "nemo", "24.12"},
    {"NeMo perf summary 25.02", "nemo", "25.02"},
    {"NeMo perf summary 25.04", "nemo", "25.04"},
    {"Megatron-Bridge perf summary 25.09 NeMo Container", "nemo", "25.09"},
    {"Megatron-Bridge perf summary 25.11 NeMo Container", "nemo", "25.11"},
    {"Megatron-Bridge perf summary 26.02 NeMo Container", "nemo", "26.02"},
    {"Megatron-Bridge perf summary 26.02.01 NeMo Container", "nemo", "26.02.01"},
    {"Megatron-Bridge perf summary 26.04 NeMo Container", "nemo", "26.04"},
    {"Megatron-Bridge perf summary 26.04.01 NeMo Container", "nemo", "26.04.01"},
    {"Megatron-Bridge perf summary 26.06 NeMo Container", "nemo", "26.06"},
    {"Megatron-Bridge perf summary 26.06.01 NeMo Container", "nemo", "26.06.01"},
    {"Megatron-Bridge perf summary 26.08 NeMo Container", "nemo", "26.08"},
    {"Megatron-Bridge skills", "nemo", "26.02"},
    {"MLPerf Training v3.0", "megatron", "23.04", "bf16", "fp8"},
    {"MLPerf Training v3.1", "megatron", "23.09", "bf16", "fp8"},
    {"MLPerf Training v4.0", "megatron", "24.04", "bf16", "fp8"},
    {"MLPerf Training v5.0", "nemo", "25.04", "", "fp8"},
    {"MLPerf Training v5.1", "nemo", "25.09", "", "fp8"},
};

constexpr std::array<std::string_view, 11> kColumns = {
    "framework", "release", "attention", "precision", "sequence_parallel", "grads",
    "moments",   "loss",    "mtp",       "network",   "counts_recompute"};

// What a row of an old table says of itself.
struct OldRow {
  std::string_view source, model, dtype, notes;
};

std::string FieldOf(std::string_view column, const OldRow& row) {
  const auto has = [](std::string_view text, std::string_view word) {
    return text.find(word) != std::string_view::npos;
  };
  // Published beside rates with the module, of a model of the same name.
  if (column == "mtp") return has(row.model, "w/o MTP") ? "0" : "";
  if (column == "counts_recompute") return has(row.notes, "counts recompute") ? "yes" : "";
  const SourceColumns* best = nullptr;
  for (const SourceColumns& one : kSources) {
    if (row.source.starts_with(one.source) &&
        (best == nullptr || one.source.size() > best->source.size())) {
      best = &one;
    }
  }
  if (best == nullptr) return "";
  if (column == "framework") return std::string(best->framework);
  if (column == "release") return std::string(best->release);
  if (column == "grads") return std::string(best->grads);
  if (column == "precision") return row.dtype.empty() ? std::string(best->precision) : "";
  if (column == "sequence_parallel") return std::string(best->sequence_parallel);
  if (column == "loss") return std::string(best->loss);
  return "";
}

}  // namespace

CsvTable WithRunColumns(CsvTable table) {
  const std::vector<std::string> header = table.header;
  const auto field = [&](const CsvRow& row, std::string_view name) -> std::string_view {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) return "";
    return row.fields[found - header.begin()];
  };
  const auto has = [&](std::string_view name) {
    return std::find(header.begin(), header.end(), name) != header.end();
  };
  // A table that says what ran its rows says all else of it, too.
  const bool is_old = !has("framework");
  for (const std::string_view column : kColumns) {
    if (has(column)) continue;
    table.header.emplace_back(column);
    for (CsvRow& row : table.rows) {
      const OldRow old = {field(row, "source"), field(row, "model"), field(row, "dtype"),
                          field(row, "notes")};
      row.fields.push_back(is_old ? FieldOf(column, old) : "");
    }
  }
  return table;
}

}  // namespace meshwright::transformer
