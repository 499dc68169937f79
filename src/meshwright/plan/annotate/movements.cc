#include "meshwright/plan/annotate/movements.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/plan/annotate/output_shardings.h"

namespace meshwright {
namespace {

bool ShardsA(FactorKind kind, const PlannedOp& planned) {
  return std::any_of(planned.strategy.begin(), planned.strategy.end(), [&](FactorIndex factor) {
    return factor != kNoFactor && planned.rule.factors[static_cast<size_t>(factor)].kind == kind;
  });
}

AxisList ReducedAxesOf(const PlannedOp& planned, const Mesh& mesh) {
  AxisList axes;
  for (size_t a = 0; a < planned.strategy.size(); ++a) {
    const FactorIndex factor = planned.strategy[a];
    if (factor == kNoFactor || mesh.axes[a].size == 1) continue;
    if (planned.rule.factors[static_cast<size_t>(factor)].kind == FactorKind::kReduction)
      axes.push_back(static_cast<AxisIndex>(a));
  }
  return axes;
}

bool IsCall(const Op& op) {
  return op.kind == OpKind::kInstruction && op.instruction->opcode == Opcode::kCustomCall;
}

Sharding WithoutPartialSums(Sharding sharding) {
  sharding.unreduced.clear();
  sharding.reduction = Reduction::kNone;
  return sharding;
}

// The axes along which the strategies let `id` add partial sums.
AxisList AddedPartial(const Graph& graph, const Mesh& mesh, const IntraPlan& intra, OpId id) {
  const PlannedOp& planned = intra.ops[id.index()];
  const Op& op = graph[id];
  if (planned.free || op.kind != OpKind::kInstruction || op.results.size() != 1 ||
      planned.rule.operands.size() != op.operands.size() ||
      !ShardsA(FactorKind::kPending, planned) || ShardsA(FactorKind::kReduction, planned)) {
    return {};
  }
  const std::optional<Sharding> result = ResultSharding(planned.rule, planned.strategy, 0, mesh);
  // Shardy's partial values are sums.
  if (!result.has_value() || result->reduction != Reduction::kSum) return {};
  return result->unreduced;
}

// Looks up what IntraPlan::moves says of a value.
class MoveFinder {
 public:
  MoveFinder(const Graph& graph, const IntraPlan& intra) {
    for (const PlannedMove& move : intra.moves) {
      if (move.user == graph[move.value].producer) {
        from_producer_.emplace(move.value, &move);
      } else {
        to_users_[move.value].push_back(&move);
      }
    }
  }

  // What takes `value` to users that want it to be `to`. All of them get it alike.
  Movements::Path ToUsers(ValueId value, const Sharding& to) const {
    const auto moves = to_users_.find(value);
    if (moves == to_users_.end()) return {};
    for (const PlannedMove* move : moves->second) {
      if (move->to == to) return WithoutPartialSteps(move->through);
    }
    return {};
  }

  // What takes `value` from how it is computed, or a parameter from how it is stored, to how users
  // see it.
  Movements::Path FromProducer(ValueId value) const {
    const auto move = from_producer_.find(value);
    return move == from_producer_.end() ? Movements::Path()
                                        : WithoutPartialSteps(move->second->through);
  }

  // What moves `value` once for all its users, or nullptr.
  const PlannedMove* ForAll(ValueId value) const {
    const auto move = from_producer_.find(value);
    return move == from_producer_.end() ? nullptr : move->second;
  }

 private:
  // A constraint cannot ask for some of a partial sum's axes to be added: XLA adds them all.
  static Movements::Path WithoutPartialSteps(Movements::Path path) {
    std::erase_if(path, [](const Sharding& step) { return !step.unreduced.empty(); });
    return path;
  }

