#include "meshwright/published/runs/check.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/matmuls.h"
#include "meshwright/model/model.h"

namespace meshwright::transformer {
namespace {

constexpr double kGibibyte = 1073741824.0;

double PeakOf(const DeviceType& device, Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return device.PeakFlops("bf16");
    case Precision::kFp16:
      return device.PeakFlops("f16");
    case Precision::kFp8:
    case Precision::kMxFp8:
      return device.PeakFlops("f8e4m3fn");
    case Precision::kNvFp4:
      return device.PeakFlops("f4e2m1fn");
    case Precision::kF32:
      return device.PeakFlops("f32");
  }
  return 0;
}

// Operations of a step that no implementation leaves out: products with weights.
double LeastFlops(const Run& run) {
  const ModelFlops flops = CountModelFlops(run.model, {.sequences = 1, .tokens = 1});
  const FlopCounts counts = flops.weights + flops.head;
  return (counts.forward + counts.backward) * static_cast<double>(run.workload.global_batch) *
         static_cast<double>(run.workload.sequence);
}

}  // namespace

absl::StatusOr<FsdpShard> FsdpShardOf(const RowReader& row, const Configuration& c) {
  const std::string text = absl::AsciiStrToLower(row.Text("fsdp_shard"));
  if (text.empty() || text == "0" || text == "no") return FsdpShard{};
  if (text == "yes") return FsdpShard{.sharded = true};
  int64_t replicas = 0;
  // Some count context parallel GPUs, which share the weights too.
  if (absl::SimpleAtoi(text, &replicas) && (replicas == c.dp || replicas == c.dp * c.cp)) {
    return FsdpShard{.sharded = true};
  }
  if (replicas > 0 && c.dp % replicas == 0) {
    return FsdpShard{.sharded = true, .group = replicas * c.cp};
  }
  return absl::InvalidArgumentError(StrCat(
      "fsdp_shard \"", text, "\"; valid: no, yes, or a divisor of the ", c.dp, " replicas (dp)"));
}

absl::StatusOr<std::optional<Recompute>> RecomputeOf(const RowReader& row) {
  const std::string text = absl::AsciiStrToLower(row.Text("recompute"));
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (text.empty()) return std::optional<Recompute>();
  if (has("modules")) return std::optional(Recompute::kModules);
  if (has("selective")) return std::optional(Recompute::kSelective);
  if (has("full")) return std::optional(Recompute::kFull);
  if (has("none") || text == "no" || text == "0") return std::optional(Recompute::kNone);
  return absl::InvalidArgumentError(
      StrCat("recompute \"", text, "\"; valid: none, selective, modules, full"));
}

absl::Status CheckGivenDegrees(RowReader& row, const Model& model, const Configuration& c) {
  if (const auto dp = row.Count("dp"); dp.has_value() && *dp != c.dp) {
    return absl::InvalidArgumentError(StrCat("dp ", *dp, ", but ", c.gpus(), " GPUs with tp ", c.tp,
                                             ", cp ", c.cp, " and pp ", c.pp, " have dp ", c.dp));
  }
  const int64_t stages = c.pp * c.virtual_stages, layers = model.layers();
  if (c.virtual_stages == 1) return absl::OkStatus();
  if (c.pp == 1) {
    return absl::InvalidArgumentError(
        StrCat("vpp ", c.virtual_stages, " without a pipeline (pp 1); valid: 1"));
  }
  if ((layers + kMostBesideLayers) / stages * stages >= layers) return absl::OkStatus();
  std::string valid = "1";
  for (int64_t vpp = 2; vpp * c.pp <= layers; ++vpp) {
    const int64_t all = vpp * c.pp;
    if ((layers + kMostBesideLayers) / all * all >= layers) StrAppend(&valid, ", ", vpp);
  }
  return absl::InvalidArgumentError(StrCat("vpp ", c.virtual_stages, " does not split ", layers,
                                           " layers evenly over pp ", c.pp, "; valid: ", valid));
}

absl::StatusOr<std::string> CheckAccumulation(RowReader& row, const Workload& workload,
                                              const Configuration& c) {
  const auto given = row.Count("grad_accum");
  const int64_t replica = workload.global_batch / c.dp, micro_batches = replica / c.micro_batch;
  if (!given.has_value() || *given == micro_batches) return "";
  if (replica % *given != 0) {
    return absl::InvalidArgumentError(StrCat(
        "grad_accum ", *given, " does not divide the ", replica,
        " sequences of a replica (gbs / dp); with mbs ", c.micro_batch, " it is ", micro_batches));
  }
  return std::string("grad_accum is not gbs / dp / mbs; gbs and mbs are followed");
}

absl::Status CheckMeasured(const Run& run) {
  const double gpus = static_cast<double>(run.cluster.devices());
  const double peak = PeakOf(run.cluster.device, run.configuration.precision);
  const double least = LeastFlops(run) / gpus / peak;
  if (!(run.seconds >= least)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("measured step of %.3g s; at its peak (%.4g TFLOPS) %s would take %.3g s",
                        run.seconds, peak / 1e12, run.cluster.device.name, least));
  }
  if (run.seconds > kLongestMeasuredStep) {
    return absl::InvalidArgumentError(absl::StrFormat("measured step of %.3g s; at most %.0e",
                                                      run.seconds, kLongestMeasuredStep));
  }
  const double memory = static_cast<double>(run.cluster.device.memory_bytes) / kGibibyte;
  if (run.memory_gib.value_or(0) > memory) {
    return absl::InvalidArgumentError(absl::StrFormat("mem_gib %.4g; %s has %.4g", *run.memory_gib,
                                                      run.cluster.device.name, memory));
  }
  return absl::OkStatus();
}

}  // namespace meshwright::transformer
