#include "meshwright/inter/layers/batch_propagation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/uniform.h"

// States only rise (kNone < kCombined < kSplit < kMixed), and an op is looked at again when a state
// beside it has risen; so every op is looked at a few times, most of them once.

namespace meshwright {
namespace {

// Carries by the values they join.
std::vector<int32_t> CarryOfValue(const Graph& graph, std::vector<std::vector<int32_t>>* more) {
  std::vector<int32_t> first(graph.values.size(), -1);
  more->assign(graph.carries.size(), {});
  // An init or next can belong to several carries: those after the first hang on it as a chain.
  for (size_t c = 0; c < graph.carries.size(); ++c) {
    const Carry& carry = graph.carries[c];
    for (ValueId v : {carry.init, carry.parameter, carry.next, carry.exit}) {
      if (!v.valid()) continue;
      int32_t& slot = first[v.index()];
      if (slot < 0) {
        slot = static_cast<int32_t>(c);
      } else if (slot != static_cast<int32_t>(c)) {
        (*more)[slot].push_back(static_cast<int32_t>(c));
      }
    }
  }
  return first;
}

class Propagator {
 public:
  Propagator(const Graph& graph, const std::vector<bool>& may_be_data,
             const std::vector<bool>& handed_on, MicroBatchRng rng)
      : graph_(graph),
        handed_on_(handed_on),
        rng_(rng),
        carry_of_(CarryOfValue(graph, &more_carries_)),
        queued_(graph.ops.size()) {
    out_.state.assign(graph.values.size(), BatchState::kNone);
    out_.dimension.assign(graph.values.size(), -1);
    out_.combines.assign(graph.ops.size(), Reduction::kNone);
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const ValueId predicate = graph.ops[i].predicate;
      if (predicate.valid()) chosen_by_[predicate].push_back(OpId(i));
    }
    for (size_t l = 0; l < graph.loops.size(); ++l) {
      const Loop& loop = graph.loops[l];
      if (!loop.trip_count_known) loop_of_control_[loop.condition] = static_cast<int32_t>(l);
    }
    may_be_data_.assign(graph.ops.size(), false);
    for (size_t i = 0; i < graph.parameters.size(); ++i) {
      may_be_data_[graph.parameters[i].index()] = may_be_data[i];
    }
  }

