#include "meshwright/hlo/computation_builder.h"

#include <algorithm>
#include <numeric>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/dead_code.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/instruction_folder.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// Constants longer than this are not compared with each other.
constexpr size_t kMaxSharedBytes = 4096;
// Nor computed with if they have more elements than this, XLA's limit.
constexpr int64_t kMaxFoldedElements = 65536;

bool IsIota(const std::vector<int64_t>& dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// May not be removed even if nobody needs its result. What a call does is not looked into.
bool MustStay(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCall || HasEffect(instruction);
}

}  // namespace

std::string NameTable::Valid(std::string_view base) {
  std::string name(base.empty() ? "value" : base);
  for (char& c : name) {
    if (!IsNameChar(c) || c == '$' || c == '@' || c == '~') c = '_';
  }
  if (name[0] >= '0' && name[0] <= '9') name.insert(name.begin(), '_');
  return name;
}

std::string NameTable::Unique(std::string_view base) {
  const std::string name = Valid(base);
  const int64_t count = ++counts_[name];
  return StrCat(name, ".", count);
}

// ---- what instructions fold to ----

std::optional<std::string> ComputationBuilder::FilledWith(InstructionId id) const {
  const Instruction* instruction = &computation_[id];
  if (instruction->opcode == Opcode::kBroadcast) {
    instruction = &computation_[instruction->operands[0]];
  }
  if (instruction->opcode != Opcode::kConstant || instruction->shape.elements() != 1 ||
      instruction->literal.elided) {
    return std::nullopt;
  }
  return instruction->literal.data;
}

std::string_view ComputationBuilder::ElementAt(InstructionId id, size_t i) const {
  const Instruction* instruction = &computation_[id];
  if (instruction->opcode == Opcode::kBroadcast) {
    instruction = &computation_[instruction->operands[0]];
  }
  const std::string_view data = instruction->literal.data;
  const auto count = static_cast<size_t>(instruction->shape.elements());
  if (count == 1) return data;
  const size_t size = data.size() / count;
  return data.substr(i * size, size);
}

bool ComputationBuilder::IsConstant(InstructionId id) const {
  return computation_[id].opcode == Opcode::kConstant || FilledWith(id).has_value();
}

InstructionId ComputationBuilder::CopyConstant(InstructionId id, ComputationBuilder& other) const {
  const Instruction& instruction = computation_[id];
  if (const auto element = FilledWith(id)) {
    return other.AddFilled(instruction.shape, *element, instruction.metadata);
  }
  return other.AddConstant(instruction.shape, instruction.literal, instruction.metadata);
}

InstructionId ComputationBuilder::FoldElementwise(const Instruction& instruction) {
  const int64_t count = instruction.shape.elements();
  if (!IsElementwise(instruction.opcode) || instruction.operands.empty() || count == 0) return {};
  bool filled = true;
  std::vector<ElementType> types;
  for (const InstructionId operand : instruction.operands) {
    const Instruction& constant = computation_[operand];
    if (!IsConstant(operand) || constant.shape.dims != instruction.shape.dims ||
        constant.literal.elided) {
      return {};
    }
    filled = filled && FilledWith(operand).has_value();
    types.push_back(constant.shape.type);
  }
  if (!filled && count > kMaxFoldedElements) return {};
  Literal literal;
  std::vector<std::string> elements(types.size());
  for (int64_t i = 0; i < (filled ? 1 : count); ++i) {
    for (size_t o = 0; o < types.size(); ++o) {
      elements[o] = ElementAt(instruction.operands[o], static_cast<size_t>(i));
    }
    const std::optional<std::string> folded = FoldElements(instruction, types, elements);
    if (!folded.has_value()) return {};
    literal.data += *folded;
  }
  return filled ? AddFilled(instruction.shape, std::move(literal.data), instruction.metadata)
                : AddConstant(instruction.shape, std::move(literal), instruction.metadata);
}

