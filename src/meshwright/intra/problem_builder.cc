#include "meshwright/intra/problem_builder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/intra/alpa_space.h"
#include "meshwright/intra/partitioner.h"
#include "meshwright/intra/problem_costs.h"

namespace meshwright {
namespace {

// Resolutions of the problem's integer costs, finest first: picoseconds, and coarser ones for
// programs whose steps take days. What a unitless model charges beyond its range means
// "impossible".
constexpr double kTicksPerSecond[] = {1e12, 1e8, 1e4, 1, 1e-4, 1e-8};
constexpr double kTicksPerUnit = 1e6;

class Builder {
 public:
  Builder(const ProblemInputs& in, CandidateSets* sets, double ticks)
      : in_(in), graph_(in.graph), sets_(*sets), ticks_(ticks), costs_(in, *sets, nullptr, ticks) {}

  bool overflowed() const { return costs_.overflowed(); }

  absl::StatusOr<PlanningProblem> Build() {
    out_.ticks = ticks_;
    out_.offered.resize(graph_.values.size());
    out_.copied.resize(graph_.values.size());
    out_.produced.resize(graph_.values.size());
    out_.node_of_op.resize(graph_.ops.size());
    CollectUses();
    MW_RETURN_IF_ERROR(AddNodes());
    AddEdges();
    AddUsages();
    AddScratch();
    return std::move(out_);
  }

 private:
  bool free(ValueId v) const { return in_.fusion.free[v.index()]; }
  bool alpa() const { return in_.space == StrategySpace::kAlpa; }

