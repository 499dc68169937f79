#ifndef MESHWRIGHT_PUBLISHED_NERSC_STEP_H_
#define MESHWRIGHT_PUBLISHED_NERSC_STEP_H_

#include <cstdint>
#include <vector>

#include "meshwright/published/nersc/module.h"
#include "meshwright/published/nersc/nersc.h"
#include "meshwright/published/nersc/operator.h"

// From operators to a layer, and from a layer to a step. Evaluate and Search both go through
// here, so what a search finds is to the last bit what Evaluate says of it. Inputs must have passed
// the checks of check.h.

namespace meshwright::transformer::nersc {

// The sum of `get(row)` over rows in the order in which NumPy adds fewer than 128 numbers: one by
// one below eight, else by pairs in eights, then the rest singly.
template <typename Row, typename Get>
double SumLikeNumpy(const std::vector<Row>& rows, Get get) {
  size_t i = 0;
  double sum = 0;
  if (rows.size() >= 8) {
    double part[8];
    for (; i < 8; ++i) part[i] = get(rows[i]);
    for (; i + 8 <= rows.size(); i += 8) {
      for (size_t k = 0; k < 8; ++k) part[k] += get(rows[i + k]);
    }
    sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  }
  for (; i < rows.size(); ++i) sum += get(rows[i]);
  return sum;
}

// The work of one layer on a micro-batch, wherever the GPUs lie.
struct Layer {
  std::vector<Operator> mlp, attention;
  double weights_gb = 0, activation_gb = 0;
  double boundary_gb = 0;  // what one stage sends to the next
};
Layer MakeLayer(const Model& model, const System& system, Strategy strategy, int64_t tp1,
                int64_t tp2, int64_t micro_batch, int64_t panels);

struct LayerSeconds {
  double forward = 0, backward = 0;
};
LayerSeconds TimeLayer(const System& system, const Layer& layer, const Groups& groups);

Groups GroupsOf(const Config& config);

// Communication of a step outside the layers, s.
struct Exchange {
  double dp_forward = 0;   // parameters gathered, as far as the first micro-batch does not hide it
  double dp_backward = 0;  // gradients scattered, as far as the last does not
  double pp_each_way = 0;  // activations from stage to stage, of all micro-batches
};
struct Step {
  Exchange exchange;
  double bubble = 0, seconds = 0;
};
Step TimeStep(const Model& model, const System& system, Strategy strategy, const Config& config,
              int64_t global_batch, const Layer& layer, const LayerSeconds& seconds);

struct Memory {
  double weights_gb = 0, optimizer_gb = 0, activations_gb = 0;
  double total_gb = 0;  // with gradients, which are as large as the weights
};
Memory StepMemory(const Model& model, Strategy strategy, const Config& config, int64_t global_batch,
                  const Layer& layer);

// An evaluation and what it is made of.
struct Detail {
  Layer layer;
  Groups groups;
  Exchange exchange;
  Evaluation evaluation;
};
Detail EvaluateInDetail(const Model& model, const System& system, Strategy strategy,
                        const Config& config, int64_t global_batch);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_STEP_H_
