#include <string>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/slice/partial_sums.h"
#include "meshwright/inter/slice/slice_builder.h"
#include "meshwright/inter/slice/slice_shapes.h"

// Sums over the batch in parts: see partial_sums.h.

namespace meshwright {

// Operand `i` of `op`, with the parts of its batch as a dimension of their own.
absl::StatusOr<InstructionId> SliceBuilder::OperandInParts(Scope& scope, OpId op, size_t i) {
  const ValueId v = graph_[op].operands[i];
  MW_ASSIGN_OR_RETURN(const InstructionId operand, Lookup(scope, v));
  Instruction reshape;
  reshape.name = StrCat(graph_[op].name, ".operand", i);
  reshape.opcode = Opcode::kReshape;
  reshape.operands = {operand};
  reshape.shape =
      WithPartsAt(scope.ShapeOf(operand), static_cast<size_t>(c_.batch.dimension[v.index()]),
                  request_.sum_parts);
  return Added(scope, std::move(reshape), op);
}

// `dims` of an array whose dimension `d` has the parts before it.
static std::vector<int64_t> Moved(std::vector<int64_t> dims, int64_t d) {
  for (int64_t& dimension : dims) dimension += dimension >= d ? 1 : 0;
  return dims;
}

absl::Status SliceBuilder::BuildInParts(Scope& scope, OpId id) {
  const Op& op = graph_[id];
  const int64_t parts = request_.sum_parts;
  Instruction made = *op.instruction;
  made.operands.clear();
  made.control_predecessors.clear();
  made.is_root = false;
  made.sharding.clear();
  made.shape = WithParts(SliceShape(c_, request_, op.results[0]), parts);
  for (ComputationId& called : made.called) called = writer_.Function(called);
  const auto batch = [&](size_t i) {
    return static_cast<int64_t>(c_.batch.dimension[op.operands[i].index()]);
  };
  switch (made.opcode) {
    case Opcode::kDot: {
      for (size_t i = 0; i < 2; ++i) {
        MW_ASSIGN_OR_RETURN(const InstructionId operand, OperandInParts(scope, id, i));
        made.operands.push_back(operand);
      }
      DotDimensions& dot = made.dot;
      dot = {Moved(dot.lhs_batch, batch(0)), Moved(dot.rhs_batch, batch(1)),
             Moved(dot.lhs_contracting, batch(0)), Moved(dot.rhs_contracting, batch(1))};
      dot.lhs_batch.insert(dot.lhs_batch.begin(), batch(0));
      dot.rhs_batch.insert(dot.rhs_batch.begin(), batch(1));
      break;
    }
    case Opcode::kReduce: {
      MW_ASSIGN_OR_RETURN(const InstructionId operand, OperandInParts(scope, id, 0));
      MW_ASSIGN_OR_RETURN(const InstructionId zero, Lookup(scope, op.operands[1]));
      made.operands = {operand, zero};
      made.dimensions = Moved(made.dimensions, batch(0));
      break;
    }
    default: {
      for (ValueId v : op.operands) {
        MW_ASSIGN_OR_RETURN(const InstructionId operand, Lookup(scope, v));
        made.operands.push_back(operand);
      }
      if (made.opcode != Opcode::kTranspose) break;
      made.dimensions = Moved(made.dimensions, 0);
      made.dimensions.insert(made.dimensions.begin(), 0);
    }
  }
  const InstructionId built = writer_.Add(scope, std::move(made));
  out_.origin[scope.computation[built].name] = {id};
  scope.values[op.results[0]] = built;
  if (request_.update && partial_.sums[op.results[0].index()]) SumUp(scope, op.results[0]);
  return absl::OkStatus();
}

// From here on `v` is the sum of its parts, as the update phase takes it.
void SliceBuilder::SumUp(Scope& scope, ValueId v) {
  const Op& op = graph_[graph_[v].producer];
  InstructionId& value = scope.values.at(v);
  Instruction sum;
  sum.name = StrCat(op.name, ".sum");
  sum.opcode = Opcode::kReduce;
  sum.shape = SliceShape(c_, request_, v);
  sum.operands = {value, writer_.AddNumber(scope, sum.shape.type, 0)};
  sum.dimensions = {0};
  sum.called = {writer_.Addition(sum.shape.type)};
  sum.metadata = op.instruction->metadata;
  value = writer_.Add(scope, std::move(sum));
  out_.phase[scope.computation[value].name] = Phase::kUpdate;
}

}  // namespace meshwright
