#include "meshwright/inter/layers/own_micro_batches.h"

#include <algorithm>
#include <utility>

#include "meshwright/hlo/uniform.h"
#include "meshwright/inter/layers/batch_propagation.h"
#include "meshwright/inter/layers/batch_roles.h"
#include "meshwright/sharding/rule.h"

// FindBatch gives up where samples are taken by their number: all that follows is mixed. Here the
// batch is followed from the data through what prepares it, as far as the operators that take parts
// of it. From there on it is the batch of a part.

namespace meshwright {
namespace {

class PartFinder {
 public:
  PartFinder(const Graph& graph, const BatchSplit& batch)
      : graph_(graph),
        weights_(graph.values.size()),
        dimension_(graph.values.size(), -1),
        slice_(graph.values.size()),
        init_(graph.values.size()) {
    for (const Carry& carry : graph.carries) init_[carry.parameter.index()] = carry.init;
    for (OpId parameter : graph.parameters) {
      const ValueId v = graph[parameter].result();
      const bool data =
          std::find(batch.data.begin(), batch.data.end(), parameter) != batch.data.end();
      if (data) dimension_[v.index()] = 0;
      weights_[v.index()] = !data && !IsInteger(graph[v].shape.type) && graph[v].shape.rank() > 0;
    }
  }

  // The parts that are not taken apart again; empty: there are none, they are not alike, or the
  // network takes the data as a whole and only a loss, say, parts of it.
  std::vector<BatchSeed> Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) Visit(graph_.ops[i]);
    std::vector<BatchSeed> seeds;
    if (whole_meets_weights_) return seeds;
    for (const Part& part : parts_) {
      if (part.again) continue;
      if (part.seed.dimension < 0 || !part.even) return {};
      seeds.push_back(part.seed);
      if (SizeOf(part.seed) != SizeOf(seeds[0])) return {};
    }
    return !seeds.empty() && SizeOf(seeds[0]) > 1 ? seeds : std::vector<BatchSeed>();
  }

 private:
  struct Part {
    BatchSeed seed;
    bool even = false;   // one of several of its size
    bool again = false;  // other parts are taken from it
  };

  int64_t SizeOf(const BatchSeed& seed) const {
    return graph_[seed.value].shape.dims[static_cast<size_t>(seed.dimension)];
  }

  void Visit(const Op& op) {
    if (op.results.empty() || op.parameter >= 0) return;
    if (op.kind == OpKind::kLoopParameter) return Follow(init_[op.results[0].index()], op);
    ValueId from;
    bool weights = false, whole = false;
    for (ValueId v : op.operands) {
      weights = weights || weights_[v.index()];
      if (dimension_[v.index()] < 0) continue;
      whole = whole || slice_[v.index()] == 0;
      if (!from.valid()) from = v;
    }
    if (weights) {
      whole_meets_weights_ = whole_meets_weights_ || whole;
      return Mark(op);
    }
    if (!from.valid()) return;
    if (TakesPart(op)) return AddPart(op);
    const Rule rule = RuleFor(graph_, op);
    const auto operand = std::find(op.operands.begin(), op.operands.end(), from);
    const FactorIndex factor =
        MajorFactor(rule.operands[static_cast<size_t>(operand - op.operands.begin())],
                    dimension_[from.index()]);
    if (factor == kNoFactor || rule.factors[factor].kind == FactorKind::kWhole) return;
    for (size_t r = 0; r < op.results.size(); ++r) {
      bool minor = false;
      dimension_[op.results[r].index()] = DimensionOf(rule.results[r], factor, &minor);
      slice_[op.results[r].index()] = slice_[from.index()];
    }
  }

  void Mark(const Op& op) {
    for (ValueId v : op.results) weights_[v.index()] = true;
  }

  // A loop's parameter is what comes in.
  void Follow(ValueId init, const Op& parameter) {
    const size_t v = parameter.results[0].index();
    weights_[v] = weights_[init.index()];
    dimension_[v] = dimension_[init.index()];
    slice_[v] = slice_[init.index()];
  }

