#include "meshwright/plan/make/categorize.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "meshwright/hlo/opcode.h"

// A program does not say which of its arrays are weights. It shows:
//
//  * State. An entry parameter that an output replaces (donation, or by position) is carried from
//  step to
//    step; other entry parameters are inputs.
//  * Weights. State that reaches a contraction (dot, convolution, gather) through elementwise
//  operators,
//    data movement and loops belongs to the model. The walk stops at values that leave as state:
//    what happens to an updated moment or weight afterwards says nothing about the old one. Adam's
//    moments never get past that line. A weight only used elementwise (a norm's scale, a bias) gets
//    there through what it scales.
//  * Gradients. Going back from a weight's new value through elementwise operators and movement
//  that keep
//    its number of elements leads to the old weight, the moments, and the results of contractions,
//    reductions, scatters and loops. The values between the latter and the first that mixes in
//    state are its gradient.
//  * Activations. The first gradient marks where forward turns into backward; what was made before
//  it and
//    is needed after it is kept for the backward pass.
//
// Every step is a sweep over the operators; what loop bodies hand to their next round repeats one
// of them, at most once a nesting level or so. Linear otherwise.
//
// Left out: optimizers that contract a moment before storing it (Shampoo's preconditioners) show
// their state as parameters.

namespace meshwright {
namespace {

bool IsContraction(Opcode opcode) {
  switch (opcode) {
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kConvolution:
    case Opcode::kGather:
      return true;
    default:
      return false;
  }
}

// Reorders, copies or converts elements; the result is the operand in another form.
bool IsMovement(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kReducePrecision:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kTranspose:
      return true;
    default:
      return false;
  }
}

// Takes out or concatenates parts of its operands.
bool IsPartition(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
    case Opcode::kSlice:
      return true;
    default:
      return false;
  }
}

// Makes its elements out of nothing: a value of a gradient's shape, but none.
bool IsGenerated(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBroadcast:
    case Opcode::kConstant:
    case Opcode::kIota:
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
      return true;
    default:
      return false;
  }
}

class Categorizer {
 public:
  Categorizer(const Graph& graph, const std::vector<int32_t>& tied) : graph_(graph), tied_(tied) {
    FindState();
    FindWeights();
    FindStateful();
    FindGradients();
  }

