#ifndef MESHWRIGHT_BLOCKS_BLOCK_KINDS_H_
#define MESHWRIGHT_BLOCKS_BLOCK_KINDS_H_

#include <cstdint>
#include <vector>

#include "meshwright/blocks/blocks.h"
#include "meshwright/hlo/graph.h"

namespace meshwright {

// By block: its kind, numbered from 0 in order of first appearance. Blocks of one kind do the same
// to operands of the same types and shapes, each operator with results of the same others, pass the
// same on, and can be cut in the same ways. Hashes decide; names and order play no part.
std::vector<int32_t> FindBlockKinds(const Graph& graph, const BlockAnalysis& analysis);

// The kinds in the order in which a step runs their blocks: those inside a loop as often as it goes
// round. Loops that would make it longer than `most` count once.
std::vector<int32_t> KindSequence(const Graph& graph, const BlockAnalysis& analysis,
                                  const std::vector<int32_t>& kinds, int64_t most = 65536);

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_BLOCK_KINDS_H_