  absl::flat_hash_map<ValueId, std::vector<const PlannedMove*>> to_users_;
  absl::flat_hash_map<ValueId, const PlannedMove*> from_producer_;
};

// `paths`; none at all if all are empty.
std::vector<Movements::Path> UnlessAllEmpty(std::vector<Movements::Path> paths) {
  if (std::all_of(paths.begin(), paths.end(), [](const auto& path) { return path.empty(); }))
    paths.clear();
  return paths;
}

void FindPaths(const Graph& graph, const Mesh& mesh, const IntraPlan& intra, Movements& movements) {
  movements.operand_paths.resize(graph.ops.size());
  movements.result_paths.resize(graph.ops.size());
  movements.shared.resize(graph.ops.size());
  const MoveFinder moves(graph, intra);
  const auto kept = [&intra](ValueId value) { return intra.shardings[value.index()]; };
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    std::vector<Movements::Path> operands, results;
    for (size_t k = 0; k < movements.needed[i].size(); ++k)
      operands.push_back(moves.ToUsers(op.operands[k], movements.needed[i][k]));
    if (op.kind == OpKind::kSelectBranch) {
      const std::vector<Sharding>& computed = movements.computed[i];
      const Sharding joined = computed.empty() ? kept(op.results[0]) : computed[0];
      for (const ValueId operand : op.operands) operands.push_back(moves.ToUsers(operand, joined));
    }
    for (const ValueId result : op.results) results.push_back(moves.FromProducer(result));
    movements.operand_paths[i] = UnlessAllEmpty(std::move(operands));
    movements.result_paths[i] = UnlessAllEmpty(std::move(results));
  }
  for (const Carry& carry : graph.carries) {
    for (const ValueId value : {carry.parameter, carry.exit}) {
      const PlannedMove* const move = value.valid() ? moves.ForAll(value) : nullptr;
      if (move != nullptr) movements.computed[graph[value].producer.index()] = {move->from};
    }
    const size_t parameter = graph[carry.parameter].producer.index();
    const Sharding carried = movements.computed[parameter].empty()
                                 ? kept(carry.parameter)
                                 : movements.computed[parameter][0];
    movements.operand_paths[parameter] =
        UnlessAllEmpty({moves.ToUsers(carry.init, carried), moves.ToUsers(carry.next, carried)});
  }
  const std::vector<Sharding> outputs = OutputShardings(graph, mesh, intra, intra.tied);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    movements.operand_paths[graph.outputs[i].index()] =
        UnlessAllEmpty({moves.ToUsers(graph[graph.outputs[i]].operands[0], outputs[i])});
  }
  for (const OpId parameter : graph.parameters) {
    const PlannedMove* const move = moves.ForAll(graph[parameter].results[0]);
    if (move != nullptr) movements.shared[parameter.index()] = move->to;
  }
}

}  // namespace

Movements FindMovements(const Graph& graph, const Mesh& mesh, const IntraPlan& intra) {
  Movements movements;
  movements.pending = PendingAxes(graph, mesh, intra);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    movements.needed.push_back(NeededOperands(graph, mesh, intra, OpId(i)));
    movements.computed.push_back(ComputedResults(graph, mesh, intra, movements.pending, OpId(i)));
    movements.reduced.push_back(ReducedAxesOf(intra.ops[i], mesh));
  }
  FindPaths(graph, mesh, intra, movements);
  return movements;
}

std::vector<AxisList> PendingAxes(const Graph& graph, const Mesh& mesh, const IntraPlan& intra) {
  std::vector<AxisList> pending;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    pending.push_back(AddedPartial(graph, mesh, intra, OpId(i)));
  }
  return WithPartialOperands(graph, std::move(pending), [&](OpId op, size_t operand) {
    const OpId producer = graph[graph[op].operands[operand]].producer;
    const PlannedOp& planned = intra.ops[op.index()];
    const PlannedOp& maker = intra.ops[producer.index()];
    if (maker.free || maker.rule.results.size() != 1 || IsCall(graph[producer])) return false;
    const std::optional<Sharding> made = ResultSharding(maker.rule, maker.strategy, 0, mesh);
    return made.has_value() &&
           made == OperandSharding(planned.rule, planned.strategy, operand, mesh);
  });
}

