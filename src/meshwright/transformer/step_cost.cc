// A step is m micro-batches through p groups of stages. The busiest group computes m times; before
// and after it waits for the others to fill and drain: (p - 1) / v micro-batches' worth of the mean
// group, v virtual stages each (Narayanan et al. 2021, section 2.2); zero-bubble schedules leave a
// third of it (Qi et al. 2024, ZB-H1). Gradients are reduced beside the last backward and weights
// gathered beside the first forward computation; with ZeRO 3 both happen beside every micro-batch.

#include "meshwright/transformer/step_cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/collective.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/transformer/step_parts.h"

namespace meshwright::transformer {
namespace {

// CUDA context, NCCL's buffers, workspaces of cuBLAS; and the share that the allocator cannot use,
// on the high side: a plan that does not fit is worse than one with room.
constexpr double kFrameworkBytes = 2147483648.0;
constexpr double kGatherBytes = 268435456.0;  // buffers of collectives that are no FSDP

constexpr double kFragmentation = 0.085;
// Bytes read and written by Adam per parameter: gradient, master copy, two moments, weight.
constexpr double kOptimizerTraffic = 30;
constexpr int64_t kEnds = 2;  // embedding and head, where they count as layers
constexpr double kZeroBubbleLeft = 1.0 / 3;

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
  const int64_t layers = model.layers() + (c.ends_as_layers ? kEnds : 0);
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

struct StepCoster::Tables {
  struct Blocks {
    std::vector<std::vector<BlockCost>> layers;  // by stack and kind
    BlockCost embedding, head;
    double logits_bytes = 0;
  };
  using BlockKey = std::tuple<int64_t, bool, int64_t, int64_t, int64_t, int64_t, int, int>;
  using MeshKey = std::tuple<int64_t, int64_t, int64_t, int64_t>;

  const Model& model;
  const Workload workload;
  const Cluster& cluster;
  const DeviceParameters device;
  const FrameworkParameters framework;
  std::map<BlockKey, Blocks> blocks;
  std::map<MeshKey, CollectiveTimes> meshes;

