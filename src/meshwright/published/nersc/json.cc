#include "meshwright/published/nersc/json.h"

#include <string>

#include "meshwright/base/strings.h"
#include "meshwright/published/nersc/check.h"

namespace meshwright::transformer::nersc {
namespace {

void FailIf(const absl::Status& status, const JsonValue& json) {
  if (!status.ok()) json.Fail(std::string(status.message()));
}

}  // namespace

int64_t ReadSize(const JsonValue& json) { return json.Integer(1, kMostSize); }

Model ReadModel(const JsonValue& json) {
  const Model model{.sequence = ReadSize(json.At("l")),
                    .embedding = ReadSize(json.At("e")),
                    .heads = ReadSize(json.At("h")),
                    .layers = ReadSize(json.At("depth")),
                    .hidden = ReadSize(json.At("f"))};
  FailIf(CheckModel(model), json);
  return model;
}

System ReadSystem(const JsonValue& json) {
  const auto number = [&](const char* key) { return json.At(key).Number(); };
  const System system{.matrix_tflops = number("matrix_flops_fp16"),
                      .vector_tflops = number("vector_flops_fp16"),
                      .hbm_gbps = number("hbm_bandwidth"),
                      .hbm_gb = number("hbm_capacity"),
                      .nvlink_gbps = number("nvlink_bandwidth"),
                      .nvlink_efficiency = number("nvlink_eff"),
                      .nvlink_latency = number("nvlink_latency"),
                      .ib_gbps = number("ib_bandwidth"),
                      .ib_efficiency = number("ib_eff"),
                      .ib_latency = number("ib_latency"),
                      .nvlink_size = ReadSize(json.At("nvlink_size")),
                      .nics_per_gpu = number("nic_factor"),
                      .summa_panels = ReadSize(json.At("summa_nb")),
                      .element_gb = number("element_size"),
                      .mask_gb = number("mask_element_size"),
                      .tflop_per_op = number("flops_units")};
  const JsonValue empirical = json.At("empirical");
  if (empirical.Boolean()) {
    empirical.Fail("the measured times of collectives that this asks for were not published");
  }
  FailIf(CheckSystem(system), json);
  return system;
}

Strategy ReadStrategy(const JsonValue& json) {
  const absl::StatusOr<Strategy> strategy = ParseStrategy(json.Text());
  if (strategy.ok()) return *strategy;
  FailIf(strategy.status(), json);
  return Strategy::k1d;
}

Config ReadConfig(const JsonValue& json, const JsonValue& placement, Strategy strategy) {
  Config config{.dp = ReadSize(json.At("dp")),
                .pp = ReadSize(json.At("pp")),
                .micro_batch = ReadSize(json.At("mbs")),
                .nv_dp = ReadSize(placement.At("nv_dp")),
                .nv_pp = ReadSize(placement.At("nv_pp"))};
  if (strategy == Strategy::k1d) {
    config.tp1 = ReadSize(json.At("tp"));
    config.nv_tp1 = ReadSize(placement.At("nv_tp"));
    return config;
  }
  config.tp1 = ReadSize(json.At("tp1"));
  config.tp2 = ReadSize(json.At("tp2"));
  config.nv_tp1 = ReadSize(placement.At("nv_tp1"));
  config.nv_tp2 = ReadSize(placement.At("nv_tp2"));
  if (strategy == Strategy::kSumma) config.panels = ReadSize(json.At("nb"));
  return config;
}

}  // namespace meshwright::transformer::nersc
