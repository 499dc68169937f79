#ifndef MESHWRIGHT_DEGREES_STEP_PARTS_H_
#define MESHWRIGHT_DEGREES_STEP_PARTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/model/matmuls.h"
#include "meshwright/model/model.h"

// Time and memory of one layer, embedding or head on one GPU, for one micro-batch: what a step is
// put together from.

namespace meshwright::transformer {

// The content of a layer, embedding or head, whatever the configuration.
struct Block {
  std::vector<Matmul> matmuls;  // of one sequence
  int64_t tokens = 0;           // of that
  // Parameters, by what they are split over: nothing, tp, ep and etp.
  double whole = 0, over_tensor = 0, over_experts = 0;
};

Block LayerBlock(const Model& model, const Stack& stack, const Layer& layer, int64_t sequence);
Block EmbeddingBlock(const Model& model, int64_t sequence);
Block HeadBlock(const Model& model, int64_t sequence);
// The projection of a module of multi-token prediction: neither its layer nor the head.
Block MtpBlock(const Model& model, int64_t sequence);

// Costs of what the backward phase recomputes, and of what is kept for it.
struct Recomputation {
  double seconds = 0;
  double flops = 0;            // on all GPUs of a micro-batch
  double saved_bytes = 0;      // activations
  double transient_bytes = 0;  // of them and of gradients, beside, while the block is computed
};

// A matmul on a grid: its inputs go to all columns, its weight to all rows, panel by panel.
struct GridMatmul {
  double input_bytes = 0;            // full buffer of a row of GPUs
  double weight_bytes = 0;           // full buffer of a column of GPUs
  double forward = 0, backward = 0;  // seconds of the matmul
};

struct BlockCost {
  double forward = 0, backward = 0;  // seconds of computation, recomputation excluded
  double attention_forward = 0, attention_backward = 0;  // of these
  double tensor_bytes = 0;  // full buffer of each all-gather or reduce-scatter over tp
  int tensor_passes = 0;    // such collectives forward, in pairs; backward has as many
  double expert_bytes = 0;  // that a GPU holds before a dispatch over ep; 0: no experts
  double experts_per_token = 0;
  // Full buffer of tokens that the GPUs of etp gather for their parts of the experts, and of what
  // these give, which they sum and scatter. 0: experts are whole.
  double expert_tensor_bytes = 0;
  double context_bytes = 0;      // keys and values of a GPU's tokens, that the others of cp need
  double context_out_bytes = 0;  // Ulysses: queries, and what attention gives, of these tokens
  double row_context_bytes = 0;  // keys and values that rows of a grid gather
  double norm_bytes = 0;         // sums that columns of a grid add up for each norm
  std::vector<GridMatmul> grid;
  double parameters = 0;                             // on one GPU, all but experts
  double expert_parameters = 0;                      // experts' on one GPU
  double logits = 0;                                 // on one GPU
  double flops = 0;                                  // on all GPUs of a micro-batch: model's
  std::array<Recomputation, kRecomputeKinds> again;  // by Recompute
};

// The rates of a device, in one precision of matmuls.
struct DeviceRates {
  DeviceRates(const DeviceType& device, const DeviceParameters& parameters, Precision precision);

  double element_bytes;   // of an activation
  bool low_precision;     // matmuls are of 8 or 4 bits
  double peak_flops;      // of the data sheet
  double matmuls_16;      // flops of large matmuls in 16 bits, of f32 in that
  double matmuls;         // ... in the precision
  double attention;       // flops of attention over long sequences
  double attention_long;  // ... endless ones, as a multiple of that
  double memory_bytes;    // read or written
  double half_side;       // DeviceParameters'
  double kernel_seconds;  // DeviceParameters'
};

struct BlockSettings {
  const DeviceRates& rates;
  const FrameworkParameters& framework;
  // tp, tp2, panels, sequence_parallel, cp, context, ep, etp, micro_batch and precision count.
  const Configuration& configuration;
  int64_t sequence;
};

BlockCost LayerCost(const Model& model, const Layer& layer, const Block& block,
                    const BlockSettings& settings);
BlockCost EmbeddingCost(const Model& model, const Block& block, const BlockSettings& settings);
BlockCost HeadCost(const Model& model, const Block& block, const BlockSettings& settings);
// The cost of such a module beside its layer: the way into it, and the head once more.
BlockCost MtpCost(const Model& model, const Block& block, const Block& head,
                  const BlockSettings& settings);

// Fraction of its peak that an [m, k] x [k, n] matmul reaches, of those with endless sides.
double SideEfficiency(double m, double n, double k, double half_side);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_STEP_PARTS_H_
