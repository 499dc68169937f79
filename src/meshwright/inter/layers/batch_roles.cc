#include "meshwright/inter/layers/batch_roles.h"

#include <algorithm>
#include <map>
#include <utility>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/reduction.h"
#include "meshwright/hlo/uniform.h"
#include "meshwright/inter/layers/obstacle_texts.h"
#include "meshwright/inter/layers/statistic_obstacles.h"
#include "meshwright/intra/planner.h"

// A value combined over the batch is a statistic where a split value needs it, however indirectly.
// Of the others those are accumulated that are sums over the batch by themselves or linear in such
// sums; the largest consistent set of them is taken, so that sums which loops carry are in it.

namespace meshwright {
namespace {

// f(a + b) = f(a) + f(b), and f of a sum is no more work than f of its parts: for operands that are
// sums; all others must be constant.
enum class Linear { kNo, kMove, kAdd, kScale };

Linear LinearKind(const Graph& graph, const Op& op) {
  const Instruction& instruction = *op.instruction;
  switch (instruction.opcode) {
    case Opcode::kConvert:
    case Opcode::kTranspose:
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kCopy:
      return Linear::kMove;
    case Opcode::kCustomCall:
      return instruction.custom_call_target == "Sharding" ? Linear::kMove : Linear::kNo;
    case Opcode::kAdd:
    case Opcode::kSubtract:
      return Linear::kAdd;
    case Opcode::kNegate:
    case Opcode::kBroadcast:
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kSelect:
    case Opcode::kMultiply:
    case Opcode::kDivide:
    case Opcode::kDot:
    case Opcode::kConvolution:
      return Linear::kScale;
    case Opcode::kReduce:
      if (op.operands.size() != 2 || !IsZero(graph, op.operands[1]) ||
          ClassifyBody(*graph.module, instruction.called[0]) != BodyKind::kAdd) {
        return Linear::kNo;
      }
      // JAX sums over dimensions of size 1 where they were broadcast.
      return graph[op.operands[0]].shape.elements() == graph[op.results[0]].shape.elements()
                 ? Linear::kMove
                 : Linear::kScale;
    default:
      return Linear::kNo;
  }
}

class RoleAssigner {
 public:
  RoleAssigner(const Graph& graph, const BatchPropagation& batch, const std::vector<int32_t>& tied,
               BatchSplit* split)
      : graph_(graph),
        batch_(batch),
        tied_(tied),
        split_(*split),
        statistic_(graph.values.size()),
        sum_(graph.values.size()),
        carries_(graph.ops.size(), nullptr) {
    for (const Carry& carry : graph.carries) {
      carries_[graph[carry.parameter].producer.index()] = &carry;
      if (carry.exit.valid()) carries_[graph[carry.exit].producer.index()] = &carry;
      carried_by_[carry.init].push_back(&carry);
      carried_by_[carry.next].push_back(&carry);
    }
  }

  void Run() {
    FindMicroBatchLoops();
    FindStatistics();
    FindSums();
    for (size_t i = 0; i < graph_.values.size(); ++i) split_.roles.push_back(RoleOf(ValueId(i)));
    split_.dimension = batch_.dimension;
    ListStatistics();
    ListRandomBits();
    ListObstacles();
  }

 private:
  BatchState State(ValueId v) const { return batch_.state[v.index()]; }
  bool Combined(ValueId v) const { return State(v) == BatchState::kCombined; }
  bool Divided(ValueId v) const { return State(v) >= BatchState::kSplit; }
  const Op& Producer(ValueId v) const { return graph_[graph_[v].producer]; }

  BatchRole RoleOf(ValueId v) const {
    if (State(v) == BatchState::kNone) return BatchRole::kConstant;
    if (Divided(v)) return BatchRole::kSplit;
    if (statistic_[v.index()]) return BatchRole::kStatistic;
    return sum_[v.index()] ? BatchRole::kAccumulated : BatchRole::kAfter;
  }

  // An op that works on a part of the batch.
  bool WorksOnPart(const Op& op) const {
    const auto divided = [&](ValueId v) { return Divided(v); };
    return std::any_of(op.operands.begin(), op.operands.end(), divided) ||
           std::any_of(op.results.begin(), op.results.end(), divided);
  }

  void FindMicroBatchLoops() {
    once_each_.assign(graph_.loops.size(), false);
    for (const Op& op : graph_.ops) {
      if (op.loop >= 0 && !once_each_[op.loop] && WorksOnPart(op)) {
        for (int32_t l = op.loop; l >= 0; l = graph_.loops[l].parent) once_each_[l] = true;
      }
    }
  }
  bool InMicroBatchLoop(const Op& op) const { return op.loop >= 0 && once_each_[op.loop]; }

