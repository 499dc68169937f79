#include "meshwright/inter/layers/layer_stacks.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/uniform.h"
#include "meshwright/inter/layers/loop_integers.h"
#include "meshwright/sharding/rule.h"

// A carried array is a stack if the loop does nothing with it but take and put parts at the index
// of the iteration's layer. From there stacks spread to what hangs on them outside of the loops, by
// the operators' sharding rules. Filled tensors do not spread anything: one may stand for several
// equal ones that have nothing to do with each other.

namespace meshwright {
namespace {

class StackFinder {
 public:
  StackFinder(const Graph& graph, const ProgramStructure& structure, const BatchSplit& batch,
              const Layers& layers)
      : graph_(graph), structure_(structure), batch_(batch), layers_(layers) {}

  absl::StatusOr<LayerStacks> Run() {
    out_.dimension.assign(graph_.values.size(), -1);
    out_.loop.assign(graph_.values.size(), -1);
    out_.made_whole.assign(graph_.values.size(), false);
    out_.layer_loop.assign(graph_.loops.size(), -1);
    out_.index_dimension.assign(graph_.ops.size(), -1);
    out_.combines.assign(graph_.ops.size(), Reduction::kNone);
    out_.combined_loop.assign(graph_.ops.size(), -1);
    for (size_t i = 0; i < layers_.loops.size(); ++i) {
      const LayerLoop& loop = layers_.loops[i];
      MW_RETURN_IF_ERROR(CheckLoop(loop));
      out_.layer_loop[loop.loop] = static_cast<int32_t>(i);
      FindCounts(loop);
      FindIndices(loop);
    }
    for (size_t i = 0; i < layers_.loops.size(); ++i) FindCarried(i);
    Spread();
    return std::move(out_);
  }

 private:
  absl::Status CheckLoop(const LayerLoop& loop) const {
    const Loop& l = graph_.loops[loop.loop];
    const OpId exit = structure_.first_exit[loop.loop];
    const std::string& name = graph_[exit].instruction->name;
    if (structure_.whole[exit.index()] != exit) {
      return absl::InvalidArgumentError(
          StrCat("the loop over layers \"", name, "\" stands inside another loop or conditional"));
    }
    if (!l.trip_count_known || l.trip_count != loop.count) {
      return absl::InvalidArgumentError(StrCat("the loop \"", name, "\" should run over ",
                                               loop.count, " layers, but its trip count is ",
                                               l.trip_count));
    }
    return absl::OkStatus();
  }

  void FindCounts(const LayerLoop& loop) {
    int32_t counter = -1;
    for (auto& [carry, values] : LoopIntegers(graph_, structure_, loop.loop, loop.count)) {
      const auto rises = std::adjacent_find(values.begin(), values.end(), std::greater_equal<>());
      const auto falls = std::adjacent_find(values.begin(), values.end(), std::less_equal<>());
      if (rises == values.end() || falls == values.end()) {
        counter = counter < 0 ? carry : std::min(counter, carry);
      }
      out_.counts.emplace(carry, std::move(values));
    }
    out_.counter.push_back(counter);
  }

  void FindIndices(const LayerLoop& loop) {
    const Loop& l = graph_.loops[loop.loop];
    std::vector<std::pair<OpId, size_t>> candidates;  // and the dimension
    std::vector<ValueId> indices;
    for (size_t i = l.begin.index(); i < l.end.index(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.loop != loop.loop || op.kind != OpKind::kInstruction) continue;
      const Opcode opcode = op.instruction->opcode;
      if (opcode != Opcode::kDynamicSlice && opcode != Opcode::kDynamicUpdateSlice) continue;
      const size_t first = opcode == Opcode::kDynamicSlice ? 1 : 2;
      const Shape& array = graph_[op.operands[0]].shape;
      const Shape& part =
          graph_[opcode == Opcode::kDynamicSlice ? op.results[0] : op.operands[1]].shape;
      for (size_t d = 0; d < array.dims.size() && first + d < op.operands.size(); ++d) {
        if (array.dims[d] != loop.count || part.dims[d] != 1 ||
            graph_[op.operands[first + d]].shape.rank() != 0) {
          continue;
        }
        candidates.emplace_back(OpId(i), d);
        indices.push_back(op.operands[first + d]);
      }
    }
    const auto values = LoopValues(graph_, structure_, loop.loop, loop.count, out_.counts, indices);
    for (size_t c = 0; c < candidates.size(); ++c) {
      bool of_layer = true;
      for (int32_t i = 0; i < loop.count && of_layer; ++i) {
        const int64_t entry = loop.reversed != loop.falling ? loop.count - 1 - i : i;
        of_layer = values[c].size() > static_cast<size_t>(i) && values[c][i] == entry;
      }
      int32_t& dimension = out_.index_dimension[candidates[c].first.index()];
      if (of_layer && dimension < 0) dimension = static_cast<int32_t>(candidates[c].second);
    }
  }

