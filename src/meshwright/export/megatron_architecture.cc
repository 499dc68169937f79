#include "meshwright/export/megatron_architecture.h"

#include <algorithm>
#include <string>

namespace meshwright {
namespace {

using transformer::Activation;
using transformer::Layer;
using transformer::Model;
using transformer::Moe;
using transformer::PositionKind;
using transformer::Stack;

void SetExperts(const Stack& stack, MegatronArchitecture& a) {
  for (const Layer& layer : stack.kinds) {
    if (layer.mlp.has_value()) a.ffn = layer.mlp->ffn;
    if (!layer.moe.has_value()) continue;
    const Moe& moe = *layer.moe;
    a.experts = moe.experts;
    a.top_k = moe.top_k;
    a.expert_ffn = moe.expert.ffn;
    a.shared_ffn = moe.shared.ffn;
    a.balance_bias = moe.balance_bias;
  }
  if (a.experts == 0) return;
  for (const int32_t kind : stack.layers) {
    a.expert_layers.push_back(stack.kinds[kind].moe.has_value() ? 1 : 0);
  }
  if (std::find(a.expert_layers.begin(), a.expert_layers.end(), 0) == a.expert_layers.end()) {
    a.expert_layers.clear();
    a.ffn = a.expert_ffn;
  }
}

}  // namespace

MegatronArchitecture ArchitectureOf(const ModelLaunch& launch) {
  const Model& model = launch.model;
  const Stack& stack = model.stacks[0];
  const Layer& first = stack.kinds[0];
  const transformer::Attention& attention = first.attention;
  MegatronArchitecture a;
  a.layers = model.layers();
  a.hidden = model.hidden;
  a.heads = attention.heads;
  a.query_groups = attention.kv_heads;
  a.head_dim = attention.qk_head_dim;
  a.v_head_dim = attention.v_head_dim;
  a.latent = attention.latent;
  a.index = attention.index;
  a.vocabulary = model.embedding.vocabulary;
  a.learned_positions = model.embedding.positions > 0;
  a.rope = attention.position == PositionKind::kRope;
  a.positions = a.learned_positions ? model.embedding.positions
                                    : std::max(model.max_sequence, launch.workload.sequence);
  a.rms_norm = first.attention_norm.kind == transformer::NormKind::kRms;
  a.tied = model.head.tied;
  a.linear_bias = attention.o_bias;
  a.qkv_bias = attention.q_bias;
  // Of latent attention these are the norms behind the projections down.
  a.qk_norm = attention.qk_norm != transformer::QkNorm::kNone || attention.latent.has_value();
  const transformer::Mlp& mlp = first.mlp.has_value() ? *first.mlp : first.moe->expert;
  a.gated_silu = mlp.gated;
  a.squared_relu = mlp.activation == Activation::kSquaredRelu;
  SetExperts(stack, a);
  a.prediction_modules = model.mtp.modules;
  return a;
}

std::string LayoutText(const std::vector<int64_t>& layers, int64_t prediction_modules) {
  std::string text = "E";
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) text += '|';
    text.append(layers[i], 't');
  }
  text.append(prediction_modules, 'm');
  return text + 'L';
}

}  // namespace meshwright
