#include "meshwright/inter/slice/partial_sums.h"

#include <algorithm>

#include "meshwright/hlo/reduction.h"
#include "meshwright/hlo/uniform.h"

namespace meshwright {
namespace {

bool Contains(const std::vector<int64_t>& list, int64_t d) {
  return std::find(list.begin(), list.end(), d) != list.end();
}

class Finder {
 public:
  Finder(const SliceContext& context, int64_t micro_batches, int64_t parts)
      : c_(context), graph_(context.graph), micro_batches_(micro_batches), parts_(parts) {
    out_.made.assign(graph_.ops.size(), false);
    out_.sums.assign(graph_.values.size(), false);
  }

  PartialSums Run() {
    if (parts_ == 1 || micro_batches_ == 1) return std::move(out_);
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId v(i);
      if (!IsUpdated(v) || !CanBeMade(v)) continue;
      out_.sums[i] = true;
      Make(graph_[v].producer);
    }
    return std::move(out_);
  }

 private:
  // Made for each micro-batch, and read by nothing but the update phase of the layer.
  bool IsUpdated(ValueId v) const {
    const Value& value = graph_[v];
    if (!IsPlain(value.producer) || value.carried || value.users.empty() ||
        !c_.structure.more_users[v.index()].empty())
      return false;
    const OpPlace& made = c_.place[value.producer.index()];
    return std::all_of(value.users.begin(), value.users.end(), [&](OpId user) {
      const OpPlace& place = c_.place[user.index()];
      return graph_[user].kind == OpKind::kInstruction && graph_[user].loop < 0 &&
             graph_[user].branch < 0 && place.phase == Phase::kUpdate && !place.floating &&
             place.begin == made.begin && place.end == made.end;
    });
  }

  // A sum over the batch of one layer and each micro-batch, outside of loops and conditionals.
  bool IsPlain(OpId id) const {
    const Op& op = graph_[id];
    const OpPlace& place = c_.place[id.index()];
    return op.kind == OpKind::kInstruction && op.loop < 0 && op.branch < 0 &&
           op.results.size() == 1 && !place.floating && !place.by_layer &&
           place.phase != Phase::kUpdate &&
           c_.batch.roles[op.results[0].index()] == BatchRole::kAccumulated &&
           c_.stacks.dimension[op.results[0].index()] < 0 &&
           graph_[op.results[0]].shape.rank() > 0 && IsFloating(graph_[op.results[0]].shape.type);
  }

  // Whether `v` can be made in parts, from what its operators read.
  bool CanBeMade(ValueId v) const {
    const OpId id = graph_[v].producer;
    if (!IsPlain(id)) return false;
    const Op& op = graph_[id];
    switch (op.instruction->opcode) {
      case Opcode::kDot:
      case Opcode::kReduce:
        return SumsOverBatch(op);
      case Opcode::kConvert:
      case Opcode::kCopy:
      case Opcode::kReshape:
      case Opcode::kTranspose:
        return HandsOn(id, op.operands[0]);
      case Opcode::kAdd:
      case Opcode::kSubtract:
        return HandsOn(id, op.operands[0]) && HandsOn(id, op.operands[1]);
      default:
        return false;
    }
  }

  // `op` alone reads `v`, which can be made in parts, and is of the same layer.
  bool HandsOn(OpId op, ValueId v) const {
    return graph_[v].only_user() == op && c_.structure.more_users[v.index()].empty() &&
           c_.place[graph_[v].producer.index()].begin == c_.place[op.index()].begin && CanBeMade(v);
  }

  // Of a micro-batch; -1: it runs not over the batch.
  int32_t BatchDimension(ValueId v) const {
    const int32_t d = c_.batch.dimension[v.index()];
    if (d < 0 || graph_[v].shape.dims[d] / micro_batches_ % parts_ != 0) return -1;
    return d;
  }

  bool SumsOverBatch(const Op& op) const {
    const Instruction& instruction = *op.instruction;
    if (instruction.opcode == Opcode::kDot) {
      const int32_t lhs = BatchDimension(op.operands[0]);
      const int32_t rhs = BatchDimension(op.operands[1]);
      const std::vector<int64_t>& contracted = instruction.dot.lhs_contracting;
      const auto at = std::find(contracted.begin(), contracted.end(), lhs);
      return op.operands.size() == 2 && at != contracted.end() && rhs >= 0 &&
             instruction.dot.rhs_contracting[at - contracted.begin()] == rhs;
    }
    const int32_t d = BatchDimension(op.operands[0]);
    if (op.operands.size() != 2 || !Contains(instruction.dimensions, d) ||
        !IsZero(graph_, op.operands[1]) ||
        ClassifyBody(*graph_.module, instruction.called[0]) != BodyKind::kAdd)
      return false;
    // The parts come first by themselves.
    for (int32_t before = 0; before < d; ++before) {
      if (!Contains(instruction.dimensions, before)) return false;
    }
    return true;
  }

  void Make(OpId id) {
    out_.made[id.index()] = true;
    const Op& op = graph_[id];
    const Opcode opcode = op.instruction->opcode;
    if (opcode == Opcode::kDot || opcode == Opcode::kReduce) return;
    for (ValueId v : op.operands) Make(graph_[v].producer);
  }

  const SliceContext& c_;
  const Graph& graph_;
  const int64_t micro_batches_, parts_;
  PartialSums out_;
};

}  // namespace

PartialSums FindPartialSums(const SliceContext& context, int64_t micro_batches, int64_t parts) {
  return Finder(context, micro_batches, parts).Run();
}

Shape WithParts(Shape shape, int64_t parts) {
  shape.dims.insert(shape.dims.begin(), 1);
  if (!shape.dynamic.empty()) shape.dynamic.insert(shape.dynamic.begin(), false);
  for (int64_t& d : shape.minor_to_major) ++d;
  if (shape.has_layout) shape.minor_to_major.push_back(0);
  shape.dims[0] = parts;
  return shape;
}

Shape WithPartsAt(Shape shape, size_t d, int64_t parts) {
  const auto at = static_cast<int64_t>(d);
  shape.dims[d] /= parts;
  shape.dims.insert(shape.dims.begin() + at, parts);
  if (!shape.dynamic.empty()) shape.dynamic.insert(shape.dynamic.begin() + at, false);
  std::vector<int64_t> order;
  for (int64_t dimension : shape.minor_to_major) {
    order.push_back(dimension + (dimension >= at ? 1 : 0));
    if (dimension == at) order.push_back(at);
  }
  shape.minor_to_major = std::move(order);
  return shape;
}

}  // namespace meshwright