  void FindStatistics() {
    std::vector<ValueId> open;
    const auto need = [&](ValueId v) {
      if (!Combined(v) || statistic_[v.index()]) return;
      statistic_[v.index()] = true;
      open.push_back(v);
    };
    const auto need_predicate = [&](const Op& op) {
      if (op.predicate.valid()) need(op.predicate);
    };
    for (const Op& op : graph_.ops) {
      if (op.kind == OpKind::kOutput || !WorksOnPart(op)) continue;
      for (ValueId v : op.operands) need(v);
      need_predicate(op);
    }
    // A split value that a loop carries may come from a statistic.
    for (const Carry& carry : graph_.carries) {
      if (!Divided(carry.parameter)) continue;
      need(carry.init);
      need(carry.next);
    }
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (const Carry* carry = carries_[graph_[v].producer.index()]; carry != nullptr) {
        need(carry->init);
        need(carry->next);
        if (const ValueId control = ControlOf(*carry); control.valid()) need(control);
        continue;
      }
      for (ValueId operand : Producer(v).operands) need(operand);
      need_predicate(Producer(v));
    }
  }

  bool IsSum(ValueId v) const { return sum_[v.index()]; }

  void FindSums() {
    std::vector<ValueId> open;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      sum_[i] = Combined(ValueId(i)) && !statistic_[i];
      if (sum_[i]) open.emplace_back(i);
    }
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (!IsSum(v) || MayBeSum(v)) continue;
      sum_[v.index()] = false;
      for (OpId user : graph_[v].users) {
        for (ValueId result : graph_[user].results) open.push_back(result);
      }
      const auto carried = carried_by_.find(v);
      if (carried == carried_by_.end()) continue;
      for (const Carry* carry : carried->second) {
        open.push_back(carry->parameter);
        if (carry->exit.valid()) open.push_back(carry->exit);
      }
    }
  }

  // Whether `v` is a sum over the batch if the values taken for sums so far are.
  bool MayBeSum(ValueId v) const {
    const Op& op = Producer(v);
    if (const Carry* carry = carries_[graph_[v].producer.index()]; carry != nullptr) {
      const auto fits = [&](ValueId c) { return IsSum(c) || IsZero(graph_, c); };
      if (const ValueId control = ControlOf(*carry); control.valid() && Combined(control))
        return false;
      return fits(carry->init) && (IsSum(carry->next) || carry->next == carry->parameter);
    }
    const Reduction combines = batch_.combines[graph_[v].producer.index()];
    if (combines != Reduction::kNone) return combines == Reduction::kSum;
    if (op.kind == OpKind::kSelectBranch) return SelectsSum(op);
    return op.kind == OpKind::kInstruction && IsLinear(op);
  }

  // What decides how often the loop of a carry runs; invalid if its trip count is known.
  ValueId ControlOf(const Carry& carry) const {
    const Loop& loop = graph_.loops[carry.loop];
    return loop.trip_count_known ? ValueId() : loop.condition;
  }

  // The same branch for all micro-batches, and a sum in each.
  bool SelectsSum(const Op& op) const {
    if (State(op.predicate) != BatchState::kNone) return false;
    return std::all_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return IsSum(v) || IsZero(graph_, v); });
  }

  bool IsLinear(const Op& op) const {
    const Linear kind = LinearKind(graph_, op);
    if (kind == Linear::kNo) return false;
    size_t sums = 0;
    for (ValueId v : op.operands) {
      if (Combined(v) && !IsSum(v)) return false;
      sums += Combined(v) ? 1 : 0;
    }
    const auto constant = [&](size_t i) { return !Combined(op.operands[i]); };
    const auto sum_or_zero = [&](size_t i) {
      return !constant(i) || IsZero(graph_, op.operands[i]);
    };
    const bool inside = InMicroBatchLoop(op);
    if (kind == Linear::kAdd) return sum_or_zero(0) && sum_or_zero(1);
    if (kind == Linear::kMove) {
      const Value& operand = graph_[op.operands[0]];
      // Rounded once is better than rounded for each micro-batch.
      const bool exact =
          ElementBits(graph_[op.results[0]].shape.type) >= ElementBits(operand.shape.type);
      return inside || (exact && operand.only_user().valid());
    }
    if (!inside) return false;
    const size_t n = op.operands.size();
    switch (op.instruction->opcode) {
      case Opcode::kDynamicUpdateSlice:
        for (size_t i = 2; i < n; ++i) {
          if (!constant(i)) return false;
        }
        return sum_or_zero(0) && sum_or_zero(1);
      case Opcode::kSelect:
        return constant(0) && sum_or_zero(1) && sum_or_zero(2);
      case Opcode::kPad:
        return !constant(0) && sum_or_zero(1);
      case Opcode::kConcatenate:
        for (size_t i = 0; i < n; ++i) {
          if (!sum_or_zero(i)) return false;
        }
        return true;
      case Opcode::kMultiply:
      case Opcode::kDot:
      case Opcode::kConvolution:
        return sums == 1;
      default:  // the first operand, whole or in parts
        return sums == 1 && !constant(0);
    }
  }

  void ListStatistics() {
    std::string first;
    int64_t others = -1;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (batch_.combines[i] == Reduction::kNone || op.results.empty()) continue;
      const auto statistic = [&](ValueId v) { return statistic_[v.index()]; };
      if (!std::any_of(op.results.begin(), op.results.end(), statistic)) continue;
      if (batch_.combines[i] == Reduction::kSum) split_.statistics.push_back(OpId(i));
      if (++others == 0) first = op.name;
      if (batch_.combines[i] == Reduction::kProduct) {
        Obstruct(OpId(i), "multiplies over the samples");
      }
    }
    for (const auto& obstacle : FindStatisticObstacles(graph_, batch_, tied_, split_)) {
      Obstruct(obstacle.op, obstacle.why);
    }
    if (others < 0) return;
    split_.several_warnings.push_back(StrCat(
        first,
        others > 0 ? StrCat(" and ", others, " more operators combine") : std::string(" combines"),
        " values over the batch that are needed for every sample: each micro-batch takes its own, "
        "so the results are not the whole program's (--micro-batches 1 keeps them)"));
  }

  // Random bits: who gets which.
  void ListRandomBits() {
    split_.numbered = batch_.numbered;
    split_.whole = batch_.whole;
    split_.drawn_apart = batch_.drawn_apart;
    if (!split_.drawn_apart.empty()) {
      split_.several_warnings.push_back(StrCat(
          OpsText(graph_, split_.drawn_apart, "draws", "draw"),
          " random bits by a key of its own for each micro-batch, so the results are not the "
          "whole program's (--micro-batch-rng exact keeps them)"));
    }
    std::vector<OpId> generators;
    for (OpId op : split_.whole) {
      if (graph_[op].instruction->opcode == Opcode::kRngBitGenerator) generators.push_back(op);
    }
    if (generators.empty()) return;
    split_.several_warnings.push_back(
        StrCat(OpsText(graph_, generators, "draws", "draw"),
               " the random bits of the whole batch in every micro-batch, which takes its part "
               "(--micro-batch-rng independent lets each draw its own, where nobody reads the "
               "generator's state)"));
  }

  // Sums that are none, and what comes once a step in the middle of what comes once a micro-batch.
  void ListObstacles() {
    for (const BatchPropagation::Obstacle& obstacle : batch_.obstacles) {
      Obstruct(obstacle.op, obstacle.why);
    }
    for (size_t l = 0; l < graph_.loops.size(); ++l) {
      if (once_each_[l] && !graph_.loops[l].trip_count_known) {
        Obstruct(graph_.loops[l].begin, "is in a loop that may run as long as the samples say");
      }
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      for (ValueId v : op.results) {
        if (RoleOf(v) != BatchRole::kAfter) continue;
        if (batch_.combines[i] != Reduction::kNone) {
          Obstruct(OpId(i), "combines the samples by something else than a sum");
        } else if (InMicroBatchLoop(op) || LeavesMicroBatchLoop(OpId(i))) {
          Obstruct(OpId(i), "uses a sum over all samples in a loop that also computes such sums");
        }
      }
    }
    for (const auto& [op, why] : obstructions_) split_.indivisible.push_back(op);
    split_.warnings = ObstacleTexts(graph_, obstructions_);
  }
  bool LeavesMicroBatchLoop(OpId op) const {
    const Carry* carry = carries_[op.index()];
    return carry != nullptr && once_each_[carry->loop];
  }
  void Obstruct(OpId op, const std::string& why) { obstructions_.try_emplace(op, why); }

  const Graph& graph_;
  const BatchPropagation& batch_;
  const std::vector<int32_t>& tied_;
  BatchSplit& split_;
  std::vector<bool> statistic_, sum_;  // by ValueId
  std::vector<const Carry*> carries_;  // by OpId: of loop parameters and exits
  std::map<ValueId, std::vector<const Carry*>> carried_by_;  // as init or next
  std::vector<bool> once_each_;                              // by loop: runs for every micro-batch
  std::map<OpId, std::string> obstructions_;
};

}  // namespace

void AssignRoles(const Graph& graph, const BatchPropagation& propagation,
                 const std::vector<int32_t>& tied, BatchSplit* split) {
  RoleAssigner(graph, propagation, tied, split).Run();
}

}  // namespace meshwright
