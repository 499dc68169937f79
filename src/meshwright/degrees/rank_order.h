#ifndef MESHWRIGHT_DEGREES_RANK_ORDER_H_
#define MESHWRIGHT_DEGREES_RANK_ORDER_H_

#include <optional>

#include "meshwright/degrees/configuration.h"

// Placements that launchers come to by themselves, by numbering GPUs along the groups in turn.

namespace meshwright::transformer {

enum class RankOrder {
  kDataThenPipeline,  // tp, cp, dp, pp: all launchers unless they are told otherwise
  kPipelineThenData,  // tp, cp, pp, dp: Megatron's --use-tp-pp-dp-mapping
};

// The order in which GPUs lie on nodes, and nodes in units, as `c` places them; of both the first.
std::optional<RankOrder> RankOrderOf(const Configuration& c);

// How GPUs numbered in `order` lie on nodes of `node` of them, and these in units of `unit` (0: all
// nodes are one), `c` saying how many of each there are. Nothing where a node or a unit ends within
// a group.
struct NumberedPlacements {
  Placement inside, unit;
};
std::optional<NumberedPlacements> NumberedInOrder(const Configuration& c, RankOrder order,
                                                  int64_t node, int64_t unit);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_RANK_ORDER_H_
