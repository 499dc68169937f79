// Whether a configuration can run a model.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/transformer/step_cost.h"

namespace meshwright::transformer {
namespace {

constexpr int64_t kMostListed = 4096;  // largest degree that messages list

// Something of a model that a degree has to divide.
struct Whole {
  int64_t size;
  std::string_view of;  // "heads"
};

// An error says which whole `degree` does not divide, and what divides all of them.
absl::Status Divides(int64_t degree, std::string_view what, const std::vector<Whole>& wholes) {
  const auto divides = [&](int64_t divisor) {
    return [divisor](const Whole& whole) { return whole.size % divisor == 0; };
  };
  const auto wrong = std::find_if_not(wholes.begin(), wholes.end(), divides(degree));
  if (wrong == wholes.end()) return absl::OkStatus();
  std::string valid;
  for (int64_t d = 1; d <= std::min(wrong->size, kMostListed); ++d) {
    if (!std::all_of(wholes.begin(), wholes.end(), divides(d))) continue;
    StrAppend(&valid, valid.empty() ? "" : ", ", d);
  }
  return absl::InvalidArgumentError(StrCat(what, " ", degree, " does not divide ", wrong->size, " ",
                                           wrong->of, "; valid: ", valid));
}

absl::Status Divides(int64_t degree, std::string_view what, int64_t whole, std::string_view of) {
  return Divides(degree, what, {{whole, of}});
}

// The sizes that are split over tp, ep and etp.
absl::Status CheckSplits(const Model& model, const Configuration& c) {
  std::vector<Whole> tensor, experts, inner;
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      tensor.push_back({layer.attention.heads, "heads"});
      if (layer.cross_attention.has_value()) {
        tensor.push_back({layer.cross_attention->heads, "heads"});
      }
      if (layer.mlp.has_value()) tensor.push_back({layer.mlp->ffn, "(inner size of the MLPs)"});
      if (!layer.moe.has_value()) continue;
      const Moe& moe = *layer.moe;
      if (moe.shared.ffn > 0) {
        tensor.push_back({moe.shared.ffn, "(inner size of the shared experts)"});
      }
      experts.push_back({moe.experts, "experts"});
      inner.push_back({moe.expert.ffn, "(inner size of the experts)"});
    }
  }
  MW_RETURN_IF_ERROR(Divides(c.tp, "tp", tensor));
  if (experts.empty() && c.ep * c.etp > 1) {
    return absl::InvalidArgumentError(
        StrCat("ep ", c.ep, " and etp ", c.etp, " of a model without ", "experts; valid: 1"));
  }
  MW_RETURN_IF_ERROR(Divides(c.ep, "ep", experts));
  return Divides(c.etp, "etp", inner);
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
  MW_RETURN_IF_ERROR(CheckSplits(model, c));
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