// A constant whose elements are put elsewhere.
InstructionId ComputationBuilder::FoldRearranged(const Instruction& instruction) {
  const Instruction& operand = computation_[instruction.operands[0]];
  const bool keeps = operand.shape.elements() == instruction.shape.elements();
  const bool known =
      (instruction.opcode == Opcode::kReshape && keeps) ||
      (instruction.opcode == Opcode::kTranspose && keeps) ||
      (instruction.opcode == Opcode::kReverse && keeps) ||
      (instruction.opcode == Opcode::kSlice && operand.shape.rank() == instruction.shape.rank());
  if (!known || operand.shape.type != instruction.shape.type) return {};
  if (const auto element = FilledWith(instruction.operands[0])) {
    return AddFilled(instruction.shape, *element, instruction.metadata);
  }
  if (instruction.opcode != Opcode::kReshape || operand.opcode != Opcode::kConstant) return {};
  return AddConstant(instruction.shape, operand.literal, instruction.metadata);
}

// What computes nothing, as there are no elements: StableHLO's canonicalization, which XLA's
// conversion runs, has constants for tensors without elements, wherever they come from.
InstructionId ComputationBuilder::FoldEmpty(Instruction& instruction) {
  const auto empty = [](const Shape& shape) { return shape.is_array() && shape.elements() == 0; };
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kCall:
    case Opcode::kWhile:
    case Opcode::kConditional:
      return {};
    default:
      if (HasEffect(instruction) || instruction.opcode == Opcode::kCustomCall) return {};
  }
  if (empty(instruction.shape)) {
    return AddConstant(instruction.shape, Literal(), instruction.metadata);
  }
  std::vector<InstructionId>& operands = instruction.operands;
  if (instruction.opcode == Opcode::kConcatenate) {
    std::erase_if(operands, [&](InstructionId id) { return empty(computation_[id].shape); });
    return {};
  }
  for (InstructionId& operand : operands) {
    if (!empty(computation_[operand].shape)) continue;
    const Shape shape = computation_[operand].shape;
    operand = AddConstant(shape, Literal(), instruction.metadata);
  }
  if (operands.size() < 2 || !empty(computation_[operands[0]].shape)) return {};
  // What begins with a value and adds no other to it is that value everywhere.
  const auto fill = [&](InstructionId value, const Shape& shape) {
    const Shape& from = computation_[value].shape;
    const bool fills = from.is_array() && from.dims.empty() && from.type == shape.type;
    return fills ? AddBroadcastInDim(value, shape, {}, instruction.metadata) : InstructionId();
  };
  if (instruction.opcode == Opcode::kPad) return fill(operands[1], instruction.shape);
  if (instruction.opcode != Opcode::kReduce) return {};
  const size_t half = operands.size() / 2;
  if (instruction.shape.is_array()) return fill(operands[half], instruction.shape);
  std::vector<InstructionId> elements;
  for (size_t i = 0; i < half && i < instruction.shape.tuple.size(); ++i) {
    elements.push_back(fill(operands[half + i], instruction.shape.tuple[i]));
    if (!elements.back().valid()) return {};
  }
  return AddTuple(elements, instruction.metadata);
}