  BatchPropagation Run(const std::vector<BatchSeed>& seeds) {
    batch_ = graph_[seeds[0].value].shape.dims[static_cast<size_t>(seeds[0].dimension)];
    for (const BatchSeed& seed : seeds) {
      const OpId producer = graph_[seed.value].producer;
      may_be_data_[producer.index()] = true;
      if (graph_[producer].parameter < 0) given_.insert(producer);
      Raise(seed.value, BatchState::kSplit, seed.dimension);
    }
    // In program order first: most states come from operands.
    sweeping_ = true;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      position_ = i;
      Visit(OpId(i));
    }
    sweeping_ = false;
    while (!queue_.empty()) {
      const OpId op = queue_.front();
      queue_.pop_front();
      queued_[op.index()] = false;
      Visit(op);
    }
    for (OpId parameter : graph_.parameters) {
      for (ValueId v : graph_[parameter].results) {
        if (out_.state[v.index()] == BatchState::kSplit) out_.data.push_back(parameter);
      }
    }
    for (auto& [op, why] : obstacles_) out_.obstacles.push_back({op, std::move(why)});
    for (const auto& [op, why] : whole_) out_.whole.push_back(op);
    out_.drawn_apart.assign(drawn_apart_.begin(), drawn_apart_.end());
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (NumbersSamples(graph_.ops[i])) out_.numbered.emplace_back(i);
    }
    return std::move(out_);
  }

 private:
  BatchState State(ValueId v) const { return out_.state[v.index()]; }

  void Enqueue(OpId op) {
    if (op == visited_ || queued_[op.index()] || (sweeping_ && op.index() > position_)) return;
    queued_[op.index()] = true;
    queue_.push_back(op);
  }

  // Raises `v` to `state`; a second, different dimension makes it kMixed.
  void Raise(ValueId v, BatchState state, int32_t dimension = -1) {
    BatchState& current = out_.state[v.index()];
    if (state == BatchState::kSplit && current == BatchState::kSplit &&
        out_.dimension[v.index()] != dimension) {
      const OpId producer = graph_[v].producer;
      Block(producer, StrCat("needs the batch in dimension ", dimension, " and in dimension ",
                             out_.dimension[v.index()]));
      state = BatchState::kMixed;
    }
    if (state <= current) return;
    current = state;
    out_.dimension[v.index()] = state == BatchState::kSplit ? dimension : -1;
    if (graph_[v].producer.valid()) Enqueue(graph_[v].producer);
    for (OpId user : graph_[v].users) Enqueue(user);
    if (const auto chosen = chosen_by_.find(v); chosen != chosen_by_.end()) {
      for (OpId user : chosen->second) Enqueue(user);
    }
    if (const auto control = loop_of_control_.find(v); control != loop_of_control_.end())
      Combine(control->second);
    if (carry_of_[v.index()] < 0) return;
    // Around the loop this may come back to the op at hand.
    const OpId visited = std::exchange(visited_, OpId());
    Join(graph_.carries[carry_of_[v.index()]]);
    for (int32_t c : more_carries_[carry_of_[v.index()]]) Join(graph_.carries[c]);
    visited_ = visited;
  }

  // What a loop carries depends on how often it runs.
  void Combine(int32_t loop) {
    const OpId visited = std::exchange(visited_, OpId());
    for (const Carry& carry : graph_.carries) {
      if (carry.loop == loop && !carry.invariant) Raise(carry.parameter, BatchState::kCombined);
    }
    visited_ = visited;
  }

  // A loop's carried value is one thing before, in and after the loop. What comes in may depend on
  // less than what comes around.
  void Join(const Carry& carry) {
    const auto position = static_cast<size_t>(&carry - graph_.carries.data());
    if (!handed_on_.empty() && handed_on_[position]) {
      if (carry.exit.valid() && State(carry.next) != BatchState::kNone)
        Raise(carry.exit, State(carry.next), out_.dimension[carry.next.index()]);
      return;
    }
    ValueId top = carry.init;
    for (ValueId v : {carry.parameter, carry.next, carry.exit}) {
      if (v.valid() && State(v) > State(top)) top = v;
    }
    const BatchState state = State(top);
    if (state == BatchState::kNone) return;
    const int32_t dimension = out_.dimension[top.index()];
    Raise(carry.parameter, state, dimension);
    if (carry.exit.valid()) Raise(carry.exit, state, dimension);
    if (state != BatchState::kSplit) return;
    Raise(carry.init, state, dimension);
    Raise(carry.next, state, dimension);
  }

  void Block(OpId op, const std::string& why) { obstacles_.try_emplace(op, why); }

  void RaiseResults(const Op& op, BatchState state) {
    for (ValueId v : op.results) Raise(v, state);
  }

  void Visit(OpId id) {
    const Op& op = graph_[id];
    if (op.kind == OpKind::kLoopParameter || op.kind == OpKind::kLoopExit ||
        op.kind == OpKind::kOutput || given_.contains(id)) {
      return;
    }
    visited_ = id;
    BatchState top = BatchState::kNone;
    bool split = false;
    const auto look = [&](ValueId v) { split |= State(v) == BatchState::kSplit; };
    for (ValueId v : op.operands) {
      top = std::max(top, State(v));
      look(v);
    }
    for (ValueId v : op.results) look(v);
    if (const ValueId v = graph_[id].predicate; v.valid()) top = std::max(top, State(v));
    if (split) return VisitSplit(id);
    if (top != BatchState::kNone) RaiseResults(op, top);
  }

  // An op with the batch in an operand or a result.
  void VisitSplit(OpId id) {
    const Op& op = graph_[id];
    if (DrawsApart(op)) {
      drawn_apart_.insert(id);
      return;
    }
    const std::string obstacle = SourceObstacle(op);
    if (!obstacle.empty()) {
      if (!StaysWhole(id, obstacle)) Block(id, obstacle);
      return;
    }
    const Rule rule = RuleFor(graph_, op);
    FactorIndex factor = kNoFactor;
    bool agree = true;
    const auto look = [&](const std::vector<ValueId>& values,
                          const std::vector<TensorFactors>& tensors) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (State(values[i]) != BatchState::kSplit) continue;
        const FactorIndex f = MajorFactor(tensors[i], out_.dimension[values[i].index()]);
        agree = agree && f != kNoFactor && (factor == kNoFactor || f == factor);
        factor = f;
      }
    };
    look(op.operands, rule.operands);
    look(op.results, rule.results);
    if (!agree) return Stop(id, op, "pairs samples with each other");
    const std::string why = FactorObstacle(op, rule, factor);
    if (!why.empty()) return Stop(id, op, why);
    bool minor = false;
    const auto dimensions = [&](const std::vector<TensorFactors>& tensors) {
      std::vector<int32_t> found;
      found.reserve(tensors.size());
      for (const TensorFactors& t : tensors) found.push_back(DimensionOf(t, factor, &minor));
      return found;
    };
    const std::vector<int32_t> of_operands = dimensions(rule.operands);
    const std::vector<int32_t> of_results = dimensions(rule.results);
    const bool combines = rule.factors[factor].kind == FactorKind::kReduction;
    if (minor) return Stop(id, op, "mixes samples within a dimension");
    // What nobody reads, such as the workspace of a kernel, may be of all samples.
    const auto unread = [&](size_t result) {
      return of_results[result] < 0 && !combines && graph_[op.results[result]].users.empty();
    };
    for (size_t i = 0; i < of_results.size(); ++i) {
      const int32_t d = of_results[i];
      if (unread(i)) continue;
      if (d < 0 && !combines) return Stop(id, op, "does not keep samples apart");
      if (d >= 0 && combines) return Stop(id, op, "gives samples and sums over them at once");
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (of_operands[i] >= 0 && State(op.operands[i]) != BatchState::kMixed) {
        Raise(op.operands[i], BatchState::kSplit, of_operands[i]);
      }
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (unread(i)) continue;
      Raise(op.results[i], combines ? BatchState::kCombined : BatchState::kSplit, of_results[i]);
    }
    if (combines) out_.combines[id.index()] = rule.factors[factor].reduction;
  }

  void Stop(OpId id, const Op& op, const std::string& why) {
    if (StaysWhole(id, why)) return;
    Block(id, why);
    RaiseResults(op, BatchState::kMixed);
  }

  // Whether the op can make values of all samples in every micro-batch: it depends on no data. If
  // it turns out to depend on some later, `why` stands in the way.
  bool StaysWhole(OpId id, const std::string& why) {
    const Op& op = graph_[id];
    const bool free = op.kind == OpKind::kInstruction && op.parameter < 0 &&
                      std::all_of(op.operands.begin(), op.operands.end(),
                                  [this](ValueId v) { return State(v) == BatchState::kNone; });
    if (free) {
      whole_.try_emplace(id, why);
    } else {
      whole_.erase(id);
    }
    return free;
  }

  // Random bits that each micro-batch may draw with a key of its own. The generator's state goes
  // on as it does for the whole batch, so nobody may read it.
  bool DrawsApart(const Op& op) const {
    return rng_ == MicroBatchRng::kIndependent && op.kind == OpKind::kInstruction &&
           op.instruction->opcode == Opcode::kRngBitGenerator && op.results.size() == 2 &&
           State(op.operands[0]) == BatchState::kNone &&
           State(op.results[1]) == BatchState::kSplit && !graph_[op.results[0]].is_read();
  }

  bool NumbersSamples(const Op& op) const {
    return op.kind == OpKind::kInstruction && op.instruction->opcode == Opcode::kIota &&
           State(op.results[0]) == BatchState::kSplit &&
           op.instruction->iota_dimension == out_.dimension[op.results[0].index()];
  }

  // Why the values that the program starts from cannot be divided; empty if they can.
  std::string SourceObstacle(const Op& op) const {
    if (op.kind != OpKind::kInstruction || op.results.empty()) return "";
    const int32_t d = out_.dimension[op.results[0].index()];
    switch (op.instruction->opcode) {
      case Opcode::kParameter:
        if (d != 0 || graph_[op.results[0]].shape.dims[0] != batch_) {
          return "has the batch where data inputs do not have it";
        }
        if (!may_be_data_[graph_[op.results[0]].producer.index()]) {
          return "has a dimension for the batch but is not a data input";
        }
        return "";
      case Opcode::kConstant:
        return IsUniform(*op.instruction) ? "" : "is a constant that differs from sample to sample";
      default:
        return "";
    }
  }

  // Why an op cannot work on a part of `factor`; empty if it can.
  std::string FactorObstacle(const Op& op, const Rule& rule, FactorIndex factor) const {
    const FactorKind kind = rule.factors[factor].kind;
    if (!rule.supported) return "is not known to treat samples by themselves";
    if (kind == FactorKind::kWhole) return "needs all samples at once";
    if (op.kind != OpKind::kInstruction) return "";
    bool minor = false;
    const auto has = [&](size_t operand) {
      return operand < rule.operands.size() &&
             DimensionOf(rule.operands[operand], factor, &minor) >= 0;
    };
    // Indices along the batch count from the first sample of all.
    const bool indexed =
        (op.instruction->opcode == Opcode::kGather && kind == FactorKind::kReduction) ||
        (op.instruction->opcode == Opcode::kScatter && !has(rule.operands.size() - 1));
    if (indexed) return "takes samples by their number";
    if (op.instruction->opcode == Opcode::kReduce && kind == FactorKind::kReduction) {
      for (size_t i = op.operands.size() / 2; i < op.operands.size(); ++i) {
        if (rule.factors[factor].reduction == Reduction::kSum && !IsZero(graph_, op.operands[i])) {
          return "sums over the samples from an initial value other than 0";
        }
      }
    }
    return "";
  }

  const Graph& graph_;
  const std::vector<bool>& handed_on_;
  const MicroBatchRng rng_;
  int64_t batch_ = 0;
  std::vector<std::vector<int32_t>> more_carries_;
  std::vector<int32_t> carry_of_;
  std::vector<bool> may_be_data_;                   // by OpId
  absl::flat_hash_set<OpId> given_;                 // what makes seeds that are no parameters
  std::map<ValueId, std::vector<OpId>> chosen_by_;  // results of conditionals, by predicate
  std::map<ValueId, int32_t> loop_of_control_;
  std::vector<bool> queued_;
  std::deque<OpId> queue_;
  OpId visited_;  // what it raises itself is no reason to look at it again
  bool sweeping_ = false;
  size_t position_ = 0;
  std::map<OpId, std::string> obstacles_;
  std::map<OpId, std::string> whole_;  // what would be an obstacle if it depended on data, and why
  std::set<OpId> drawn_apart_;
  BatchPropagation out_;
};

}  // namespace

