#include "meshwright/intra/decode.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/intra/edge_costs.h"
#include "meshwright/intra/timeline.h"

namespace meshwright {
namespace {

Sharding WithoutPartialSums(Sharding sharding) {
  sharding.unreduced.clear();
  sharding.reduction = Reduction::kNone;
  return sharding;
}

// The strategy under which `tensor`, an operand or result of an elementwise operator, has this
// sharding.
Strategy StrategyOf(const Rule& rule, const TensorFactors& tensor, const Sharding& sharding,
                    const Mesh& mesh) {
  Strategy strategy(mesh.rank(), kNoFactor);
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    if (tensor.dims[d].empty()) continue;
    for (AxisIndex axis : sharding.dims[d]) strategy[axis] = tensor.dims[d][0];
  }
  return OrderedAs(rule, tensor, sharding, std::move(strategy), mesh);
}

class Decoder {
 public:
  Decoder(const ProblemInputs& in, const PlanningProblem& problem, const CandidateSets& sets,
          const Schedule& schedule, const std::vector<int32_t>& choice)
      : in_(in), graph_(in.graph), problem_(problem), sets_(sets), choice_(choice) {
    plan_.schedule = schedule;
    plan_.intervals = in.intervals;
    plan_.tied = in.tied;
  }

  IntraPlan Decode() {
    DecodeOps();
    DecodeShardings();
    DecodeParameters();
    DecodeEdges();
    JudgeMemory();
    std::stable_sort(
        plan_.collectives.begin(), plan_.collectives.end(), [&](const auto& a, const auto& b) {
          return plan_.schedule.time[a.user.index()] < plan_.schedule.time[b.user.index()];
        });
    plan_.objective = plan_.compute + plan_.communication;
    const std::optional<Overlap> overlap = in_.cost_model.overlap();
    plan_.step_seconds = overlap.has_value() ? StepSeconds(graph_, in_.cost_model, *overlap, plan_)
                                             : plan_.objective;
    if (overlap.has_value()) plan_.launch_seconds = overlap->LaunchSeconds(graph_, mesh().cluster);
    plan_.nodes = static_cast<int64_t>(problem_.problem.nodes.size());
    plan_.edges = static_cast<int64_t>(problem_.problem.edges.size());
    return std::move(plan_);
  }

 private:
  const Mesh& mesh() const { return in_.cost_model.mesh(); }
  const Sharding& At(const Port& port) const { return problem_.ShardingAt(sets_, port, choice_); }

