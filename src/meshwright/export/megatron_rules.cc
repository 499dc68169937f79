// Sources: Megatron-LM's megatron/training/arguments.py, megatron/core/parallel_state.py,
// megatron/core/transformer/transformer_config.py, megatron/core/transformer/moe/moe_layer.py and
// megatron/core/pipeline_parallel/schedules.py.

#include "meshwright/export/megatron_rules.h"

#include <algorithm>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/precision_support.h"
#include "meshwright/export/layer_split.h"
#include "meshwright/export/usual_choices.h"

namespace meshwright {
namespace {

using transformer::Activation;
using transformer::Attention;
using transformer::Configuration;
using transformer::Layer;
using transformer::Mlp;
using transformer::Model;
using transformer::Norm;
using transformer::NormKind;
using transformer::PipelineKind;
using transformer::PositionKind;
using transformer::Precision;
using transformer::QkNorm;
using transformer::Stack;

void CheckMegatronNorm(const Norm& norm, NormKind kind, Findings& findings) {
  findings.Require(norm.kind == kind, "model: Megatron has the same norm in all places");
  findings.Require(norm.weight, "model: Megatron's norms have a weight");
  findings.Require(kind != NormKind::kLayer || norm.bias,
                   "model: Megatron's LayerNorm has a bias, this model's has none");
}

void CheckMegatronMlp(const Mlp& mlp, const Mlp& first, Findings& findings) {
  const bool known =
      mlp.gated ? mlp.activation == Activation::kSilu
                : mlp.activation == Activation::kGelu || mlp.activation == Activation::kSquaredRelu;
  findings.Require(known,
                   "model: Megatron's MLP has gelu, squared relu or gated silu as its activation");
  findings.Require(mlp.gated == first.gated && mlp.activation == first.activation,
                   "model: Megatron has one activation for all layers");
  findings.Require(mlp.up_bias == mlp.down_bias,
                   "model: Megatron has biases in both matrices of an MLP or in none");
}

// Megatron has one attention for all layers.
void CheckMegatronAttention(const ModelLaunch& launch, const Attention& a, const Attention& first,
                            Findings& findings) {
  const bool same = a.heads == first.heads && a.kv_heads == first.kv_heads &&
                    a.qk_head_dim == first.qk_head_dim && a.latent == first.latent &&
                    a.position == first.position && a.qk_norm == first.qk_norm &&
                    a.q_bias == first.q_bias && a.o_bias == first.o_bias;
  findings.Require(same, "model: Megatron has the same attention in all layers");
  findings.Require(a.causal, "model: pretrain_gpt.py is for causal models");
  findings.Require(a.position == PositionKind::kRope || a.position == PositionKind::kNone,
                   "model: Megatron knows rotary, learned and no positions, not ",
                   a.position == PositionKind::kAlibi ? "alibi" : "relative biases");
  findings.Require(
      a.qk_norm == QkNorm::kNone || a.qk_norm == QkNorm::kPerHead,
      "model: Megatron norms queries and keys per head, with a weight and without bias");
  findings.Require(a.latent.has_value() || a.v_head_dim == a.qk_head_dim,
                   "model: Megatron has heads of one size in queries, keys and values");
  findings.Require(a.q_bias == a.k_bias && a.k_bias == a.v_bias,
                   "model: Megatron has biases of queries, keys and values together or not at all");
  findings.Require(!a.sinks, "model: attention sinks are not written");
  const bool whole = (a.window == 0 || a.window >= launch.workload.sequence) &&
                     (a.chunk == 0 || a.chunk >= launch.workload.sequence);
  findings.Require(whole, "model: attention in windows or chunks shorter than the sequence of ",
                   launch.workload.sequence, " tokens is not written");
}

void CheckMegatronMoe(const transformer::Moe& moe, const Mlp& first, Findings& findings) {
  CheckMegatronMlp(moe.expert, first, findings);
  findings.Require(!moe.expert.up_bias, "model: biases of experts are not written");
  findings.Require(!moe.router_bias, "model: a bias of the router is not written");
  findings.Require(!moe.shared_gate, "model: a gate of the shared expert is not written");
}

void CheckMegatronLayer(const ModelLaunch& launch, const Layer& layer, const Layer& first,
                        Findings& findings) {
  const bool whole =
      first.attends() && first.feeds_forward() && layer.attends() && layer.feeds_forward();
  findings.Require(whole,
                   "model: pretrain_gpt.py has attention and an MLP or experts in every layer");
  if (!whole) return;
  const Mlp& mlp = first.moe.has_value() ? first.moe->expert : *first.mlp;
  CheckMegatronAttention(launch, layer.attention, first.attention, findings);
  findings.Require(!layer.cross_attention.has_value(), "model: pretrain_gpt.py has no encoder");
  findings.Require(layer.beside.empty() && !layer.attention.shares_keys,
                   "model: Megatron's layers have attention and an MLP or experts alone");
  findings.Require(!layer.parallel,
                   "model: Megatron runs attention and MLP in sequence, not in parallel");
  findings.Require(!layer.post_norm && !layer.attention_output_norm.present() &&
                       !layer.mlp_output_norm.present(),
                   "model: Megatron norms before attention and MLP, not behind them");
  CheckMegatronNorm(layer.attention_norm, first.attention_norm.kind, findings);
  if (!layer.parallel) CheckMegatronNorm(layer.mlp_norm, first.attention_norm.kind, findings);
  if (layer.mlp.has_value()) CheckMegatronMlp(*layer.mlp, mlp, findings);
  if (layer.moe.has_value()) CheckMegatronMoe(*layer.moe, mlp, findings);
  const bool linear = layer.attention.o_bias || (layer.mlp.has_value() && layer.mlp->up_bias);
  const bool all = layer.attention.o_bias && layer.attention.q_bias && layer.mlp.has_value() &&
                   layer.mlp->up_bias;
  findings.Require(!linear || all,
                   "model: Megatron has biases in all matrices, in queries, keys and values, or in "
                   "none");
}

// dp x cp x tp and what experts need: rules 1, 2, 3 and 14.
void CheckMegatronDegrees(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  const int64_t world = launch.nodes * launch.devices_per_node;
  findings.Require(world % (c.tp * c.pp * c.cp) == 0 && world / (c.tp * c.pp * c.cp) == c.dp,
                   "rule 1: tp ", c.tp, " x pp ", c.pp, " x cp ", c.cp, " x dp ", c.dp,
                   " must be the ", world, " GPUs");
  findings.Require(world % (c.etp * c.ep * c.pp) == 0, "rule 2: etp ", c.etp, " x ep ", c.ep,
                   " x pp ", c.pp, " must divide the ", world, " GPUs");
  findings.Require(launch.workload.global_batch % (c.micro_batch * c.dp) == 0,
                   "rule 3: micro-batch ", c.micro_batch, " x dp ", c.dp,
                   " must divide the global batch of ", launch.workload.global_batch);
  findings.Require(c.cp == 1 || launch.workload.sequence % (2 * c.cp) == 0, "rule 15: 2 x cp ",
                   c.cp, " must divide the sequence of ", launch.workload.sequence, " tokens");
  findings.Require(!c.sequence_parallel || c.tp > 1,
                   "rule 12: sequence parallelism needs tp of at least 2");
  findings.Require(!c.sequence_parallel || launch.workload.sequence % (c.tp * c.cp) == 0,
                   "rule 12: with sequence parallelism tp ", c.tp, " x cp ", c.cp,
                   " must divide the sequence of ", launch.workload.sequence, " tokens");
}

void CheckMegatronExperts(const Configuration& c, const Layer& layer, Findings& findings) {
  if (layer.mlp.has_value()) {
    findings.Require(layer.mlp->ffn % c.tp == 0, "rule 4: tp ", c.tp,
                     " must divide the MLP's inner size ", layer.mlp->ffn);
  }
  if (!layer.moe.has_value()) return;
  findings.Require(layer.moe->experts % c.ep == 0, "rule 14: ep ", c.ep, " must divide the ",
                   layer.moe->experts, " experts");
  findings.Require(layer.moe->expert.ffn % c.etp == 0, "rule 14: etp ", c.etp,
                   " must divide the experts' inner size ", layer.moe->expert.ffn);
  findings.Require(layer.moe->shared.ffn % c.tp == 0, "rule 14: tp ", c.tp,
                   " must divide the shared expert's inner size ", layer.moe->shared.ffn);
  findings.Require(c.tp == 1 || c.sequence_parallel, "rule 14: experts with tp ", c.tp,
                   " need sequence parallelism");
}

void CheckMegatronLayers(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  bool experts = false;
  for (const Stack& stack : launch.model.stacks) {
    for (const Layer& layer : stack.kinds) {
      const Attention& a = layer.attention;
      findings.Require(a.heads % c.tp == 0, "rule 4: tp ", c.tp, " must divide the ", a.heads,
                       " heads");
      findings.Require(a.kv_heads % c.tp == 0 || c.tp % a.kv_heads == 0, "rule 5: tp ", c.tp,
                       " must divide the ", a.kv_heads,
                       " heads of keys and values, or be a "
                       "multiple of them");
      CheckMegatronExperts(c, layer, findings);
      experts = experts || layer.moe.has_value();
    }
  }
  findings.Require(experts || c.ep * c.etp == 1, "rule 14: ep ", c.ep, " and etp ", c.etp,
                   " need a model with experts");
  findings.Require(c.ep == 1 || c.precision != Precision::kFp16,
                   "rule 14: expert parallelism does not go with fp16");
}

void CheckMegatronPipeline(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  findings.Require(c.schedule != PipelineKind::kZeroBubble,
                   "schedules: Megatron runs 1f1b and interleaved pipelines, not zero-bubble ones");
  findings.Require((c.virtual_stages > 1) == (c.schedule == PipelineKind::kInterleaved),
                   "rule 11: an interleaved pipeline has 2 virtual stages or more, others have 1");
  const bool possible = launch.over_groups.has_value() ||
                        KindOfSplit(launch.model, c) != LayerSplit::Kind::kImpossible;
  findings.Require(possible, "rule 8: pp ", c.pp, " x ", c.virtual_stages,
                   " virtual stages are more than the ", launch.model.layers(), " layers");
  if (c.virtual_stages == 1) return;
  findings.Require(c.pp > 1, "rule 11: virtual stages need pp of at least 2");
  const int64_t micro_batches = launch.MicroBatches(c);
  findings.Require(micro_batches >= c.pp, "rule 11: an interleaved pipeline of pp ", c.pp,
                   " needs as many micro-batches, there are ", micro_batches);
}

void CheckMegatronSharding(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  const int64_t replicas = c.dp * c.cp;
  findings.Require(c.zero == 0 || c.shard == 0 || replicas % c.shard == 0, "rule 16: shard ",
                   c.shard, " must divide dp x cp = ", replicas);
  if (c.zero > 0 && c.shard > 0 && replicas % c.shard == 0) {
    const int64_t instances = OptimizerInstances(c);
    const int64_t expert_replicas = launch.nodes * launch.devices_per_node / (c.etp * c.ep * c.pp);
    findings.Require(expert_replicas % instances == 0, "rule 16: the ", instances,
                     " copies of the sharded optimizer must divide the ", expert_replicas,
                     " replicas of every expert");
  }
  if (!NeedsMegatronFsdp(c)) return;
  findings.Require(c.pp == 1, "rule 16: ZeRO ", c.zero,
                   " is Megatron-FSDP, which is written without a pipeline only; with pp ", c.pp,
                   " the distributed optimizer (ZeRO 1) is");
  findings.Require(c.precision != Precision::kFp16, "rule 16: Megatron-FSDP does not go with fp16");
}

// Orders of ranks: parallel_state.py and the option's help, which leaves out cp, ep and
// Megatron-FSDP.
void CheckMegatronRanks(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  findings.Require(RankOrderOf(c).has_value(),
                   "ranks: Megatron numbers GPUs along tp, cp, dp, pp or tp, cp, pp, dp, and this "
                   "placement is neither; fix place=order, or plan with --for");
  if (!NumbersPipelineFirst(c)) return;
  bool experts = false;
  for (const Stack& stack : launch.model.stacks) {
    for (const Layer& layer : stack.kinds) experts = experts || layer.moe.has_value();
  }
  findings.Require(c.cp == 1 && c.ep == 1 && (!experts || c.etp == c.tp),
                   "ranks: --use-tp-pp-dp-mapping goes with cp 1, ep 1 and etp = tp only");
  findings.Require(!NeedsMegatronFsdp(c),
                   "ranks: --use-tp-pp-dp-mapping does not go with Megatron-FSDP (ZeRO ", c.zero,
                   ")");
}

// The hybrid optimizer needs the distributed one (optimizer_config.py).
void CheckMegatronOffload(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  findings.Require(!c.offload_optimizer || c.zero == 1,
                   "rule 19: the optimizer is offloaded with the distributed optimizer (ZeRO 1) "
                   "only");
  if (!c.offload_activations) return;
  findings.Require(c.pp == 1, "rule 19: activations are offloaded without a pipeline only");
  findings.Require(c.recompute == transformer::Recompute::kNone,
                   "rule 19: offloading activations does not go with recomputation");
  findings.Require(c.offload_layers > 0 && c.offload_layers < launch.model.layers(),
                   "rule 19: activations of fewer than all layers can be offloaded; fix "
                   "offload_layers to ",
                   launch.model.layers() - 1, " or less");
}

// Transformer Engine checks the device before it runs products of 8 and 4 bits
// (transformer_engine/pytorch/fp8.py).
void CheckMegatronPrecision(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  if (c.precision == Precision::kBf16 || c.precision == Precision::kFp16) return;
  findings.Require(c.precision != Precision::kF32,
                   "precision: launches are written in bf16, fp16 and less, not in f32");
  for (const NodeRanks::Kind& kind : launch.ranks.kinds) {
    const DeviceType* const device = FindDevice(kind.device);
    findings.Require(device == nullptr || transformer::HasPrecision(*device, c.precision),
                     "precision: Transformer Engine has ", PrecisionName(c.precision),
                     " on devices with hardware for it only, and ", kind.device, " has none");
  }
}

// DeepSeek's sparse attention (experimental_attention_variant/dsa.py).
void CheckMegatronIndexer(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  if (!launch.model.stacks[0].kinds[0].attention.index.has_value()) return;
  findings.Require(c.cp == 1,
                   "rule 22: attention to chosen tokens goes without context parallelism, ",
                   "so cp ", c.cp, " must be 1");
  findings.Require(c.precision != Precision::kFp16,
                   "rule 22: the indexer rotates its queries and keys in bf16, not in fp16");
}

// Of some layers of each stage.
void CheckMegatronRecompute(const ModelLaunch& launch, const Configuration& c, Findings& findings) {
  if (c.recompute_layers == 0) return;
  int64_t largest = 0;
  const std::vector<int64_t> layers = SplitLayers(launch.model, c).layers;
  for (int64_t group = 0; group < c.pp; ++group) {
    int64_t sum = 0;
    for (size_t stage = group; stage < layers.size(); stage += c.pp) sum += layers[stage];
    largest = std::max(largest, sum);
  }
  findings.Require(c.recompute_layers <= largest, "rule 17: recompute_layers ", c.recompute_layers,
                   " are more than the ", largest, " layers of the largest stage");
}

}  // namespace

int64_t MicroBatchGroup(int64_t pp, int64_t micro_batches) {
  int64_t group = pp;
  while (group < micro_batches && micro_batches % group != 0 && micro_batches % group < pp) ++group;
  return group;
}

void CheckMegatronModel(const ModelLaunch& launch, Findings& findings) {
  const Model& model = launch.model;
  findings.Require(
      model.stacks.size() == 1 && model.stacks[0].role == transformer::StackRole::kDecoder,
      "model: pretrain_gpt.py trains decoders, and this model has an encoder");
  findings.Require(model.embedding.vocabulary > 0 && !model.embedding.patches.has_value(),
                   "model: pretrain_gpt.py trains on text");
  findings.Require(model.embedding.dim == model.hidden,
                   "model: Megatron's embedding is as wide as the model");
  findings.Require(model.embedding.token_types == 0 && !model.embedding.norm.present(),
                   "model: Megatron has neither segments nor a norm at the embedding");
  findings.Require(model.head.outputs == model.embedding.vocabulary && model.head.every_token &&
                       !model.head.bias && !model.head.transform && model.head.pooler == 0,
                   "model: Megatron's head is a matrix from the hidden size to the vocabulary");
  if (!findings.ok()) return;
  const Layer& first = model.stacks[0].kinds[0];
  for (const Layer& layer : model.stacks[0].kinds) {
    CheckMegatronLayer(launch, layer, first, findings);
  }
  CheckMegatronNorm(model.stacks[0].final_norm, first.attention_norm.kind, findings);
  findings.Require(
      model.embedding.positions == 0 || first.attention.position == PositionKind::kNone,
      "model: Megatron has rotary or learned positions, not both");
  findings.Require(model.mtp.modules == 0 || model.embedding.positions == 0,
                   "model: multi-token prediction needs rotary positions or none");
}

void CheckMegatronConfiguration(const ModelLaunch& launch, const Configuration& c,
                                Findings& findings) {
  RequireUsualChoices(c, findings);
  CheckMegatronDegrees(launch, c, findings);
  CheckMegatronLayers(launch, c, findings);
  CheckMegatronPipeline(launch, c, findings);
  CheckMegatronSharding(launch, c, findings);
  CheckMegatronRanks(launch, c, findings);
  CheckMegatronOffload(launch, c, findings);
  CheckMegatronPrecision(launch, c, findings);
  CheckMegatronRecompute(launch, c, findings);
  CheckMegatronIndexer(launch, c, findings);
  findings.Require(launch.state.moment_bytes == transformer::StateOptions().moment_bytes ||
                       (c.zero > 0 && !NeedsMegatronFsdp(c)),
                   "state: moments of 16 bits are the distributed optimizer's, so zero ", c.zero,
                   " must be 1");
}

}  // namespace meshwright
