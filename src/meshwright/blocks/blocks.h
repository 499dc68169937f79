#ifndef MESHWRIGHT_BLOCKS_BLOCKS_H_
#define MESHWRIGHT_BLOCKS_BLOCKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "meshwright/blocks/block_cuts.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"

// ParallelBlocks (Wang et al., CFP, arXiv 2504.00598): groups of operators through which a sharding
// goes without communication. How a block is sharded follows from one choice for the whole block.

namespace meshwright {

struct ParallelBlock {
  std::vector<OpId> contractions;  // of the forward phase first; the first one leads
  std::vector<OpId> ops;           // all members, in execution order
  // The ways to work along one axis in which nothing is communicated inside the block. What leaves
  // it may be partial, to be combined outside.
  std::vector<BlockCut> cuts;
  // The ways to work along the whole mesh: by axis which of `cuts`, -1: all devices along it do the
  // same. The first: all of them.
  std::vector<absl::InlinedVector<int32_t, 3>> strategies;
};

struct BlockAnalysis {
  std::vector<ParallelBlock> blocks;  // in the order of their leading contractions
  std::vector<int32_t> block_of;      // by OpId; -1: outside, sharded as its neighbours need
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what keeps blocks apart that another layout would join
};

// The blocks of `graph` on `mesh`. Every block begins with a contraction of the forward phase, and
// has its gradients with it. It goes on
//  * to contractions that take what it makes (attention's products of queries, keys and values), as
//    long as they do not contract what it cuts and every weight in it can still be cut, and also
//    left whole while something else is cut;
//  * to siblings that take the same operand and meet it again (a gate and what it gates);
//  * to all other operators through which every one of its cuts goes for free.
// Where nothing can be cut a block has one strategy.
class BlockFinder {
 public:
  BlockFinder(const Graph& graph, const Mesh& mesh);
  BlockAnalysis Find();

  // "m=x, n=y": what of the leading contraction each axis cuts.
  std::string StrategyText(const ParallelBlock& block, size_t strategy) const;
  // The factor of the rule of `op`, a member, that each axis cuts under a strategy of the block.
  Strategy FactorsOf(const ParallelBlock& block, const absl::InlinedVector<int32_t, 3>& strategy,
                     OpId op) const;

 private:
  std::vector<absl::InlinedVector<int32_t, 3>> StrategiesOf(const ParallelBlock& block) const;

  const Graph& graph_;
  const Mesh& mesh_;
  std::vector<AxisChoices> choices_;   // by size of an axis; cuts point into it
  std::vector<int32_t> size_of_axis_;  // by axis of the mesh: index into choices_; -1: of size 1
};

// Decimal logarithm of the number of ways to run `graph` on `mesh` where every operator may take
// any of its own strategies.
double LogOperatorStrategies(const Graph& graph, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_BLOCKS_H_