  void DecodeOps() {
    plan_.ops.resize(graph_.ops.size());
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      PlannedOp& op = plan_.ops[i];
      const solve::NodeId node = problem_.node_of_op[i];
      if (!node.valid()) {
        op.rule = sets_.RuleOf(OpId(i));
        op.strategy = Strategy(mesh().rank(), kNoFactor);
        op.free = graph_.ops[i].kind == OpKind::kInstruction;
        continue;
      }
      const CandidateSet& set = *problem_.nodes[node.index()].set;
      const int32_t s = problem_.StrategyOf(node, choice_);
      if (in_.groups.is_leader(OpId(i))) {
        op.rule = set.rule;
        op.strategy = set.strategies[s];
        DecodeCost(OpId(i), node, set, s);
      } else {
        op.rule = sets_.RuleOf(OpId(i));
        op.strategy =
            StrategyOf(op.rule, op.rule.results[0], sets_.lists()[set.results[0]][s], mesh());
      }
    }
    // An output that is made wherever it is needed decides nothing, but leaves as it is fixed.
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const size_t id = graph_.outputs[i].index();
      PlannedOp& op = plan_.ops[id];
      const std::optional<Sharding>& pin = in_.pins.outputs[i];
      if (!problem_.node_of_op[id].valid() && pin.has_value() && !op.rule.operands.empty())
        op.strategy = StrategyOf(op.rule, op.rule.operands[0], *pin, mesh());
    }
  }

  // A group's cost is compute, but for all-reduces that the strategy space executes at once.
  void DecodeCost(OpId id, solve::NodeId node, const CandidateSet& set, int32_t s) {
    if (problem_.nodes[node.index()].kind != PlanningNode::Kind::kGroup) return;
    PlannedOp& op = plan_.ops[id.index()];
    op.compute_seconds = set.cost[s];
    const Scratch scratch = ScratchOf(set, s, mesh());
    const std::vector<int32_t>& times = plan_.schedule.time;
    const int32_t time = times[id.index()];
    if (scratch.bytes > 0)
      plan_.buffers.push_back({{time, time + 1}, static_cast<int64_t>(scratch.bytes)});
    if (scratch.masked > 0) {
      const int32_t last = times[LastWithSameRows(graph_, id).index()];
      if (last > time + 1)
        plan_.buffers.push_back({{time + 1, last}, static_cast<int64_t>(scratch.masked)});
    }
    if (in_.space == StrategySpace::kAlpa) {
      for (size_t r = 0; r < set.results.size(); ++r) {
        const Sharding partial = *ResultSharding(set.rule, set.strategies[s], r, mesh());
        op.compute_seconds -=
            AddCollectives(graph_[id].results[r], partial, sets_.lists()[set.results[r]][s], id,
                           graph_[id].multiplicity)
                .seconds;
      }
    }
    if (in_.pins.complete) op.compute_seconds += ScanSeconds(id);
    plan_.compute += op.compute_seconds * graph_[id].multiplicity;
  }

  // XLA's partitioner runs a cumulative sum along a sharded dimension as two loops over the
  // elements of that dimension that a device holds, one for its total and one for its sums; each
  // round starts two kernels, one that adds and one that counts.
  double ScanSeconds(OpId id) const {
    const Op& op = graph_[id];
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kReduceWindow)
      return 0;
    const std::optional<Sharding>& given = in_.pins.values[op.operands[0].index()];
    const Shape& shape = graph_[op.operands[0]].shape;
    double rounds = 0;
    for (size_t d = 0;
         given.has_value() && d < std::min(op.instruction->window.size(), shape.dims.size()); ++d) {
      const bool cumulative = op.instruction->window[d].size == shape.dims[d];
      if (!cumulative || given->dims[d].empty()) continue;
      const int64_t positions = shape.dims[d] / mesh().Size(given->dims[d]);
      rounds += static_cast<double>(positions);
    }
    constexpr int kKernels = 4;
    const Work start{.opcode = op.instruction->opcode, .bytes = 1, .kernels = kKernels};
    return rounds * in_.cost_model.ComputeSeconds(start);
  }

  // How a value is kept: as its users see it, or, if partial sums go to its only user, as that
  // wants it.
  void DecodeShardings() {
    plan_.shardings.resize(graph_.values.size());
    std::vector<bool> known(graph_.values.size(), false);
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Port& port = problem_.offered[i];
      if (!port.node.valid()) continue;
      plan_.shardings[i] = At(port);
      known[i] = plan_.shardings[i].unreduced.empty();
    }
    for (const PlanningEdge& edge : problem_.edges) {
      const size_t v = edge.value.index();
      if (known[v] || edge.from != problem_.offered[v]) continue;
      plan_.shardings[v] = WithoutPartialSums(At(edge.to));
      known[v] = true;
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const PlannedOp& op = plan_.ops[i];
      if (!problem_.node_of_op[i].valid()) continue;
      for (size_t j = 0; j < graph_.ops[i].operands.size(); ++j) {
        const size_t v = graph_.ops[i].operands[j].index();
        if (known[v] || !in_.fusion.free[v]) continue;
        plan_.shardings[v] = WithoutPartialSums(*OperandSharding(op.rule, op.strategy, j, mesh()));
        known[v] = true;
      }
      for (ValueId result : graph_.ops[i].results) {
        if (known[result.index()] || in_.groups.is_leader(OpId(i))) continue;
        plan_.shardings[result.index()] =
            WithoutPartialSums(*ResultSharding(op.rule, op.strategy, 0, mesh()));
        known[result.index()] = true;
      }
    }
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (known[i]) continue;
      plan_.shardings[i] = problem_.offered[i].node.valid()
                               ? WithoutPartialSums(plan_.shardings[i])
                               : Sharding::Replicated(graph_.values[i].shape.rank());
    }
  }

  void DecodeParameters() {
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      const PlanningNode& node = problem_.nodes[i];
      if (node.kind != PlanningNode::Kind::kParameter) continue;
      const int32_t s = problem_.StrategyOf(solve::NodeId(i), choice_);
      const Sharding& stored = sets_.lists()[node.set->stored][s];
      const Sharding& seen = sets_.lists()[node.set->results[0]][s];
      plan_.shardings[node.value.index()] = stored;
      plan_.compute += in_.cost_model.ParameterSeconds(graph_[node.value].shape, stored);
      AddCollectives(node.value, stored, seen, node.op, 1);
      if (stored == seen) continue;
      Interval copy{plan_.schedule.time[node.op.index()], plan_.schedule.time[node.op.index()] + 1};
      for (OpId user : graph_[node.value].users)
        copy.end = std::max(copy.end, plan_.schedule.time[user.index()] + 1);
      plan_.buffers.push_back({copy, BytesPerDevice(graph_[node.value].shape, seen, mesh())});
    }
  }

  void DecodeEdges() {
    for (const PlanningEdge& edge : problem_.edges) {
      Move(edge, At(edge.to));
      const int32_t strategy = problem_.StrategyOf(edge.to.node, choice_);
      for (size_t i = 0; i < edge.also.size(); ++i) {
        if (!WantedBefore(sets_.lists(), edge, i, strategy))
          Move(edge, sets_.lists()[edge.also[i]][strategy]);
      }
    }
  }

  void Move(const PlanningEdge& edge, const Sharding& to) {
    if (At(edge.from) == to) return;
    const Sharding& from = edge.kept.has_value() ? *edge.kept : At(edge.from);
    if (from == to) return;
    const int32_t time = plan_.schedule.time[edge.user.index()];
    if (in_.pins.complete || in_.as_compiled) {
      // XLA moves a value once for all users that want it alike, but for every branch of a
      // conditional that they are in by itself.
      const auto [known, first] =
          moved_.try_emplace({edge.value.index(), graph_[edge.user].branch, to}, kNoTemporary);
      if (!first) {
        if (known->second != kNoTemporary) {
          Interval& interval = plan_.buffers[known->second].first;
          interval.begin = std::min(interval.begin, time);
          interval.end = std::max(interval.end, time + 1);
        }
        return;
      }
      if (from.dims != to.dims) known->second = plan_.buffers.size();  // pushed below
    }
    const int64_t rearranged =
        AddCollectives(edge.value, from, to, edge.user, edge.multiplicity).copy_bytes;
    if (from.dims == to.dims) return;  // reduced in place
    const bool to_kept = edge.to == problem_.offered[edge.value.index()];
    const int64_t bytes = BytesPerDevice(graph_[edge.value].shape, to_kept ? from : to, mesh());
    Interval used{time, time + 1};
    if (problem_.nodes[edge.to.node.index()].kind == PlanningNode::Kind::kCopy) {
      for (OpId user : graph_[edge.value].users)
        used.end = std::max(used.end, plan_.schedule.time[user.index()] + 1);
    }
    plan_.buffers.push_back({used, bytes});
    if (!in_.pins.complete && !in_.as_compiled) return;
    // A kernel that makes the value writes it in the order the collective needs; what is in memory
    // already is copied while it is still there.
    if (!StoreForMove(edge.value, from, time) && rearranged > 0)
      plan_.buffers.push_back({{time, time + 1}, bytes});
  }

  // A collective reads memory, so what was to be fused into its users is written out where it is
  // made, and kept. False if it is in memory anyway.
  bool StoreForMove(ValueId v, const Sharding& from, int32_t until) {
    const bool fused = IsStoredForMove(in_, v);
    if (!fused || !stored_.insert(v).second) return fused;
    const OpId producer = graph_[v].producer;
    const Op& op = graph_[producer];
    plan_.buffers.push_back({{plan_.schedule.time[producer.index()], until + 1},
                             BytesPerDevice(graph_[v].shape, from, mesh())});
    const double seconds = StoreSeconds(in_, v, from);
    plan_.ops[producer.index()].compute_seconds += seconds;
    plan_.compute += seconds * op.multiplicity;
    return true;
  }

  Resharding AddCollectives(ValueId value, const Sharding& from, const Sharding& to, OpId user,
                            double multiplicity) {
    if (from == to || multiplicity == 0) return {};
    Resharding resharding = in_.cost_model.Reshard(graph_[value].shape, from, to);
    // What a loop carries is told apart from what its users see even where slices do.
    const OpKind producer = graph_[graph_[value].producer].kind;
    const bool carried = user == graph_[value].producer &&
                         (producer == OpKind::kLoopParameter || producer == OpKind::kLoopExit);
    if (!resharding.steps.empty() || carried) {
      plan_.moves.push_back({.value = value,
                             .user = user,
                             .from = from,
                             .to = to,
                             .through = Through(graph_[value].shape, from, to)});
    }
    plan_.communication += resharding.seconds * multiplicity;
    double sum = 0;
    for (const CollectiveStep& step : resharding.steps) {
      sum += in_.cost_model.CollectiveSeconds(step.kind, step.axes, step.bytes);
    }
    for (const CollectiveStep& step : resharding.steps) {
      // Published models price some reshardings as a whole; their steps share that price.
      const double share =
          in_.cost_model.CollectiveSeconds(step.kind, step.axes, step.bytes) / (sum > 0 ? sum : 1);
      plan_.collectives.push_back({.step = step,
                                   .seconds = resharding.seconds * share,
                                   .multiplicity = multiplicity,
                                   .value = value,
                                   .user = user});
    }
    if (resharding.copy_bytes > 0) {
      plan_.collectives.back().rearrange_seconds =
          in_.cost_model.RearrangeSeconds(resharding.copy_bytes);
    }
    return resharding;
  }

  // What PlannedMove::through has. Published models price other reshardings than those that XLA
  // compiles.
  std::vector<Sharding> Through(const Shape& shape, const Sharding& from, const Sharding& to) {
    if (in_.space != StrategySpace::kFull || !in_.cost_model.in_seconds()) return {};
    const auto [known, is_new] = through_.try_emplace(std::tuple(shape.ToString(false), from, to));
    if (!is_new) return known->second;
    const std::optional<std::vector<ReshardMove>> path = ReshardingPath(
        shape, from, to, mesh(), [this](CollectiveKind kind, const AxisList& axes, int64_t bytes) {
          return in_.cost_model.CollectiveSeconds(kind, axes, bytes);
        });
    for (size_t i = 0; path.has_value() && i + 1 < path->size(); ++i)
      known->second.push_back((*path)[i].after);
    return known->second;
  }

  void JudgeMemory() {
    plan_.bytes.resize(graph_.values.size());
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Port& produced = problem_.produced[i];
      const bool loop_value = produced.node.valid() && problem_.nodes[produced.node.index()].kind ==
                                                           PlanningNode::Kind::kLoopValue;
      const Sharding& kept = loop_value ? At(produced) : plan_.shardings[i];
      plan_.bytes[i] = BytesPerDevice(graph_.values[i].shape, kept, mesh());
    }
    std::vector<Interval> intervals = plan_.intervals;
    std::vector<int64_t> bytes = plan_.bytes;
    for (const auto& [interval, size] : plan_.buffers) {
      intervals.push_back(interval);
      bytes.push_back(size);
    }
    plan_.peak = ComputePeak(intervals, bytes);
    std::erase_if(plan_.peak.live, [&](ValueId v) { return v.index() >= graph_.values.size(); });
  }

  const ProblemInputs& in_;
  const Graph& graph_;
  const PlanningProblem& problem_;
  const CandidateSets& sets_;
  const std::vector<int32_t>& choice_;
  IntraPlan plan_;
  // By value, the branch of its users and what they want: index into plan_.buffers.
  static constexpr size_t kNoTemporary = ~size_t{0};
  absl::flat_hash_map<std::tuple<size_t, int32_t, Sharding>, size_t> moved_;
  // By type, from and to: what Through found.
  absl::flat_hash_map<std::tuple<std::string, Sharding, Sharding>, std::vector<Sharding>> through_;
  absl::flat_hash_set<ValueId> stored_;  // fused values that a collective needs in memory
};

}  // namespace

bool IsStoredForMove(const ProblemInputs& inputs, ValueId value) {
  const Op& op = inputs.graph[inputs.graph[value].producer];
  return !inputs.fusion.materialized[value.index()] && op.kind == OpKind::kInstruction &&
         IsElementwise(op.instruction->opcode);
}

double StoreSeconds(const ProblemInputs& inputs, ValueId value, const Sharding& sharding) {
  const Value& v = inputs.graph[value];
  const int64_t bytes = BytesPerDevice(v.shape, sharding, inputs.cost_model.mesh());
  // Written, and read by the users here.
  return inputs.cost_model.ComputeSeconds({.opcode = inputs.graph[v.producer].instruction->opcode,
                                           .element_type = v.shape.type,
                                           .bytes = 2.0 * static_cast<double>(bytes)});
}

IntraPlan DecodePlan(const ProblemInputs& inputs, const PlanningProblem& problem,
                     const CandidateSets& sets, const Schedule& schedule,
                     const std::vector<int32_t>& choice) {
  return Decoder(inputs, problem, sets, schedule, choice).Decode();
}

}  // namespace meshwright
