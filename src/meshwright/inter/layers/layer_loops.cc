#include "meshwright/inter/layers/layer_loops.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/container/flat_hash_map.h"

namespace meshwright {
namespace {

constexpr int kMaxIndexDepth = 40;  // of index arithmetic

std::optional<int64_t> IntegerConstant(const Instruction& constant) {
  const int bits = ElementBits(constant.shape.type);
  if (constant.shape.rank() != 0 || constant.literal.elided || !IsInteger(constant.shape.type) ||
      constant.literal.data.size() * 8 != static_cast<size_t>(bits)) {
    return std::nullopt;
  }
  int32_t narrow = 0;
  int64_t wide = 0;
  if (bits == 32) {
    std::memcpy(&narrow, constant.literal.data.data(), sizeof(narrow));
    return narrow;
  }
  if (bits != 64) return std::nullopt;
  std::memcpy(&wide, constant.literal.data.data(), sizeof(wide));
  return wide;
}

class LoopFinder {
 public:
  LoopFinder(const Graph& graph, const BatchSplit& batch, const UnitGraph& units,
             const std::vector<Phase>& phase)
      : graph_(graph), batch_(batch), units_(units), phase_(phase) {
    for (const Carry& carry : graph.carries) carry_of_[carry.parameter] = &carry;
  }

  std::vector<LoopOverLayers> Run() const {
    std::vector<LoopOverLayers> found;
    bool backward = false;
    for (size_t u = 0; u < units_.units.size(); ++u) {
      const Unit& unit = units_.units[u];
      backward |= unit.heavy && IsPerMicroBatch(unit) && phase_[u] == Phase::kBackward;
    }
    std::vector<bool> taken(units_.units.size());
    for (size_t u = 0; u < units_.units.size(); ++u) {
      if (!MayBe(u, Phase::kForward)) continue;
      const std::optional<bool> descends = SlicedWeights(units_.units[u].loop);
      if (!descends.has_value()) continue;
      LoopOverLayers loop;
      loop.unit = static_cast<int32_t>(u);
      loop.count = static_cast<int32_t>(graph_.loops[units_.units[u].loop].trip_count);
      loop.falling = *descends;
      for (size_t b = u + 1; backward && b < units_.units.size() && loop.backward < 0; ++b) {
        if (!taken[b] && MayBe(b, Phase::kBackward) && Reverses(b, u, *descends)) {
          loop.backward = static_cast<int32_t>(b);
          taken[b] = true;
        }
      }
      if (backward && loop.backward < 0) continue;
      found.push_back(loop);
    }
    return found;
  }

 private:
  bool MayBe(size_t u, Phase phase) const {
    const Unit& unit = units_.units[u];
    if (unit.loop < 0 || !unit.heavy || !IsPerMicroBatch(unit) || phase_[u] != phase) return false;
    const Loop& loop = graph_.loops[unit.loop];
    return loop.trip_count_known && loop.trip_count >= 2 && loop.trip_count < 1 << 20;
  }

  // A scalar of loop `loop` in iteration 0 or 1.
  std::optional<int64_t> Evaluate(ValueId v, int32_t loop, int iteration, int depth = 0) const {
    if (depth > kMaxIndexDepth) return std::nullopt;
    const Op& op = graph_[graph_[v].producer];
    if (op.kind == OpKind::kLoopParameter) {
      const auto carry = carry_of_.find(v);
      if (carry == carry_of_.end()) return std::nullopt;
      const bool first = carry->second->loop != loop || iteration == 0;
      if (carry->second->loop != loop && !carry->second->invariant) return std::nullopt;
      return Evaluate(first ? carry->second->init : carry->second->next, loop, 0, depth + 1);
    }
    if (op.kind != OpKind::kInstruction || graph_[v].shape.rank() != 0) return std::nullopt;
    if (op.instruction->opcode == Opcode::kConstant) return IntegerConstant(*op.instruction);
    std::vector<int64_t> operands;
    for (ValueId operand : op.operands) {
      const auto value = Evaluate(operand, loop, iteration, depth + 1);
      if (!value.has_value()) return std::nullopt;
      operands.push_back(*value);
    }
    return Compute(*op.instruction, operands);
  }