std::vector<AxisList> WithPartialOperands(
    const Graph& graph, std::vector<AxisList> pending,
    absl::FunctionRef<bool(OpId op, size_t operand)> is_partial) {
  std::vector<bool> carried(graph.values.size(),
                            false);  // by ValueId: into a loop or its next round
  for (const Carry& carry : graph.carries) {
    carried[carry.init.index()] = carried[carry.next.index()] = true;
  }
  const std::vector<AxisList> before = pending;
  const auto all_partial = [&](OpId op) {
    for (size_t k = 0; k < graph[op].operands.size(); ++k) {
      const ValueId value = graph[op].operands[k];
      const size_t maker = graph[value].producer.index();
      if (carried[value.index()] || !is_partial(op, k) || pending[maker] != before[maker] ||
          KeptPartial(graph, pending, value) != pending[op.index()]) {
        return false;
      }
    }
    return true;
  };
  std::vector<OpId> work;
  for (size_t i = 0; i < pending.size(); ++i) {
    if (!pending[i].empty()) work.push_back(OpId(i));
  }
  const auto recheck = [&](const std::vector<OpId>& users) {
    for (const OpId user : users) {
      if (!pending[user.index()].empty()) work.push_back(user);
    }
  };
  while (!work.empty()) {
    const OpId op = work.back();
    work.pop_back();
    if (pending[op.index()].empty() || all_partial(op)) continue;
    pending[op.index()].clear();
    for (const ValueId operand : graph[op].operands) recheck(graph[operand].users);
    for (const ValueId result : graph[op].results) recheck(graph[result].users);
  }
  return pending;
}

AxisList KeptPartial(const Graph& graph, const std::vector<AxisList>& pending, ValueId value) {
  const std::vector<OpId>& users = graph[value].users;
  if (users.empty()) return {};
  const AxisList& axes = pending[users[0].index()];
  const bool all = std::all_of(users.begin(), users.end(),
                               [&](OpId user) { return pending[user.index()] == axes; });
  return all ? axes : AxisList();
}

std::vector<Sharding> NeededOperands(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                     OpId op) {
  const PlannedOp& planned = intra.ops[op.index()];
  const auto& operands = graph[op].operands;
  if (planned.free || graph[op].kind != OpKind::kInstruction ||
      planned.rule.operands.size() != operands.size()) {
    return {};
  }
  std::vector<Sharding> needed;
  bool moves = false;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Sharding& kept = intra.shardings[operands[k].index()];
    std::optional<Sharding> wanted = OperandSharding(planned.rule, planned.strategy, k, mesh);
    const bool is_free = intra.ops[graph[operands[k]].producer.index()].free;
    needed.push_back(wanted.has_value() && !is_free ? WithoutPartialSums(*std::move(wanted))
                                                    : kept);
    moves |= needed.back() != kept;
  }
  return moves ? needed : std::vector<Sharding>();
}

std::vector<Sharding> ComputedResults(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                      const std::vector<AxisList>& pending, OpId op) {
  const PlannedOp& planned = intra.ops[op.index()];
  const auto& results = graph[op].results;
  const OpKind kind = graph[op].kind;
  if (planned.free || (kind != OpKind::kInstruction && kind != OpKind::kSelectBranch) ||
      planned.rule.results.size() != results.size() ||
      (ShardsA(FactorKind::kReduction, planned) && !IsCall(graph[op])) ||
      (ShardsA(FactorKind::kPending, planned) && pending[op.index()].empty())) {
    return {};
  }
  std::vector<Sharding> computed;
  bool moves = false;
  for (size_t r = 0; r < results.size(); ++r) {
    const Sharding& kept = intra.shardings[results[r].index()];
    computed.push_back(
        WithoutPartialSums(ResultSharding(planned.rule, planned.strategy, r, mesh).value_or(kept)));
    moves |= computed.back() != kept;
  }
  return moves ? computed : std::vector<Sharding>();
}

}  // namespace meshwright