InstructionId ComputationBuilder::Fold(Instruction& instruction) {
  if (const InstructionId folded = FoldEmpty(instruction); folded.valid()) return folded;
  if (const InstructionId folded = FoldElementwise(instruction); folded.valid()) return folded;
  std::vector<InstructionId>& operands = instruction.operands;
  if (operands.empty()) return {};
  if (IsCommutative(instruction.opcode) && operands.size() == 2 && IsConstant(operands[0]) &&
      !IsConstant(operands[1])) {
    std::swap(operands[0], operands[1]);
  }
  const Shape& first = computation_[operands[0]].shape;
  const bool same_type = first.SameType(instruction.shape);
  // What is not well typed is left for the verifier to find.
  switch (instruction.opcode) {
    case Opcode::kConvert:
      return same_type ? operands[0] : InstructionId();
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kSlice:
      if (instruction.opcode == Opcode::kTranspose && !IsIota(instruction.dimensions)) break;
      if (same_type) return operands[0];
      break;
    case Opcode::kConcatenate:
      return same_type && operands.size() == 1 ? operands[0] : InstructionId();
    case Opcode::kPad: {
      const bool none =
          std::all_of(instruction.padding.begin(), instruction.padding.end(),
                      [](const PaddingDimension& p) { return p == PaddingDimension(); });
      return same_type && none ? operands[0] : InstructionId();
    }
    case Opcode::kSelect:
      if (first.type != ElementType::kPred || first.dims != instruction.shape.dims ||
          !computation_[operands[1]].shape.SameType(instruction.shape) ||
          !computation_[operands[2]].shape.SameType(instruction.shape)) {
        return {};
      }
      if (operands[1] == operands[2]) return operands[1];
      if (const auto predicate = FilledWith(operands[0])) {
        return operands[(*predicate)[0] != 0 ? 1 : 2];
      }
      return {};
    case Opcode::kReverse: {
      const bool nothing =
          std::all_of(instruction.dimensions.begin(), instruction.dimensions.end(), [&](int64_t d) {
            return d >= 0 && d < first.rank() && first.dims[static_cast<size_t>(d)] == 1;
          });
      if (same_type && nothing) return operands[0];
      break;
    }
    default:
      break;
  }
  if (const InstructionId folded = FoldRearranged(instruction); folded.valid()) return folded;
  if (instruction.opcode == Opcode::kReshape &&
      computation_[operands[0]].opcode == Opcode::kReshape) {
    operands[0] = computation_[operands[0]].operands[0];
    if (computation_[operands[0]].shape.SameType(instruction.shape)) return operands[0];
  }
  if (operands.size() != 2 || !instruction.shape.is_array() || !same_type ||
      !computation_[operands[1]].shape.SameType(instruction.shape)) {
    return {};
  }
  for (const size_t side : {0, 1}) {
    const auto element = FilledWith(operands[side]);
    if (element.has_value() &&
        IsNeutral(instruction.opcode, instruction.shape.type, *element, side == 0)) {
      return operands[1 - side];
    }
  }
  return {};
}

// ---- additions ----

InstructionId ComputationBuilder::AddAsIs(Instruction instruction) {
  computation_.instructions.push_back(std::move(instruction));
  return InstructionId(computation_.instructions.size() - 1);
}

InstructionId ComputationBuilder::Add(Instruction instruction) {
  const InstructionId folded = Fold(instruction);
  return folded.valid() ? folded : AddAsIs(std::move(instruction));
}

InstructionId ComputationBuilder::AddParameter(const Shape& shape, Metadata metadata,
                                               std::string_view name) {
  Instruction parameter;
  parameter.opcode = Opcode::kParameter;
  parameter.shape = shape;
  parameter.metadata = std::move(metadata);
  parameter.parameter_number = static_cast<int64_t>(computation_.parameters.size());
  parameter_names_.emplace_back(name);
  computation_.parameters.push_back(AddAsIs(std::move(parameter)));
  return computation_.parameters.back();
}

InstructionId ComputationBuilder::AddConstant(const Shape& shape, Literal literal,
                                              const Metadata& metadata) {
  ConstantKey key(shape.type, shape.dims, literal.data, false);
  const bool shared = !literal.elided && literal.data.size() <= kMaxSharedBytes;
  if (shared) {
    if (const auto found = constants_.find(key); found != constants_.end()) return found->second;
  }
  Instruction constant;
  constant.opcode = Opcode::kConstant;
  constant.shape = shape;
  constant.literal = std::move(literal);
  constant.metadata = metadata;
  const InstructionId id = AddAsIs(std::move(constant));
  if (shared) constants_.emplace(std::move(key), id);
  return id;
}

