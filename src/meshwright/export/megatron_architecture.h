#ifndef MESHWRIGHT_EXPORT_MEGATRON_ARCHITECTURE_H_
#define MESHWRIGHT_EXPORT_MEGATRON_ARCHITECTURE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/export/model_launch.h"

// A model as Megatron-Core's GPT has it, for the writers of Megatron-LM and Megatron-Bridge.

namespace meshwright {

struct MegatronArchitecture {
  int64_t layers = 0, hidden = 0, ffn = 0, heads = 0, query_groups = 0, head_dim = 0;
  int64_t vocabulary = 0, positions = 0;  // rows of the table, or what the sequence may grow to
  bool rope = false, learned_positions = false;
  bool rms_norm = false, tied = false;
  bool linear_bias = false, qkv_bias = false, qk_norm = false;
  bool gated_silu = false, squared_relu = false;
  std::optional<transformer::LatentAttention> latent;
  int64_t v_head_dim = 0;                            // with latent attention
  std::optional<transformer::AttentionIndex> index;  // likewise

  int64_t experts = 0, top_k = 0, expert_ffn = 0, shared_ffn = 0;
  bool balance_bias = false;
  std::vector<int> expert_layers;  // 1 for each layer with experts; empty: all alike
  int64_t prediction_modules = 0;
};

// How much of the indexer's own loss, by which it learns what attention sees, is added: as
// Megatron's own test of it has it.
inline constexpr char kIndexerLoss[] = "0.01";

// Of a model that CheckMegatronModel accepts.
MegatronArchitecture ArchitectureOf(const ModelLaunch& launch);

// "Ettt|ttt|tttL": --pipeline-model-parallel-layout of these layers a stage
// (megatron/core/transformer/pipeline_parallel_layer_layout.py).
std::string LayoutText(const std::vector<int64_t>& layers, int64_t prediction_modules);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_MEGATRON_ARCHITECTURE_H_
