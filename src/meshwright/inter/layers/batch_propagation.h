#ifndef MESHWRIGHT_INTER_LAYERS_BATCH_PROPAGATION_H_
#define MESHWRIGHT_INTER_LAYERS_BATCH_PROPAGATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/micro_batch_rng.h"
#include "meshwright/sharding/rule.h"

// Where the batch goes in a program. The batch dimension of a value is a factor of the sharding
// rule of its producer and users (sharding/rule.h), so it leads from value to value. What it means
// that a value is split along dimension d: part j of n of it are the elements of block j of n equal
// blocks of d. That is so only where the batch is the major factor of d.

namespace meshwright {

enum class BatchState : uint8_t {
  kNone,      // depends on no data
  kCombined,  // a sum, maximum, ... over the batch, or computed from such
  kSplit,     // has the batch as the major factor of a dimension
  kMixed,     // depends on several samples in a way that cannot be divided
};

struct BatchPropagation {
  std::vector<BatchState> state;   // by ValueId
  std::vector<int32_t> dimension;  // by ValueId: of kSplit, else -1
  // By OpId: how the op combines over the batch; kNone: it does not.
  std::vector<Reduction> combines;
  std::vector<OpId> data;  // entry parameters that turned out to carry the batch, in order
  // In order; see BatchSplit.
  std::vector<OpId> numbered, whole, drawn_apart;
  // Ops that cannot work on a part of the batch, in order, and why.
  struct Obstacle {
    OpId op;
    std::string why;
  };
  std::vector<Obstacle> obstacles;
};

// A value that carries the batch, and in which dimension.
struct BatchSeed {
  ValueId value;
  int32_t dimension = 0;
};

// Spreads the batch from the dimensions of `seeds`, whose sizes must be equal and above 1. Values
// that depend on no data are split where an op needs a part of them (a broadcast constant); so are
// entry parameters which `may_be_data` (by position in Graph::parameters). What seeds that are no
// parameters are computed from stays as it is. `handed_on`, by position in Graph::carries: what
// comes around is new for the next iteration, which begins with it as the first does with what
// comes in; empty: none is. `rng`: whether generators of random bits may be in `drawn_apart`.
BatchPropagation PropagateBatch(const Graph& graph, const std::vector<BatchSeed>& seeds,
                                const std::vector<bool>& may_be_data,
                                const std::vector<bool>& handed_on = {},
                                MicroBatchRng rng = MicroBatchRng::kExact);

// The major factor of a dimension; kNoFactor: it has size 1.
FactorIndex MajorFactor(const TensorFactors& tensor, int32_t dimension);

// The dimension of which `factor` is the major one; -1: it is in none. `minor` is set if it stands
// behind another factor somewhere.
int32_t DimensionOf(const TensorFactors& tensor, FactorIndex factor, bool* minor);

// Entry parameters whose first dimension is that of an output of rank 1 or more, by position in
// Graph::parameters: for programs that say in no other way which parameter is data.
std::vector<bool> ReachedFromOutputs(const Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_BATCH_PROPAGATION_H_