  // How many nodes will look at each value, and which parameter and carry an op stands for.
  void CollectUses() {
    uses_.assign(graph_.values.size(), 0);
    std::vector<OpId> last(graph_.values.size());
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!in_.groups.leader[i].valid() || !in_.groups.is_leader(OpId(i))) continue;
      for (ValueId v : in_.groups.operands[i]) {
        if (last[v.index()] == OpId(i)) continue;
        last[v.index()] = OpId(i);
        ++uses_[v.index()];
      }
    }
    times_used_.assign(graph_.values.size(), 0);
    const auto used = [&](ValueId v, double times) {
      times_used_[v.index()] = std::max(times_used_[v.index()], times);
    };
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      for (OpId user : graph_.values[i].users) used(ValueId(i), graph_[user].multiplicity);
    }
    for (const Carry& carry : graph_.carries) {
      used(carry.init, TimesEntered(carry));
      if (!carry.invariant) used(carry.next, graph_[graph_[carry.parameter].producer].multiplicity);
    }
    carry_of_op_.assign(graph_.ops.size(), -1);
    for (size_t c = 0; c < graph_.carries.size(); ++c) {
      const Carry& carry = graph_.carries[c];
      ++uses_[carry.init.index()];
      if (!carry.invariant) ++uses_[carry.next.index()];
      carry_of_op_[graph_[carry.parameter].producer.index()] = static_cast<int32_t>(c);
      if (carry.exit.valid())
        carry_of_op_[graph_[carry.exit].producer.index()] = static_cast<int32_t>(c);
    }
    parameter_of_op_.assign(graph_.ops.size(), -1);
    for (size_t i = 0; i < graph_.parameters.size(); ++i) {
      parameter_of_op_[graph_.parameters[i].index()] = static_cast<int32_t>(i);
    }
    output_of_op_.assign(graph_.ops.size(), -1);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      output_of_op_[graph_.outputs[i].index()] = static_cast<int32_t>(i);
    }
  }

  solve::NodeId AddNode(PlanningNode node) {
    const solve::NodeId id(out_.nodes.size());
    node.allowed.resize(node.set->strategies.size());
    for (size_t s = 0; s < node.allowed.size(); ++s) node.allowed[s] = static_cast<int32_t>(s);
    out_.nodes.push_back(std::move(node));
    return id;
  }

  // Leaves the node only the strategies under which `list` says `pin`.
  absl::Status Pin(solve::NodeId id, ShardingListId list, const Sharding& pin,
                   std::string_view name) {
    PlanningNode& node = out_.nodes[id.index()];
    std::erase_if(node.allowed, [&](int32_t s) { return sets_.lists()[list][s] != pin; });
    if (!node.allowed.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat("no strategy of ", name, " gives it the sharding ",
                                             pin.ToString(in_.cost_model.mesh())));
  }

  absl::Status AddNodes() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const OpId id(i);
      if (!in_.groups.leader[i].valid() || !in_.groups.is_leader(id)) continue;
      if (parameter_of_op_[i] >= 0) {
        MW_RETURN_IF_ERROR(AddParameter(id));
      } else if (carry_of_op_[i] >= 0) {
        AddLoopValue(id);
      } else if (graph_[id].kind == OpKind::kOutput) {
        MW_RETURN_IF_ERROR(AddOutput(id));
        continue;
      } else {
        AddGroup(id);
      }
      for (ValueId v : graph_[id].results) MW_RETURN_IF_ERROR(Offer(v));
    }
    return absl::OkStatus();
  }

  void AddGroup(OpId id) {
    const Op& op = graph_[id];
    const CandidateSet* set = sets_.ForGroup(id, PendingPossible(id));
    const solve::NodeId node = AddNode({.kind = PlanningNode::Kind::kGroup, .set = set, .op = id});
    if (in_.pins.complete) ComputeAsPinned(id, node);
    out_.node_of_op[id.index()] = node;
    for (OpId follower : in_.groups.followers[id.index()]) out_.node_of_op[follower.index()] = node;
    for (size_t r = 0; r < op.results.size(); ++r)
      out_.produced[op.results[r].index()] = {node, set->results[r]};
  }

  // How XLA's partitioner computes `op`, where that is known. Sums of partial sums are an
  // exception: whether they are reduced before or after is not the partitioner's choice.
  std::optional<Strategy> StrategyAsPinned(const Op& op, const Rule& rule,
                                           const Sharding& result) const {
    std::vector<const Sharding*> operands;
    for (ValueId v : op.operands) {
      if (in_.pins.may_stay_partial[v.index()]) return std::nullopt;
      const std::optional<Sharding>& pin = in_.pins.values[v.index()];
      operands.push_back(pin.has_value() ? &*pin : nullptr);
    }
    return PartitionedStrategy(graph_, op, rule, operands, result, in_.cost_model.mesh());
  }

  // Leaves the strategies that XLA's partitioner has for pinned operands and results: axes go where
  // an operand or the result has them, the result comes out as pinned or as partial sums that an
  // all-reduce or reduce-scatter turns into that, and of those the ones that divide the work most.
  void ComputeAsPinned(OpId id, solve::NodeId node_id) {
    const Op& op = graph_[id];
    if (op.results.empty()) return;
    const std::optional<Sharding>& pin = in_.pins.values[op.results[0].index()];
    if (!pin.has_value()) return;
    PlanningNode& node = out_.nodes[node_id.index()];
    const CandidateSet& set = *node.set;
    if (const std::optional<Strategy> known = StrategyAsPinned(op, set.rule, *pin)) {
      const auto found = std::find(set.strategies.begin(), set.strategies.end(), *known);
      if (found != set.strategies.end()) {
        node.allowed = {static_cast<int32_t>(found - set.strategies.begin())};
        return;
      }
    }
    const std::vector<Sharding>& results = sets_.lists()[set.results[0]];
    std::vector<int32_t> kept;
    int64_t most = 0;
    for (int32_t s : node.allowed) {
      if (!ReducesTo(results[s], *pin) || !IsInduced(op, set.rule, set.strategies[s])) continue;
      const int64_t shards = ComputeShards(set.rule, set.strategies[s], in_.cost_model.mesh());
      if (shards < most) continue;
      if (shards > most) kept.clear();
      most = shards;
      kept.push_back(s);
    }
    if (!kept.empty()) node.allowed = std::move(kept);
  }

  // Every axis of the strategy cuts its factor in an operand or result already.
  bool IsInduced(const Op& op, const Rule& rule, const Strategy& strategy) const {
    const auto cuts = [&](const TensorFactors& tensor, ValueId v, FactorIndex factor,
                          AxisIndex axis) {
      const std::optional<Sharding>& pin = in_.pins.values[v.index()];
      for (size_t d = 0; pin.has_value() && d < tensor.dims.size(); ++d) {
        const auto& factors = tensor.dims[d];
        if (std::find(factors.begin(), factors.end(), factor) != factors.end() &&
            std::find(pin->dims[d].begin(), pin->dims[d].end(), axis) != pin->dims[d].end())
          return true;
      }
      return false;
    };
    for (size_t a = 0; a < strategy.size(); ++a) {
      const FactorIndex factor = strategy[a];
      if (factor == kNoFactor || rule.factors[factor].kind == FactorKind::kPending) continue;
      const auto axis = static_cast<AxisIndex>(a);
      bool found = false;
      for (size_t i = 0; i < op.operands.size() && !found; ++i)
        found = cuts(rule.operands[i], op.operands[i], factor, axis);
      for (size_t i = 0; i < op.results.size() && !found; ++i)
        found = cuts(rule.results[i], op.results[i], factor, axis);
      if (!found) return false;
    }
    return true;
  }

  static bool ReducesTo(const Sharding& partial, const Sharding& whole) {
    for (size_t d = 0; d < whole.dims.size(); ++d) {
      const AxisList& have = partial.dims[d];
      const AxisList& want = whole.dims[d];
      for (AxisIndex axis : want) {
        const bool kept = std::find(have.begin(), have.end(), axis) != have.end();
        const bool scattered = std::find(partial.unreduced.begin(), partial.unreduced.end(),
                                         axis) != partial.unreduced.end();
        if (!kept && !scattered) return false;
      }
      for (AxisIndex axis : have) {
        if (std::find(want.begin(), want.end(), axis) == want.end()) return false;
      }
    }
    return true;
  }

  absl::Status AddParameter(OpId id) {
    const ValueId v = graph_[id].results[0];
    const int32_t parameter = parameter_of_op_[id.index()];
    const bool gathered = uses_[v.index()] > 1 && !alpa();
    const CandidateSet* set = sets_.ForParameter(graph_[v].shape, gathered);
    const solve::NodeId node =
        AddNode({.kind = PlanningNode::Kind::kParameter, .set = set, .op = id, .value = v});
    out_.node_of_op[id.index()] = node;
    out_.produced[v.index()] = {node, set->results[0]};
    if (const std::optional<Sharding>& pin = in_.pins.parameters[parameter]; pin.has_value()) {
      MW_RETURN_IF_ERROR(Pin(node, set->stored, *pin, ParameterName(graph_, id)));
    }
    return absl::OkStatus();
  }

  // The loop parameter comes first and makes the node; the exit is the same value after the loop.
  void AddLoopValue(OpId id) {
    const Carry& carry = graph_.carries[carry_of_op_[id.index()]];
    const ValueId v = graph_[id].results[0];
    if (v == carry.parameter) {
      const CandidateSet* set = sets_.ForValue(graph_[v].shape);
      out_.node_of_op[id.index()] =
          AddNode({.kind = PlanningNode::Kind::kLoopValue, .set = set, .op = id, .value = v});
      out_.produced[v.index()] = {out_.node_of_op[id.index()], set->results[0]};
    } else {
      out_.node_of_op[id.index()] = out_.produced[carry.parameter.index()].node;
      out_.produced[v.index()] = out_.produced[carry.parameter.index()];
    }
  }

  // Outputs that are tied to a parameter have no node: their value goes to the parameter's.
  absl::Status AddOutput(OpId id) {
    const int32_t output = output_of_op_[id.index()];
    if (in_.tied[output] >= 0 || free(graph_[id].operands[0])) return absl::OkStatus();
    AddGroup(id);
    if (const std::optional<Sharding>& pin = in_.pins.outputs[output]; pin.has_value()) {
      const solve::NodeId node = out_.node_of_op[id.index()];
      MW_RETURN_IF_ERROR(
          Pin(node, out_.nodes[node.index()].set->operands[0], *pin, OutputName(graph_, id)));
    }
    return absl::OkStatus();
  }

  // What users of `v` see: its producer's sharding, or that of a node of its own.
  absl::Status Offer(ValueId v) {
    const Port produced = out_.produced[v.index()];
    out_.offered[v.index()] = out_.copied[v.index()] = produced;
    const bool parameter = out_.nodes[produced.node.index()].kind == PlanningNode::Kind::kParameter;
    std::optional<Sharding> pin = in_.pins.values[v.index()];
    if (in_.pins.complete && in_.pins.may_stay_partial[v.index()]) pin.reset();
    const bool several = (uses_[v.index()] > 1 || IsHandedOver(v)) &&
                         in_.fusion.materialized[v.index()] && !alpa() && !parameter;
    if (!several && !pin.has_value()) return absl::OkStatus();
    const CandidateSet* set = sets_.ForValue(graph_[v].shape);
    const solve::NodeId node =
        AddNode({.kind = PlanningNode::Kind::kShared, .set = set, .value = v});
    out_.offered[v.index()] = out_.copied[v.index()] = {node, set->results[0]};
    if (!pin.has_value()) return absl::OkStatus();
    MW_RETURN_IF_ERROR(Pin(node, set->results[0], *pin, graph_[graph_[v].producer].name));
    // Where everything is given, moves that are alike are found when the plan is read.
    if (several && !in_.pins.complete) {
      const solve::NodeId copy =
          AddNode({.kind = PlanningNode::Kind::kCopy, .set = set, .value = v});
      out_.copied[v.index()] = {copy, set->results[0]};
    }
    return absl::OkStatus();
  }

  // An add may add partial sums only if all its operands can be some: results of sharded reductions
  // that no one else uses. Their producers come earlier, so their ports are known.
  bool PendingPossible(OpId id) const {
    if (alpa()) return false;
    const Op& op = graph_[id];
    const std::vector<ValueId>& outside = in_.groups.operands[id.index()];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId v = op.operands[i];
      if (free(v) || outside[i] != v || out_.offered[v.index()] != out_.produced[v.index()])
        return false;
      const std::vector<Sharding>& list = sets_.lists()[out_.produced[v.index()].list];
      const bool partial = std::any_of(list.begin(), list.end(), [](const Sharding& s) {
        return !s.unreduced.empty() && s.reduction == Reduction::kSum;
      });
      if (!partial) return false;
    }
    return !op.operands.empty();
  }

  void AddEdges() {
    const std::vector<int32_t> followed =
        alpa() ? FollowedOperands(graph_) : std::vector<int32_t>(graph_.ops.size(), -1);
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const OpId producer = graph_.values[i].producer;
      for (const auto& [from, to] : {std::pair{&out_.produced[i], &out_.offered[i]},
                                     std::pair{&out_.offered[i], &out_.copied[i]}}) {
        if (*from == *to) continue;
        AddEdge({.from = *from,
                 .to = *to,
                 .value = ValueId(i),
                 .user = producer,
                 .multiplicity = TimesMoved(ValueId(i))});
      }
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const solve::NodeId node = out_.node_of_op[i];
      if (!node.valid() || !in_.groups.is_leader(OpId(i))) continue;
      if (out_.nodes[node.index()].kind != PlanningNode::Kind::kGroup) continue;
      AddOperandEdges(OpId(i), followed[i]);
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (in_.tied[i] < 0) continue;
      const ValueId v = graph_[graph_.outputs[i]].operands[0];
      const solve::NodeId node = out_.node_of_op[graph_.parameters[in_.tied[i]].index()];
      if (!free(v)) {
        AddEdge({.from = out_.offered[v.index()],
                 .to = {node, out_.nodes[node.index()].set->stored},
                 .value = v,
                 .user = graph_.outputs[i],
                 .multiplicity = graph_[graph_.outputs[i]].multiplicity,
                 .must_equal = alpa()});
      }
    }
    for (const Carry& carry : graph_.carries) {
      const OpId parameter = graph_[carry.parameter].producer;
      const Port port = out_.produced[carry.parameter.index()];
      const double inside = graph_[parameter].multiplicity;
      if (!free(carry.init)) {
        AddEdge({.from = out_.offered[carry.init.index()],
                 .to = port,
                 .value = carry.init,
                 .user = parameter,
                 .multiplicity = TimesEntered(carry)});
      }
      if (!carry.invariant && !free(carry.next)) {
        AddEdge({.from = out_.offered[carry.next.index()],
                 .to = port,
                 .value = carry.next,
                 .user = parameter,
                 .multiplicity = inside});
      }
    }
    FillProblem();
  }

  // How often a step enters the loop that has this carry.
  double TimesEntered(const Carry& carry) const {
    const double trips = graph_.loops[carry.loop].trip_count;
    return trips > 0 ? graph_[graph_[carry.parameter].producer].multiplicity / trips : 1;
  }

  // How often a step moves a value for all its users, loops that carry it included: as often as it
  // is made.
  double TimesMoved(ValueId v) const { return graph_[graph_[v].producer].multiplicity; }

  // Made more often than it is used: a sum over micro-batches. It is added up as it is kept, so it
  // is moved to that each time, by what makes it.
  bool IsHandedOver(ValueId v) const {
    return uses_[v.index()] > 0 && times_used_[v.index()] < TimesMoved(v);
  }

  void AddEdge(PlanningEdge edge) { out_.edges.push_back(std::move(edge)); }

  // One edge for each value that the node of group `leader` uses.
  void AddOperandEdges(OpId leader, int32_t followed) {
    const solve::NodeId node = out_.node_of_op[leader.index()];
    const std::vector<ValueId>& operands = in_.groups.operands[leader.index()];
    const std::vector<ShardingListId>& lists = out_.nodes[node.index()].set->operands;
    for (size_t j = 0; j < operands.size(); ++j) {
      const ValueId v = operands[j];
      if (free(v) || std::find(operands.begin(), operands.begin() + static_cast<int64_t>(j), v) !=
                         operands.begin() + static_cast<int64_t>(j)) {
        continue;
      }
      PlanningEdge edge{.from = out_.copied[v.index()],
                        .to = {node, lists[j]},
                        .value = v,
                        .user = leader,
                        .multiplicity = graph_[leader].multiplicity};
      if (edge.from != out_.offered[v.index()]) edge.kept = in_.pins.values[v.index()];
      edge.must_equal = followed == static_cast<int32_t>(j);
      for (size_t k = j + 1; k < operands.size(); ++k) {
        if (operands[k] == v) edge.also.push_back(lists[k]);
      }
      AddEdge(std::move(edge));
    }
  }

  void FillProblem() {
    out_.problem.name = graph_.name;
    costs_.Fill(out_, {}, /*break_ties=*/true, &out_.problem);
  }

  void AddUsage(solve::NodeId node, ShardingListId list, const Shape& shape, Interval interval,
                ShardingListId only_if_not = ShardingListId()) {
    if (interval.begin >= interval.end) return;
    solve::Usage usage{.begin = interval.begin, .end = interval.end, .amount = {}};
    for (int32_t s : out_.nodes[node.index()].allowed) {
      const Sharding& sharding = sets_.lists()[list][s];
      const bool counts = !only_if_not.valid() || sets_.lists()[only_if_not][s] != sharding;
      usage.amount.push_back(counts ? BytesPerDevice(shape, sharding, in_.cost_model.mesh()) : 0);
    }
    out_.problem.nodes[node.index()].usages.push_back(std::move(usage));
  }

  // Memory is charged to the node that decides how a value is kept. A shared loop value keeps the
  // loop's sharding in memory; what its users see besides is judged when the plan is evaluated.
  void AddUsages() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Port produced = out_.produced[i];
      if (!produced.node.valid()) continue;
      const PlanningNode& node = out_.nodes[produced.node.index()];
      const Shape& shape = graph_.values[i].shape;
      const Interval interval = in_.intervals[i];
      if (node.kind == PlanningNode::Kind::kParameter) {
        AddUsage(produced.node, node.set->stored, shape, interval);
        AddUsage(produced.node, produced.list, shape, interval, node.set->stored);
      } else if (node.kind == PlanningNode::Kind::kLoopValue) {
        AddUsage(produced.node, produced.list, shape, interval);
      } else {
        AddUsage(out_.offered[i].node, out_.offered[i].list, shape, interval);
      }
    }
  }

  // What kernels need while they run.
  void AddScratch() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const solve::NodeId id = out_.node_of_op[i];
      if (!id.valid() || !in_.groups.is_leader(OpId(i))) continue;
      const PlanningNode& node = out_.nodes[id.index()];
      if (node.kind != PlanningNode::Kind::kGroup || graph_.ops[i].results.empty()) continue;
      const Rule& rule = node.set->rule;
      const auto begin_of = [&](OpId op) {
        return in_.intervals[graph_[op].results[0].index()].begin;
      };
      const int32_t begin = begin_of(OpId(i));
      if (begin >= in_.intervals[graph_.ops[i].results[0].index()].end) continue;
      if (rule.scratch > 0 || rule.masked > 0)
        AddScratchUsage(id, {begin, begin + 1}, &Scratch::bytes);
      if (rule.masked > 0)
        AddScratchUsage(id, {begin + 1, begin_of(LastWithSameRows(graph_, OpId(i)))},
                        &Scratch::masked);
    }
  }

  void AddScratchUsage(solve::NodeId id, const Interval& when, double Scratch::*bytes) {
    if (when.begin >= when.end) return;
    const PlanningNode& node = out_.nodes[id.index()];
    solve::Usage usage{.begin = when.begin, .end = when.end, .amount = {}};
    for (int32_t s : node.allowed) {
      const Scratch scratch = ScratchOf(*node.set, s, in_.cost_model.mesh());
      usage.amount.push_back(static_cast<int64_t>(scratch.*bytes));
    }
    out_.problem.nodes[id.index()].usages.push_back(std::move(usage));
  }

  const ProblemInputs& in_;
  const Graph& graph_;
  CandidateSets& sets_;
  const double ticks_;
  ProblemCosts costs_;
  PlanningProblem out_;
  std::vector<int32_t> uses_;             // by value: nodes that look at it
  std::vector<double> times_used_;        // by value: executions a step of what uses it most often
  std::vector<int32_t> carry_of_op_;      // by op: its carry, or -1
  std::vector<int32_t> parameter_of_op_;  // by op: its entry parameter, or -1
  std::vector<int32_t> output_of_op_;     // by op: the output that it is, or -1
};

}  // namespace

absl::StatusOr<PlanningProblem> BuildProblem(const ProblemInputs& inputs, CandidateSets* sets) {
  if (!inputs.cost_model.in_seconds()) return Builder(inputs, sets, kTicksPerUnit).Build();
  for (double ticks : kTicksPerSecond) {
    Builder builder(inputs, sets, ticks);
    absl::StatusOr<PlanningProblem> problem = builder.Build();
    if (!problem.ok() || !builder.overflowed()) return problem;
  }
  return absl::InvalidArgumentError(
      "a step of this program takes longer than can be reckoned; are its sizes and trip counts "
      "right?");
}

}  // namespace meshwright
