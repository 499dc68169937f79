#ifndef MESHWRIGHT_TRANSFORMER_STEP_PARTS_H_
#define MESHWRIGHT_TRANSFORMER_STEP_PARTS_H_

#include <cstdint>

#include "meshwright/cluster/cluster.h"
#include "meshwright/transformer/configuration.h"
#include "meshwright/transformer/device_parameters.h"
#include "meshwright/transformer/model.h"

// Time and memory of one layer, embedding or head on one GPU, for one micro-batch: what a step is
// put together from.

namespace meshwright::transformer {

struct BlockCost {
  double forward = 0, backward = 0;  // seconds of computation, recomputation excluded
  double recompute = 0;              // seconds of what the backward phase computes again
  double attention_forward = 0;      // seconds, of `forward`
  double tensor_bytes = 0;           // full buffer of each all-gather or reduce-scatter over tp
  int tensor_passes = 0;             // such collectives forward; backward has as many
  double expert_bytes = 0;           // that a GPU holds before a dispatch over ep; 0: no experts
  double experts_per_token = 0;
  double context_bytes = 0;           // keys and values that a GPU passes on around cp
  double parameters = 0;              // on one GPU, all but experts
  double expert_parameters = 0;       // experts' on one GPU
  double saved_bytes = 0;             // activations kept for the backward phase
  double transient_bytes = 0;         // activations that exist while the block is computed
  double flops = 0, again_flops = 0;  // on all GPUs of a micro-batch: model's, and recomputed
};

struct BlockSettings {
  const DeviceType& device;
  const DeviceParameters& parameters;
  const FrameworkParameters& framework;
  const Configuration& configuration;
  int64_t sequence;
};

BlockCost LayerCost(const Model& model, const Stack& stack, const Layer& layer,
                    const BlockSettings& settings);
BlockCost EmbeddingCost(const Model& model, const BlockSettings& settings);
// `logits_bytes` receives what logits and their gradients take.
BlockCost HeadCost(const Model& model, const BlockSettings& settings, double* logits_bytes);

// Fraction of its peak that an [m, k] x [k, n] product reaches, of those with endless sides.
double SideEfficiency(double m, double n, double k, double half_side);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_TRANSFORMER_STEP_PARTS_H_
