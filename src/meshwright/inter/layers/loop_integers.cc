#include "meshwright/inter/layers/loop_integers.h"

#include <algorithm>
#include <optional>

#include "meshwright/hlo/element_value.h"

namespace meshwright {
namespace {

// Whether `value` is one of `type`, so that nothing has wrapped around. Wider types than 32 bits
// are taken for that wide: products of two then do not overflow here, and no counter gets there.
bool Fits(ElementType type, int64_t value) {
  const bool is_unsigned = ElementTypeName(type).starts_with("u");
  const int bits = std::min(ElementBits(type), 32) - (is_unsigned ? 0 : 1);
  const int64_t limit = int64_t{1} << bits;
  return value < limit && value >= (is_unsigned ? 0 : -limit);
}

bool IsIntegerScalar(const Shape& shape) { return shape.rank() == 0 && IsInteger(shape.type); }

std::optional<bool> Compare(const std::string& direction, int64_t a, int64_t b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  if (direction == "GT") return a > b;
  if (direction == "GE") return a >= b;
  return std::nullopt;
}

// Operators that an index is made of, in a chain; each costs stack.
constexpr int kMaxEvaluationDepth = 200;

// Evaluates scalars, given those that a loop carries at one iteration.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const absl::flat_hash_map<ValueId, int64_t>& known)
      : graph_(graph), known_(known) {}

  std::optional<int64_t> Value(ValueId v) {
    if (const auto known = known_.find(v); known != known_.end()) return known->second;
    if (const auto done = done_.find(v); done != done_.end()) return done->second;
    done_[v] = std::nullopt;  // what depends on itself has no value
    if (depth_ >= kMaxEvaluationDepth) return std::nullopt;
    ++depth_;
    std::optional<int64_t> value = Compute(v);
    --depth_;
    if (value.has_value() && !Fits(graph_[v].shape.type, *value)) value.reset();
    return done_[v] = value;
  }

 private:
  std::optional<int64_t> Compute(ValueId v) {
    const Op& op = graph_[graph_[v].producer];
    const Shape& shape = graph_[v].shape;
    if (op.kind != OpKind::kInstruction || shape.rank() != 0 ||
        !(IsInteger(shape.type) || shape.type == ElementType::kPred)) {
      return std::nullopt;
    }
    const Instruction& i = *op.instruction;
    if (i.opcode == Opcode::kConstant) {
      if (i.literal.data.empty()) return std::nullopt;
      return static_cast<int64_t>(ElementAsDouble(shape.type, i.literal.data.data()));
    }
    if (op.operands.empty() || op.operands.size() > 3) return std::nullopt;
    std::optional<int64_t> in[3];
    for (size_t k = 0; k < op.operands.size(); ++k) {
      in[k] = Value(op.operands[k]);
      if (!in[k].has_value()) return std::nullopt;
    }
    switch (i.opcode) {
      case Opcode::kAdd:
        return *in[0] + *in[1];
      case Opcode::kSubtract:
        return *in[0] - *in[1];
      case Opcode::kMultiply:
        return *in[0] * *in[1];
      case Opcode::kMaximum:
        return std::max(*in[0], *in[1]);
      case Opcode::kMinimum:
        return std::min(*in[0], *in[1]);
      case Opcode::kNegate:
        return -*in[0];
      case Opcode::kConvert:
      case Opcode::kCopy:
      case Opcode::kReshape:
        return *in[0];
      case Opcode::kSelect:
        return *in[0] != 0 ? *in[1] : *in[2];
      case Opcode::kClamp:
        return std::min(std::max(*in[1], *in[0]), *in[2]);
      case Opcode::kCompare: {
        const std::optional<bool> holds = Compare(i.direction, *in[0], *in[1]);
        return holds.has_value() ? std::optional<int64_t>(*holds) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  const Graph& graph_;
  const absl::flat_hash_map<ValueId, int64_t>& known_;
  absl::flat_hash_map<ValueId, std::optional<int64_t>> done_;
  int depth_ = 0;
};

}  // namespace

absl::flat_hash_map<int32_t, std::vector<int64_t>> LoopIntegers(const Graph& graph,
                                                                const ProgramStructure& structure,
                                                                int32_t loop, int64_t trips) {
  absl::flat_hash_map<int32_t, std::vector<int64_t>> integers;
  const absl::flat_hash_map<ValueId, int64_t> nothing;
  Evaluator before(graph, nothing);
  const int32_t first = structure.first_carry[loop];
  for (int32_t c = first; c < first + structure.carry_count[loop]; ++c) {
    const Carry& carry = graph.carries[c];
    if (!IsIntegerScalar(graph[carry.parameter].shape)) continue;
    const std::optional<int64_t> start = before.Value(carry.init);
    if (start.has_value()) integers[c] = {*start};
  }
  for (int64_t trip = 0; trip < trips; ++trip) {
    absl::flat_hash_map<ValueId, int64_t> known;
    for (const auto& [c, values] : integers) known[graph.carries[c].parameter] = values.back();
    Evaluator body(graph, known);
    absl::flat_hash_map<int32_t, std::vector<int64_t>> next;
    for (auto& [c, values] : integers) {
      const std::optional<int64_t> value = body.Value(graph.carries[c].next);
      if (!value.has_value()) continue;
      values.push_back(*value);
      next[c] = std::move(values);
    }
    integers = std::move(next);
  }
  return integers;
}

std::vector<std::vector<int64_t>> LoopValues(
    const Graph& graph, const ProgramStructure& structure, int32_t loop, int64_t trips,
    const absl::flat_hash_map<int32_t, std::vector<int64_t>>& carried,
    const std::vector<ValueId>& values) {
  std::vector<std::vector<int64_t>> found(values.size());
  std::vector<bool> known_so_far(values.size(), true);
  const int32_t first = structure.first_carry[loop];
  for (int64_t trip = 0; trip < trips; ++trip) {
    absl::flat_hash_map<ValueId, int64_t> known;
    for (int32_t c = first; c < first + structure.carry_count[loop]; ++c) {
      const auto at = carried.find(c);
      if (at != carried.end()) {
        known[graph.carries[c].parameter] = at->second[static_cast<size_t>(trip)];
      }
    }
    Evaluator body(graph, known);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!known_so_far[i]) continue;
      const std::optional<int64_t> value = body.Value(values[i]);
      known_so_far[i] = value.has_value();
      if (value.has_value()) {
        found[i].push_back(*value);
      } else {
        found[i].clear();
      }
    }
  }
  return found;
}

}  // namespace meshwright
