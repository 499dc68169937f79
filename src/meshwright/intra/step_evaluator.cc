#include "meshwright/intra/step_evaluator.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "meshwright/intra/edge_costs.h"

namespace meshwright {

StepEvaluator::StepEvaluator(const ProblemInputs& inputs, const CandidateSets& sets,
                             const PlanningProblem& planning, const Overlap& overlap,
                             const Schedule& schedule)
    : in_(inputs),
      sets_(sets),
      planning_(planning),
      simulation_(inputs.graph, inputs.cost_model, overlap),
      schedule_(schedule) {
  const Graph& graph = inputs.graph;
  for (size_t i = 0; i < planning.nodes.size(); ++i) {
    const PlanningNode& node = planning.nodes[i];
    if (node.kind == PlanningNode::Kind::kParameter)
      moves_.push_back({false, static_cast<int32_t>(i), node.op});
  }
  for (size_t e = 0; e < planning.edges.size(); ++e) {
    if (planning.edges[e].multiplicity > 0)
      moves_.push_back({true, static_cast<int32_t>(e), planning.edges[e].user});
  }
  for (size_t v = 0; v < graph.values.size(); ++v)
    fused_.push_back(IsStoredForMove(inputs, ValueId(v)));
  stored_.assign(graph.values.size(), 0);
  moved_call_.assign(graph.values.size(), 0);
  moved_to_.resize(graph.values.size());
  absl::flat_hash_map<std::string, int32_t> shapes;
  for (const Value& value : graph.values) {
    const auto number = static_cast<int32_t>(shapes.size());
    shape_.push_back(shapes.try_emplace(value.shape.ToString(false), number).first->second);
  }
  work_ = static_cast<int64_t>(graph.ops.size() + moves_.size());
  kernels_.assign(graph.ops.size(), 0);
}

void StepEvaluator::AddMove(const MoveRef& move, ValueId value, const Sharding& from,
                            const Sharding& to, double runs) {
  if (from == to) return;
  const auto [known, fresh] = known_.try_emplace({shape_[value.index()], {from, to}});
  if (fresh) {
    const Resharding resharding = in_.cost_model.Reshard(in_.graph[value].shape, from, to);
    for (const CollectiveStep& step : resharding.steps) {
      known->second.push_back(
          {.step = step,
           .seconds = in_.cost_model.CollectiveSeconds(step.kind, step.axes, step.bytes)});
    }
    if (resharding.copy_bytes > 0 && !known->second.empty()) {
      known->second.back().rearrange_seconds =
          in_.cost_model.RearrangeSeconds(resharding.copy_bytes);
    }
  }
  for (const StepCollective& collective : known->second) {
    StepCollective& added = found_.emplace_back(collective);
    added.runs = runs;
    added.value = value;
    added.user = move.user;
    found_move_.push_back(move);
  }
}

void StepEvaluator::AddEdge(const MoveRef& move, const std::vector<int32_t>& choice) {
  const PlanningEdge& edge = planning_.edges[static_cast<size_t>(move.index)];
  const Sharding& offered = planning_.ShardingAt(sets_, edge.from, choice);
  const Sharding& from = edge.kept.has_value() ? *edge.kept : offered;
  const auto move_to = [&](const Sharding& to) {
    if (offered == to || from == to) return;
    // Moved once for all users in one branch that want it alike.
    std::vector<std::pair<int32_t, Sharding>>& moved = moved_to_[edge.value.index()];
    const std::pair<int32_t, Sharding> wanted(in_.graph[edge.user].branch, to);
    if (std::exchange(moved_call_[edge.value.index()], calls_) != calls_) moved.clear();
    if (std::find(moved.begin(), moved.end(), wanted) != moved.end()) return;
    moved.push_back(wanted);
    AddMove(move, edge.value, from, to, edge.multiplicity);
    const size_t v = edge.value.index();
    if (!fused_[v] || stored_[v] == calls_ || from.dims == to.dims) return;
    stored_[v] = calls_;
    const OpId producer = in_.graph[edge.value].producer;
    kernels_[producer.index()] +=
        StoreSeconds(in_, edge.value, from) * in_.graph[producer].multiplicity;
  };
  move_to(planning_.ShardingAt(sets_, edge.to, choice));
  const int32_t strategy = planning_.StrategyOf(edge.to.node, choice);
  for (size_t i = 0; i < edge.also.size(); ++i) {
    if (!WantedBefore(sets_.lists(), edge, i, strategy))
      move_to(sets_.lists()[edge.also[i]][strategy]);
  }
}

double StepEvaluator::Seconds(const std::vector<int32_t>& choice) {
  ++calls_;
  kernels_.assign(kernels_.size(), 0);
  for (size_t i = 0; i < planning_.nodes.size(); ++i) {
    const PlanningNode& node = planning_.nodes[i];
    if (node.kind != PlanningNode::Kind::kGroup) continue;
    kernels_[node.op.index()] = node.set->cost[planning_.StrategyOf(solve::NodeId(i), choice)] *
                                in_.graph[node.op].multiplicity;
  }
  found_.clear();
  found_move_.clear();
  for (const MoveRef& move : moves_) {
    if (move.edge) {
      AddEdge(move, choice);
      continue;
    }
    const auto i = static_cast<size_t>(move.index);
    const PlanningNode& node = planning_.nodes[i];
    const int32_t s = planning_.StrategyOf(solve::NodeId(i), choice);
    AddMove(move, node.value, sets_.lists()[node.set->stored][s],
            sets_.lists()[node.set->results[0]][s], 1);
  }
  order_.resize(found_.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto time = [&](int32_t i) {
    return schedule_.time[found_move_[static_cast<size_t>(i)].user.index()];
  };
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int32_t a, int32_t b) { return time(a) < time(b); });
  collectives_.clear();
  move_of_.clear();
  for (int32_t i : order_) {
    collectives_.push_back(found_[static_cast<size_t>(i)]);
    move_of_.push_back(found_move_[static_cast<size_t>(i)]);
  }
  return simulation_.Seconds(kernels_, schedule_.time, collectives_);
}

StepEvaluator::Hidden StepEvaluator::HiddenShares() const {
  Hidden hidden;
  hidden.nodes.assign(planning_.nodes.size(), 0);
  hidden.edges.assign(planning_.edges.size(), 0);
  std::vector<double> node_seconds(hidden.nodes.size(), 0), edge_seconds(hidden.edges.size(), 0);
  const std::vector<double> shares = simulation_.HiddenShares();
  double all = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const StepCollective& c = collectives_[i];
    const double seconds = (c.seconds + c.rearrange_seconds) * c.runs;
    const auto index = static_cast<size_t>(move_of_[i].index);
    (move_of_[i].edge ? hidden.edges : hidden.nodes)[index] += shares[i] * seconds;
    (move_of_[i].edge ? edge_seconds : node_seconds)[index] += seconds;
    hidden.mean += shares[i] * seconds;
    all += seconds;
  }
  for (size_t i = 0; i < hidden.nodes.size(); ++i) {
    hidden.nodes[i] = node_seconds[i] > 0 ? hidden.nodes[i] / node_seconds[i] : -1;
  }
  for (size_t i = 0; i < hidden.edges.size(); ++i) {
    hidden.edges[i] = edge_seconds[i] > 0 ? hidden.edges[i] / edge_seconds[i] : -1;
  }
  if (all > 0) hidden.mean /= all;
  return hidden;
}

}  // namespace meshwright