  static std::optional<int64_t> Compute(const Instruction& op, const std::vector<int64_t>& x) {
    constexpr int64_t kLarge = int64_t{1} << 31;  // sums and products below stay in range
    if (std::any_of(x.begin(), x.end(), [&](int64_t i) { return i >= kLarge || i <= -kLarge; })) {
      return std::nullopt;
    }
    switch (op.opcode) {
      case Opcode::kConvert:
      case Opcode::kCopy:
      case Opcode::kReshape:
        return x[0];
      case Opcode::kNegate:
        return -x[0];
      case Opcode::kAdd:
        return x[0] + x[1];
      case Opcode::kSubtract:
        return x[0] - x[1];
      case Opcode::kMultiply:
        return x[0] * x[1];
      case Opcode::kMaximum:
        return std::max(x[0], x[1]);
      case Opcode::kMinimum:
        return std::min(x[0], x[1]);
      case Opcode::kClamp:
        return std::min(std::max(x[1], x[0]), x[2]);
      case Opcode::kSelect:
        return x[0] != 0 ? x[1] : x[2];
      case Opcode::kCompare:
        if (op.direction == "LT") return x[0] < x[1] ? 1 : 0;
        if (op.direction == "LE") return x[0] <= x[1] ? 1 : 0;
        if (op.direction == "GT") return x[0] > x[1] ? 1 : 0;
        if (op.direction == "GE") return x[0] >= x[1] ? 1 : 0;
        if (op.direction == "EQ") return x[0] == x[1] ? 1 : 0;
        return x[0] != x[1] ? 1 : 0;
      default:
        return std::nullopt;
    }
  }

  // Whether a dynamic-slice takes entry after entry of an array that has one for each iteration:
  // true from the last down, false from the first up; nullopt: neither.
  std::optional<bool> Descends(const Op& op, int32_t loop) const {
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kDynamicSlice ||
        op.operands.size() < 2 || op.loop != loop) {
      return std::nullopt;
    }
    const auto count = static_cast<int64_t>(graph_.loops[loop].trip_count);
    if (graph_[op.operands[0]].shape.dims[0] != count ||
        op.instruction->dynamic_slice_sizes[0] != 1) {
      return std::nullopt;
    }
    const auto first = Evaluate(op.operands[1], loop, 0),
               second = Evaluate(op.operands[1], loop, 1);
    if (!first.has_value() || !second.has_value()) return std::nullopt;
    if (*first == 0 && *second == 1) return false;
    if (*first == count - 1 && *second == count - 2) return true;
    return std::nullopt;
  }

  // How the loop goes through stacked weights, if it has any.
  std::optional<bool> SlicedWeights(int32_t loop) const {
    for (size_t i = graph_.loops[loop].begin.index(); i < graph_.loops[loop].end.index(); ++i) {
      const Op& op = graph_.ops[i];
      const std::optional<bool> descends = Descends(op, loop);
      if (!descends.has_value()) continue;
      if (batch_.roles[op.operands[0].index()] == BatchRole::kConstant) return descends;
    }
    return std::nullopt;
  }

  // Whether `b` goes through what loop `f` stacked in the opposite order.
  bool Reverses(size_t b, size_t f, bool descends) const {
    const int32_t loop = units_.units[b].loop;
    if (graph_.loops[loop].trip_count != graph_.loops[units_.units[f].loop].trip_count)
      return false;
    for (size_t i = graph_.loops[loop].begin.index(); i < graph_.loops[loop].end.index(); ++i) {
      const Op& op = graph_.ops[i];
      const std::optional<bool> down = Descends(op, loop);
      if (!down.has_value() || *down == descends) continue;
      const auto carry = carry_of_.find(op.operands[0]);
      if (carry != carry_of_.end() && ComesFrom(carry->second->init, f)) return true;
    }
    return false;
  }

  // `v` is an output of unit `f`, perhaps converted or moved since.
  bool ComesFrom(ValueId v, size_t f) const {
    for (int depth = 0; depth < kMaxIndexDepth; ++depth) {
      const auto producer = static_cast<size_t>(units_.of_value[v.index()]);
      if (producer == f) return true;
      const Unit& unit = units_.units[producer];
      if (unit.loop >= 0 || unit.inputs.size() != 1) return false;
      v = unit.inputs[0];
    }
    return false;
  }

  const Graph& graph_;
  const BatchSplit& batch_;
  const UnitGraph& units_;
  const std::vector<Phase>& phase_;
  absl::flat_hash_map<ValueId, const Carry*> carry_of_;  // by its parameter
};

}  // namespace

std::vector<LoopOverLayers> FindLoopsOverLayers(const Graph& graph, const BatchSplit& batch,
                                                const UnitGraph& units,
                                                const std::vector<Phase>& phase) {
  return LoopFinder(graph, batch, units, phase).Run();
}

}  // namespace meshwright
