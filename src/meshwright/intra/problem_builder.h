#ifndef MESHWRIGHT_INTRA_PROBLEM_BUILDER_H_
#define MESHWRIGHT_INTRA_PROBLEM_BUILDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "meshwright/cost/cost_model.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/cost/liveness.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/intra/groups.h"
#include "meshwright/intra/pins.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

// A side of an edge: a node, and what its strategies make of the value in question.
struct Port {
  solve::NodeId node;
  ShardingListId list;
  friend bool operator==(const Port&, const Port&) = default;
};

// A node of the assignment problem.
struct PlanningNode {
  enum class Kind {
    kGroup,      // a group of operators decides its strategy
    kParameter,  // an entry parameter: how it is stored (and gathered)
    kLoopValue,  // a loop-carried value: inside the loop and after it
    kShared,     // a value with several users: how it is kept for all of them
    kCopy,       // one whose sharding is given: how it is moved once for users that want it alike
  };
  Kind kind = Kind::kGroup;
  const CandidateSet* set = nullptr;
  OpId op = OpId();           // group leader, parameter op, loop parameter op; none for kShared
  ValueId value = ValueId();  // of all but kGroup
  std::vector<int32_t> allowed = {};  // problem strategy -> strategy of `set` (all, unless pinned)
};

// An edge of the problem and what it stands for: `value` leaves `from` and is wanted at `to`.
struct PlanningEdge {
  Port from, to;
  // What further operands of the same node want of the value: it is moved once for each different
  // sharding.
  std::vector<ShardingListId> also = {};
  ValueId value;
  OpId user;  // whose operand it is; for shared values the producer
  double multiplicity = 1;
  bool must_equal = false;  // resharding is not allowed
  // From a kCopy: how the value itself is kept. A user that does not want the copy moves that.
  std::optional<Sharding> kept = {};
};

// The assignment problem of a graph, and how to read its solution. Cost units: see `ticks`.
struct PlanningProblem {
  solve::Problem problem;
  std::vector<PlanningNode> nodes;  // by solve::NodeId
  std::vector<PlanningEdge> edges;  // all of them; problem.edges leaves out those that never cost
  std::vector<Port>
      offered;  // by ValueId: what users of the value see; invalid node for free values
  std::vector<Port> copied;    // by ValueId: what operators among them see, perhaps a kCopy
  std::vector<Port> produced;  // by ValueId: what its producer leaves
  std::vector<solve::NodeId> node_of_op;  // by OpId: of the op's group; invalid for free ops
  double ticks = 1;                       // problem cost = ticks * cost model's unit, rounded

  const Sharding& ShardingAt(const CandidateSets& sets, const Port& port,
                             const std::vector<int32_t>& choice) const {
    return sets.lists()[port.list][StrategyOf(port.node, choice)];
  }
  // Index into the node's candidate set.
  int32_t StrategyOf(solve::NodeId node, const std::vector<int32_t>& choice) const {
    return nodes[node.index()].allowed[choice[node.index()]];
  }
};

struct ProblemInputs {
  const Graph& graph;
  const CostModel& cost_model;
  const FusionInfo& fusion;
  const Groups& groups;
  const std::vector<Interval>& intervals;  // liveness by ValueId
  const Pins& pins;
  const std::vector<int32_t>& tied;  // by output: parameter, or -1
  StrategySpace space = StrategySpace::kFull;
  // Reading a plan back: what would be fused into its users and is moved is written to memory
  // first, as a collective reads it there, and a value is moved once for all users that want it
  // alike. So it is where every value's sharding is given.
  bool as_compiled = false;
};

// Whether a value that is moved is one that would be fused into its users else.
bool IsStoredForMove(const ProblemInputs& inputs, ValueId value);
// Seconds that storing it takes, `sharding` being how it is made.
double StoreSeconds(const ProblemInputs& inputs, ValueId value, const Sharding& sharding);

// All communication stands on edges: an operator's strategy says which shardings it wants and
// leaves, and resharding between the two has a price. A value with several users gets a node of its
// own (kShared), so that it is resharded once for all of them, as XLA's common subexpression
// elimination does. Errors: a pin that no strategy satisfies.
absl::StatusOr<PlanningProblem> BuildProblem(const ProblemInputs& inputs, CandidateSets* sets);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PROBLEM_BUILDER_H_
