#ifndef MESHWRIGHT_BLOCKS_BLOCK_GROWTH_H_
#define MESHWRIGHT_BLOCKS_BLOCK_GROWTH_H_

#include <vector>

#include "meshwright/blocks/block_cuts.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/layers.h"

namespace meshwright {

// A block while it grows.
struct GrowingBlock {
  std::vector<OpId> forward;  // contractions, in execution order; the first one leads
  std::vector<OpId> ops;      // all members, in execution order
  std::vector<BlockCut> cuts;
};

// Blocks of contractions, with what has to lie between them: every contraction of the forward phase
// with its gradients, joined with others as blocks.h says. `weight_operand`: by contraction, which
// of its operands depends on no data; -1: none or both. `phases`: by OpId.
std::vector<GrowingBlock> JoinContractions(BlockContext& context, const std::vector<Phase>& phases,
                                           const std::vector<int32_t>& weight_operand);

// Gives blocks the other operators of the forward and backward phases through which all of their
// cuts go: with those that make what they take, else with those that take what they make.
void AttachOperators(BlockContext& context, const std::vector<Phase>& phases,
                     std::vector<GrowingBlock>* blocks);

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_BLOCK_GROWTH_H_