InstructionId ComputationBuilder::AddFilled(const Shape& shape, std::string element,
                                            const Metadata& metadata) {
  if (shape.elements() == 1) return AddConstant(shape, Literal{std::move(element), false, {}}, {});
  ConstantKey key(shape.type, shape.dims, element, true);
  if (const auto found = constants_.find(key); found != constants_.end()) return found->second;
  Instruction scalar;
  scalar.opcode = Opcode::kConstant;
  scalar.shape = Shape::Array(shape.type, {});
  scalar.literal.data = std::move(element);
  Instruction broadcast;
  broadcast.opcode = Opcode::kBroadcast;
  broadcast.shape = shape;
  broadcast.operands = {AddAsIs(std::move(scalar))};
  broadcast.metadata = metadata;
  const InstructionId id = AddAsIs(std::move(broadcast));
  constants_.emplace(std::move(key), id);
  return id;
}

InstructionId ComputationBuilder::AddElement(InstructionId tuple, int64_t index,
                                             const Metadata& metadata) {
  Instruction element;
  element.opcode = Opcode::kGetTupleElement;
  element.shape = computation_[tuple].shape.tuple[static_cast<size_t>(index)];
  element.tuple_index = index;
  element.operands = {tuple};
  element.metadata = metadata;
  element.place = computation_[tuple].place;
  return AddAsIs(std::move(element));
}

InstructionId ComputationBuilder::AddTuple(absl::Span<const InstructionId> elements,
                                           const Metadata& metadata) {
  Instruction tuple;
  tuple.opcode = Opcode::kTuple;
  tuple.shape.type = ElementType::kTuple;
  for (const InstructionId element : elements) {
    tuple.shape.tuple.push_back(computation_[element].shape);
  }
  tuple.operands.assign(elements.begin(), elements.end());
  tuple.metadata = metadata;
  return AddAsIs(std::move(tuple));
}

InstructionId ComputationBuilder::AddReshape(InstructionId operand, std::vector<int64_t> dims,
                                             const Metadata& metadata) {
  Instruction reshape;
  reshape.opcode = Opcode::kReshape;
  reshape.shape = Shape::Array(computation_[operand].shape.type, std::move(dims));
  reshape.operands = {operand};
  reshape.metadata = metadata;
  return Add(std::move(reshape));
}

InstructionId ComputationBuilder::AddBroadcastInDim(InstructionId operand, const Shape& shape,
                                                    const std::vector<int64_t>& dimensions,
                                                    const Metadata& metadata) {
  if (const auto element = FilledWith(operand);
      element.has_value() && computation_[operand].shape.is_array()) {
    return AddFilled(shape, *element, metadata);
  }
  const Shape from = computation_[operand].shape;
  if (from.elements() == shape.elements()) {
    if (std::is_sorted(dimensions.begin(), dimensions.end())) {
      return AddReshape(operand, shape.dims, metadata);
    }
    if (from.rank() == shape.rank()) {
      Instruction transpose;
      transpose.opcode = Opcode::kTranspose;
      transpose.shape = shape;
      transpose.operands = {operand};
      transpose.dimensions.resize(dimensions.size());
      for (size_t i = 0; i < dimensions.size(); ++i) {
        transpose.dimensions[static_cast<size_t>(dimensions[i])] = static_cast<int64_t>(i);
      }
      transpose.metadata = metadata;
      return Add(std::move(transpose));
    }
  }
  // XLA's broadcast has no dimensions that grow from 1: they are kept, then dropped, then remade.
  Shape kept = shape;
  std::vector<int64_t> remaining, dropped_dims;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    kept.dims[static_cast<size_t>(dimensions[i])] = from.dims[i];
  }
  Instruction broadcast;
  broadcast.opcode = Opcode::kBroadcast;
  broadcast.shape = kept;
  broadcast.operands = {operand};
  broadcast.dimensions = dimensions;
  broadcast.metadata = metadata;
  const InstructionId inner = AddAsIs(broadcast);
  if (kept == shape) return inner;
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    if (kept.dims[d] != shape.dims[d]) continue;
    remaining.push_back(static_cast<int64_t>(d));
    dropped_dims.push_back(kept.dims[d]);
  }
  broadcast.shape = shape;
  broadcast.operands = {AddReshape(inner, std::move(dropped_dims), metadata)};
  broadcast.dimensions = std::move(remaining);
  return AddAsIs(std::move(broadcast));
}

