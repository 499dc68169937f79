#include "meshwright/inter/slice/module_writer.h"

#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"

namespace meshwright {

Scope ModuleWriter::Begin(const Computation& like) {
  Scope scope;
  scope.computation.name = computation_names_.Take(like.name);
  scope.computation.execution_thread = like.execution_thread;
  return scope;
}

ComputationId ModuleWriter::Finish(Scope scope, InstructionId root) {
  scope.computation[root].is_root = true;
  scope.computation.root = root;
  module_.computations.push_back(std::move(scope.computation));
  return ComputationId(module_.computations.size() - 1);
}

ComputationId ModuleWriter::Finish(Scope scope, const std::vector<InstructionId>& results) {
  const InstructionId root = AddTuple(scope, results);
  return Finish(std::move(scope), root);
}

ComputationId ModuleWriter::Function(ComputationId id) {
  if (functions_[id.index()].valid()) return functions_[id.index()];
  Computation copy = from_[id];
  copy.name = computation_names_.Take(copy.name);
  for (Instruction& i : copy.instructions) {
    i.name = names_.Take(i.name);
    for (ComputationId& called : i.called) called = Function(called);
  }
  module_.computations.push_back(std::move(copy));
  return functions_[id.index()] = ComputationId(module_.computations.size() - 1);
}

ComputationId ModuleWriter::Addition(ElementType type) {
  ComputationId& id = additions_[type];
  if (id.valid()) return id;
  Scope scope;
  scope.computation.name = computation_names_.Take("add");
  Instruction add;
  add.name = "add";
  add.opcode = Opcode::kAdd;
  add.shape = Shape::Array(type, {});
  add.shape.has_layout = true;
  for (int64_t number : {0, 1}) {
    Instruction parameter;
    parameter.name = "x";
    parameter.opcode = Opcode::kParameter;
    parameter.shape = add.shape;
    parameter.parameter_number = number;
    add.operands.push_back(Add(scope, std::move(parameter)));
  }
  scope.computation.parameters = add.operands;
  const InstructionId root = Add(scope, std::move(add));
  return id = Finish(std::move(scope), root);
}

InstructionId ModuleWriter::Add(Scope& scope, Instruction instruction) {
  instruction.name = names_.Take(instruction.name);
  scope.computation.instructions.push_back(std::move(instruction));
  return InstructionId(scope.computation.instructions.size() - 1);
}

InstructionId ModuleWriter::AddTuple(Scope& scope, const std::vector<InstructionId>& elements) {
  Instruction tuple;
  tuple.name = "tuple";
  tuple.opcode = Opcode::kTuple;
  tuple.operands = elements;
  std::vector<Shape> shapes;
  shapes.reserve(elements.size());
  for (InstructionId id : elements) shapes.push_back(scope.ShapeOf(id));
  tuple.shape = Shape::Tuple(std::move(shapes));
  return Add(scope, std::move(tuple));
}

InstructionId ModuleWriter::AddElement(Scope& scope, InstructionId tuple, int64_t index,
                                       const Shape& shape, const Instruction& of) {
  Instruction element;
  element.name = of.name;
  element.opcode = Opcode::kGetTupleElement;
  element.operands = {tuple};
  element.tuple_index = index;
  element.shape = shape;
  element.metadata = of.metadata;
  return Add(scope, std::move(element));
}

InstructionId ModuleWriter::AddNumber(Scope& scope, ElementType type, int64_t number) {
  Instruction constant;
  constant.name = "constant";
  constant.opcode = Opcode::kConstant;
  constant.shape = Shape::Array(type, {});
  constant.shape.has_layout = true;
  AppendElement(type, StrCat(number), constant.literal.data);
  return Add(scope, std::move(constant));
}

InstructionId ModuleWriter::AddBroadcast(Scope& scope, InstructionId scalar, const Shape& shape) {
  Instruction broadcast;
  broadcast.name = "broadcast";
  broadcast.opcode = Opcode::kBroadcast;
  broadcast.operands = {scalar};
  broadcast.shape = shape;
  return Add(scope, std::move(broadcast));
}

InstructionId ModuleWriter::AddArgument(Scope& scope, const Shape& shape) {
  Instruction parameter;
  parameter.name = "arg_tuple";
  parameter.opcode = Opcode::kParameter;
  parameter.shape = shape;
  parameter.parameter_number = 0;
  const InstructionId id = Add(scope, std::move(parameter));
  scope.computation.parameters = {id};
  return id;
}

InstructionId ModuleWriter::Join(Scope& scope, const Shape& like,
                                 const std::vector<InstructionId>& leaves, size_t* next) {
  if (!like.is_tuple()) return leaves[(*next)++];
  std::vector<InstructionId> elements;
  for (const Shape& element : like.tuple) elements.push_back(Join(scope, element, leaves, next));
  return AddTuple(scope, elements);
}

std::vector<InstructionId> ModuleWriter::Split(Scope& scope, InstructionId id) {
  std::vector<InstructionId> leaves;
  Split(scope, id, &leaves);
  return leaves;
}

void ModuleWriter::Split(Scope& scope, InstructionId id, std::vector<InstructionId>* leaves) {
  if (!scope.ShapeOf(id).is_tuple()) return leaves->push_back(id);
  const Instruction of = scope.computation[id];
  for (size_t i = 0; i < of.shape.tuple.size(); ++i) {
    Split(scope, AddElement(scope, id, static_cast<int64_t>(i), of.shape.tuple[i], of), leaves);
  }
}

Shape WithLeaves(const Shape& like, const std::vector<Shape>& leaves, size_t* next) {
  if (!like.is_tuple()) return leaves[(*next)++];
  Shape shape = like;
  for (Shape& element : shape.tuple) element = WithLeaves(element, leaves, next);
  return shape;
}

}  // namespace meshwright
