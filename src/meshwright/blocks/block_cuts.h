#ifndef MESHWRIGHT_BLOCKS_BLOCK_CUTS_H_
#define MESHWRIGHT_BLOCKS_BLOCK_CUTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/blocks/axis_choices.h"
#include "meshwright/blocks/contractions.h"
#include "meshwright/blocks/origins.h"
#include "meshwright/hlo/graph.h"

namespace meshwright {

// How all operators of a block work along one mesh axis without communication among them.
struct BlockCut {
  int32_t size_index = 0;  // which of the axis sizes that are looked at
  absl::flat_hash_map<OpId, const AxisChoice*> choices;  // of every member
  absl::flat_hash_map<ValueId, Cut> cuts;                // of every value that members take or make
};

// A graph and what is known of its contractions, for all that follows.
struct BlockContext {
  const Graph& graph;
  const std::vector<Contraction>& contractions;
  std::vector<int32_t> contraction_of;  // by OpId, -1
  Origins& origins;
  std::vector<AxisChoices>& choices;  // by axis size
};

// All cuts of the operators `ops` (contractions and what lies between them), each of a contraction
// of the forward phase, or of the only ones there are: what one choice there means for the others,
// through the values that they pass on, through the origins that contractions share, and between
// the result of a contraction and its gradient. Left out are those that some operator cannot
// follow, those that leave a partial value to another member, and those that do not reach every
// contraction of the forward phase. `entries` (ascending) are
// contractions that take nothing from members: others of the forward phase may not leave partial
// values at all.
std::vector<BlockCut> FindBlockCuts(BlockContext& context, const std::vector<OpId>& ops,
                                    const std::vector<OpId>& entries);

// The choice of `op`, which takes something that members of `cut` make, or makes something that
// they take, or both, without communication; nullptr: there is none. An uncut value costs nothing
// to cut, as every device takes its part of it; but what a contraction makes is not wasted so.
const AxisChoice* ChoiceWithin(BlockContext& context, const BlockCut& cut, OpId op);

// Makes `op` a member. `choice`: as above.
void AddMember(const BlockContext& context, OpId op, const AxisChoice* choice, BlockCut* cut);

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_BLOCK_CUTS_H_
