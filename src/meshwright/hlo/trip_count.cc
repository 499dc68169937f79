#include "meshwright/hlo/trip_count.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright/hlo/opcode.h"

// The loop is understood symbolically. Every integer that matters is `scale * carried + offset`,
// where `carried` is one element of the loop's tuple at the start of an iteration, or absent (scale
// 0: a constant). With i = init + step * n in iteration n, "condition holds" is `A * n + B <op> 0`,
// and the trip count is the first n >= 0 for which it does not hold.

namespace meshwright {
namespace {

using Int128 = __int128;
using Path = std::vector<int64_t>;

// Work and stack that one loop may cost; beyond this its trip count is unknown.
constexpr int kMaxSteps = 100000;
constexpr int kMaxEvaluationDepth = 400;

struct Linear {
  int64_t scale = 0;
  int64_t offset = 0;
  Path carried;  // if scale != 0
  bool is_constant() const { return scale == 0; }
};

std::optional<int64_t> Narrow(Int128 value) {
  if (value < std::numeric_limits<int64_t>::min() || value > std::numeric_limits<int64_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(value);
}

// a * x + b * y, if it depends on one carried element only.
std::optional<Linear> Combine(int64_t a, const Linear& x, int64_t b, const Linear& y) {
  if (!x.is_constant() && !y.is_constant() && x.carried != y.carried) return std::nullopt;
  const auto scale = Narrow(Int128{a} * x.scale + Int128{b} * y.scale);
  const auto offset = Narrow(Int128{a} * x.offset + Int128{b} * y.offset);
  if (!scale.has_value() || !offset.has_value()) return std::nullopt;
  return Linear{*scale, *offset, x.is_constant() ? y.carried : x.carried};
}

std::optional<int64_t> FoldConstants(Opcode opcode, int64_t a, int64_t b) {
  switch (opcode) {
    case Opcode::kMaximum:
      return std::max(a, b);
    case Opcode::kMinimum:
      return std::min(a, b);
    case Opcode::kDivide:
      return b == 0 ? std::nullopt : Narrow(Int128{a} / b);
    case Opcode::kRemainder:
      return b == 0 ? std::nullopt : Narrow(Int128{a} % b);
    default:
      return std::nullopt;
  }
}

bool FitsIn(ElementType type, Int128 value) {
  const int bits = ElementBits(type);
  if (!IsInteger(type) || bits < 8) return false;
  const Int128 one = 1;
  if (IsSigned(type)) return value >= -(one << (bits - 1)) && value < (one << (bits - 1));
  return value >= 0 && value < (one << bits);
}

std::optional<int64_t> ScalarInteger(const Instruction& constant) {
  const ElementType type = constant.shape.type;
  const size_t bytes = static_cast<size_t>(ElementBits(type)) / 8;
  if (!IsInteger(type) || bytes == 0 || constant.shape.elements() != 1 ||
      constant.literal.data.size() != bytes) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= uint64_t{static_cast<unsigned char>(constant.literal.data[i])} << (8 * i);
  }
  if (IsSigned(type)) {
    const int unused = static_cast<int>(64 - 8 * bytes);
    return static_cast<int64_t>(value << unused) >> unused;
  }
  return Narrow(Int128{value});
}

// One level of recursion, while it lives.
class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

class LoopAnalysis {
 public:
  LoopAnalysis(const Module& module, const Instruction& loop, const Computation& parent)
      : module_(module), loop_(loop), parent_(parent) {}

  std::optional<int64_t> TripCount();

 private:
  // A computation being evaluated, and where its parameters come from.
  struct Frame {
    const Computation* computation = nullptr;
    const Frame* caller = nullptr;
    const Instruction* call = nullptr;  // in caller's computation
    bool in_loop = false;               // without caller: parameter 0 is the carried tuple
  };
  struct Condition {
    std::string direction;
    Linear difference;  // lhs - rhs
  };

