#include "tests/degrees/plain_step_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "meshwright/cluster/collective.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/degrees/layer_partition.h"
#include "meshwright/degrees/step_parts.h"
#include "meshwright/inter/schedule/simulate.h"

namespace meshwright::transformer {
namespace {

struct PlainGroup {
  double forward = 0, backward = 0, tensor = 0, context = 0, expert = 0;
  double parameters = 0, expert_parameters = 0, largest_block = 0;
  double saved = 0, transient = 0, largest_saved = 0, logits = 0;
  double communication() const { return tensor + context + expert; }
  double total() const { return forward + backward + communication(); }
};

// Units of time in which a group of `groups` has nothing to do, if the forward pass of a
// micro-batch, its gradients of inputs and those of weights take one each: by playing the schedule
// in which gradients of inputs go first, then as many micro-batches forward as 1F1B holds, and
// gradients of weights last (ZB-H1).
double ZeroBubbleIdle(int64_t groups, int64_t micro_batches) {
  // More micro-batches are computed without a gap.
  const int64_t count = std::min(micro_batches, 2 * groups);
  // By group and pass, when each micro-batch's result is there.
  std::vector<std::vector<int64_t>> forward(groups), back(groups);
  std::vector<int64_t> weights(groups);
  const auto there = [](const std::vector<int64_t>& done, size_t i, int64_t now) {
    return i < done.size() && done[i] <= now;
  };
  int64_t now = 0;
  for (; std::any_of(weights.begin(), weights.end(), [&](int64_t w) { return w < count; }); ++now) {
    for (int64_t g = 0; g < groups; ++g) {
      const size_t sent = forward[g].size(), returned = back[g].size();
      if (there(forward[g], returned, now) &&
          (g == groups - 1 || there(back[g + 1], returned, now))) {
        back[g].push_back(now + 1);
      } else if (static_cast<int64_t>(sent) < count &&
                 static_cast<int64_t>(sent - returned) < groups - g &&
                 (g == 0 || there(forward[g - 1], sent, now))) {
        forward[g].push_back(now + 1);
      } else if (weights[g] < static_cast<int64_t>(returned)) {
        ++weights[g];
      }
    }
  }
  return static_cast<double>(now - 3 * count);
}

class PlainCoster {
 public:
  PlainCoster(const Model& model, const Workload& workload, const Cluster& cluster,
              const FrameworkParameters& framework, const Configuration& c)
      : model_(model),
        workload_(workload),
        cluster_(cluster),
        c_(c),
        framework_(framework),
        device_(BuiltinCostParameters().Device(cluster.device.name)),
        rates_(cluster.device, device_, c.precision),
        mesh_(MakeMesh(GridSizes(c), cluster)),
        expert_mesh_(MakeMesh(ExpertGridSizes(c), cluster)),
        micro_batches_(static_cast<double>(workload.global_batch / (c.dp * c.micro_batch))),
        groups_(c.pp) {}

  StepCost Run();

 private:
  // Axes are those between units, pp dp cp rows columns, then between nodes of a unit, and then
  // inside nodes; of ranks in order there are only the first.
  static std::vector<int64_t> GridSizes(const Configuration& c) {
    std::vector<int64_t> sizes = {c.pp, c.dp, c.cp, c.tp2, c.tp1()};
    sizes.resize(15, 1);
    size_t level = 10;
    for (const Placement& in : {c.inside, c.unit}) {
      if (!in.in_order()) {
        const int64_t parts[] = {in.pp, in.dp, in.cp, in.tp2, in.tp / in.tp2};
        for (size_t i = 0; i < 5; ++i) {
          sizes[level + i] = parts[i];
          sizes[i] /= parts[i];
        }
      }
      level -= 5;
    }
    return sizes;
  }
  // The same of pp, experts' replicas, ep and etp. What a node or a unit has of a stage is filled
  // from etp on.
  static std::vector<int64_t> ExpertGridSizes(const Configuration& c) {
    std::vector<int64_t> sizes = {c.pp, c.tp * c.cp * c.dp / (c.ep * c.etp), c.ep, c.etp};
    sizes.resize(12, 1);
    int level = 8;
    for (const Placement& in : {c.inside, c.unit}) {
      if (!in.in_order()) {
        int64_t left = in.tp * in.cp * in.dp;
        sizes[level] = in.pp;
        for (int axis = 3; axis > 0; --axis) {
          int64_t most = 1;
          for (int64_t inside = 1; inside <= left; ++inside) {
            if (left % inside == 0 && sizes[axis] % inside == 0) most = inside;
          }
          sizes[axis + level] = most;
          left /= most;
        }
        for (int axis = 0; axis < 4; ++axis) sizes[axis] /= sizes[axis + level];
      }
      level -= 4;
    }
    return sizes;
  }

