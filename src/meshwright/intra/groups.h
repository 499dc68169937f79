#ifndef MESHWRIGHT_INTRA_GROUPS_H_
#define MESHWRIGHT_INTRA_GROUPS_H_

#include <vector>

#include "meshwright/cost/fusion.h"
#include "meshwright/hlo/graph.h"

namespace meshwright {

// Operators that take one decision together: a leader and the followers whose results only it uses.
//
// A follower is an elementwise operator x with one planned operand a, whose only user u is
// elementwise over the same dimensions, where an element of a is no wider than one of x. Merging it
// into u is exact as far as communication goes: any resharding between x and u can be moved before
// x, where it moves the same number of elements that are no wider. (x itself is fused into u and
// moves no memory.) Everything else is left for the solver to decide.
struct Groups {
  // By op: the leader of its group (itself for leaders); invalid for free ops, which are recomputed
  // wherever they are needed and take no part.
  std::vector<OpId> leader;
  std::vector<std::vector<OpId>> followers;  // by op, for leaders: in execution order
  // By op, for leaders: per operand, the value that really comes from outside the group.
  std::vector<std::vector<ValueId>> operands;

  bool is_leader(OpId op) const { return leader[op.index()] == op; }
};

// `pinned[v]`: value v has a sharding of its own to keep (a fix, an annotation), so its producer
// must not be a follower.
Groups FormGroups(const Graph& graph, const FusionInfo& fusion, const std::vector<bool>& pinned);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_GROUPS_H_
