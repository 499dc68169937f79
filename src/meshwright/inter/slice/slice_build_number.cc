#include <string>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/slice/slice_builder.h"
#include "meshwright/inter/slice/slice_shapes.h"

// What depends on which micro-batch it is: samples' numbers, and parts of what is made for all.

namespace meshwright {

// The number of the micro-batch in another type.
absl::StatusOr<InstructionId> SliceBuilder::Number(Scope& scope, ElementType type, OpId op) {
  MW_ASSIGN_OR_RETURN(const InstructionId number, Lookup(scope, c_.number()));
  if (scope.ShapeOf(number).type == type) return number;
  Instruction convert;
  convert.name = "convert";
  convert.opcode = Opcode::kConvert;
  convert.operands = {number};
  convert.shape = scope.ShapeOf(number);
  convert.shape.type = type;
  return Added(scope, std::move(convert), op);
}

// `iota` counts from 0: from the number of the micro-batch's first sample instead.
absl::StatusOr<InstructionId> SliceBuilder::Numbered(Scope& scope, InstructionId iota, OpId op) {
  const Shape shape = scope.ShapeOf(iota);
  const int64_t part = shape.dims[static_cast<size_t>(graph_[op].instruction->iota_dimension)];
  MW_ASSIGN_OR_RETURN(InstructionId first, Number(scope, shape.type, op));
  MW_ASSIGN_OR_RETURN(first, Combine(scope, Opcode::kMultiply, first, part, op));
  Instruction add;
  add.name = StrCat(graph_[op].name, ".part");
  add.opcode = Opcode::kAdd;
  add.operands = {iota, writer_.AddBroadcast(scope, first, shape)};
  add.shape = shape;
  return Added(scope, std::move(add), op);
}

// The micro-batch's part of `value`, of which `whole` has all samples.
absl::StatusOr<InstructionId> SliceBuilder::PartOfWhole(Scope& scope, InstructionId whole,
                                                        ValueId value) {
  const OpId op = graph_[value].producer;
  const auto d = static_cast<size_t>(c_.batch.dimension[value.index()]);
  Instruction part;
  part.name = StrCat(graph_[op].name, ".part");
  part.opcode = Opcode::kDynamicSlice;
  part.shape = SliceShape(c_, request_, value);
  part.dynamic_slice_sizes = part.shape.dims;
  part.operands = {whole};
  MW_ASSIGN_OR_RETURN(const InstructionId number, Lookup(scope, c_.number()));
  MW_ASSIGN_OR_RETURN(const InstructionId first,
                      Combine(scope, Opcode::kMultiply, number, part.shape.dims[d], op));
  const InstructionId zero = writer_.AddNumber(scope, ElementType::kS32, 0);
  for (size_t i = 0; i < part.shape.dims.size(); ++i)
    part.operands.push_back(i == d ? first : zero);
  return Added(scope, std::move(part), op);
}

// The state of a generator of random bits, whose first word is the key, with another key for each
// micro-batch.
absl::StatusOr<InstructionId> SliceBuilder::OwnKey(Scope& scope, InstructionId state, OpId op) {
  const Shape shape = scope.ShapeOf(state);
  MW_ASSIGN_OR_RETURN(const InstructionId number, Number(scope, shape.type, op));
  Instruction word;
  word.name = "reshape";
  word.opcode = Opcode::kReshape;
  word.operands = {number};
  word.shape = shape;
  word.shape.dims = {1};
  Instruction pad;
  pad.name = "pad";
  pad.opcode = Opcode::kPad;
  pad.operands = {Added(scope, std::move(word), op), writer_.AddNumber(scope, shape.type, 0)};
  pad.padding = {{0, shape.dims[0] - 1, 0}};
  pad.shape = shape;
  Instruction key;
  key.name = StrCat(graph_[op].name, ".key");
  key.opcode = Opcode::kXor;
  key.operands = {state, Added(scope, std::move(pad), op)};
  key.shape = shape;
  return Added(scope, std::move(key), op);
}

}  // namespace meshwright
