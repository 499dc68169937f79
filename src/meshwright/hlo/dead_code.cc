#include "meshwright/hlo/dead_code.h"

#include <cstdint>
#include <utility>
#include <vector>

// Liveness goes backwards from outputs and effects over a worklist of operators. Each operator
// comes onto it once, and brings in the producers of its operands, the loop that it is in (of a
// loop the condition) and the conditionals that it is in (of a conditional the predicate).

namespace meshwright {
namespace {

class Liveness {
 public:
  explicit Liveness(const Graph& graph)
      : graph_(graph),
        live_(graph.ops.size(), false),
        loop_live_(graph.loops.size(), false),
        carry_of_op_(graph.ops.size(), -1),
        conditional_of_op_(graph.ops.size(), -1),
        outer_conditional_(graph.conditionals.size(), -1) {
    for (size_t c = 0; c < graph.carries.size(); ++c) {
      carry_of_op_[graph[graph.carries[c].parameter].producer.index()] = static_cast<int32_t>(c);
      carry_of_op_[graph[graph.carries[c].exit].producer.index()] = static_cast<int32_t>(c);
    }
    FindConditionals();
  }

  // By operator.
  std::vector<bool> Find() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      const bool root = op.kind == OpKind::kOutput ||
                        (op.kind == OpKind::kInstruction && HasEffect(*op.instruction));
      if (root) Need(OpId(i));
    }
    while (!open_.empty()) {
      const OpId op = open_.back();
      open_.pop_back();
      Follow(op);
    }
    return std::move(live_);
  }

 private:
  // Inner conditionals end first and stand before those around them: the first one that has an
  // operator is its innermost, and so for the conditionals themselves.
  void FindConditionals() {
    for (size_t c = 0; c < graph_.conditionals.size(); ++c) {
      const Conditional& conditional = graph_.conditionals[c];
      for (size_t i = conditional.begin.index(); i < conditional.end.index();) {
        int32_t inner = conditional_of_op_[i];
        if (inner < 0) {
          conditional_of_op_[i++] = static_cast<int32_t>(c);
          continue;
        }
        while (outer_conditional_[static_cast<size_t>(inner)] >= 0) {
          inner = outer_conditional_[static_cast<size_t>(inner)];
        }
        outer_conditional_[static_cast<size_t>(inner)] = static_cast<int32_t>(c);
        i = graph_.conditionals[static_cast<size_t>(inner)].end.index();
      }
    }
    conditional_live_.assign(graph_.conditionals.size(), false);
  }

  void Need(OpId op) {
    if (live_[op.index()]) return;
    live_[op.index()] = true;
    open_.push_back(op);
  }
  void Need(ValueId v) { Need(graph_[v].producer); }

  void NeedLoop(int32_t loop) {
    for (; loop >= 0 && !loop_live_[static_cast<size_t>(loop)];
         loop = graph_.loops[static_cast<size_t>(loop)].parent) {
      loop_live_[static_cast<size_t>(loop)] = true;
      Need(graph_.loops[static_cast<size_t>(loop)].condition);
    }
  }

  void NeedConditional(int32_t conditional) {
    for (; conditional >= 0 && !conditional_live_[static_cast<size_t>(conditional)];
         conditional = outer_conditional_[static_cast<size_t>(conditional)]) {
      conditional_live_[static_cast<size_t>(conditional)] = true;
      Need(graph_.conditionals[static_cast<size_t>(conditional)].predicate);
    }
  }

  void Follow(OpId id) {
    const Op& op = graph_[id];
    for (ValueId v : op.operands) Need(v);
    NeedLoop(op.loop);
    NeedConditional(conditional_of_op_[id.index()]);
    if (const int32_t c = carry_of_op_[id.index()]; c >= 0) {
      const Carry& carry = graph_.carries[static_cast<size_t>(c)];
      for (ValueId v : {carry.init, carry.parameter, carry.next, carry.exit}) Need(v);
    }
  }

  const Graph& graph_;
  std::vector<bool> live_, loop_live_, conditional_live_;
  std::vector<int32_t> carry_of_op_;        // of loop parameters and exits; else -1
  std::vector<int32_t> conditional_of_op_;  // innermost one, or -1
  std::vector<int32_t> outer_conditional_;  // by conditional: innermost one around it, or -1
  std::vector<OpId> open_;
};

// Takes out what `live` (by operator) says is dead.
class Compaction {
 public:
  Compaction(Graph& graph, const std::vector<bool>& live) : graph_(graph), live_(live) {}