  bool TakesPart(const Op& op) const {
    if (op.kind != OpKind::kInstruction) return false;
    const Opcode opcode = op.instruction->opcode;
    if (opcode != Opcode::kSlice && opcode != Opcode::kDynamicSlice) return false;
    const int32_t d = dimension_[op.operands[0].index()];
    return d >= 0 && graph_[op.results[0]].shape.dims[static_cast<size_t>(d)] <
                         graph_[op.operands[0]].shape.dims[static_cast<size_t>(d)];
  }

  // One raw key of JAX's random numbers for each part.
  static bool IsRandomKey(const Shape& shape) {
    return shape.type == ElementType::kU32 && shape.elements() <= 4;
  }

  void AddPart(const Op& op) {
    const ValueId v = op.results[0];
    const size_t before = slice_[op.operands[0].index()];
    if (before > 0) parts_[before - 1].again = true;
    const Shape& shape = graph_[v].shape;
    if (IsRandomKey(shape)) return;
    int32_t d = dimension_[op.operands[0].index()];
    const int64_t size = shape.dims[static_cast<size_t>(d)];
    const int64_t all = graph_[op.operands[0]].shape.dims[static_cast<size_t>(d)];
    if (size == 1) d = d + 1 < shape.rank() ? d + 1 : -1;
    parts_.push_back({{v, d}, size > 0 && all % size == 0});
    dimension_[v.index()] = d;
    slice_[v.index()] = parts_.size();
  }

  const Graph& graph_;
  std::vector<bool> weights_;       // by ValueId: depends on weights
  std::vector<int32_t> dimension_;  // by ValueId: has the batch there, and depends on no weights
  std::vector<size_t> slice_;       // by ValueId: the part it is of, counted from 1; 0: of all
  std::vector<ValueId> init_;       // by ValueId: of a loop's parameter
  std::vector<Part> parts_;
  bool whole_meets_weights_ = false;
};

// By ValueId: is computed from one of `parameters`; what a loop carries, before it.
std::vector<bool> DependOnData(const Graph& graph, const std::vector<OpId>& parameters) {
  std::vector<bool> depend(graph.values.size());
  std::vector<ValueId> before(graph.values.size());
  for (const Carry& carry : graph.carries) before[carry.parameter.index()] = carry.init;
  for (OpId parameter : parameters) depend[graph[parameter].result().index()] = true;
  for (const Op& op : graph.ops) {
    bool any = false;
    for (ValueId v : op.operands) any = any || depend[v.index()];
    for (ValueId v : op.results) {
      const ValueId init = before[v.index()];
      if (any || (init.valid() && depend[init.index()])) depend[v.index()] = true;
    }
  }
  return depend;
}

}  // namespace

std::optional<OwnMicroBatches> FindOwnMicroBatches(const Graph& graph, const BatchSplit& batch,
                                                   const std::vector<int32_t>& tied) {
  const std::vector<BatchSeed> seeds = PartFinder(graph, batch).Run();
  if (seeds.empty()) return std::nullopt;
  OwnMicroBatches own;
  own.loops.assign(graph.loops.size(), false);
  for (const BatchSeed& seed : seeds) {
    const OpId op = graph[seed.value].producer;
    own.batch.data.push_back(op);
    for (int32_t loop = graph[op].loop; loop >= 0; loop = graph.loops[loop].parent)
      own.loops[static_cast<size_t>(loop)] = true;
  }
  const std::vector<bool> data = DependOnData(graph, batch.data);
  std::vector<bool> handed_on;
  for (const Carry& carry : graph.carries) {
    handed_on.push_back(own.loops[static_cast<size_t>(carry.loop)] && !carry.invariant &&
                        !data[carry.init.index()] && !IsZero(graph, carry.init));
  }
  const BatchPropagation propagation =
      PropagateBatch(graph, seeds, std::vector<bool>(graph.parameters.size()), handed_on);
  own.batch.size = graph[seeds[0].value].shape.dims[static_cast<size_t>(seeds[0].dimension)];
  AssignRoles(graph, propagation, tied, &own.batch);
  for (size_t v = 0; v < graph.values.size(); ++v)
    own.constant.push_back(own.batch.roles[v] == BatchRole::kConstant && !data[v]);
  return own;
}

}  // namespace meshwright