  // The integer at `path` of an instruction's value; arrays count as the number they are filled
  // with.
  std::optional<Linear> Evaluate(const Frame& frame, InstructionId id, Path path);
  std::optional<Linear> EvaluateParameter(const Frame& frame, const Instruction& parameter,
                                          const Path& path);
  std::optional<Linear> EvaluateArithmetic(const Frame& frame, const Instruction& instruction);
  std::optional<Condition> EvaluateCondition(const Frame& frame, InstructionId id);
  // A carried element that starts from a constant and that the body leaves unchanged is the
  // constant.
  std::optional<Linear> EvaluateCarried(const Path& path);
  std::optional<int64_t> Init(const Path& path);
  std::optional<Frame> Callee(const Frame& frame, const Instruction& call) const;

  const Module& module_;
  const Instruction& loop_;
  const Computation& parent_;
  int steps_ = 0;
  int depth_ = 0;
  bool looking_for_invariance_ = false;
};

std::optional<LoopAnalysis::Frame> LoopAnalysis::Callee(const Frame& frame,
                                                        const Instruction& call) const {
  if (call.called.size() != 1 || !call.called[0].valid() ||
      call.called[0].index() >= module_.computations.size()) {
    return std::nullopt;
  }
  return Frame{&module_[call.called[0]], &frame, &call, false};
}

std::optional<int64_t> LoopAnalysis::Init(const Path& path) {
  if (loop_.operands.size() != 1) return std::nullopt;
  const Frame outside{&parent_, nullptr, nullptr, false};
  const std::optional<Linear> init = Evaluate(outside, loop_.operands[0], path);
  if (!init.has_value() || !init->is_constant()) return std::nullopt;
  return init->offset;
}

std::optional<Linear> LoopAnalysis::EvaluateCarried(const Path& path) {
  const Linear unknown{1, 0, path};
  if (looking_for_invariance_) return unknown;
  const Frame body{&module_[loop_.called[1]], nullptr, nullptr, true};
  looking_for_invariance_ = true;
  const std::optional<Linear> next = Evaluate(body, body.computation->root, path);
  looking_for_invariance_ = false;
  const bool invariant =
      next.has_value() && next->scale == 1 && next->offset == 0 && next->carried == path;
  if (!invariant) return unknown;
  const std::optional<int64_t> init = Init(path);
  return init.has_value() ? Linear{0, *init, {}} : unknown;
}

std::optional<Linear> LoopAnalysis::EvaluateParameter(const Frame& frame,
                                                      const Instruction& parameter,
                                                      const Path& path) {
  if (frame.caller != nullptr) {
    const int64_t number = parameter.parameter_number;
    if (number < 0 || number >= static_cast<int64_t>(frame.call->operands.size())) {
      return std::nullopt;
    }
    return Evaluate(*frame.caller, frame.call->operands[static_cast<size_t>(number)], path);
  }
  if (!frame.in_loop || parameter.parameter_number != 0) return std::nullopt;
  return EvaluateCarried(path);
}

std::optional<Linear> LoopAnalysis::EvaluateArithmetic(const Frame& frame,
                                                       const Instruction& instruction) {
  if (instruction.operands.size() != 2) return std::nullopt;
  const std::optional<Linear> x = Evaluate(frame, instruction.operands[0], {});
  if (!x.has_value()) return std::nullopt;
  const std::optional<Linear> y = Evaluate(frame, instruction.operands[1], {});
  if (!y.has_value()) return std::nullopt;
  switch (instruction.opcode) {
    case Opcode::kAdd:
      return Combine(1, *x, 1, *y);
    case Opcode::kSubtract:
      return Combine(1, *x, -1, *y);
    case Opcode::kMultiply:
      if (x->is_constant()) return Combine(x->offset, *y, 0, Linear());
      if (y->is_constant()) return Combine(y->offset, *x, 0, Linear());
      return std::nullopt;
    default: {
      if (!x->is_constant() || !y->is_constant()) return std::nullopt;
      const auto folded = FoldConstants(instruction.opcode, x->offset, y->offset);
      if (!folded.has_value()) return std::nullopt;
      return Linear{0, *folded, {}};
    }
  }
}

std::optional<Linear> LoopAnalysis::Evaluate(const Frame& frame, InstructionId id, Path path) {
  if (!id.valid() || id.index() >= frame.computation->instructions.size()) return std::nullopt;
  if (++steps_ > kMaxSteps || depth_ >= kMaxEvaluationDepth) return std::nullopt;
  const DepthGuard guard(depth_);
  const Instruction& instruction = (*frame.computation)[id];
  const std::vector<InstructionId>& operands = instruction.operands;
  switch (instruction.opcode) {
    case Opcode::kParameter:
      return EvaluateParameter(frame, instruction, path);
    case Opcode::kConstant: {
      const std::optional<int64_t> value = ScalarInteger(instruction);
      if (!value.has_value() || !path.empty()) return std::nullopt;
      return Linear{0, *value, {}};
    }
    case Opcode::kTuple: {
      if (path.empty() || path[0] >= static_cast<int64_t>(operands.size())) return std::nullopt;
      const InstructionId element = operands[static_cast<size_t>(path[0])];
      path.erase(path.begin());
      return Evaluate(frame, element, std::move(path));
    }
    case Opcode::kGetTupleElement:
      if (operands.size() != 1 || instruction.tuple_index < 0) return std::nullopt;
      path.insert(path.begin(), instruction.tuple_index);
      return Evaluate(frame, operands[0], std::move(path));
    case Opcode::kConvert:
      if (!IsInteger(instruction.shape.type)) return std::nullopt;
      [[fallthrough]];
    case Opcode::kCopy:
    case Opcode::kBitcast:
    case Opcode::kReshape:
    case Opcode::kBroadcast:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
      if (operands.empty()) return std::nullopt;
      return Evaluate(frame, operands[0], std::move(path));
    case Opcode::kNegate: {
      if (operands.size() != 1) return std::nullopt;
      const std::optional<Linear> x = Evaluate(frame, operands[0], {});
      if (!x.has_value()) return std::nullopt;
      return Combine(-1, *x, 0, Linear());
    }
    case Opcode::kCall:
    case Opcode::kFusion: {
      const std::optional<Frame> callee = Callee(frame, instruction);
      if (!callee.has_value()) return std::nullopt;
      return Evaluate(*callee, callee->computation->root, std::move(path));
    }
    default:
      return path.empty() ? EvaluateArithmetic(frame, instruction) : std::nullopt;
  }
}

std::optional<LoopAnalysis::Condition> LoopAnalysis::EvaluateCondition(const Frame& frame,
                                                                       InstructionId id) {
  if (!id.valid() || id.index() >= frame.computation->instructions.size()) return std::nullopt;
  if (++steps_ > kMaxSteps || depth_ >= kMaxEvaluationDepth) return std::nullopt;
  const DepthGuard guard(depth_);
  const Instruction& instruction = (*frame.computation)[id];
  switch (instruction.opcode) {
    case Opcode::kCompare: {
      if (instruction.operands.size() != 2) return std::nullopt;
      const std::optional<Linear> lhs = Evaluate(frame, instruction.operands[0], {});
      const std::optional<Linear> rhs = Evaluate(frame, instruction.operands[1], {});
      if (!lhs.has_value() || !rhs.has_value()) return std::nullopt;
      const std::optional<Linear> difference = Combine(1, *lhs, -1, *rhs);
      if (!difference.has_value()) return std::nullopt;
      return Condition{instruction.direction, *difference};
    }
    case Opcode::kCopy:
    case Opcode::kBitcast:
      if (instruction.operands.size() != 1) return std::nullopt;
      return EvaluateCondition(frame, instruction.operands[0]);
    case Opcode::kCall:
    case Opcode::kFusion: {
      const std::optional<Frame> callee = Callee(frame, instruction);
      if (!callee.has_value()) return std::nullopt;
      return EvaluateCondition(*callee, callee->computation->root);
    }
    default:
      return std::nullopt;
  }
}

// The first n >= 0 for which `a * n + b <direction> 0` does not hold.
std::optional<Int128> FirstFailure(std::string_view direction, Int128 a, Int128 b) {
  if (direction == "GT") return FirstFailure("LT", -a, -b);
  if (direction == "GE") return FirstFailure("LE", -a, -b);
  if (direction == "LT") {
    if (b >= 0) return 0;
    if (a <= 0) return std::nullopt;
    return (-b + a - 1) / a;
  }
  if (direction == "LE") {
    if (b > 0) return 0;
    if (a <= 0) return std::nullopt;
    return -b / a + 1;
  }
  if (direction == "NE") {
    if (b == 0) return 0;
    if (a == 0 || -b % a != 0 || -b / a < 0) return std::nullopt;
    return -b / a;
  }
  if (direction == "EQ") {
    if (b != 0) return 0;
    if (a == 0) return std::nullopt;
    return 1;
  }
  return std::nullopt;
}

// The element type at `path` of `shape`; kInvalid if there is none.
ElementType TypeAt(const Shape& shape, const Path& path) {
  const Shape* element = &shape;
  for (int64_t i : path) {
    if (i < 0 || i >= static_cast<int64_t>(element->tuple.size())) return ElementType::kInvalid;
    element = &element->tuple[static_cast<size_t>(i)];
  }
  return element->type;
}

std::optional<int64_t> LoopAnalysis::TripCount() {
  if (loop_.called.size() != 2) return std::nullopt;
  for (ComputationId called : loop_.called) {
    if (!called.valid() || called.index() >= module_.computations.size()) return std::nullopt;
  }
  const Frame condition_frame{&module_[loop_.called[0]], nullptr, nullptr, true};
  const auto condition = EvaluateCondition(condition_frame, condition_frame.computation->root);
  if (!condition.has_value()) return std::nullopt;
  if (condition->difference.is_constant()) {  // never entered, or endless
    const auto count = FirstFailure(condition->direction, 0, condition->difference.offset);
    return count.has_value() ? Narrow(*count) : std::nullopt;
  }
  const Path& induction = condition->difference.carried;

  const Frame body{&module_[loop_.called[1]], nullptr, nullptr, true};
  const std::optional<Linear> next = Evaluate(body, body.computation->root, induction);
  if (!next.has_value() || next->scale != 1 || next->carried != induction) return std::nullopt;
  const std::optional<int64_t> init = Init(induction);
  if (!init.has_value()) return std::nullopt;

  const Int128 scale = condition->difference.scale;
  const std::optional<Int128> count = FirstFailure(condition->direction, scale * next->offset,
                                                   scale * *init + condition->difference.offset);
  if (!count.has_value() || !Narrow(*count).has_value()) return std::nullopt;
  // A counter that wraps around before the condition fails is not what was computed above.
  const ElementType type = TypeAt(loop_.shape, induction);
  if (!FitsIn(type, *init + *count * next->offset)) return std::nullopt;
  return Narrow(*count);
}

// `{"known_trip_count":{"n":"32"},...}`, also with its quotes escaped.
std::optional<int64_t> KnownTripCount(std::string_view backend_config) {
  constexpr std::string_view kKey = "known_trip_count";
  size_t at = backend_config.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  at = backend_config.find_first_not_of("\"\\:{ n", at + kKey.size());
  Int128 count = 0;
  const size_t digits = at;
  while (at < backend_config.size() &&
         std::isdigit(static_cast<unsigned char>(backend_config[at])) &&
         Narrow(count).has_value()) {
    count = count * 10 + (backend_config[at++] - '0');
  }
  if (at == digits) return std::nullopt;
  return Narrow(count);
}

}  // namespace

std::optional<int64_t> TripCount(const Module& module, const Instruction& while_instruction,
                                 const Computation& parent) {
  const std::optional<int64_t> known = KnownTripCount(while_instruction.backend_config);
  if (known.has_value()) return known;
  return LoopAnalysis(module, while_instruction, parent).TripCount();
}

}  // namespace meshwright