  // Marks the carried stacks of one layer loop.
  void FindCarried(size_t index) {
    const int32_t loop = layers_.loops[index].loop;
    const int32_t first = structure_.first_carry[loop];
    for (int32_t c = first; c < first + structure_.carry_count[loop]; ++c) {
      const Carry& carry = graph_.carries[c];
      if (out_.counts.contains(c)) continue;
      std::vector<ValueId> chain = {carry.parameter};
      int32_t dimension = -1;
      bool stack = true;
      for (size_t k = 0; k < chain.size() && stack; ++k) {
        stack = structure_.more_users[chain[k].index()].empty();
        for (OpId user : graph_[chain[k]].users) {
          const Op& op = graph_[user];
          const int32_t d = out_.index_dimension[user.index()];
          const bool takes = op.operands[0] == chain[k] &&
                             std::count(op.operands.begin(), op.operands.end(), chain[k]) == 1;
          if (d < 0 || !takes || (dimension >= 0 && d != dimension)) stack = false;
          dimension = d;
          if (stack && op.instruction->opcode == Opcode::kDynamicUpdateSlice) {
            chain.push_back(op.results[0]);
          }
        }
      }
      if (!stack || dimension < 0) continue;
      if (std::find(chain.begin(), chain.end(), carry.next) == chain.end()) continue;
      for (ValueId v : chain) Mark(v, dimension, RangeOf(index));
      Mark(carry.init, dimension, RangeOf(index));
      if (carry.exit.valid()) Mark(carry.exit, dimension, RangeOf(index));
    }
  }

  // The first layer loop over the same layers: forward and backward loop share their stacks.
  int32_t RangeOf(size_t index) const {
    for (size_t i = 0; i < index; ++i) {
      if (layers_.loops[i].first == layers_.loops[index].first &&
          layers_.loops[i].count == layers_.loops[index].count) {
        return static_cast<int32_t>(i);
      }
    }
    return static_cast<int32_t>(index);
  }

  void Mark(ValueId v, int32_t dimension, int32_t loop) {
    int32_t& known = out_.dimension[v.index()];
    const OpId producer = graph_[v].producer;
    if (known >= 0) {
      if (known != dimension || out_.loop[v.index()] != loop) {
        Block(producer, "holds layers in two ways");
      }
      return;
    }
    if (IsFilled(graph_, v)) return;
    known = dimension;
    out_.loop[v.index()] = loop;
    open_.push_back(v);
  }

  void Block(OpId op, const std::string& why) { out_.obstacles.try_emplace(op, why); }

  // Of the parameters that a value which depends on no data is computed from.
  int64_t InputBytes(ValueId value) const {
    int64_t bytes = 0;
    std::vector<ValueId> open = {value};
    absl::flat_hash_set<ValueId> seen = {value};
    const auto visit = [&](ValueId v) {
      if (v.valid() && seen.insert(v).second) open.push_back(v);
    };
    while (!open.empty()) {
      const OpId producer = graph_[open.back()].producer;
      if (graph_[producer].parameter >= 0) bytes += graph_[open.back()].shape.bytes();
      open.pop_back();
      for (ValueId operand : graph_[producer].operands) visit(operand);
      visit(graph_[producer].predicate);
      if (const int32_t c = structure_.carry[producer.index()]; c >= 0) {
        visit(graph_.carries[c].init);
        visit(graph_.carries[c].next);
      }
    }
    return bytes;
  }

  // `op` makes or reads the stack `v`, and cannot do so for part of the layers.
  void Stop(OpId op, ValueId v, const std::string& why) {
    if (graph_[v].producer == op && batch_.roles[v.index()] == BatchRole::kConstant &&
        InputBytes(v) < graph_[v].shape.bytes()) {
      out_.made_whole[v.index()] = true;
    } else {
      Block(op, why);
    }
  }

  void Spread() {
    while (!open_.empty()) {
      const ValueId v = open_.front();
      open_.pop_front();
      Visit(graph_[v].producer, v);
      for (OpId user : graph_[v].users) Visit(user, v);
      for (OpId user : structure_.more_users[v.index()]) Visit(user, v);
    }
  }