  std::vector<MemoryCategory> Categorize(const Schedule& schedule,
                                         const std::vector<Interval>& intervals) const {
    const int32_t turning_point = TurningPoint(schedule);
    std::vector<MemoryCategory> categories;
    categories.reserve(graph_.values.size());
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      categories.push_back(CategoryOf(ValueId(i), intervals[i], turning_point));
    }
    return categories;
  }

 private:
  using Flags = std::vector<char>;  // by ValueId

  static Opcode OpcodeOf(const Op& op) { return op.instruction->opcode; }
  static bool Computes(const Op& op) { return op.kind == OpKind::kInstruction && op.parameter < 0; }
  static bool IsElementwiseOp(const Op& op) {
    return op.kind == OpKind::kSelectBranch ||
           (Computes(op) && (IsElementwise(OpcodeOf(op)) || IsMovement(OpcodeOf(op))));
  }
  bool SameElements(ValueId a, ValueId b) const {
    return graph_[a].shape.elements() == graph_[b].shape.elements();
  }
  ValueId ParameterValue(int32_t parameter) const {
    return graph_[graph_.parameters[static_cast<size_t>(parameter)]].result();
  }
  // The carry whose parameter or exit `v` is, or nullptr.
  const Carry* CarryOf(ValueId v) const {
    const int32_t carry = carry_of_[v.index()];
    return carry < 0 ? nullptr : &graph_.carries[static_cast<size_t>(carry)];
  }

  void FindState() {
    carry_of_.assign(graph_.values.size(), -1);
    for (size_t i = 0; i < graph_.carries.size(); ++i) {
      carry_of_[graph_.carries[i].parameter.index()] = static_cast<int32_t>(i);
      carry_of_[graph_.carries[i].exit.index()] = static_cast<int32_t>(i);
    }
    next_state_.assign(graph_.values.size(), -1);
    state_.assign(graph_.values.size(), -1);
    for (size_t i = 0; i < tied_.size(); ++i) {
      if (tied_[i] < 0) continue;
      next_state_[graph_[graph_.outputs[i]].operands[0].index()] = tied_[i];
      state_[ParameterValue(tied_[i]).index()] = tied_[i];
    }
    for (const Op& op : graph_.ops) {
      const bool moves = Computes(op) && IsMovement(OpcodeOf(op)) && op.operands.size() == 1;
      for (ValueId result : op.results) {
        if (moves) state_[result.index()] = state_[op.operands[0].index()];
        if (const Carry* carry = CarryOf(result))
          state_[result.index()] = state_[carry->init.index()];
      }
    }
    // What a loop replaces its carried state by is new state as well.
    for (const Carry& carry : graph_.carries) {
      if (state_[carry.init.index()] >= 0 && state_[carry.next.index()] < 0) {
        next_state_[carry.next.index()] = state_[carry.init.index()];
      }
    }
  }

  // By value: it reaches a contraction before it becomes new state. Users come after what they use,
  // so one backward sweep sees everything but what a loop body hands to its own next round.
  Flags ReachContraction() const {
    Flags reaches(graph_.values.size(), 0);
    const auto passes = [&](ValueId v) { return reaches[v.index()] && next_state_[v.index()] < 0; };
    bool again = true;
    while (again) {
      again = false;
      for (size_t i = graph_.ops.size(); i-- > 0;) {
        const Op& op = graph_.ops[i];
        const bool contraction = Computes(op) && IsContraction(OpcodeOf(op));
        const bool through = IsElementwiseOp(op) || (Computes(op) && IsPartition(OpcodeOf(op)));
        if (contraction || (through && std::any_of(op.results.begin(), op.results.end(), passes))) {
          for (ValueId operand : op.operands) reaches[operand.index()] = 1;
        }
        for (ValueId result : op.results) {
          const Carry* carry = CarryOf(result);
          if (carry == nullptr || !passes(result)) continue;
          reaches[carry->init.index()] = 1;
          again |= op.kind == OpKind::kLoopParameter && !reaches[carry->next.index()];
          reaches[carry->next.index()] = 1;
        }
      }
    }
    return reaches;
  }

  void FindWeights() {
    const Flags reaches = ReachContraction();
    weight_.assign(graph_.parameters.size(), 0);
    for (int32_t parameter : tied_) {
      if (parameter < 0) continue;
      weight_[static_cast<size_t>(parameter)] = reaches[ParameterValue(parameter).index()];
    }
  }

  void FindStateful() {
    stateful_.assign(graph_.values.size(), 0);
    for (const Op& op : graph_.ops) {
      for (ValueId result : op.results) {
        const Carry* carry = CarryOf(result);
        const bool carried = carry != nullptr && stateful_[carry->init.index()];
        const bool computed = IsElementwiseOp(op) &&
                              std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
                                return stateful_[v.index()] && SameElements(v, result);
                              });
        stateful_[result.index()] = state_[result.index()] >= 0 || carried || computed;
      }
    }
  }

  // Values from which a weight's new value is computed elementwise. One backward sweep.
  Flags FeedUpdates() const {
    Flags feeds(graph_.values.size(), 0);
    for (size_t i = 0; i < tied_.size(); ++i) {
      if (tied_[i] < 0 || !weight_[static_cast<size_t>(tied_[i])]) continue;
      const ValueId updated = graph_[graph_.outputs[i]].operands[0];
      feeds[updated.index()] = updated != ParameterValue(tied_[i]);
    }
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      const Op& op = graph_.ops[i];
      for (ValueId result : op.results) {
        if (!feeds[result.index()]) continue;
        if (op.kind == OpKind::kLoopExit && stateful_[result.index()]) {
          // The program makes several steps in a loop: the update is inside.
          feeds[CarryOf(result)->next.index()] = 1;
        } else if (IsElementwiseOp(op)) {
          for (ValueId operand : op.operands) {
            if (SameElements(operand, result)) feeds[operand.index()] = 1;
          }
        }
      }
    }
    return feeds;
  }

  // Of these, what a contraction, reduction, scatter or loop made and no state is mixed into.
  void FindGradients() {
    const Flags feeds = FeedUpdates();
    gradient_.assign(graph_.values.size(), 0);
    for (const Op& op : graph_.ops) {
      for (ValueId result : op.results) {
        if (!feeds[result.index()] || stateful_[result.index()] ||
            next_state_[result.index()] >= 0) {
          continue;
        }
        if (IsElementwiseOp(op)) {
          gradient_[result.index()] = std::any_of(
              op.operands.begin(), op.operands.end(),
              [&](ValueId v) { return gradient_[v.index()] && SameElements(v, result); });
        } else {
          gradient_[result.index()] =
              op.kind == OpKind::kLoopExit || (Computes(op) && !IsGenerated(OpcodeOf(op)));
        }
      }
    }
    // A gradient summed up in a loop is carried in one buffer.
    for (const Carry& carry : graph_.carries) {
      if (!gradient_[carry.exit.index()]) continue;
      gradient_[carry.parameter.index()] = gradient_[carry.next.index()] = 1;
    }
  }

  // Time of the first gradient, at which the backward pass begins; never if there is none.
  int32_t TurningPoint(const Schedule& schedule) const {
    int32_t first = std::numeric_limits<int32_t>::max();
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (gradient_[i]) first = std::min(first, schedule.time[graph_.values[i].producer.index()]);
    }
    return first;
  }

  MemoryCategory CategoryOf(ValueId v, const Interval& interval, int32_t turning_point) const {
    const int32_t state = std::max(state_[v.index()], next_state_[v.index()]);
    if (state >= 0) {
      return weight_[static_cast<size_t>(state)] ? MemoryCategory::kParameters
                                                 : MemoryCategory::kOptimizerState;
    }
    if (graph_[graph_[v].producer].parameter >= 0) return MemoryCategory::kInputs;
    if (gradient_[v.index()]) return MemoryCategory::kGradients;
    if (interval.begin < turning_point && turning_point < interval.end) {
      return MemoryCategory::kActivations;
    }
    return MemoryCategory::kTemporaries;
  }

  const Graph& graph_;
  const std::vector<int32_t>& tied_;
  // By value. Indices into graph.parameters, or -1.
  std::vector<int32_t> state_;       // the tied parameter that it is, or is a plain copy of
  std::vector<int32_t> next_state_;  // the tied parameter that it replaces
  std::vector<int32_t> carry_of_;    // index of the carry whose parameter or exit it is, or -1
  Flags stateful_;  // computed elementwise from state of the same number of elements
  Flags gradient_;
  std::vector<char> weight_;  // by index into graph.parameters
};

}  // namespace

std::vector<MemoryCategory> CategorizeValues(const Graph& graph, const std::vector<int32_t>& tied,
                                             const Schedule& schedule,
                                             const std::vector<Interval>& intervals) {
  return Categorizer(graph, tied).Categorize(schedule, intervals);
}

MemoryByCategory PeakByCategory(const PeakMemory& peak, const std::vector<int64_t>& bytes,
                                const std::vector<MemoryCategory>& categories) {
  MemoryByCategory sums{};
  int64_t rest = peak.bytes;
  for (ValueId value : peak.live) {
    sums[static_cast<size_t>(categories[value.index()])] += bytes[value.index()];
    rest -= bytes[value.index()];
  }
  sums[static_cast<size_t>(MemoryCategory::kTemporaries)] += std::max<int64_t>(rest, 0);
  return sums;
}

}  // namespace meshwright
