#include "meshwright/inter/layers/phases.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace meshwright {
namespace {

class PhaseFinder {
 public:
  PhaseFinder(const Graph& graph, const BatchSplit& batch, const std::vector<int32_t>& tied,
              const UnitGraph& units)
      : graph_(graph),
        batch_(batch),
        tied_(tied),
        units_(units),
        phase_(units.units.size(), Phase::kUpdate) {
    for (const Carry& carry : graph.carries) {
      if (!carry.exit.valid() || units.units[units.of_value[carry.exit.index()]].loop >= 0)
        continue;
      const Op& op = graph[graph[carry.next].producer];
      if (op.kind == OpKind::kInstruction &&
          op.instruction->opcode == Opcode::kDynamicUpdateSlice &&
          graph[op.operands[1]].shape.elements() == 1)
        stacks_.insert(carry.exit);
    }
  }

  std::vector<Phase> Run() {
    const std::vector<bool> forward = ForwardUnits();
    for (size_t u = 0; u < phase_.size(); ++u) {
      if (!IsPerMicroBatch(units_.units[u])) continue;
      phase_[u] = forward[u] ? Phase::kForward : Phase::kBackward;
    }
    PlaceOutputs();
    PlaceConstants();
    return std::move(phase_);
  }

 private:
  BatchRole Role(ValueId v) const { return batch_.roles[v.index()]; }
  const Unit& Producer(ValueId v) const { return units_.units[units_.of_value[v.index()]]; }
  ValueId Output(size_t i) const { return graph_[graph_.outputs[i]].operands[0]; }

  // Values that `open` are computed from, and those themselves.
  std::vector<bool> Ancestors(std::vector<ValueId> open) const {
    std::vector<bool> reached(graph_.values.size());
    for (ValueId v : open) reached[v.index()] = true;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      for (ValueId input : Producer(v).inputs) {
        if (reached[input.index()]) continue;
        reached[input.index()] = true;
        open.push_back(input);
      }
    }
    return reached;
  }

  // A scalar is of rank 0, or one such entry an iteration.
  bool IsScalar(ValueId v) const { return graph_[v].shape.rank() == 0 || stacks_.contains(v); }

  // Sums of rank 0 from which outputs are computed by scalars alone. Gradients of scalar weights
  // are no losses: new weights are computed from them.
  std::vector<ValueId> Losses() const {
    std::vector<ValueId> results, weights;
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId v = Output(i);
      if (Role(v) != BatchRole::kAfter && Role(v) != BatchRole::kAccumulated) continue;
      if (tied_[i] >= 0) {
        weights.push_back(v);
      } else if (IsScalar(v)) {
        results.push_back(v);
      }
    }
    const auto after = [&](ValueId v) { return Role(v) == BatchRole::kAfter; };
    const auto late = [&](ValueId v) { return after(v) || Role(v) == BatchRole::kAccumulated; };
    // No further than to a sum.
    const auto from = [&](const std::vector<ValueId>& open, bool scalars) {
      std::vector<bool> seen(graph_.values.size());
      std::vector<ValueId> stack = open;
      for (ValueId v : open) seen[v.index()] = true;
      while (!stack.empty()) {
        const ValueId v = stack.back();
        stack.pop_back();
        if (!after(v)) continue;
        for (ValueId input : Producer(v).inputs) {
          if (seen[input.index()] || !late(input)) continue;
          if (scalars && !IsScalar(input)) continue;
          seen[input.index()] = true;
          stack.push_back(input);
        }
      }
      return seen;
    };
    const std::vector<bool> to_results = from(results, true), to_weights = from(weights, false);
    std::vector<ValueId> losses, others;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId v(i);
      if (!to_results[i] || Role(v) != BatchRole::kAccumulated || !IsScalar(v)) continue;
      (to_weights[i] ? others : losses).push_back(v);
    }
    return losses.empty() ? others : losses;
  }

  // Sums that outputs and what comes once a step are computed from.
  std::vector<ValueId> Gradients() const {
    std::vector<ValueId> gradients;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId v(i);
      if (Role(v) != BatchRole::kAccumulated || IsScalar(v)) continue;
      const auto late = [&](int32_t u) { return !IsPerMicroBatch(units_.units[u]); };
      const std::vector<int32_t>& users = units_.users[i];
      if (std::any_of(users.begin(), users.end(), late)) gradients.push_back(v);
    }
    return gradients;
  }

  std::vector<bool> ForwardUnits() const {
    const std::vector<bool> all(units_.units.size(), true);
    const std::vector<ValueId> gradients = Gradients();
    if (gradients.empty()) return all;
    const std::vector<ValueId> losses = Losses();
    std::vector<bool> forward;
    if (losses.empty()) {
      forward = NeededByAll(gradients);
    } else {
      forward.assign(units_.units.size(), false);
      const std::vector<bool> reached = Ancestors(losses);
      for (size_t i = 0; i < reached.size(); ++i) {
        if (reached[i]) forward[units_.of_value[i]] = true;
      }
    }
    return HasBackward(forward) ? forward : all;
  }

  // Otherwise the sums are results of a forward pass: all matmuls stand before them.
  bool HasBackward(const std::vector<bool>& forward) const {
    for (size_t u = 0; u < forward.size(); ++u) {
      if (units_.units[u].heavy && IsPerMicroBatch(units_.units[u]) && !forward[u]) return true;
    }
    return false;
  }

  // Sixty-four gradients a pass.
  std::vector<bool> NeededByAll(const std::vector<ValueId>& gradients) const {
    std::vector<bool> all(units_.units.size(), true);
    for (size_t first = 0; first < gradients.size(); first += 64) {
      const size_t count = std::min<size_t>(64, gradients.size() - first);
      const uint64_t full = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
      std::vector<uint64_t> needed_by(units_.units.size(), 0);
      for (size_t i = 0; i < count; ++i) {
        needed_by[units_.of_value[gradients[first + i].index()]] |= uint64_t{1} << i;
      }
      for (size_t u = units_.units.size(); u-- > 0;) {
        all[u] = all[u] && needed_by[u] == full;
        for (ValueId v : units_.units[u].inputs) {
          needed_by[units_.of_value[v.index()]] |= needed_by[u];
        }
      }
    }
    return all;
  }

  void PlaceOutputs() {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId v = Output(i);
      if (Role(v) == BatchRole::kSplit) {
        phase_[units_.of_op[graph_.outputs[i].index()]] = phase_[units_.of_value[v.index()]];
      }
    }
  }

  void PlaceConstants() {
    for (size_t u = units_.units.size(); u-- > 0;) {
      if (units_.units[u].role != BatchRole::kConstant) continue;
      for (ValueId v : units_.units[u].outputs) {
        for (int32_t user : units_.users[v.index()]) phase_[u] = std::min(phase_[u], phase_[user]);
      }
    }
  }

  const Graph& graph_;
  const BatchSplit& batch_;
  const std::vector<int32_t>& tied_;
  const UnitGraph& units_;
  absl::flat_hash_set<ValueId> stacks_;  // what loops whose operators are units make of scalars
  std::vector<Phase> phase_;
};

}  // namespace

std::vector<Phase> FindPhases(const Graph& graph, const BatchSplit& batch,
                              const std::vector<int32_t>& tied, const UnitGraph& units) {
  return PhaseFinder(graph, batch, tied, units).Run();
}

}  // namespace meshwright
