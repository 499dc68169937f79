#include "meshwright/inter/layers/statistic_obstacles.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace meshwright {
namespace {

class ObstacleFinder {
 public:
  ObstacleFinder(const Graph& graph, const BatchPropagation& propagation,
                 const std::vector<int32_t>& tied, const BatchSplit& split)
      : graph_(graph), propagation_(propagation), tied_(tied), split_(split) {
    for (const Carry& carry : graph.carries) {
      carry_of_[graph[carry.parameter].producer] = &carry;
      if (carry.exit.valid()) carry_of_[graph[carry.exit].producer] = &carry;
      carried_[carry.init].push_back(&carry);
      carried_[carry.next].push_back(&carry);
    }
  }

  std::vector<BatchPropagation::Obstacle> Run() {
    const auto& roles = split_.roles;
    if (std::find(roles.begin(), roles.end(), BatchRole::kStatistic) == roles.end()) return {};
    for (size_t i = 0; i < tied_.size(); ++i) {
      if (tied_[i] >= 0) {
        FindUpdatedTwice(graph_[graph_.outputs[i]].operands[0],
                         graph_[graph_.parameters[tied_[i]]].result());
      }
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Reduction combines = propagation_.combines[i];
      if (combines == Reduction::kNone || combines == Reduction::kSum) continue;
      for (ValueId v : graph_.ops[i].results) {
        if (IsStatistic(v) && NeededOnce(v)) {
          obstacles_.push_back({OpId(i), "combines the samples by something else than a sum"});
        }
      }
    }
    return std::move(obstacles_);
  }

 private:
  bool IsStatistic(ValueId v) const { return split_.roles[v.index()] == BatchRole::kStatistic; }

  // Values of the dimensions of `from` that it is computed from element by element, also around
  // loops, in the order in which they are found.
  std::vector<ValueId> ElementwiseAncestors(ValueId from) const {
    std::vector<ValueId> found = {from};
    absl::flat_hash_set<ValueId> seen = {from};
    const auto visit = [&](ValueId v) {
      if (graph_[v].shape.dims == graph_[from].shape.dims && seen.insert(v).second) {
        found.push_back(v);
      }
    };
    for (size_t i = 0; i < found.size(); ++i) {
      const OpId producer = graph_[found[i]].producer;
      const Op& op = graph_[producer];
      if (const auto carry = carry_of_.find(producer); carry != carry_of_.end()) {
        visit(carry->second->init);
        visit(carry->second->next);
      } else if (op.kind == OpKind::kInstruction && IsElementwise(op.instruction->opcode)) {
        for (ValueId operand : op.operands) visit(operand);
      }
    }
    return found;
  }

  // Between a parameter and its new value stands a statistic.
  void FindUpdatedTwice(ValueId updated, ValueId parameter) {
    for (ValueId v : ElementwiseAncestors(updated)) {
      if (!IsStatistic(v) || v == updated) continue;
      const std::vector<ValueId> before = ElementwiseAncestors(v);
      if (std::find(before.begin(), before.end(), parameter) == before.end()) continue;
      obstacles_.push_back({graph_[v].producer, "updates a weight that samples need afterwards"});
      return;
    }
  }

  // Whether something that comes once a step, or an output, is computed from statistic `v`.
  bool NeededOnce(ValueId v) const {
    std::vector<ValueId> open = {v};
    absl::flat_hash_set<ValueId> seen = {v};
    bool needed = false;
    const auto visit = [&](ValueId w) {
      needed |= split_.roles[w.index()] == BatchRole::kAfter;
      if (IsStatistic(w) && seen.insert(w).second) open.push_back(w);
    };
    while (!open.empty() && !needed) {
      const ValueId w = open.back();
      open.pop_back();
      for (OpId user : graph_[w].users) {
        needed |= graph_[user].kind == OpKind::kOutput;
        for (ValueId result : graph_[user].results) visit(result);
      }
      const auto carried = carried_.find(w);
      if (carried == carried_.end()) continue;
      for (const Carry* carry : carried->second) {
        visit(carry->parameter);
        if (carry->exit.valid()) visit(carry->exit);
      }
    }
    return needed;
  }

  const Graph& graph_;
  const BatchPropagation& propagation_;
  const std::vector<int32_t>& tied_;
  const BatchSplit& split_;
  absl::flat_hash_map<OpId, const Carry*> carry_of_;                 // of loop parameters and exits
  absl::flat_hash_map<ValueId, std::vector<const Carry*>> carried_;  // as init or next
  std::vector<BatchPropagation::Obstacle> obstacles_;
};

}  // namespace

std::vector<BatchPropagation::Obstacle> FindStatisticObstacles(const Graph& graph,
                                                               const BatchPropagation& propagation,
                                                               const std::vector<int32_t>& tied,
                                                               const BatchSplit& split) {
  return ObstacleFinder(graph, propagation, tied, split).Run();
}

}  // namespace meshwright
