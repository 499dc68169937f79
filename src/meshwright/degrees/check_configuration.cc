// Whether a configuration can run a model.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/layer_partition.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/model/recurrence.h"

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

// Heads of keys and values are split over tp, or each lies on equally many of its GPUs.
absl::Status CheckKeyHeads(const Layer& layer, int64_t tp) {
  std::vector<int64_t> all;
  if (layer.attends()) all.push_back(layer.attention.kv_heads);
  if (layer.cross_attention.has_value()) all.push_back(layer.cross_attention->kv_heads);
  if (layer.recurrence.has_value() && layer.recurrence->groups > 0)
    all.push_back(layer.recurrence->groups);
  for (const int64_t heads : all) {
    if (heads % tp == 0 || tp % heads == 0) continue;
    return absl::InvalidArgumentError(
        StrCat("tp ", tp, " neither divides ", heads,
               " heads of keys and values nor is a multiple of them"));
  }
  return absl::OkStatus();
}

// The sizes that are split over tp, ep and etp.
absl::Status CheckSplits(const Model& model, const Configuration& c) {
  std::vector<Whole> tensor, experts, inner;
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      if (layer.attends()) tensor.push_back({layer.attention.heads, "heads"});
      if (layer.recurrence.has_value()) {
        tensor.push_back({SplitOver(*layer.recurrence), "heads or channels of recurrences"});
        if (c.cp > 1) {
          return absl::InvalidArgumentError(StrCat(
              "cp ", c.cp, " cuts sequences, and recurrences run along whole ones; valid: 1"));
        }
      }
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
  MW_RETURN_IF_ERROR(
      Divides(c.tp1(), c.tp2 > 1 ? "tp / tp2, the columns of the grid," : "tp", tensor));
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) MW_RETURN_IF_ERROR(CheckKeyHeads(layer, c.tp1()));
  }
  if (experts.empty() && c.ep * c.etp > 1) {
    return absl::InvalidArgumentError(
        StrCat("ep ", c.ep, " and etp ", c.etp, " of a model without ", "experts; valid: 1"));
  }
  MW_RETURN_IF_ERROR(Divides(c.ep, "ep", experts));
  return Divides(c.etp, "etp", inner);
}

// Rows, columns and panels of SUMMA, and who has the keys.
absl::Status CheckGrid(const Model& model, const Workload& workload, const Configuration& c) {
  if (c.tp2 < 1 || c.tp % c.tp2 != 0) {
    return absl::InvalidArgumentError(
        StrCat("tp2 ", c.tp2, " rows do not divide tp ", c.tp, "; it must be a divisor"));
  }
  std::vector<Whole> heads, inner = {{model.hidden, "(hidden size)"}};
  bool plain = model.mtp.modules == 0;
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      const Attention& attention = layer.attention;
      heads.push_back({attention.heads, "heads"});
      heads.push_back({attention.kv_heads, "heads of keys and values"});
      inner.push_back({attention.heads * attention.v_head_dim, "(size of all heads)"});
      if (layer.mlp.has_value()) inner.push_back({layer.mlp->ffn, "(inner size of the MLPs)"});
      plain = plain && layer.attends() && layer.mlp.has_value() &&
              !layer.cross_attention.has_value() && !attention.latent.has_value();
    }
  }
  if (c.context == ContextKind::kUlysses) {
    MW_RETURN_IF_ERROR(Divides(c.tp1() * c.cp, "tp x cp of Ulysses", heads));
  }
  if (c.tp2 == 1) {
    if (c.panels == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("panels ", c.panels, " without a grid; valid: 0, or tp2 of at least 2"));
  }
  if (!plain) {
    return absl::InvalidArgumentError(StrCat("tp2 ", c.tp2,
                                             " is for models of plain attention and MLPs, which ",
                                             model.name, " is not"));
  }
  if (!c.sequence_parallel) {
    return absl::InvalidArgumentError(
        StrCat("tp2 ", c.tp2, " spreads tokens over rows; sequence parallelism must be on"));
  }
  if (c.panels < 1 || c.panels % c.tp1() != 0 || c.panels % c.tp2 != 0) {
    return absl::InvalidArgumentError(StrCat("panels ", c.panels, " must be a multiple of ",
                                             c.tp1(), " columns and ", c.tp2, " rows"));
  }
  MW_RETURN_IF_ERROR(Divides(c.panels, "panels", inner));
  return Divides(2 * c.tp2 * c.cp, "2 tp2 cp", workload.sequence, "tokens of a sequence");
}

// The most layers of a stage.
int64_t LargestStage(const Model& model, const Configuration& c) {
  int64_t group = 0;
  for (const GroupContent& content : PartitionLayers(model, c.pp, c.ends_as_layers).contents) {
    group = std::max(group, content.all_layers());
  }
  return (group + c.virtual_stages - 1) / c.virtual_stages;
}