  void Run() {
    NumberOps();
    NumberValues();
    NumberLoops();
    MoveOps();
    MoveValues();
    MoveLoops();
    MoveCarries();
    MoveConditionals();
    for (OpId& id : graph_.parameters) id = NewOp(id);
    for (OpId& id : graph_.outputs) id = NewOp(id);
  }

 private:
  void NumberOps() {
    size_t next = 0;
    for (size_t i = 0; i <= graph_.ops.size(); ++i) {
      new_op_.emplace_back(next);
      if (i < graph_.ops.size() && live_[i]) ++next;
    }
    ops_left_ = next;
  }
  void NumberValues() {
    size_t next = 0;
    for (const Value& value : graph_.values) {
      new_value_.push_back(live_[value.producer.index()] ? ValueId(next++) : ValueId());
    }
    values_left_ = next;
  }
  void NumberLoops() {
    int32_t next = 0;
    for (const Loop& loop : graph_.loops) new_loop_.push_back(IsEmpty(loop) ? -1 : next++);
  }

  // Where operator `id` is now; of a dead one, and of the end, where the next live one is.
  OpId NewOp(OpId id) const { return new_op_[id.index()]; }
  ValueId NewValue(ValueId v) const { return new_value_[v.index()]; }
  int32_t NewLoop(int32_t loop) const {
    return loop < 0 ? -1 : new_loop_[static_cast<size_t>(loop)];
  }
  bool IsEmpty(const auto& range) const { return NewOp(range.begin) == NewOp(range.end); }

  void MoveOps() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!live_[i]) continue;
      Op& op = graph_.ops[i];
      for (ValueId& v : op.operands) v = NewValue(v);
      for (ValueId& v : op.results) v = NewValue(v);
      if (op.predicate.valid()) op.predicate = NewValue(op.predicate);
      op.loop = NewLoop(op.loop);
      const size_t to = new_op_[i].index();
      if (to != i) graph_.ops[to] = std::move(op);
    }
    graph_.ops.resize(ops_left_);
  }

  void MoveValues() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (!new_value_[v].valid()) continue;
      Value& value = graph_.values[v];
      std::erase_if(value.users, [&](OpId user) { return !live_[user.index()]; });
      for (OpId& user : value.users) user = NewOp(user);
      value.producer = NewOp(value.producer);
      const size_t to = new_value_[v].index();
      if (to != v) graph_.values[to] = std::move(value);
    }
    graph_.values.resize(values_left_);
  }

  void MoveLoops() {
    std::vector<Loop> loops;
    for (Loop& loop : graph_.loops) {
      if (IsEmpty(loop)) continue;
      loop.parent = NewLoop(loop.parent);
      loop.begin = NewOp(loop.begin);
      loop.end = NewOp(loop.end);
      loop.condition = NewValue(loop.condition);
      loops.push_back(std::move(loop));
    }
    graph_.loops = std::move(loops);
  }

  void MoveCarries() {
    std::vector<Carry> carries;
    for (Carry& carry : graph_.carries) {
      if (!NewValue(carry.parameter).valid()) continue;
      carry.loop = NewLoop(carry.loop);
      for (ValueId* v : {&carry.init, &carry.parameter, &carry.next, &carry.exit})
        *v = NewValue(*v);
      graph_[carry.init].carried = graph_[carry.next].carried = true;
      carries.push_back(carry);
    }
    graph_.carries = std::move(carries);
  }

  void MoveConditionals() {
    std::vector<Conditional> conditionals;
    for (Conditional& conditional : graph_.conditionals) {
      if (IsEmpty(conditional)) continue;
      conditional.predicate = NewValue(conditional.predicate);
      conditional.begin = NewOp(conditional.begin);
      conditional.end = NewOp(conditional.end);
      conditionals.push_back(conditional);
    }
    graph_.conditionals = std::move(conditionals);
  }

  Graph& graph_;
  const std::vector<bool>& live_;
  std::vector<OpId> new_op_;        // by old operator, and one more for the end
  std::vector<ValueId> new_value_;  // by old value; invalid: dead
  std::vector<int32_t> new_loop_;   // by old loop; -1: nothing of it is left
  size_t ops_left_ = 0, values_left_ = 0;
};

}  // namespace

bool HasEffect(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kRngGetAndUpdateState:
      return true;
    case Opcode::kCustomCall:
      return FindAttribute(instruction, "custom_call_has_side_effect") != nullptr;
    default:
      return false;
  }
}

void DropDeadCode(Graph& graph) { Compaction(graph, Liveness(graph).Find()).Run(); }

}  // namespace meshwright
