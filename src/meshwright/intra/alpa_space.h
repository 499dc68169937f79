#ifndef MESHWRIGHT_INTRA_ALPA_SPACE_H_
#define MESHWRIGHT_INTRA_ALPA_SPACE_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/sharding/rule.h"
#include "meshwright/sharding/sharding.h"

// The strategy space of Alpa's solver playground (Zheng et al. 2022, section 4, and its code), for
// comparing with its published optima: StrategySpace::kAlpa. It differs from ours in that
//  * a dimension takes at most one mesh axis, and a parameter at most one in all;
//  * a product uses every mesh axis, each on another factor, or is split along one batch dimension;
//  * partial sums are all-reduced where they arise;
//  * elementwise operators, broadcast, reshape, transpose and reduce take the sharding of their
//  deepest
//    operand;
//  * dimensions need not divide evenly.

namespace meshwright {

// `rule` with factor sizes rounded up to what the mesh divides, as padding would, where a factor
// makes up whole dimensions and has at least one element for every device along each axis.
Rule PaddedForMesh(Rule rule, const Mesh& mesh);

bool AllowedByAlpa(const Op& op, const Rule& rule, const Strategy& strategy, const Mesh& mesh);
bool ParameterAllowedByAlpa(const Sharding& sharding);

// Cost of all-reducing what is unreduced in `sharding`, which is left reduced.
double ReduceAtOnce(const Shape& shape, const CostModel& cost_model, Sharding* sharding);

// By op: which operand's sharding it must follow without resharding, or -1.
std::vector<int32_t> FollowedOperands(const Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_ALPA_SPACE_H_
