#ifndef MESHWRIGHT_DEGREES_CONFIGURATION_H_
#define MESHWRIGHT_DEGREES_CONFIGURATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// How the training of a transformer is spread over GPUs: the degrees and choices that
// Megatron-class frameworks take.

namespace meshwright::transformer {

// The activations that the backward phase recomputes.
enum class Recompute {
  kNone,  // flash attention's scores only
  // The attention core (Korthikanti et al. 2022), which only saves memory where scores go through
  // it; FSDP's: every other matmul and all that is elementwise.
  kSelective,
  // The cheap ones: norms, activation functions, and of latent attention the matmuls that make
  // queries, keys and values (Megatron's --recompute-modules layernorm moe_act mla_up_proj).
  kModules,
  kFull,  // whole layers: only what enters each is kept
};

inline constexpr int kRecomputeKinds = 4;

// How attention sees keys that other GPUs of a context parallel group have.
enum class ContextKind {
  kRing,       // they are passed around, and attention is computed chunk by chunk
  kAllGather,  // they are gathered first; with tp this is "2D" parallelism over heads and sequence
  kUlysses,    // all-to-all before and after: whole sequences of some of the heads
};

// The type of matmuls; weights' master copies and optimizer state are f32 in all.
enum class Precision {
  kBf16,
  kFp16,
  kFp8,
  kMxFp8,
  kNvFp4,
  kF32,  // TF32 where the device has it; weights and activations are f32, too
};

inline constexpr int kPrecisionKinds = 6;

// Bytes of a weight that is computed with, and of an activation.
inline double ElementBytes(Precision precision) { return precision == Precision::kF32 ? 4 : 2; }

enum class PipelineKind { k1F1B, kInterleaved, kZeroBubble };

// Steps of Configuration::offload_percent.
inline constexpr int64_t kOffloadStep = 10;

// The layers that Configuration::ends_as_layers adds.
inline constexpr int64_t kEndsAsLayers = 2;
// What layouts of virtual stages count beside layers at most: embedding, head, a module of
// multi-token prediction or a place that stays empty.
inline constexpr int64_t kMostBesideLayers = 3;

// How many GPUs of each kind of group share a node, or nodes a unit of the fabric (Fabric, in
// cluster/cluster.h); together they are the node or the unit. All 0: they are numbered tp first,
// then cp, dp and pp, as Megatron-LM's ranks are, and nodes and units are cut from that.
struct Placement {
  int64_t tp = 0, cp = 0, dp = 0, pp = 0;
  int64_t tp2 = 0;  // of those of tp, along Configuration::tp2

  bool in_order() const { return tp == 0; }
  friend bool operator==(const Placement&, const Placement&) = default;
};

// GPUs = tp cp dp pp. Experts lie over the same GPUs: ep etp divides tp cp dp.
struct Configuration {
  int64_t tp = 1;                  // tensor parallel: heads and inner sizes
  bool sequence_parallel = false;  // norms and residuals over tp as well; needs tp > 1
  // SUMMA ("2D"): matrices lie on a grid of tp / tp2 columns and tp2 rows, heads and outputs over
  // columns, tokens over rows, and are multiplied panel by panel. 1: over outputs only ("1D").
  int64_t tp2 = 1;
  int64_t panels = 0;  // that each matmul's inner size is cut into; 0: no grid
  int64_t cp = 1;      // context parallel: the sequence
  ContextKind context = ContextKind::kRing;
  int64_t dp = 1;              // data parallel: replicas of the batch
  int64_t pp = 1;              // pipeline groups
  int64_t virtual_stages = 1;  // stages a group runs (kInterleaved)
  PipelineKind schedule = PipelineKind::k1F1B;
  // Embedding and head count as a layer each when layers are partitioned into stages (Megatron's
  // --account-for-embedding-in-pipeline-split and --account-for-loss-in-pipeline-split).
  bool ends_as_layers = false;
  int64_t ep = 1;           // expert parallel
  int64_t etp = 1;          // tensor parallel within an expert
  int64_t micro_batch = 1;  // sequences a replica works on at once
  int zero = 0;             // sharded over dp: 1 optimizer state, 2 gradients too, 3 weights too
  int64_t shard = 0;        // ZeRO's group, a divisor of dp cp (HSDP); 0: all of it
  Recompute recompute = Recompute::kNone;
  // With kFull, the layers of each stage that are recomputed (Megatron's --recompute-method block
  // --recompute-num-layers); and the first pipeline ranks, which keep most, that recompute.
  // 0: all.
  int64_t recompute_layers = 0, recompute_stages = 0;
  Precision precision = Precision::kBf16;
  // On the GPUs of a node, and on the nodes of a unit. The second needs the first, and a fabric
  // that tells units apart.
  Placement inside = {}, unit = {};
  // Kept in the host's memory: optimizer state, which the host's cores update; what the backward
  // phase needs, but for the layers at work.
  bool offload_optimizer = false, offload_activations = false;
  // How much of either: of the optimizer state a multiple of kOffloadStep percent (Megatron's
  // --optimizer-offload-fraction), of each stage as many layers (--cpu-offloading-num-layers). 0:
  // all.
  int64_t offload_percent = 0, offload_layers = 0;

  int64_t gpus() const { return tp * cp * dp * pp; }
  int64_t tp1() const { return tp / tp2; }  // columns of the grid
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// The user's decisions; the others are searched.
struct Fixes {
  std::optional<int64_t> tp, tp2, panels, cp, dp, pp, virtual_stages, ep, etp, micro_batch, zero,
      shard;
  std::optional<int64_t> recompute_layers, recompute_stages;
  std::optional<int64_t> tp_inside, tp2_inside, cp_inside, dp_inside, pp_inside;
  std::optional<int64_t> tp_unit, tp2_unit, cp_unit, dp_unit, pp_unit;
  std::optional<int64_t> offload_percent, offload_layers;
  std::optional<bool> sequence_parallel, ends_as_layers, in_order, grid, offload_optimizer,
      offload_activations;
  std::optional<ContextKind> context;
  std::optional<PipelineKind> schedule;
  std::optional<Recompute> recompute;
  bool single_modules =
      true;  // unless `recompute` says what, that of single modules is searched too
  // Both orders of numbering GPUs are searched.
  bool both_rank_orders = false;
  // Over groups of nodes, of each stage in the order of the pipeline: its layers, and the name of
  // the group that it lies on. Empty: searched.
  std::vector<int64_t> stage_layers;
  std::vector<std::string> stage_groups;

  friend bool operator==(const Fixes&, const Fixes&) = default;
};

// The input of a step.
struct Workload {
  int64_t sequence = 0;      // tokens
  int64_t global_batch = 0;  // sequences
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_CONFIGURATION_H_
