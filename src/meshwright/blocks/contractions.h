#ifndef MESHWRIGHT_BLOCKS_CONTRACTIONS_H_
#define MESHWRIGHT_BLOCKS_CONTRACTIONS_H_

#include <vector>

#include "meshwright/blocks/origins.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/layers.h"

namespace meshwright {

// A matmul (no inner product) or convolution, and the forward one that it belongs with.
struct Contraction {
  OpId op;
  Phase phase = Phase::kForward;
  // The one whose gradient it computes, or which it computes again: an index into the list of
  // contractions; itself for those of the forward phase and for those that belong with none.
  int32_t forward = -1;
};

// Every contraction of `graph`, in execution order. A later one belongs with that of the forward
// phase with which it shares an operand (Origins): it contracts what that leaves free of it (the
// gradient for the other operand), or the same (recomputation); and so does one whose operand is
// the gradient that another one takes. `phases`: by OpId.
std::vector<Contraction> FindContractions(const Graph& graph, const std::vector<Phase>& phases,
                                          Origins& origins);

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_CONTRACTIONS_H_
