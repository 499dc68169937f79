#ifndef MESHWRIGHT_BLOCKS_PARTS_IN_A_ROW_H_
#define MESHWRIGHT_BLOCKS_PARTS_IN_A_ROW_H_

#include <string>
#include <vector>

#include "meshwright/blocks/block_cuts.h"
#include "meshwright/blocks/block_growth.h"
#include "meshwright/inter/layers/layers.h"

namespace meshwright {

// Matmuls that make several arrays one behind the other along a dimension that their block cuts
// (queries, keys and values; a gate and what it gates). Devices would need a piece of each, and
// have one piece of the whole: the cut ends where the parts are taken apart, and no sharding says
// otherwise. One note for matmuls that are alike, with the layout that would let the cut go on.
// `phases`: by OpId; `constant`: by ValueId, depends on no data; `weight_operand`: see
// JoinContractions.
std::vector<std::string> NotesOnPartsInARow(BlockContext& context, const std::vector<Phase>& phases,
                                            const std::vector<bool>& constant,
                                            const std::vector<int32_t>& weight_operand,
                                            const std::vector<GrowingBlock>& blocks);

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_PARTS_IN_A_ROW_H_