// ---- the finished computation ----

std::vector<size_t> ComputationBuilder::Order(InstructionId root) const {
  const std::vector<Instruction>& instructions = computation_.instructions;
  std::vector<bool> needed(instructions.size(), false);
  for (size_t i = instructions.size(); i-- > 0;) {
    if (InstructionId(i) == root || MustStay(instructions[i])) needed[i] = true;
    if (!needed[i]) continue;
    for (const InstructionId operand : instructions[i].operands) needed[operand.index()] = true;
  }
  std::vector<bool> used(instructions.size(), false);
  for (size_t i = 0; i < instructions.size(); ++i) {
    // XLA takes every tuple apart, whether or not all elements are used.
    if (instructions[i].opcode == Opcode::kGetTupleElement) {
      needed[i] = needed[instructions[i].operands[0].index()];
    }
    if (!needed[i]) continue;
    for (const InstructionId operand : instructions[i].operands) used[operand.index()] = true;
  }
  // Depth first from everything that nobody uses, operands before their users.
  std::vector<size_t> order;
  std::vector<bool> placed(instructions.size(), false);
  std::vector<std::pair<size_t, size_t>> stack;  // instruction, next operand to look at
  for (size_t start = 0; start < instructions.size(); ++start) {
    if (!needed[start] || used[start]) continue;
    stack.emplace_back(start, 0);
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (placed[at]) {
        stack.pop_back();
      } else if (next < instructions[at].operands.size()) {
        const size_t operand = instructions[at].operands[next++].index();
        if (!placed[operand]) stack.emplace_back(operand, 0);
      } else {
        placed[at] = true;
        order.push_back(at);
        stack.pop_back();
      }
    }
  }
  return order;
}

Computation ComputationBuilder::Finish(std::string name, InstructionId root, NameTable& names,
                                       std::vector<InstructionId>* moved) {
  const std::vector<size_t> order = Order(root);
  moved->assign(computation_.instructions.size(), InstructionId());
  std::vector<Instruction> instructions;
  instructions.reserve(order.size());
  for (const size_t old : order) {
    Instruction& instruction = instructions.emplace_back(std::move(computation_.instructions[old]));
    for (InstructionId& operand : instruction.operands) operand = (*moved)[operand.index()];
    (*moved)[old] = InstructionId(instructions.size() - 1);
    const std::string& op_name = instruction.metadata.op_name;
    std::string_view base = std::string_view(op_name).substr(op_name.rfind('/') + 1);
    if (base.empty()) base = OpcodeName(instruction.opcode);
    if (instruction.opcode == Opcode::kParameter && op_name.empty()) {
      const std::string& given =
          parameter_names_[static_cast<size_t>(instruction.parameter_number)];
      // Names that are made have a dot.
      if (!given.empty() && given.find('.') == std::string::npos) {
        instruction.name = NameTable::Valid(given);
        continue;
      }
      if (!given.empty()) base = given;
    }
    instruction.name = names.Unique(base);
  }
  computation_.name = std::move(name);
  computation_.instructions = std::move(instructions);
  for (InstructionId& parameter : computation_.parameters) parameter = (*moved)[parameter.index()];
  computation_.root = (*moved)[root.index()];
  computation_[computation_.root].is_root = true;
  return std::move(computation_);
}

}  // namespace meshwright