// How many of `degrees` are on each `where`, which holds `whole`.
absl::Status CheckPlacement(const Placement& in, const Configuration& degrees,
                            std::string_view where, std::string_view what, int64_t whole) {
  if (in.tp2 < 1 || degrees.tp2 % in.tp2 != 0 || in.tp % in.tp2 != 0 || in.tp < 1 ||
      degrees.tp1() % (in.tp / in.tp2) != 0) {
    return absl::InvalidArgumentError(StrCat("tp ", in.tp, " in a ", where, " with ", in.tp2,
                                             " rows does not fit a grid of ", degrees.tp1(),
                                             " columns and ", degrees.tp2, " rows"));
  }
  for (const auto& [name, inside, degree] : {std::tuple{"tp", in.tp, degrees.tp},
                                             {"cp", in.cp, degrees.cp},
                                             {"dp", in.dp, degrees.dp},
                                             {"pp", in.pp, degrees.pp}}) {
    if (inside < 1 || degree % inside != 0) {
      return absl::InvalidArgumentError(
          StrCat(name, " ", degree, " has ", inside, " in a ", where, "; it must be a divisor"));
    }
  }
  if (in.tp * in.cp * in.dp * in.pp == whole) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("a ", where, " with tp ", in.tp, ", cp ", in.cp, ", dp ",
                                           in.dp, " and pp ", in.pp, " inside must have its ",
                                           whole, " ", what));
}

absl::Status CheckPlacements(const Cluster& cluster, const Configuration& c) {
  if (c.inside.in_order()) {
    if (c.unit.in_order()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "nodes are placed in units, but the GPUs on them are in order; place both");
  }
  MW_RETURN_IF_ERROR(CheckPlacement(c.inside, c, "node", "GPUs", cluster.devices_per_node));
  if (c.unit.in_order()) return absl::OkStatus();
  const int64_t unit = cluster.fabric.unit_nodes;
  if (unit == 0 || unit >= cluster.nodes) {
    return absl::InvalidArgumentError(
        "nodes are placed in units, but all nodes of the cluster are one; valid: none");
  }
  Configuration nodes = c;
  nodes.tp2 /= c.inside.tp2;
  nodes.tp /= c.inside.tp;
  nodes.cp /= c.inside.cp;
  nodes.dp /= c.inside.dp;
  nodes.pp /= c.inside.pp;
  return CheckPlacement(c.unit, nodes, "unit", "nodes", unit);
}

absl::Status CheckOffload(const Model& model, const Configuration& c) {
  if (c.offload_percent != 0 &&
      (!c.offload_optimizer || c.offload_percent < 0 || c.offload_percent >= 100 ||
       c.offload_percent % kOffloadStep != 0)) {
    return absl::InvalidArgumentError(
        StrCat("offload_percent ", c.offload_percent, "; valid: 0 for all, or with the optimizer ",
               "offloaded multiples of ", kOffloadStep, " below 100"));
  }
  if (c.offload_layers == 0) return absl::OkStatus();
  const int64_t stage = LargestStage(model, c);
  if (c.offload_activations && c.offload_layers > 0 && c.offload_layers < stage) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat("offload_layers ", c.offload_layers, " of stages of ", stage,
             " layers; valid: 0 for all, or with activations offloaded fewer than these"));
}

// Checks what part of the layers is recomputed.
absl::Status CheckRecomputeRange(const Model& model, const Configuration& c) {
  const bool some = c.recompute_layers != 0;
  if (some && c.recompute != Recompute::kFull) {
    return absl::InvalidArgumentError(
        StrCat("recompute_layers ", c.recompute_layers, " is for recompute=full; valid: 0"));
  }
  if (c.recompute_stages != 0 && c.recompute == Recompute::kNone) {
    return absl::InvalidArgumentError(
        StrCat("recompute_stages ", c.recompute_stages, " where nothing is recomputed; valid: 0"));
  }
  if (c.recompute_stages < 0 || c.recompute_stages >= c.pp) {
    return absl::InvalidArgumentError(StrCat("recompute_stages ", c.recompute_stages, " of pp ",
                                             c.pp, "; valid: 0 for all, or fewer than pp"));
  }
  const int64_t stage = LargestStage(model, c);
  if (c.recompute_layers < 0 || c.recompute_layers >= stage) {
    return absl::InvalidArgumentError(StrCat("recompute_layers ", c.recompute_layers,
                                             " of stages of ", stage,
                                             " layers; valid: 0 for all, or fewer than these"));
  }
  return absl::OkStatus();
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
  MW_RETURN_IF_ERROR(CheckGrid(model, workload, c));
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
  MW_RETURN_IF_ERROR(CheckPlacements(cluster, c));
  MW_RETURN_IF_ERROR(CheckOffload(model, c));
  MW_RETURN_IF_ERROR(CheckRecomputeRange(model, c));
  if (c.zero < 0 || c.zero > 3) {
    return absl::InvalidArgumentError(StrCat("ZeRO stage ", c.zero, "; valid: 0, 1, 2, 3"));
  }
  return absl::OkStatus();
}

}  // namespace meshwright::transformer