  static int64_t Rounded(double bytes) { return std::llround(std::min(bytes, 9e18)); }

  void AddAllBlocks();
  // `part` of a block is computed again, and the rest of it is not.
  void Add(const BlockCost& block, double part, PlainGroup* group);
  void AddAs(const BlockCost& block, Recompute recompute, double part, PlainGroup* sum);
  void SetTime(StepTime* time) const;
  // When each group is done with its passes: by the simulation event by event.
  std::vector<double> PassEnds(bool with_sends, bool with_host) const;
  double SendSeconds(int64_t from) const;
  double TiedSeconds() const;
  double Optimizer(const PlainGroup& g) const;
  // Of a micro-batch, what copies to the host and back add to the passes.
  double HostForward(int64_t position) const { return Copy(position, 1); }
  double HostBackward(int64_t position) const { return Copy(position, 2); }
  double Copy(int64_t position, double thirds) const {
    if (!c_.offload_activations) return 0;
    const PlainGroup& g = groups_[position];
    return Beside(KeptAway(position) * g.saved / device_.host_link,
                  (thirds == 1 ? g.forward : g.backward) + g.communication() * thirds / 3);
  }
  // What communication adds to the computation that it runs beside.
  double Beside(double communication, double computation) const {
    return std::max(communication, computation) - computation +
           framework_.overlap_slowdown * std::min(communication, computation);
  }
  // Seconds of summing gradients of `parameters` (4 bytes) and of gathering weights (2 bytes), over
  // `axis` of meshes of this cluster; ZeRO's groups are neighbours on it. Within it lie `inner`
  // GPUs, of those that are placed over `inner_nodes` nodes. `in_unit` nodes of it are in a unit.
  struct DataTimes {
    double weights = 0, gradients = 0, all_reduce = 0;
  };
  DataTimes Data(double parameters, int64_t replicas, int64_t shard, int64_t inner, int64_t inside,
                 int64_t in_unit, int64_t inner_nodes) const;
  double DataSeconds(const PlainGroup& g) const;
  StageMemory Memory(int64_t position) const;
  double Stages() const {
    return c_.schedule == PipelineKind::kInterleaved ? static_cast<double>(c_.virtual_stages) : 1;
  }
  // Shares that are in the host's memory.
  double StateAway() const {
    if (!c_.offload_optimizer) return 0;
    return c_.offload_percent == 0 ? 1 : static_cast<double>(c_.offload_percent) * 0.01;
  }
  double KeptAway(int64_t position) const {
    if (!c_.offload_activations) return 0;
    const LayerPartition partition = PartitionLayers(model_, c_.pp, c_.ends_as_layers);
    const std::vector<int64_t>& layers = partition.contents[partition.content_of[position]].layers;
    const auto all = static_cast<double>(std::accumulate(layers.begin(), layers.end(), int64_t{0}));
    const auto some = static_cast<double>(c_.offload_layers * c_.virtual_stages);
    return some == 0 ? 1 : std::min(1.0, some / all);
  }
  int64_t ExpertNodes() const {
    int64_t nodes = 1;
    for (const size_t axis : {2, 3, 6, 7}) nodes *= expert_mesh_.axes[axis].size;
    return nodes;
  }
  double Replicas() const { return static_cast<double>(c_.dp * c_.cp); }
  int64_t Shard() const { return c_.shard > 0 ? c_.shard : c_.dp * c_.cp; }
  int64_t ExpertReplicas() const { return c_.tp * c_.cp * c_.dp / (c_.ep * c_.etp); }
  // As many of an expert's replicas as can share with no more than Shard().
  int64_t ExpertShard() const {
    return c_.shard > 0 ? std::gcd(c_.shard, ExpertReplicas()) : ExpertReplicas();
  }
  double Sharded(const PlainGroup& g) const {
    return g.parameters / static_cast<double>(Shard()) +
           g.expert_parameters / static_cast<double>(ExpertShard());
  }

