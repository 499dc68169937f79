// Whether a configuration can run a model.

#include <algorithm>
#include <string>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/transformer/step_cost.h"

namespace meshwright::transformer {
namespace {

absl::Status Divides(int64_t degree, std::string_view what, int64_t whole, std::string_view of) {
  if (degree >= 1 && whole % degree == 0) return absl::OkStatus();
  std::string valid;
  for (int64_t d = 1; d <= std::min<int64_t>(whole, 4096); ++d) {
    if (whole % d == 0) StrAppend(&valid, valid.empty() ? "" : ", ", d);
  }
  return absl::InvalidArgumentError(
      StrCat(what, " ", degree, " does not divide ", whole, " ", of, "; valid: ", valid));
}

}  // namespace

absl::Status CheckConfiguration(const Model& model, const Workload& workload,
                                const Cluster& cluster, const Configuration& c) {
  for (const auto& [name, degree] : {std::pair{"tp", c.tp},
                                     {"cp", c.cp},
                                     {"dp", c.dp},
                                     {"pp", c.pp},
                                     {"ep", c.ep},
                                     {"etp", c.etp},
                                     {"virtual stages", c.virtual_stages},
                                     {"micro-batch", c.micro_batch}}) {
    if (degree < 1 || degree > kMaxDevices) {
      return absl::InvalidArgumentError(
          StrCat(name, " is ", degree, "; it must be from 1 to ", kMaxDevices));
    }
  }
  if (c.tp > kMaxDevices / c.cp || c.tp * c.cp > kMaxDevices / c.dp ||
      c.tp * c.cp * c.dp > kMaxDevices / c.pp || c.gpus() != cluster.devices()) {
    return absl::InvalidArgumentError(StrCat("tp ", c.tp, " x cp ", c.cp, " x dp ", c.dp, " x pp ",
                                             c.pp, " must be the ", cluster.devices(), " GPUs"));
  }
  if (c.sequence_parallel && c.tp == 1) {
    return absl::InvalidArgumentError("sequence parallelism needs tp of at least 2");
  }
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      MW_RETURN_IF_ERROR(Divides(c.tp, "tp", layer.attention.heads, "heads"));
      if (layer.moe.has_value()) {
        MW_RETURN_IF_ERROR(Divides(c.ep, "ep", layer.moe->experts, "experts"));
      }
    }
  }
  const int64_t layers = model.layers() + (c.ends_as_layers ? kEndsAsLayers : 0);
  if (c.virtual_stages > layers / c.pp) {
    return absl::InvalidArgumentError(
        StrCat("pp ", c.pp, " x ", c.virtual_stages, " virtual stages are more than the ",
               model.layers(), " layers", c.ends_as_layers ? ", embedding and head" : ""));
  }
  MW_RETURN_IF_ERROR(Divides(c.ep * c.etp, "ep x etp", c.tp * c.cp * c.dp, "GPUs of a stage"));
  MW_RETURN_IF_ERROR(Divides(c.cp, "cp", workload.sequence, "tokens of a sequence"));
  MW_RETURN_IF_ERROR(Divides(c.dp, "dp", workload.global_batch, "sequences of the global batch"));
  MW_RETURN_IF_ERROR(Divides(c.micro_batch, "micro-batch", workload.global_batch / c.dp,
                             "sequences of a replica"));
  if (c.shard > 0) MW_RETURN_IF_ERROR(Divides(c.shard, "shard", c.dp * c.cp, "replicas"));
  if (c.zero < 0 || c.zero > 3) {
    return absl::InvalidArgumentError(StrCat("ZeRO stage ", c.zero, "; valid: 0, 1, 2, 3"));
  }
  return absl::OkStatus();
}

}  // namespace meshwright::transformer