BatchPropagation PropagateBatch(const Graph& graph, const std::vector<BatchSeed>& seeds,
                                const std::vector<bool>& may_be_data,
                                const std::vector<bool>& handed_on, MicroBatchRng rng) {
  return Propagator(graph, may_be_data, handed_on, rng).Run(seeds);
}

FactorIndex MajorFactor(const TensorFactors& tensor, int32_t dimension) {
  const auto& dim = tensor.dims[static_cast<size_t>(dimension)];
  return dim.empty() ? kNoFactor : dim[0];
}

int32_t DimensionOf(const TensorFactors& tensor, FactorIndex factor, bool* minor) {
  int32_t found = -1;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    for (size_t i = 0; i < tensor.dims[d].size(); ++i) {
      if (tensor.dims[d][i] != factor) continue;
      if (i > 0 || found >= 0) *minor = true;
      if (i == 0) found = static_cast<int32_t>(d);
    }
  }
  return found;
}

std::vector<bool> ReachedFromOutputs(const Graph& graph) {
  std::vector<int32_t> dimension(graph.values.size(), -1);
  std::vector<std::vector<int32_t>> more;
  const std::vector<int32_t> carry_of = CarryOfValue(graph, &more);
  for (OpId output : graph.outputs) {
    const ValueId v = graph[output].operands[0];
    if (graph[v].shape.rank() > 0) dimension[v.index()] = 0;
  }
  // Backwards through the program; around a loop at most once more.
  bool again = true;
  for (int round = 0; again && round < 2; ++round) {
    again = false;
    for (size_t i = graph.ops.size(); i-- > 0;) {
      const Op& op = graph.ops[i];
      for (size_t r = 0; r < op.results.size(); ++r) {
        const int32_t d = dimension[op.results[r].index()];
        if (d < 0) continue;
        if (op.kind == OpKind::kLoopParameter || op.kind == OpKind::kLoopExit) {
          const Carry& carry = graph.carries[carry_of[op.results[r].index()]];
          for (ValueId v : {carry.init, carry.next}) {
            if (dimension[v.index()] >= 0) continue;
            dimension[v.index()] = d;
            again |= v == carry.next && op.kind == OpKind::kLoopParameter;
          }
          continue;
        }
        const Rule rule = RuleFor(graph, op);
        const FactorIndex factor = MajorFactor(rule.results[r], d);
        if (factor == kNoFactor || rule.factors[factor].kind == FactorKind::kWhole) continue;
        for (size_t o = 0; o < op.operands.size(); ++o) {
          bool minor = false;
          const int32_t at = DimensionOf(rule.operands[o], factor, &minor);
          if (at >= 0 && dimension[op.operands[o].index()] < 0) {
            dimension[op.operands[o].index()] = at;
          }
        }
      }
    }
  }
  std::vector<bool> reached;
  for (OpId parameter : graph.parameters) {
    reached.push_back(dimension[graph[parameter].result().index()] == 0);
  }
  return reached;
}

}  // namespace meshwright