  // Spreads the stack `v` over an op that reads or makes it.
  void Visit(OpId id, ValueId v) {
    const Op& op = graph_[id];
    if (op.kind == OpKind::kOutput) return;
    if (const int32_t c = structure_.carry[id.index()]; c >= 0) {
      // Carried stacks of layer loops are all known; any other loop needs the stack as a whole.
      const Carry& carry = graph_.carries[c];
      if (out_.layer_loop[carry.loop] < 0 || out_.dimension[carry.parameter.index()] < 0) {
        Stop(id, v, "takes all layers into a loop");
      }
      return;
    }
    if (op.kind != OpKind::kInstruction) return Stop(id, v, "needs all layers");
    if (op.instruction->opcode == Opcode::kParameter) return;
    if (op.instruction->opcode == Opcode::kConstant)
      return Stop(id, v, "differs from layer to layer");
    if (out_.index_dimension[id.index()] >= 0 && out_.dimension[op.operands[0].index()] >= 0)
      return;
    const Rule rule = RuleFor(graph_, op);
    if (!rule.supported) return Stop(id, v, "is not known to treat layers by themselves");
    FactorIndex factor = kNoFactor;
    bool agree = true;
    const auto look = [&](const std::vector<ValueId>& values,
                          const std::vector<TensorFactors>& tensors) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] != v) continue;
        const auto& factors = tensors[i].dims[static_cast<size_t>(out_.dimension[v.index()])];
        const FactorIndex f = factors.empty() ? kNoFactor : factors[0];
        agree = agree && f != kNoFactor && (factor == kNoFactor || f == factor);
        factor = f;
      }
    };
    look(op.operands, rule.operands);
    look(op.results, rule.results);
    const int32_t loop = out_.loop[v.index()];
    if (!agree) return Stop(id, v, "pairs layers with each other");
    if (rule.factors[factor].kind == FactorKind::kReduction) {
      // A call may give layers and sums over them at once.
      for (const TensorFactors& result : rule.results) {
        if (HasFactor(result, factor)) return Stop(id, v, "combines layers");
      }
      if (!CombinesParts(op, rule.factors[factor].reduction)) return Stop(id, v, "combines layers");
      out_.combines[id.index()] = rule.factors[factor].reduction;
      out_.combined_loop[id.index()] = loop;
    } else if (rule.factors[factor].kind != FactorKind::kParallel) {
      return Stop(id, v, "needs all layers");
    }
    const auto mark = [&](const std::vector<ValueId>& values,
                          const std::vector<TensorFactors>& tensors) {
      for (size_t i = 0; i < values.size(); ++i) {
        for (size_t d = 0; d < tensors[i].dims.size(); ++d) {
          const auto& factors = tensors[i].dims[d];
          const auto at = std::find(factors.begin(), factors.end(), factor);
          if (at == factors.end()) continue;
          if (at != factors.begin()) return Stop(id, v, "mixes layers within a dimension");
          Mark(values[i], static_cast<int32_t>(d), loop);
        }
      }
    };
    mark(op.operands, rule.operands);
    mark(op.results, rule.results);
  }

  // Whether an op of the update phase that combines layers can do it part by part.
  bool CombinesParts(const Op& op, Reduction reduction) const {
    const size_t id = static_cast<size_t>(&op - graph_.ops.data());
    if (layers_.phase[id] != Phase::kUpdate || op.results.size() != 1) return false;
    switch (reduction) {
      case Reduction::kMax:
      case Reduction::kMin:
      case Reduction::kAnd:
      case Reduction::kOr:
        return true;  // an initial value counts any number of times
      case Reduction::kSum:
        return op.instruction->opcode != Opcode::kReduce || IsZero(graph_, op.operands[1]);
      default:
        return false;
    }
  }

  const Graph& graph_;
  const ProgramStructure& structure_;
  const BatchSplit& batch_;
  const Layers& layers_;
  LayerStacks out_;
  std::deque<ValueId> open_;
};

}  // namespace

absl::StatusOr<LayerStacks> FindStacks(const Graph& graph, const ProgramStructure& structure,
                                       const BatchSplit& batch, const Layers& layers) {
  return StackFinder(graph, structure, batch, layers).Run();
}

bool IsFilled(const Graph& graph, ValueId value) {
  const Op& op = graph[graph[value].producer];
  if (op.kind != OpKind::kInstruction) return false;
  if (op.instruction->opcode == Opcode::kConstant) return IsUniform(*op.instruction);
  return op.instruction->opcode == Opcode::kBroadcast && graph[op.operands[0]].shape.rank() == 0;
}

}  // namespace meshwright
