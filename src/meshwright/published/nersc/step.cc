#include "meshwright/published/nersc/step.h"

#include <algorithm>

#include "meshwright/base/status.h"
#include "meshwright/published/nersc/check.h"

namespace meshwright::transformer::nersc {
namespace {

struct Halves {
  Module mlp, attention;
};

Halves HalvesOf(Strategy strategy) {
  switch (strategy) {
    case Strategy::k1d:
      return {Module::kMlp1d, Module::kAttention1d};
    case Strategy::kSumma:
      return {Module::kMlpSumma, Module::kAttentionSummaSequence};
    case Strategy::kSequence:
      return {Module::kMlpSequence, Module::kAttentionSequence};
  }
  return {};
}

template <typename Get>
double SumLayer(const Layer& layer, Get get) {
  return SumLikeNumpy(layer.mlp, get) + SumLikeNumpy(layer.attention, get);
}

// Weights are the same along tp2 of kSequence, so that is data parallelism too.
Group DataGroup(Strategy strategy, const Config& config) {
  if (strategy != Strategy::kSequence) return {config.dp, config.nv_dp};
  return {config.dp * config.tp2, config.nv_dp * config.nv_tp2};
}

// The first of the layers' collectives of `comm` seconds each is exposed, the others where they
// outlast the layer's pass.
double DataParallelSeconds(double comm, double pass, int64_t layers) {
  return comm + std::max(comm - pass, 0.0) * static_cast<double>(layers - 1);
}

double StageTransferSeconds(const System& system, const Config& config, double gb) {
  if (config.pp == 1) return 0;
  const double seconds =
      CollectiveSeconds(system, Collective::kPointToPoint, gb, {2, config.nv_pp});
  if (config.nv_pp == 1) return seconds;
  // As published: links between domains cost nothing, as they are asked for as a transfer among one
  // GPU. What is left is the share of links inside domains.
  const auto links = static_cast<double>(config.pp - 1);
  const double slow = Share(config.pp, config.nv_pp) - 1;
  return (links - slow) / links * seconds;
}

int64_t MicroBatches(const Config& config, int64_t global_batch) {
  return global_batch / config.dp / config.micro_batch;
}

}  // namespace

Layer MakeLayer(const Model& model, const System& system, Strategy strategy, int64_t tp1,
                int64_t tp2, int64_t micro_batch, int64_t panels) {
  const Halves halves = HalvesOf(strategy);
  const ModuleOptions options{.batch = micro_batch, .tp1 = tp1, .tp2 = tp2, .panels = panels};
  Layer layer{.mlp = MakeModule(model, system, halves.mlp, options),
              .attention = MakeModule(model, system, halves.attention, options)};
  layer.weights_gb = SumLayer(layer, [](const Operator& op) { return op.weights_gb; });
  layer.activation_gb = SumLayer(layer, [](const Operator& op) { return op.activation_gb; });
  layer.boundary_gb = layer.mlp.back().activation_gb;  // what the normalization reads
  return layer;
}

LayerSeconds TimeLayer(const System& system, const Layer& layer, const Groups& groups) {
  return {SumLayer(layer, [&](const Operator& op) { return ForwardSeconds(system, op, groups); }),
          SumLayer(layer, [&](const Operator& op) { return BackwardSeconds(system, op, groups); })};
}

Groups GroupsOf(const Config& config) {
  return {{config.tp1, config.nv_tp1}, {config.tp2, config.nv_tp2}};
}

Step TimeStep(const Model& model, const System& system, Strategy strategy, const Config& config,
              int64_t global_batch, const Layer& layer, const LayerSeconds& seconds) {
  const int64_t layers = model.layers / config.pp;
  const auto micro_batches = static_cast<double>(MicroBatches(config, global_batch));
  Step step;
  // Gathering takes as long as scattering.
  const double data = CollectiveSeconds(system, Collective::kAllGather, layer.weights_gb,
                                        DataGroup(strategy, config));
  step.exchange.dp_forward = DataParallelSeconds(data, seconds.forward, layers);
  step.exchange.dp_backward = DataParallelSeconds(data, seconds.backward, layers);
  step.exchange.pp_each_way =
      StageTransferSeconds(system, config, layer.boundary_gb) * micro_batches;
  step.seconds =
      (seconds.forward + seconds.backward) * micro_batches * static_cast<double>(layers) +
      2 * step.exchange.pp_each_way;
  step.bubble = static_cast<double>(config.pp - 1) * (step.seconds / micro_batches);
  step.seconds += step.bubble;
  step.seconds += step.exchange.dp_forward + step.exchange.dp_backward;
  return step;
}

Memory StepMemory(const Model& model, Strategy strategy, const Config& config, int64_t global_batch,
                  const Layer& layer) {
  const double layers = Share(model.layers, config.pp);
  Memory memory;
  memory.weights_gb = layer.weights_gb * layers;
  // ZeRO-1: a copy in 32 bits and two moments, 12 bytes for each parameter's 2.
  memory.optimizer_gb =
      6 * (memory.weights_gb / static_cast<double>(DataGroup(strategy, config).gpus));
  memory.activations_gb = layer.activation_gb * layers;
  memory.activations_gb *=
      static_cast<double>(std::min(config.pp, MicroBatches(config, global_batch)));
  memory.total_gb =
      memory.weights_gb + memory.weights_gb + memory.optimizer_gb + memory.activations_gb;
  return memory;
}

Detail EvaluateInDetail(const Model& model, const System& system, Strategy strategy,
                        const Config& config, int64_t global_batch) {
  Detail detail;
  detail.layer = MakeLayer(model, system, strategy, config.tp1, config.tp2, config.micro_batch,
                           config.panels == 0 ? system.summa_panels : config.panels);
  detail.groups = GroupsOf(config);
  const LayerSeconds seconds = TimeLayer(system, detail.layer, detail.groups);
  const Step step = TimeStep(model, system, strategy, config, global_batch, detail.layer, seconds);
  const Memory memory = StepMemory(model, strategy, config, global_batch, detail.layer);
  detail.exchange = step.exchange;

  // A GPU's passes, all micro-batches and layers of them.
  const double passes =
      static_cast<double>(MicroBatches(config, global_batch)) * Share(model.layers, config.pp);
  const auto sum_times = [&](double PassTime::*part) {
    return passes * SumLayer(detail.layer, [&](const Operator& op) {
             const OperatorTime time = TimeOperator(system, op, detail.groups);
             return time.forward.*part + time.backward.*part;
           });
  };
  Stats stats;
  stats.seconds = step.seconds;
  stats.tflop_per_gpu = passes * SumLayer(detail.layer, [](const Operator& op) {
                          return op.forward.tflop + op.backward.tflop;
                        });
  stats.memory_gb = memory.total_gb;
  stats.compute = sum_times(&PassTime::compute);
  stats.exposed_memory = sum_times(&PassTime::exposed_memory);
  stats.tp_comm = sum_times(&PassTime::comm);
  stats.dp_comm = step.exchange.dp_forward + step.exchange.dp_backward;
  stats.pp_comm = 2 * step.exchange.pp_each_way;
  stats.bubble = step.bubble;
  stats.weights_gb = memory.weights_gb;
  stats.optimizer_gb = memory.optimizer_gb;
  stats.activations_gb = memory.activations_gb;
  detail.evaluation = {.config = config,
                       .stats = stats,
                       .throughput = static_cast<double>(global_batch) / step.seconds,
                       .feasible = memory.total_gb <= system.hbm_gb};
  return detail;
}

absl::StatusOr<Evaluation> Evaluate(const Model& model, const System& system, Strategy strategy,
                                    const Config& config, int64_t global_batch) {
  MW_RETURN_IF_ERROR(CheckConfig(model, system, strategy, config, global_batch));
  return EvaluateInDetail(model, system, strategy, config, global_batch).evaluation;
}

}  // namespace meshwright::transformer::nersc
