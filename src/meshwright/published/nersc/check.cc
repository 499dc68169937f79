#include "meshwright/published/nersc/check.h"

#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer::nersc {
namespace {

// Rates, sizes and units beyond these are mistakes, and far from what doubles hold.
constexpr double kLeastNumber = 1e-15, kMostNumber = 1e15;
constexpr int64_t kMostDomain = 1 << 16;  // GPUs

absl::Status CheckNumber(std::string_view what, double value, double least) {
  if (value >= least && value <= kMostNumber) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(what, absl::StrFormat(" is %g, expected a number from ", value),
             absl::StrFormat("%g to %g", least, kMostNumber)));
}

absl::Status CheckDivides(std::string_view part, int64_t divisor, std::string_view whole,
                          int64_t value) {
  if (value % divisor == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(part, " is ", divisor, ", which does not divide ", whole, ", ", value));
}

struct Degree {
  const char* name;
  int64_t gpus, in_domain;
};

}  // namespace

absl::Status CheckInteger(std::string_view what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(what, " is ", value, ", expected an integer from ", least, " to ", most));
}

absl::Status CheckModel(const Model& model) {
  MW_RETURN_IF_ERROR(CheckInteger("the sequence (l)", model.sequence, 1, kMostSize));
  MW_RETURN_IF_ERROR(CheckInteger("the embedding (e)", model.embedding, 1, kMostSize));
  MW_RETURN_IF_ERROR(CheckInteger("the number of layers (depth)", model.layers, 1, kMostSize));
  MW_RETURN_IF_ERROR(CheckInteger("the number of heads (h)", model.heads, 1, model.embedding));
  // At least one for each GPU that tensor parallelism by heads may have.
  return CheckInteger("the hidden size (f)", model.hidden, model.heads, kMostSize);
}

absl::Status CheckSystem(const System& system) {
  const struct {
    const char* name;
    double value, least;
  } numbers[] = {
      {"matrix_flops_fp16", system.matrix_tflops, kLeastNumber},
      {"vector_flops_fp16", system.vector_tflops, kLeastNumber},
      {"hbm_bandwidth", system.hbm_gbps, kLeastNumber},
      {"hbm_capacity", system.hbm_gb, 0},
      {"nvlink_bandwidth", system.nvlink_gbps, kLeastNumber},
      {"nvlink_eff", system.nvlink_efficiency, kLeastNumber},
      {"nvlink_latency", system.nvlink_latency, 0},
      {"ib_bandwidth", system.ib_gbps, kLeastNumber},
      {"ib_eff", system.ib_efficiency, kLeastNumber},
      {"ib_latency", system.ib_latency, 0},
      {"nic_factor", system.nics_per_gpu, kLeastNumber},
      {"element_size", system.element_gb, kLeastNumber},
      {"mask_element_size", system.mask_gb, kLeastNumber},
      {"flops_units", system.tflop_per_op, kLeastNumber},
  };
  for (const auto& number : numbers) {
    MW_RETURN_IF_ERROR(CheckNumber(number.name, number.value, number.least));
  }
  MW_RETURN_IF_ERROR(CheckInteger("nvlink_size", system.nvlink_size, 1, kMostDomain));
  return CheckInteger("summa_nb", system.summa_panels, 1, kMostSize);
}

absl::Status CheckConfig(const Model& model, const System& system, Strategy strategy,
                         const Config& config, int64_t global_batch) {
  MW_RETURN_IF_ERROR(CheckModel(model));
  MW_RETURN_IF_ERROR(CheckSystem(system));
  MW_RETURN_IF_ERROR(CheckInteger("the global batch", global_batch, 1, kMostSize));
  const bool one_dimension = strategy == Strategy::k1d;
  const char* const tp1 = one_dimension ? "tp" : "tp1";
  const Degree degrees[] = {{"dp", config.dp, config.nv_dp},
                            {tp1, config.tp1, config.nv_tp1},
                            {"tp2", config.tp2, config.nv_tp2},
                            {"pp", config.pp, config.nv_pp}};
  int64_t gpus = 1, in_domain = 1;
  for (const Degree& one : degrees) {
    MW_RETURN_IF_ERROR(CheckInteger(one.name, one.gpus, 1, kMostSize / gpus));
    gpus *= one.gpus;
    const std::string nv = StrCat("nv_", one.name);
    MW_RETURN_IF_ERROR(CheckInteger(nv, one.in_domain, 1, system.nvlink_size / in_domain));
    in_domain *= one.in_domain;
    MW_RETURN_IF_ERROR(CheckDivides(nv, one.in_domain, one.name, one.gpus));
  }
  MW_RETURN_IF_ERROR(CheckDivides(tp1, config.tp1, "the number of heads", model.heads));
  MW_RETURN_IF_ERROR(CheckDivides(tp1, config.tp1, "the embedding", model.embedding));
  MW_RETURN_IF_ERROR(CheckInteger("tp2", config.tp2, 1, one_dimension ? 1 : model.sequence));
  if (strategy == Strategy::kSumma) {
    MW_RETURN_IF_ERROR(CheckDivides("tp2", config.tp2, "the embedding", model.embedding));
    MW_RETURN_IF_ERROR(CheckInteger("nb", config.panels, 0, model.embedding));
  }
  MW_RETURN_IF_ERROR(CheckDivides("pp", config.pp, "the number of layers", model.layers));
  MW_RETURN_IF_ERROR(CheckDivides("dp", config.dp, "the global batch", global_batch));
  MW_RETURN_IF_ERROR(CheckInteger("mbs", config.micro_batch, 1, kMostSize));
  return CheckDivides("mbs", config.micro_batch, "the batch of a data-parallel rank",
                      global_batch / config.dp);
}

}  // namespace meshwright::transformer::nersc
