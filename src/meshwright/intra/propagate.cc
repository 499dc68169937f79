// Shardy's propagation (openxla/shardy, sdy/transforms/propagation), the part that decides what JAX
// programs become:
//
//  * A sharding that the user gave is closed: nothing extends it. (A constraint inside the program
//    holds for the operator that makes the value, as in ApplyShardingConstraintsPass: graph.h puts
//    it on that value.) All others are open and grow.
//  * Through one operator, axes travel along factors of its rule. A factor takes the longest list
//  of
//    axes that its tensors agree on ("compatible major axes"). Every tensor by itself takes what it
//    can: not an axis that it uses along another of its factors, and none that does not divide.
//    Where two factors want an axis in one tensor, the one that the larger tensor brings wins,
//    among equals the earlier operand's; of elementwise operators the one that is cut most comes
//    before that, and operands take only what the result takes. (AggressiveFactorPropagation; the
//    order as observed in what JAX 0.10 makes of programs.)
//  * Operators go in rounds, each adding to the ones before (OpPriorityPropagation): elementwise
//    operators and changes of shape whose operands have no other users, then all of them; factors
//    that pass through (broadcasts only from result to operand); everything but broadcasts from
//    operand to result; everything.
//  * Within a round operators are taken from a stack, the first of the program on top; what a
//  change
//    touches goes on top again (MLIR's greedy rewriter).
//
// Left out: axes split into parts, priorities among the user's shardings, sharding groups, and
// uneven shards other than of dimensions that the user cut unevenly, which our strategies do not
// have either. Constants and what is made from them only
// have no sharding of their own: XLA gives each user its own copy.

#include "meshwright/intra/propagate.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/op_sharding_rule.h"
#include "meshwright/intra/given_cuts.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {
namespace {

enum Direction : uint8_t { kNone = 0, kForward = 1, kBackward = 2, kBoth = 3 };

// How a tensor is cut so far.
struct State {
  std::vector<AxisList> dims;
  bool closed = false;
  bool known = false;  // takes part: it is an array that is not free
  bool even = false;   // takes even cuts only: it comes from or goes to outside of the program
};

// One operand or result of the operator at hand, by factor.
struct Projection {
  int32_t state = -1;  // -1: takes no part
  std::vector<bool> has;
  std::vector<AxisList> axes;
  std::vector<bool> stuck;  // a factor behind an incompletely cut one, or with axes that do not fit

  bool Uses(AxisIndex axis, size_t but) const {
    for (size_t f = 0; f < has.size(); ++f) {
      if (f != but && has[f] && std::find(axes[f].begin(), axes[f].end(), axis) != axes[f].end())
        return true;
    }
    return false;
  }
};

bool IsPassThrough(const Op& op) {
  if (op.kind != OpKind::kInstruction) return true;  // outputs, branches, loop values: identities
  const Opcode opcode = op.instruction->opcode;
  return IsElementwise(opcode) || opcode == Opcode::kReshape || opcode == Opcode::kTranspose ||
         opcode == Opcode::kBitcast || opcode == Opcode::kCopy ||
         (opcode == Opcode::kCustomCall && FindOpShardingRule(*op.instruction) == nullptr);
}

bool IsElementwiseInstruction(const Op& op) {
  return op.kind == OpKind::kInstruction && IsElementwise(op.instruction->opcode);
}

// Rounds of operators (opPropagationSchedule): each adds a row to those before.
constexpr int kRounds = 5;

Direction DirectionIn(int round, const Op& op, FactorKind kind, bool shared_operands) {
  int direction = kNone;
  const bool instruction = op.kind == OpKind::kInstruction;
  const Opcode opcode = instruction ? op.instruction->opcode : Opcode::kCopy;
  const bool broadcast = instruction && opcode == Opcode::kBroadcast;
  if (round >= 1 || !shared_operands) {
    if (IsPassThrough(op)) direction |= kBoth;
    if (instruction && (opcode == Opcode::kDynamicSlice || opcode == Opcode::kDynamicUpdateSlice))
      direction |= kForward;
  }
  if (round >= 2 && kind == FactorKind::kParallel) direction |= broadcast ? kBackward : kBoth;
  if (round >= 3) direction |= broadcast ? kBackward : kBoth;
  if (round >= 4) direction |= kBoth;
  return static_cast<Direction>(direction);
}

class Propagation {
 public:
  Propagation(const Graph& graph, const FusionInfo& fusion, const Mesh& mesh,
              const std::vector<int32_t>& tied, Pins* pins)
      : graph_(graph),
        fusion_(fusion),
        mesh_(mesh),
        tied_(tied),
        pins_(*pins),
        cuts_(FindGivenCuts(graph, mesh, *pins)) {}