  const Model& model_;
  const Workload& workload_;
  const Cluster& cluster_;
  const Configuration& c_;
  const FrameworkParameters framework_;
  const DeviceParameters device_;
  const DeviceRates rates_;
  const Mesh mesh_, expert_mesh_;
  const double micro_batches_;
  std::vector<PlainGroup> groups_;
  double flops_ = 0, again_flops_ = 0;
};

void PlainCoster::Add(const BlockCost& b, double part, PlainGroup* g) {
  if (part > 0) AddAs(b, c_.recompute, part, g);
  if (part < 1) AddAs(b, Recompute::kNone, 1 - part, g);
  g->parameters += b.parameters;
  g->expert_parameters += b.expert_parameters;
  g->largest_block = std::max(g->largest_block, b.parameters + b.expert_parameters);
  g->logits += b.logits;
  flops_ += b.flops;
}

void PlainCoster::AddAs(const BlockCost& b, Recompute recompute, double part, PlainGroup* sum) {
  const Recomputation& again = b.again[static_cast<size_t>(recompute)];
  PlainGroup block;
  PlainGroup* const g = &block;
  g->forward += b.forward;
  g->backward += b.backward + again.seconds;
  const double passes = recompute == Recompute::kFull && again.seconds > 0 ? 3 : 2;
  const auto over = [&](CollectiveKind kind, AxisIndex axis, double bytes) {
    return CollectiveSeconds(
        mesh_, kind, {axis, static_cast<AxisIndex>(axis + 5), static_cast<AxisIndex>(axis + 10)},
        Rounded(bytes));
  };
  constexpr AxisIndex kContext = 2, kRows = 3, kColumns = 4;
  if (b.tensor_passes > 0) {
    const int64_t node = cluster_.devices_per_node;
    const int64_t inside = c_.inside.in_order() ? std::gcd(c_.tp, node) : c_.inside.tp;
    const bool crosses = inside < c_.tp && cluster_.intra_node.name != cluster_.inter_node.name;
    // NCCL's rings between nodes.
    const double nodes = static_cast<double>(c_.tp / inside), all = static_cast<double>(c_.tp);
    const double rings =
        (all - nodes) * cluster_.intra_node.latency_seconds +
        (nodes - 1) * cluster_.inter_node.latency_seconds +
        (all - 1) / all * static_cast<double>(Rounded(b.tensor_bytes)) /
            std::min(cluster_.intra_node.achievable(),
                     static_cast<double>(inside) * cluster_.inter_node.achievable());
    const auto pass = [&](CollectiveKind kind) {
      const double lines = over(kind, kColumns, b.tensor_bytes);
      return crosses ? std::max(lines, rings) : lines;
    };
    const double both =
        c_.sequence_parallel
            ? pass(CollectiveKind::kReduceScatter) + pass(CollectiveKind::kAllGather)
            : over(CollectiveKind::kAllReduce, kColumns, b.tensor_bytes);
    const double exposed =
        crosses ? std::max(1.0, framework_.tensor_exposed) : framework_.tensor_exposed;
    g->tensor += exposed * passes * b.tensor_passes / 2 * both;
  }
  if (c_.tp2 > 1) {
    for (const GridMatmul& matmul : b.grid) {
      const double panels = static_cast<double>(c_.panels);
      const double arrive =
          over(CollectiveKind::kAllGather, kColumns, matmul.input_bytes / panels) +
          over(CollectiveKind::kAllGather, kRows, matmul.weight_bytes / panels);
      for (int64_t panel = 0; panel < c_.panels; ++panel) {
        const double forward = panel == 0 ? 0 : matmul.forward / panels;
        const double backward = panel == 0 ? 0 : matmul.backward / panels;
        g->tensor += panel == 0
                         ? (passes - 1) * arrive + 2 * arrive
                         : (passes - 1) * Beside(arrive, forward) + Beside(2 * arrive, backward);
      }
    }
    // Two norms, forward and backward.
    g->tensor += passes * 2 * over(CollectiveKind::kAllReduce, kColumns, b.norm_bytes);
    g->tensor += (passes + 1) * over(CollectiveKind::kAllGather, kRows, b.row_context_bytes);
  }
  if (b.context_bytes > 0) {
    const double turns = static_cast<double>(c_.cp);
    const auto send = [&](double bytes) {
      return over(CollectiveKind::kCollectivePermute, kContext, bytes);
    };
    if (c_.context == ContextKind::kRing) {
      for (int64_t turn = 1; turn < c_.cp; ++turn) {
        g->context += (passes - 1) * Beside(send(b.context_bytes), b.attention_forward / turns) +
                      Beside(send(2 * b.context_bytes), b.attention_backward / turns);
      }
    } else if (c_.context == ContextKind::kAllGather) {
      g->context +=
          (passes + 1) * over(CollectiveKind::kAllGather, kContext, turns * b.context_bytes);
    } else {
      g->context +=
          passes * over(CollectiveKind::kAllToAll, kContext, b.context_bytes + b.context_out_bytes);
    }
  }
  if (b.expert_bytes > 0 && c_.ep > 1) {
    const double nodes = c_.inside.in_order()
                             ? std::max(1.0, static_cast<double>(c_.ep * c_.etp) /
                                                 static_cast<double>(cluster_.devices_per_node))
                             : static_cast<double>(ExpertNodes());
    const double reached = nodes * (1 - std::pow(1 - 1 / nodes, b.experts_per_token));
    const double bytes = b.expert_bytes * (nodes > 1 ? reached / b.experts_per_token : 1);
    g->expert +=
        framework_.expert_exposed * 2 * passes *
        CollectiveSeconds(expert_mesh_, CollectiveKind::kAllToAll, {2, 6, 10}, Rounded(bytes));
  }
  if (c_.etp > 1 && b.expert_bytes > 0) {
    // Gathered on the way in and scattered on the way out, by each of the GPUs as much as it
    // brings.
    const double whole = b.expert_bytes * static_cast<double>(c_.etp);
    g->expert +=
        framework_.expert_exposed * passes *
        (CollectiveSeconds(expert_mesh_, CollectiveKind::kAllGather, {3, 7, 11}, Rounded(whole)) +
         CollectiveSeconds(expert_mesh_, CollectiveKind::kReduceScatter, {3, 7, 11},
                           Rounded(whole)));
  }
  sum->forward += part * block.forward;
  sum->backward += part * block.backward;
  sum->tensor += part * block.tensor;
  sum->context += part * block.context;
  sum->expert += part * block.expert;
  sum->saved += part * again.saved_bytes;
  sum->transient = std::max(sum->transient, again.transient_bytes);
  sum->largest_saved = std::max(sum->largest_saved, again.saved_bytes);
  again_flops_ += part * again.flops;
}

void PlainCoster::AddAllBlocks() {
  const BlockSettings settings{rates_, framework_, c_, workload_.sequence};
  const LayerPartition partition = PartitionLayers(model_, c_.pp, c_.ends_as_layers);
  std::vector<double> parts(c_.pp, 0);
  for (int64_t group = 0; group < c_.pp; ++group) {
    const std::vector<int64_t>& layers = partition.contents[partition.content_of[group]].layers;
    const auto all = static_cast<double>(std::accumulate(layers.begin(), layers.end(), int64_t{0}));
    const auto some = static_cast<double>(c_.recompute_layers * c_.virtual_stages);
    if (c_.recompute_stages == 0 || group < c_.recompute_stages) {
      parts[group] = some == 0 ? 1 : std::min(1.0, some / all);
    }
    size_t kind = 0;
    for (const Stack& stack : model_.stacks) {
      for (const Layer& layer : stack.kinds) {
        const Block block = LayerBlock(model_, stack, layer, workload_.sequence);
        for (int64_t i = 0; i < layers[kind]; ++i) {
          Add(LayerCost(model_, layer, block, settings), parts[group], &groups_[group]);
        }
        ++kind;
      }
    }
  }
  const BlockCost embedding =
      EmbeddingCost(model_, EmbeddingBlock(model_, workload_.sequence), settings);
  Add(embedding, parts.front(), &groups_.front());
  Add(HeadCost(model_, HeadBlock(model_, workload_.sequence), settings), parts.back(),
      &groups_.back());
  for (int64_t module = 0; module < model_.mtp.modules; ++module) {
    Add(MtpCost(model_, MtpBlock(model_, workload_.sequence), HeadBlock(model_, workload_.sequence),
                settings),
        parts.back(), &groups_.back());
  }
  if ((model_.head.tied || model_.mtp.modules > 0) && c_.pp > 1)
    groups_.back().parameters += embedding.parameters;
}

PlainCoster::DataTimes PlainCoster::Data(double parameters, int64_t replicas, int64_t shard,
                                         int64_t inner, int64_t inside, int64_t in_unit,
                                         int64_t inner_nodes) const {
  if (parameters == 0) return {};
  std::vector<int64_t> sizes = {c_.pp, replicas / shard, shard, inner, 1, 1, 1, 1, 1, 1};
  if (!c_.inside.in_order()) {
    // Of the replicas on a node, as many as can are of one of ZeRO's groups; of a unit too.
    const int64_t shard_inside = std::gcd(shard, inside);
    const int64_t node = cluster_.devices_per_node;
    sizes = {1,
             replicas / shard / (inside / shard_inside),
             shard / shard_inside,
             inner_nodes,
             1,
             1,
             1,
             inside / shard_inside,
             shard_inside,
             node / inside};
    if (!c_.unit.in_order()) {
      const int64_t shard_in_unit = std::gcd(sizes[2], in_unit);
      sizes[3] = 1;
      sizes[4] = in_unit / shard_in_unit;
      sizes[5] = shard_in_unit;
      sizes[6] = cluster_.fabric.unit_nodes / in_unit;
      sizes[1] /= sizes[4];
      sizes[2] /= sizes[5];
    }
    sizes[0] = cluster_.nodes / (sizes[1] * sizes[2] * sizes[3] * sizes[4] * sizes[5] * sizes[6]);
  }
  const Mesh mesh = MakeMesh(sizes, cluster_);
  const auto seconds = [&](CollectiveKind kind, AxisIndex axis, double bytes) {
    return CollectiveSeconds(
        mesh, kind, {axis, static_cast<AxisIndex>(axis + 3), static_cast<AxisIndex>(axis + 6)},
        Rounded(bytes));
  };
  return {seconds(CollectiveKind::kAllGather, 2, 2 * parameters),
          seconds(CollectiveKind::kReduceScatter, 2, 4 * parameters) +
              seconds(CollectiveKind::kAllReduce, 1, 4 * parameters / static_cast<double>(shard)),
          seconds(CollectiveKind::kAllReduce, 2, 4 * parameters)};
}

double PlainCoster::DataSeconds(const PlainGroup& g) const {
  const DataTimes dense =
      Data(g.parameters, c_.dp * c_.cp, Shard(), c_.tp, c_.inside.dp * c_.inside.cp,
           c_.unit.dp * c_.unit.cp, c_.tp / std::max<int64_t>(c_.inside.tp, 1));
  const DataTimes experts =
      Data(g.expert_parameters, ExpertReplicas(), ExpertShard(), c_.ep * c_.etp,
           expert_mesh_.axes[9].size, expert_mesh_.axes[5].size, ExpertNodes());
  const double weights = dense.weights + experts.weights;
  const double gradients = dense.gradients + experts.gradients;
  if (c_.zero == 3) {
    return (c_.pp > 1 ? 1 : micro_batches_) *
           (Beside(weights, g.forward) + Beside(weights + gradients, g.backward));
  }
  const double backward = g.backward + g.communication() * 2 / 3;
  const double passes =
      Beside(weights, g.forward + g.communication() / 3) +
      (c_.zero == 2 && c_.pp == 1 ? micro_batches_ : 1) * Beside(gradients, backward);
  // Where switches add, all gradients may be summed at once.
  const double all_reduce = dense.all_reduce + experts.all_reduce;
  if (c_.zero > 0 || all_reduce >= 2 * gradients) return passes;
  return std::min(passes, Beside(all_reduce, backward));
}

double PlainCoster::Optimizer(const PlainGroup& g) const {
  const double updated = c_.zero >= 1 ? Sharded(g) : g.parameters + g.expert_parameters;
  // 4 bytes down, 2 up, and the update in between.
  return StateAway() * updated * (6 / device_.host_link + 30 / device_.host_memory) +
         (1 - StateAway()) * updated * 30 / rates_.memory_bytes;
}

// GPUs are numbered as they are placed: those of a node, then of a unit, then the others.
double PlainCoster::SendSeconds(int64_t from) const {
  double elements = static_cast<double>(c_.micro_batch * workload_.sequence * model_.hidden) /
                    static_cast<double>(c_.cp);
  if (c_.sequence_parallel) elements /= static_cast<double>(c_.tp);
  const int64_t stage = c_.tp * c_.cp * c_.dp, node = cluster_.devices_per_node;
  bool between = false;
  if (c_.inside.in_order()) {
    for (int64_t gpu = from * stage; gpu < (from + 1) * stage; ++gpu)
      between = between || gpu / node != (gpu + stage) / node;
  } else {
    between = from / c_.inside.pp != (from + 1) / c_.inside.pp;
  }
  if (between && cluster_.fabric.unit_nodes > 0) {
    return CollectiveSeconds(mesh_, CollectiveKind::kCollectivePermute, {0, 5, 10},
                             Rounded(2 * elements));
  }
  const Link& link = between ? cluster_.inter_node : cluster_.intra_node;
  return link.latency_seconds + 2 * elements / link.achievable();
}

double PlainCoster::TiedSeconds() const {
  if ((!model_.head.tied && model_.mtp.modules == 0) || c_.pp == 1) return 0;
  const BlockSettings settings{rates_, framework_, c_, workload_.sequence};
  const double parameters =
      EmbeddingCost(model_, EmbeddingBlock(model_, workload_.sequence), settings).parameters;
  const bool one_node =
      c_.inside.in_order() ? c_.gpus() <= cluster_.devices_per_node : c_.inside.pp == c_.pp;
  const Link& link = one_node ? cluster_.intra_node : cluster_.inter_node;
  return link.latency_seconds + 4 * parameters / link.achievable();
}

std::vector<double> PlainCoster::PassEnds(bool with_sends, bool with_host) const {
  std::vector<StageTimes> stages;
  for (int64_t i = 0; i < c_.pp; ++i) {
    const PlainGroup& g = groups_[i];
    StageTimes& stage = stages.emplace_back();
    stage.forward = g.forward + g.communication() / 3 + (with_host ? HostForward(i) : 0);
    stage.backward = g.backward + g.communication() * 2 / 3 + (with_host ? HostBackward(i) : 0);
    stage.send_forward = with_sends && i + 1 < c_.pp ? SendSeconds(i) : 0;
    stage.send_backward = with_sends && i > 0 ? SendSeconds(i - 1) : 0;
  }
  ScheduleShape shape;
  shape.groups = static_cast<int32_t>(c_.pp);
  shape.micro_batches = static_cast<int32_t>(micro_batches_);
  const Simulation simulation = *Simulate(**FindSchedule("1f1b"), shape, stages, Sends::kExchanged);
  std::vector<double> ends(c_.pp);
  for (const SimulatedTask& task : simulation.tasks)
    ends[task.group] = std::max(ends[task.group], task.end);
  return ends;
}

void PlainCoster::SetTime(StepTime* time) const {
  const PlainGroup* busiest = &groups_[0];
  double mean = 0;
  for (const PlainGroup& group : groups_) {
    // Equal groups may differ in the last digits.
    if (group.total() > busiest->total() * (1 + 1e-13)) busiest = &group;
    mean += group.total() / static_cast<double>(c_.pp);
  }
  const PlainGroup& g = *busiest;
  time->compute = micro_batches_ * (g.forward + g.backward);
  time->tensor_communication = micro_batches_ * g.tensor;
  time->context_communication = micro_batches_ * g.context;
  time->expert_communication = micro_batches_ * g.expert;
  const double waits = static_cast<double>(c_.pp - 1);
  if (c_.schedule == PipelineKind::k1F1B) {
    const double passes = PassEnds(true, false).front();
    const double without_sends = PassEnds(false, false).front();
    const std::vector<double> ends = PassEnds(true, true);
    time->pipeline_communication = passes - without_sends;
    time->bubble = without_sends - micro_batches_ * g.total();
    time->host_communication = ends.front() - passes;
    double data = 0, all = 0;
    for (int64_t i = 0; i < c_.pp; ++i) {
      const double reduced = DataSeconds(groups_[i]) + (i == 0 ? TiedSeconds() : 0);
      const double end = ends[i] + reduced + Optimizer(groups_[i]);
      if (end <= time->seconds) continue;
      time->seconds = end;
      data = reduced;
      all = reduced + Optimizer(groups_[i]);
    }
    const double behind = time->seconds - ends.front();
    time->data_communication = all > 0 ? behind * data / all : 0;
    time->optimizer = behind - time->data_communication + framework_.step_seconds;
    time->seconds += framework_.step_seconds;
  } else {
    time->bubble = waits / Stages() * mean;
    if (c_.schedule == PipelineKind::kZeroBubble) {
      time->bubble = mean / 3 * ZeroBubbleIdle(c_.pp, static_cast<int64_t>(micro_batches_));
    }
    double send = 0;
    for (int64_t i = 0; i + 1 < c_.pp; ++i) send = std::max(send, SendSeconds(i));
    time->pipeline_communication =
        2 * send * waits + 2 * send * (Stages() - 1) * micro_batches_ * framework_.overlap_slowdown;
    time->data_communication = DataSeconds(g) + TiedSeconds();
    time->optimizer = framework_.step_seconds + Optimizer(g);
    const auto busiest_at = static_cast<int64_t>(busiest - groups_.data());
    time->host_communication =
        (micro_batches_ + waits / Stages()) * (HostForward(busiest_at) + HostBackward(busiest_at));
    time->seconds = time->compute + time->tensor_communication + time->context_communication +
                    time->expert_communication + time->data_communication +
                    time->pipeline_communication + time->host_communication + time->bubble +
                    time->optimizer;
  }
  const double batches = micro_batches_ * static_cast<double>(c_.dp);
  const double most = time->seconds * static_cast<double>(c_.gpus()) * rates_.peak_flops;
  time->model_flops = batches * flops_;
  time->mfu = batches * flops_ / most;
  time->hfu = batches * (flops_ + again_flops_) / most;
}

StageMemory PlainCoster::Memory(int64_t position) const {
  const PlainGroup& g = groups_[position];
  const double all = g.parameters + g.expert_parameters;
  const auto over = [&](int least_zero) { return c_.zero < least_zero ? all : Sharded(g); };
  const bool fsdp = c_.zero == 3;
  const double kept = c_.zero > 1 && c_.pp > 1 && Replicas() > 1 ? all : 0;
  StageMemory memory;
  memory.weights = Rounded(fsdp ? 4 * over(3) + 2 * kept : 2 * all);
  memory.gradients = Rounded(4 * (over(2) + kept));
  const double state = (fsdp ? 8 : 12) * over(1);
  memory.host = Rounded(StateAway() * state);
  memory.optimizer = Rounded((1 - StateAway()) * state);
  double in_flight = std::min(micro_batches_, static_cast<double>(c_.pp - position));
  if (Stages() > 1) {
    const double warm_up = static_cast<double>((c_.pp - position - 1) * 2 + 1) +
                           (Stages() - 1) * static_cast<double>(c_.pp);
    in_flight = std::min(micro_batches_ * Stages(), warm_up) / Stages();
  }
  double on_gpu = g.saved * in_flight;
  const double kept_away = KeptAway(position) * on_gpu;
  memory.host += Rounded(kept_away);
  on_gpu = on_gpu - kept_away + std::min(kept_away, 2 * g.largest_saved);
  memory.activations = Rounded(on_gpu + g.transient);
  memory.logits = Rounded(12 * g.logits);
  if (Replicas() > 1) memory.communication = fsdp ? Rounded(8 * g.largest_block) : 256 << 20;
  memory.framework = Rounded(2147483648.0 + 0.085 * static_cast<double>(memory.total()));
  return memory;
}

StepCost PlainCoster::Run() {
  AddAllBlocks();
  StepCost cost;
  SetTime(&cost.time);
  for (int64_t i = 0; i < c_.pp; ++i) {
    const StageMemory memory = Memory(i);
    cost.memory.push_back(memory);
    cost.peak_bytes = std::max(cost.peak_bytes, memory.total());
    cost.kept_bytes = std::max(cost.kept_bytes, memory.activations + memory.logits);
    cost.host_bytes = std::max(cost.host_bytes, memory.host);
  }
  return cost;
}

}  // namespace

StepCost PlainCost(const Model& model, const Workload& workload, const Cluster& cluster,
                   const FrameworkParameters& framework, const Configuration& c) {
  return PlainCoster(model, workload, cluster, framework, c).Run();
}

}  // namespace meshwright::transformer