  const Blocks& BlocksOf(const Configuration& c);
  const CollectiveTimes& Mesh(int64_t a, int64_t b, int64_t c, int64_t d);
};

const StepCoster::Tables::Blocks& StepCoster::Tables::BlocksOf(const Configuration& c) {
  const auto [place, added] =
      blocks.try_emplace(BlockKey{c.tp, c.sequence_parallel, c.cp, c.ep, c.etp, c.micro_batch,
                                  static_cast<int>(c.precision), static_cast<int>(c.recompute)});
  Blocks& result = place->second;
  if (!added) return result;
  const BlockSettings settings{cluster.device, device, framework, c, workload.sequence};
  for (const Stack& stack : model.stacks) {
    std::vector<BlockCost>& costs = result.layers.emplace_back();
    for (const Layer& layer : stack.kinds) {
      costs.push_back(LayerCost(model, stack, layer, settings));
    }
  }
  result.embedding = EmbeddingCost(model, settings);
  result.head = HeadCost(model, settings, &result.logits_bytes);
  return result;
}

const CollectiveTimes& StepCoster::Tables::Mesh(int64_t a, int64_t b, int64_t c, int64_t d) {
  const MeshKey key{a, b, c, d};
  const auto found = meshes.find(key);
  if (found != meshes.end()) return found->second;
  return meshes.emplace(key, CollectiveTimes(MakeMesh({a, b, c, d}, cluster))).first->second;
}

StepCoster::StepCoster(const Model& model, const Workload& workload, const Cluster& cluster,
                       const CostParameters& parameters, std::string_view framework)
    : tables_(new Tables{model,
                         workload,
                         cluster,
                         parameters.Device(cluster.device.name),
                         parameters.Framework(framework),
                         {},
                         {}}) {}

StepCoster::~StepCoster() = default;

namespace {

// One pipeline group: what all of its layers take for one micro-batch.
struct Group {
  double forward = 0, backward = 0;            // computation, recomputation in `backward`
  double tensor = 0, context = 0, expert = 0;  // exposed
  double parameters = 0, expert_parameters = 0, largest_block = 0;
  double saved = 0, transient = 0, logits = 0;
  double communication() const { return tensor + context + expert; }
  double total() const { return forward + backward + communication(); }
};

int64_t Bytes(double bytes) { return static_cast<int64_t>(std::llround(std::min(bytes, 9e18))); }

}  // namespace

StepCost StepCoster::Cost(const Configuration& c) {
  Tables& t = *tables_;
  const Tables::Blocks& blocks = t.BlocksOf(c);
  const CollectiveTimes& mesh = t.Mesh(c.pp, c.dp, c.cp, c.tp);
  const AxisList kData{1, 2}, kContext{2}, kTensor{3}, kPipeline{0};
  const int64_t ranks = c.tp * c.cp * c.dp;
  const CollectiveTimes& expert_mesh = t.Mesh(c.pp, ranks / (c.ep * c.etp), c.ep, c.etp);
  const FrameworkParameters& framework = t.framework;
  const bool fsdp = c.zero == 3;
  const double pp = static_cast<double>(c.pp);
  const double micro_batches =
      static_cast<double>(t.workload.global_batch / (c.dp * c.micro_batch));
  const double replicas = static_cast<double>(c.dp * c.cp);

  double model_flops = 0, again_flops = 0;
  std::vector<Group> groups(c.pp);
  const auto add = [&](const BlockCost& b, Group* g) {
    g->forward += b.forward;
    g->backward += b.backward + b.recompute;
    const double passes = 2 + (b.recompute > 0 && c.recompute == Recompute::kFull ? 1 : 0);
    if (b.tensor_passes > 0) {
      g->tensor += framework.tensor_exposed * passes * b.tensor_passes *
                   mesh.Seconds(CollectiveKind::kAllGather, kTensor, Bytes(b.tensor_bytes));
    }
    if (b.context_bytes > 0) {
      // A ring beside attention, which has to be as fast.
      const double ring = mesh.Seconds(CollectiveKind::kAllGather, kContext,
                                       Bytes(b.context_bytes * static_cast<double>(c.cp)));
      g->context += std::max(0.0, ring - b.attention_forward) +
                    std::max(0.0, 2 * ring - 2 * b.attention_forward);
    }
    if (b.expert_bytes > 0 && c.ep > 1) {
      // A token goes to every node once, however many of its experts are there (DeepEP).
      const double nodes = std::max(
          1.0, static_cast<double>(c.ep * c.etp) / static_cast<double>(t.cluster.devices_per_node));
      const double reached = nodes * (1 - std::pow(1 - 1 / nodes, b.experts_per_token));
      const double bytes = b.expert_bytes * (nodes > 1 ? reached / b.experts_per_token : 1);
      g->expert += framework.expert_exposed * 2 * passes *
                   expert_mesh.Seconds(CollectiveKind::kAllToAll, {2}, Bytes(bytes));
    }
    g->parameters += b.parameters;
    g->expert_parameters += b.expert_parameters;
    g->largest_block = std::max(g->largest_block, b.parameters + b.expert_parameters);
    g->saved += b.saved_bytes;
    g->transient = std::max(g->transient, b.transient_bytes);
    model_flops += b.flops;
    again_flops += b.again_flops;
  };
  int64_t index = c.ends_as_layers ? 1 : 0;
  const int64_t layers = t.model.layers() + (c.ends_as_layers ? kEnds : 0);
  for (size_t stack = 0; stack < t.model.stacks.size(); ++stack) {
    for (const int32_t kind : t.model.stacks[stack].layers) {
      add(blocks.layers[stack][kind], &groups[index * c.pp / layers]);
      ++index;
    }
  }
  add(blocks.embedding, &groups.front());
  add(blocks.head, &groups.back());
  groups.back().logits = blocks.logits_bytes;
  if (t.model.head.tied && c.pp > 1) groups.back().parameters += blocks.embedding.parameters;

  size_t busiest = 0;
  double mean = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].total() > groups[busiest].total()) busiest = i;
    mean += groups[i].total() / pp;
  }
  const Group& g = groups[busiest];

  StepCost result;
  StepTime& time = result.time;
  time.compute = micro_batches * (g.forward + g.backward);
  time.tensor_communication = micro_batches * g.tensor;
  time.context_communication = micro_batches * g.context;
  time.expert_communication = micro_batches * g.expert;
  const double stages =
      c.schedule == PipelineKind::kInterleaved ? static_cast<double>(c.virtual_stages) : 1;
  time.bubble =
      (pp - 1) / stages * mean * (c.schedule == PipelineKind::kZeroBubble ? kZeroBubbleLeft : 1);
  if (c.pp > 1) {
    const double boundary = static_cast<double>(c.micro_batch * t.workload.sequence) *
                            static_cast<double>(t.model.hidden) * 2 /
                            static_cast<double>(c.cp * (c.sequence_parallel ? c.tp : 1));
    const double send =
        mesh.Seconds(CollectiveKind::kCollectivePermute, kPipeline, Bytes(boundary));
    // Between micro-batches sends go beside computation; while filling and draining all wait.
    time.pipeline_communication =
        2 * send * (pp - 1) +
        (stages > 1 ? 2 * send * (stages - 1) * micro_batches * framework.overlap_slowdown : 0);
  }

  // Data parallel: reduce-scatter of gradients and all-gather of weights (ZeRO 0: an all-reduce,
  // which is both).
  const double shard = c.shard > 0 ? static_cast<double>(c.shard) : replicas;
  if (replicas > 1) {
    const auto gather = [&](double bytes_each) {
      return mesh.Seconds(CollectiveKind::kAllGather, kData, Bytes(g.parameters * bytes_each)) +
             expert_mesh.Seconds(CollectiveKind::kAllGather, {1},
                                 Bytes(g.expert_parameters * bytes_each));
    };
    const double weights = gather(2);
    const double gradients = gather(4);
    if (fsdp) {
      const double slow = framework.overlap_slowdown;
      const double each = std::max(weights, g.forward) + slow * std::min(weights, g.forward) -
                          g.forward + std::max(weights + gradients, g.backward) +
                          slow * std::min(weights + gradients, g.backward) - g.backward;
      // With a pipeline weights stay gathered, and gradients are summed before they are reduced.
      time.data_communication = (c.pp > 1 ? 1 : micro_batches) * each;
    } else {
      const double forward = g.forward + g.communication() / 3;
      const double backward = g.backward + g.communication() * 2 / 3;
      time.data_communication =
          std::max(0.0, weights - forward) + std::max(0.0, gradients - backward) +
          framework.overlap_slowdown * (std::min(weights, forward) + std::min(gradients, backward));
    }
  }
  const double sharded = c.zero >= 1 ? shard : 1;
  time.optimizer = kOptimizerTraffic * (g.parameters + g.expert_parameters) / sharded /
                       (t.cluster.device.memory_bytes_per_second * t.device.memory) +
                   framework.step_seconds;
  time.seconds = time.compute + time.tensor_communication + time.context_communication +
                 time.expert_communication + time.data_communication + time.pipeline_communication +
                 time.bubble + time.optimizer;
  const double batches = micro_batches * static_cast<double>(c.dp);
  time.model_flops = batches * model_flops;
  const char* type = c.precision == Precision::kBf16    ? "bf16"
                     : c.precision == Precision::kFp16  ? "f16"
                     : c.precision == Precision::kNvFp4 ? "f4e2m1fn"
                                                        : "f8e4m3fn";
  const double most =
      time.seconds * static_cast<double>(c.gpus()) * t.cluster.device.PeakFlops(type);
  time.mfu = time.model_flops / most;
  time.hfu = batches * (model_flops + again_flops) / most;

  for (size_t i = 0; i < groups.size(); ++i) {
    const Group& one = groups[i];
    const double all = one.parameters + one.expert_parameters;
    // Experts have fewer replicas to be sharded over.
    const double expert_replicas = static_cast<double>(ranks / (c.ep * c.etp));
    const auto over = [&](bool is_sharded) {
      if (!is_sharded) return all;
      return one.parameters / shard + one.expert_parameters / std::min(shard, expert_replicas);
    };
    StageMemory memory;
    // ZeRO 3 keeps the f32 master copy as the weights, and gathers 2-byte copies; with a pipeline
    // those stay, and gradients are whole until they are reduced at the end.
    const bool whole = fsdp && c.pp > 1 && replicas > 1;
    memory.weights = Bytes(fsdp ? 4 * over(true) + (whole ? 2 * all : 0) : 2 * all);
    memory.gradients = Bytes(4 * (over(c.zero >= 2) + (whole ? all : 0)));
    memory.optimizer = Bytes((fsdp ? 8 : 12) * over(c.zero >= 1));
    double in_flight = std::min(micro_batches, pp - static_cast<double>(i));
    if (stages > 1) {
      const double warm_up = (pp - static_cast<double>(i) - 1) * 2 + (stages - 1) * pp + 1;
      in_flight = std::min(micro_batches * stages, warm_up) / stages;
    }
    memory.activations = Bytes(one.saved * in_flight + one.transient);
    memory.logits = Bytes(one.logits);
    if (replicas > 1) {
      // Two layers' weights and the gradient of one while they are gathered and scattered.
      memory.communication = Bytes(fsdp ? (2 * 2 + 4) * one.largest_block : kGatherBytes);
    }
    memory.framework = 0;
    memory.framework =
        Bytes(kFrameworkBytes + kFragmentation * static_cast<double>(memory.total()));
    result.peak_bytes = std::max(result.peak_bytes, memory.total());
    result.memory.push_back(memory);
  }
  return result;
}

}  // namespace meshwright::transformer