  void Run() {
    MakeStates();
    MakeEdges();
    rules_.reserve(graph_.ops.size());
    for (const Op& op : graph_.ops) {
      rules_.push_back(RuleFor(graph_, op));
      cuts_.Allow(&rules_.back());
    }
    for (int round = 0; round < kRounds; ++round) {
      Spread(round);
    }
    Write();
  }

 private:
  // An identity between two tensors that no operator stands for: an output and what it returns, the
  // values of a loop-carried one.
  struct Edge {
    int32_t from, to;
  };

  void MakeStates() {
    states_.resize(graph_.values.size());
    state_of_.resize(graph_.values.size());
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      state_of_[v] = static_cast<int32_t>(v);
      State& state = states_[v];
      const Shape& shape = graph_.values[v].shape;
      state.known = shape.is_array() && !fusion_.free[v];
      state.dims.resize(shape.dims.size());
      if (pins_.values[v].has_value()) Close(&state, *pins_.values[v]);
    }
    for (size_t p = 0; p < graph_.parameters.size(); ++p) {
      State& state = states_[graph_[graph_.parameters[p]].result().index()];
      state.even = true;
      if (pins_.parameters[p].has_value()) Close(&state, *pins_.parameters[p]);
    }
    output_state_.assign(graph_.outputs.size(), -1);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId returned = graph_[graph_.outputs[i]].operands[0];
      if (tied_[i] >= 0) {
        output_state_[i] = state_of_[graph_[graph_.parameters[tied_[i]]].result().index()];
        continue;
      }
      output_state_[i] = static_cast<int32_t>(states_.size());
      output_of_.emplace(output_state_[i], i);
      State state = states_[returned.index()];
      state.closed = false;
      state.even = true;
      for (AxisList& axes : state.dims) axes.clear();
      if (pins_.outputs[i].has_value()) Close(&state, *pins_.outputs[i]);
      states_.push_back(std::move(state));
    }
  }

  static void Close(State* state, const Sharding& sharding) {
    state->dims.assign(sharding.dims.begin(), sharding.dims.end());
    state->closed = true;
  }

  void MakeEdges() {
    edges_of_.resize(states_.size());
    const auto add = [this](int32_t from, int32_t to) {
      if (!states_[from].known || !states_[to].known || from == to) return;
      edges_of_[from].push_back(static_cast<int32_t>(edges_.size()));
      edges_of_[to].push_back(static_cast<int32_t>(edges_.size()));
      edges_.push_back({from, to});
    };
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      add(state_of_[graph_[graph_.outputs[i]].operands[0].index()], output_state_[i]);
    for (const Carry& carry : graph_.carries) {
      const int32_t inside = state_of_[carry.parameter.index()];
      add(state_of_[carry.init.index()], inside);
      add(state_of_[carry.next.index()], inside);
      if (carry.exit.valid()) add(inside, state_of_[carry.exit.index()]);
    }
  }

  // Work items: ops by position, then edges.
  void Push(int32_t item) {
    if (waiting_[item]) return;
    waiting_[item] = true;
    stack_.push_back(item);
  }

  void Spread(int round) {
    const int32_t items = static_cast<int32_t>(graph_.ops.size() + edges_.size());
    waiting_.assign(items, false);
    stack_.clear();
    for (int32_t item = items; item-- > 0;) Push(item);
    // What outputs are given reaches their values before anything moves inside.
    for (size_t e = 0; e < edges_.size(); ++e) Identity(static_cast<int32_t>(e));
    // Lists of axes only grow, so this ends.
    while (!stack_.empty()) {
      const int32_t item = stack_.back();
      stack_.pop_back();
      waiting_[item] = false;
      const auto ops = static_cast<int32_t>(graph_.ops.size());
      if (item < ops) {
        Through(OpId(item), round);
      } else {
        Identity(item - ops);
      }
    }
  }

  void Changed(int32_t state, int32_t item) {
    for (auto e = edges_of_[state].rbegin(); e != edges_of_[state].rend(); ++e) {
      const int32_t edge = static_cast<int32_t>(graph_.ops.size()) + *e;
      if (edge != item) Push(edge);
    }
    if (state >= static_cast<int32_t>(graph_.values.size())) return;
    const Value& value = graph_.values[state];
    if (static_cast<int32_t>(value.producer.index()) != item)
      Push(static_cast<int32_t>(value.producer.index()));
    for (auto user = value.users.rbegin(); user != value.users.rend(); ++user) {
      if (static_cast<int32_t>(user->index()) != item) Push(static_cast<int32_t>(user->index()));
    }
  }

  bool MayCut(const State& state, int64_t size, const AxisList& axes) const {
    const int64_t pieces = mesh_.Size(axes);
    return state.even ? size % pieces == 0 : cuts_.MayCut(size, pieces);
  }

  // An axis of `size` cuts what others left of a factor.
  static bool Divides(int64_t size, int64_t rest, const Factor& factor) {
    return rest % size == 0 || (factor.uneven && rest >= size);
  }

  bool Fits(int32_t state, size_t dim, const AxisList& axes) const {
    const ValueId v = state < static_cast<int32_t>(graph_.values.size())
                          ? ValueId(state)
                          : graph_[graph_.outputs[output_of_.at(state)]].operands[0];
    return MayCut(states_[state], graph_[v].shape.dims[dim], axes);
  }

  // Copies what one side of an edge has and the other may take.
  void Identity(int32_t e) {
    const Edge edge = edges_[e];
    for (const auto& [from, to] : {std::pair{edge.from, edge.to}, std::pair{edge.to, edge.from}}) {
      State& target = states_[to];
      if (target.closed) continue;
      bool changed = false;
      for (size_t d = 0; d < target.dims.size(); ++d) {
        const AxisList& axes = states_[from].dims[d];
        if (!Extends(axes, target.dims[d]) || !Fits(to, d, axes)) continue;
        bool clash = false;
        for (size_t other = 0; other < target.dims.size(); ++other) {
          for (AxisIndex axis : axes) {
            clash |= other != d && std::find(target.dims[other].begin(), target.dims[other].end(),
                                             axis) != target.dims[other].end();
          }
        }
        if (clash) continue;
        target.dims[d] = axes;
        changed = true;
      }
      if (changed) Changed(to, static_cast<int32_t>(graph_.ops.size()) + e);
    }
  }

  // `longer` begins with all of `shorter` and has more.
  static bool Extends(const AxisList& longer, const AxisList& shorter) {
    return longer.size() > shorter.size() &&
           std::equal(shorter.begin(), shorter.end(), longer.begin());
  }

  Projection Project(const Rule& rule, const TensorFactors& tensor, ValueId v) const {
    Projection projection;
    projection.has.assign(rule.factors.size(), false);
    projection.axes.resize(rule.factors.size());
    projection.stuck.assign(rule.factors.size(), false);
    const State& state = states_[state_of_[v.index()]];
    if (!state.known || tensor.dims.size() != state.dims.size()) return projection;
    projection.state = state_of_[v.index()];
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const AxisList& axes = state.dims[d];
      size_t next = 0;
      bool whole = true;  // all factors before are completely cut
      for (FactorIndex f : tensor.dims[d]) {
        projection.has[f] = true;
        projection.stuck[f] = !whole;
        int64_t rest = rule.factors[f].size;
        while (next < axes.size() && whole &&
               Divides(mesh_.axes[axes[next]].size, rest, rule.factors[f])) {
          rest /= mesh_.axes[axes[next]].size;
          projection.axes[f].push_back(axes[next++]);
        }
        if (next < axes.size() && rest > 1) projection.stuck[f] = true;  // axes that do not fit it
        whole = whole && rest == 1;
      }
    }
    return projection;
  }

  // The longest list that all tensors of the factor agree on, or the part before they differ.
  static bool Merge(const AxisList& axes, bool expand, AxisList* common) {
    size_t same = 0;
    while (same < axes.size() && same < common->size() && axes[same] == (*common)[same]) ++same;
    if (same < axes.size() && same < common->size()) {
      common->resize(same);
      return false;
    }
    if (expand) common->insert(common->end(), axes.begin() + same, axes.end());
    return expand;
  }

  AxisList Common(const std::vector<Projection>& operands, const std::vector<Projection>& results,
                  size_t factor, Direction direction) const {
    AxisList common;
    bool expand = true;
    const bool backward = direction == kBackward;
    const auto& first = backward ? results : operands;
    const auto& second = backward ? operands : results;
    for (const Projection& p : first) {
      if (p.state >= 0 && p.has[factor]) expand = Merge(p.axes[factor], expand, &common);
    }
    if (direction != kBoth) expand = false;
    for (const Projection& p : second) {
      if (p.state >= 0 && p.has[factor]) expand = Merge(p.axes[factor], expand, &common);
    }
    return common;
  }

  void Through(OpId id, int round) {
    const Op& op = graph_[id];
    const Rule& rule = rules_[id.index()];
    if (op.kind == OpKind::kOutput || op.kind == OpKind::kLoopParameter ||
        op.kind == OpKind::kLoopExit || rule.factors.empty())
      return;
    std::vector<Projection> operands, results;
    for (size_t i = 0; i < op.operands.size(); ++i)
      operands.push_back(Project(rule, rule.operands[i], op.operands[i]));
    for (size_t i = 0; i < op.results.size(); ++i)
      results.push_back(Project(rule, rule.results[i], op.results[i]));

    // Scalars are nobody's concern.
    const bool shared = std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
      return graph_[v].shape.rank() > 0 && !graph_[v].only_user().valid();
    });
    std::vector<AxisList> wanted(rule.factors.size());
    for (size_t f = 0; f < wanted.size(); ++f) {
      const Factor& factor = rule.factors[f];
      if (factor.kind == FactorKind::kWhole || factor.kind == FactorKind::kPending ||
          !factor.spreads)
        continue;
      const Direction direction = DirectionIn(round, op, factor.kind, shared);
      if (direction != kNone) wanted[f] = Common(operands, results, f, direction);
    }
    const std::vector<size_t> order = InOrderOfSources(op, wanted, operands, results);
    if (IsElementwiseInstruction(op)) KeepWhatResultsTake(rule, results, order, &wanted);
    for (size_t i = 0; i < operands.size(); ++i)
      Update(rule, rule.operands[i], op.operands[i], wanted, order, &operands[i], id);
    for (size_t i = 0; i < results.size(); ++i)
      Update(rule, rule.results[i], op.results[i], wanted, order, &results[i], id);
  }

  // Among elementwise operators' operands only that spreads which the result can have too.
  void KeepWhatResultsTake(const Rule& rule, const std::vector<Projection>& results,
                           const std::vector<size_t>& order, std::vector<AxisList>* wanted) const {
    for (Projection result : results) {
      if (result.state < 0) continue;
      for (size_t f : order) {
        if (!result.has[f]) continue;
        AxisList accepted = Accepted(rule, result, f, (*wanted)[f]);
        if (accepted.size() < (*wanted)[f].size()) (*wanted)[f] = accepted;
        if (Extends(accepted, result.axes[f])) result.axes[f] = std::move(accepted);
      }
    }
  }

  // Factors that have axes to spread, those that the largest tensor brings first; of elementwise
  // operators among equals the one that is cut most, then the earlier operand's: where two want the
  // same axis in one tensor, that order decides.
  std::vector<size_t> InOrderOfSources(const Op& op, const std::vector<AxisList>& wanted,
                                       const std::vector<Projection>& operands,
                                       const std::vector<Projection>& results) const {
    const bool elementwise = IsElementwiseInstruction(op);
    std::vector<std::tuple<int64_t, int64_t, size_t>> sources;  // -elements, -pieces, factor
    for (const std::vector<Projection>* side : {&operands, &results}) {
      for (const Projection& p : *side) {
        for (size_t f = 0; f < wanted.size(); ++f) {
          if (p.state < 0 || !p.has[f] || p.axes[f].empty() || wanted[f].empty()) continue;
          sources.emplace_back(-graph_.values[p.state].shape.elements(),
                               elementwise ? -mesh_.Size(wanted[f]) : 0, f);
        }
      }
    }
    std::stable_sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) {
      return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
    });
    std::vector<size_t> order;
    for (const auto& [elements, pieces, f] : sources) {
      if (std::find(order.begin(), order.end(), f) == order.end()) order.push_back(f);
    }
    return order;
  }

  // What of `axes` the tensor takes along factor `f`.
  AxisList Accepted(const Rule& rule, const Projection& p, size_t f, const AxisList& axes) const {
    AxisList taken;
    int64_t rest = rule.factors[f].size;
    for (AxisIndex axis : axes) {
      const bool has = std::find(p.axes[f].begin(), p.axes[f].end(), axis) != p.axes[f].end();
      const int64_t size = mesh_.axes[axis].size;
      if (!has && (p.stuck[f] || !Divides(size, rest, rule.factors[f]) || p.Uses(axis, f))) break;
      rest /= size;
      taken.push_back(axis);
    }
    return taken;
  }

  // Every tensor takes what it can, whatever the others do.
  void Update(const Rule& rule, const TensorFactors& tensor, ValueId v,
              const std::vector<AxisList>& wanted, const std::vector<size_t>& order, Projection* p,
              OpId id) {
    if (p->state < 0) return;
    State& state = states_[p->state];
    if (state.closed) return;
    for (size_t f : order) {
      if (!p->has[f]) continue;
      AxisList accepted = Accepted(rule, *p, f, wanted[f]);
      if (Extends(accepted, p->axes[f])) p->axes[f] = std::move(accepted);
    }
    bool changed = false;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      AxisList dim;
      for (FactorIndex f : tensor.dims[d]) {
        dim.insert(dim.end(), p->axes[f].begin(), p->axes[f].end());
        if (mesh_.Size(p->axes[f]) < rule.factors[f].size) break;
      }
      if (!Extends(dim, state.dims[d]) || !MayCut(state, graph_[v].shape.dims[d], dim)) continue;
      state.dims[d] = dim;
      changed = true;
    }
    if (changed) Changed(p->state, static_cast<int32_t>(id.index()));
  }

  Sharding ShardingOf(const State& state) const {
    Sharding sharding;
    sharding.dims.assign(state.dims.begin(), state.dims.end());
    // Strategies list the axes of a dimension in the order of the mesh, or one that is given.
    for (AxisList& axes : sharding.dims) {
      if (std::find(cuts_.orders.begin(), cuts_.orders.end(), axes) == cuts_.orders.end())
        std::sort(axes.begin(), axes.end());
    }
    return sharding;
  }

  // By operator: it adds results of contractions, or of such additions, of which it is the only
  // user.
  std::vector<bool> FindAddsOfPartialSums() const {
    std::vector<bool> adds(graph_.ops.size(), false);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kAdd) continue;
      adds[i] = std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
        const OpId producer = graph_[v].producer;
        if (!graph_[v].only_user().valid() || graph_[producer].kind != OpKind::kInstruction)
          return false;
        return IsContraction(rules_[producer.index()]) || adds[producer.index()];
      });
    }
    return adds;
  }

  static bool IsContraction(const Rule& rule) {
    return std::any_of(rule.factors.begin(), rule.factors.end(), [](const Factor& factor) {
      return factor.kind == FactorKind::kReduction && factor.reduction == Reduction::kSum;
    });
  }

  void Write() {
    pins_.complete = true;
    pins_.may_stay_partial.assign(graph_.values.size(), false);
    const std::vector<bool> adds_partial_sums = FindAddsOfPartialSums();
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const std::vector<ValueId>& added = graph_.ops[i].operands;
      const bool alike = std::all_of(added.begin(), added.end(), [&](ValueId v) {
        return states_[v.index()].dims == states_[added[0].index()].dims;
      });
      if (!alike || !adds_partial_sums[i]) continue;
      for (ValueId v : added) {
        // A sharding that the user gave is where it says.
        if (!states_[v.index()].closed) pins_.may_stay_partial[v.index()] = true;
      }
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (states_[v].known) pins_.values[v] = ShardingOf(states_[state_of_[v]]);
    }
    for (size_t p = 0; p < graph_.parameters.size(); ++p) {
      const ValueId v = graph_[graph_.parameters[p]].result();
      if (states_[v.index()].known) pins_.parameters[p] = ShardingOf(states_[v.index()]);
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (states_[output_state_[i]].known) pins_.outputs[i] = ShardingOf(states_[output_state_[i]]);
    }
  }

  const Graph& graph_;
  const FusionInfo& fusion_;
  const Mesh& mesh_;
  const std::vector<int32_t>& tied_;
  Pins& pins_;
  const GivenCuts cuts_;                            // before anything spreads
  std::vector<Rule> rules_;                         // by op
  std::vector<State> states_;                       // by value, then of outputs by themselves
  std::vector<int32_t> state_of_;                   // by value
  std::vector<int32_t> output_state_;               // by output
  absl::flat_hash_map<int32_t, size_t> output_of_;  // outputs by states of their own
  std::vector<Edge> edges_;
  std::vector<std::vector<int32_t>> edges_of_;  // by state
  std::vector<int32_t> stack_;
  std::vector<bool> waiting_;  // by work item: it is on the stack
};

}  // namespace

void PropagatePins(const Graph& graph, const FusionInfo& fusion, const Mesh& mesh,
                   const std::vector<int32_t>& tied, Pins* pins) {
  Propagation(graph, fusion, mesh, tied, pins).Run();
}

}  // namespace meshwright
