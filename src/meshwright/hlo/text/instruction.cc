#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/scaled_dot.h"
#include "meshwright/hlo/text/literal.h"
#include "meshwright/hlo/text/module_reader.h"
#include "meshwright/hlo/text/shape.h"
#include "meshwright/hlo/verify/infer_shape.h"

// Instructions: `[ROOT] name = [type] opcode(operands), attributes`.

namespace meshwright {
namespace {

// More attributes than any instruction has; keeps the search for duplicates linear.
constexpr size_t kMaxAttributes = 100;
constexpr size_t kMaxCalled = 10000;
// The number of an instruction that is being read.
constexpr size_t kPending = static_cast<size_t>(-1);

// `all-to-all-start` without an opcode of its own: the async opcode, and the operation it wraps.
std::optional<std::pair<Opcode, std::string_view>> AsyncForm(std::string_view name) {
  static constexpr std::pair<std::string_view, Opcode> kSuffixes[] = {
      {"-start", Opcode::kAsyncStart},
      {"-update", Opcode::kAsyncUpdate},
      {"-done", Opcode::kAsyncDone},
  };
  for (const auto& [suffix, opcode] : kSuffixes) {
    if (!name.ends_with(suffix)) continue;
    const std::string_view wrapped = name.substr(0, name.size() - suffix.size());
    if (OpcodeFromName(wrapped).has_value()) return std::pair(opcode, wrapped);
  }
  return std::nullopt;
}

std::string NearestOpcode(std::string_view name) {
  std::vector<std::string> names;
  names.reserve(kOpcodeCount);
  for (int i = 0; i < kOpcodeCount; ++i) names.emplace_back(OpcodeName(static_cast<Opcode>(i)));
  return NearestName(name, names);
}

}  // namespace

absl::Status HloTextReader::ReadInstruction(Scope& scope) {
  Computation& computation = scope.computation;
  const bool is_root = cursor_.ConsumeWord("ROOT");
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty())
    return cursor_.Expected("an instruction, [ROOT] name = type opcode(...), or '}'");
  MW_RETURN_IF_ERROR(cursor_.Expect("=", "after the name of an instruction"));
  if (is_root && computation.root.valid()) {
    return cursor_.Error(at, StrCat("second ROOT ", QuoteForError(name), "; ",
                                    computation[computation.root].name, " is marked already"));
  }
  if (scope.instructions.contains(name)) {
    return cursor_.Error(at, StrCat("instruction ", QuoteForError(name),
                                    " is defined twice in computation ", computation.name));
  }
  MW_ASSIGN_OR_RETURN(const size_t index, ReadRightSide(name, at, scope));
  if (is_root) computation.root = InstructionId(index);
  // An instruction that names itself is left for the search for cycles to report.
  scope.instructions.emplace(name, index);
  return absl::OkStatus();
}

absl::StatusOr<size_t> HloTextReader::ReadRightSide(std::string_view name, size_t at,
                                                    Scope& scope) {
  Instruction instruction;
  instruction.name = std::string(name);
  instruction.place = cursor_.PlaceAt(at);
  const bool is_typed = AtShape();
  if (is_typed) {
    MW_ASSIGN_OR_RETURN(instruction.shape, ParseShape(cursor_));
  }
  cursor_.SkipSpace();
  const size_t opcode_at = cursor_.position();
  const bool is_scaled_dot = cursor_.ConsumeWord(kScaledDotName);
  if (is_scaled_dot) {
    instruction.opcode = Opcode::kDot;
    has_scaled_dots_ = true;
  } else {
    MW_RETURN_IF_ERROR(ReadOpcode(instruction));
  }
  const std::string_view opcode = is_scaled_dot ? kScaledDotName : OpcodeName(instruction.opcode);
  const std::string_view shown = name.empty() ? opcode : name;
  if (!is_typed && !CanInferShape(instruction.opcode)) {
    return cursor_.Error(opcode_at, StrCat(shown, ": the type of ", opcode,
                                           " does not follow from its operands; write it before "
                                           "the opcode, as f32[2,3]"));
  }
  untyped_ += is_typed ? 0 : 1;
  const size_t first_call = forward_calls_.size(), first_operand = scope.operands.size(),
               first_control = scope.control_predecessors.size();
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "after the opcode"));
  if (instruction.opcode == Opcode::kParameter) {
    cursor_.SkipSpace();
    const size_t number_at = cursor_.position();
    MW_ASSIGN_OR_RETURN(instruction.parameter_number, cursor_.Integer());
    if (instruction.parameter_number < 0) {
      return cursor_.Error(number_at, "parameter numbers start at 0");
    }
  } else if (instruction.opcode == Opcode::kConstant) {
    MW_ASSIGN_OR_RETURN(instruction.literal, ParseLiteral(cursor_, instruction.shape));
  } else {
    MW_RETURN_IF_ERROR(ReadOperands(instruction, scope));
  }
  MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the operands"));
  const int arity =
      is_scaled_dot ? static_cast<int>(kScaledDotOperands) : OpcodeArity(instruction.opcode);
  if (arity >= 0 && instruction.operands.size() != static_cast<size_t>(arity)) {
    return cursor_.Error(
        at, StrCat(shown, ": ", opcode, " takes ", arity, arity == 1 ? " operand" : " operands",
                   ", found ", instruction.operands.size()));
  }
  AttributeNames seen;
  while (!name.empty() && cursor_.Consume(',')) {
    MW_RETURN_IF_ERROR(ReadAttribute(instruction, seen, scope));
  }
  MW_RETURN_IF_ERROR(CheckRequiredAttributes(instruction, seen, at));

  const size_t index = scope.computation.instructions.size();
  for (size_t i = first_operand; i < scope.operands.size(); ++i) {
    size_t& user = scope.operands[i].instruction;
    if (user == kPending) user = index;
  }
  for (size_t i = first_control; i < scope.control_predecessors.size(); ++i) {
    size_t& user = scope.control_predecessors[i].instruction;
    if (user == kPending) user = index;
  }
  for (size_t i = first_call; i < forward_calls_.size(); ++i) {
    size_t& caller = forward_calls_[i].reference.instruction;
    if (caller == kPending) caller = index;
  }
  scope.computation.instructions.push_back(std::move(instruction));
  scope.positions.push_back(at);
  scope.has_unnamed |= name.empty();
  return index;
}

// A tuple's parenthesis, or the element type of an array before its '['.
bool HloTextReader::AtShape() {
  if (cursor_.Peek() == '(') return true;
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  const size_t end = cursor_.position();
  // A bracket behind a blank is one of a shape if what stands before it is a type.
  const bool spaced = ElementTypeFromName(name) != ElementType::kInvalid && cursor_.Peek() == '[';
  cursor_.set_position(at);
  return spaced || (!name.empty() && end < cursor_.text().size() && cursor_.text()[end] == '[');
}

absl::Status HloTextReader::ReadOpcode(Instruction& instruction) {
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty()) return cursor_.Expected("an opcode after the type");
  if (const std::optional<Opcode> opcode = OpcodeFromName(name)) {
    instruction.opcode = *opcode;
    return absl::OkStatus();
  }
  if (const auto async = AsyncForm(name)) {
    instruction.opcode = async->first;
    instruction.async_name = std::string(async->second);
    return absl::OkStatus();
  }
  return cursor_.Error(at, StrCat("unknown opcode ", QuoteForError(name), "; the nearest is \"",
                                  NearestOpcode(name), "\""));
}

absl::StatusOr<InstructionId> HloTextReader::ReadReference(size_t slot, const Scope& scope,
                                                           std::vector<ForwardReference>& forward) {
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty()) return cursor_.Expected("the name of an instruction");
  const auto found = scope.instructions.find(name);
  if (found != scope.instructions.end()) return InstructionId(found->second);
  forward.push_back({kPending, slot, name, at});
  return InstructionId();
}

absl::Status HloTextReader::ReadOperands(Instruction& instruction, Scope& scope) {
  if (cursor_.Peek() == ')') return absl::OkStatus();
  do {
    // An operand's type may stand before its name: `(f32[2], s32[]) %t`, `f32[2]{0} x`; instead of
    // a name there may be an instruction: `f32[2] negate(x)`, `negate(x)`.
    cursor_.SkipSpace();
    const size_t at = cursor_.position();
    if (is_single_ && scope.number == 0) {
      MW_ASSIGN_OR_RETURN(const std::optional<InstructionId> parameter, ReadNewParameter(scope));
      if (parameter.has_value()) {
        instruction.operands.push_back(*parameter);
        continue;
      }
    }
    if (AtShape()) MW_RETURN_IF_ERROR(ParseShape(cursor_).status());
    cursor_.SkipSpace();
    const size_t name_at = cursor_.position();
    const bool nested = !cursor_.Name().empty() && cursor_.Peek() == '(';
    cursor_.set_position(nested ? at : name_at);
    if (nested) {
      if (++depth_ > kMaxTextNesting) {
        return cursor_.Error(StrCat("instructions nested deeper than ", kMaxTextNesting));
      }
      MW_ASSIGN_OR_RETURN(const size_t operand, ReadRightSide("", at, scope));
      --depth_;
      instruction.operands.emplace_back(operand);
      continue;
    }
    MW_ASSIGN_OR_RETURN(const InstructionId operand,
                        ReadReference(instruction.operands.size(), scope, scope.operands));
    instruction.operands.push_back(operand);
  } while (cursor_.Consume(','));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<InstructionId>> HloTextReader::ReadNewParameter(Scope& scope) {
  if (!AtShape()) return std::nullopt;
  const size_t at = cursor_.position();
  Instruction parameter;
  MW_ASSIGN_OR_RETURN(parameter.shape, ParseShape(cursor_));
  const std::string_view name = cursor_.Name();
  if (cursor_.Peek() == '(' || scope.instructions.contains(name)) {
    cursor_.set_position(at);
    return std::nullopt;
  }
  parameter.opcode = Opcode::kParameter;
  parameter.name = std::string(name);
  parameter.place = cursor_.PlaceAt(at);
  parameter.parameter_number = single_parameters_++;
  const InstructionId id(scope.computation.instructions.size());
  if (!name.empty()) scope.instructions.emplace(name, id.index());
  scope.has_unnamed |= name.empty();
  scope.computation.instructions.push_back(std::move(parameter));
  scope.positions.push_back(at);
  return id;
}

absl::Status HloTextReader::ReadAttribute(Instruction& instruction, AttributeNames& seen,
                                          Scope& scope) {
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty()) return cursor_.Expected("the name of an attribute");
  if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
    return cursor_.Error(at, StrCat("attribute ", QuoteForError(name), " is given twice"));
  }
  if (seen.size() == kMaxAttributes) {
    return cursor_.Error(at, StrCat("more than ", kMaxAttributes, " attributes"));
  }
  seen.push_back(name);
  MW_RETURN_IF_ERROR(cursor_.Expect("=", "after the name of an attribute"));
  const Opcode opcode = AttributeOpcode(instruction);
  if (const TypedAttribute* typed = FindTypedAttribute(name, opcode)) {
    return typed->read(cursor_, instruction);
  }
  if (const CalledAttribute* called = FindCalledAttribute(name, opcode)) {
    return ReadCalled(*called, instruction, scope);
  }
  if (name == "control-predecessors") return ReadControlPredecessors(instruction, scope);
  MW_ASSIGN_OR_RETURN(const std::string_view value, cursor_.RawValue());
  instruction.other.emplace_back(name, CanonicalText(value));
  return absl::OkStatus();
}

// `f`, `{f, g}`, or computations themselves in place of names: `{ROOT r = ...}`, `{{...}, g}`.
absl::Status HloTextReader::ReadCalled(const CalledAttribute& attribute, Instruction& instruction,
                                       Scope& scope) {
  size_t slot = attribute.slot;
  const auto place = [&]() -> ComputationId& {
    if (instruction.called.size() <= slot) instruction.called.resize(slot + 1);
    return instruction.called[slot];
  };
  const bool braced = cursor_.Consume('{');
  if (braced && cursor_.Consume('}')) return absl::OkStatus();
  if (braced && AtBody()) {
    MW_ASSIGN_OR_RETURN(const size_t nested, ReadNestedComputation());
    place() = ComputationId(nested);
    return absl::OkStatus();
  }
  do {
    cursor_.SkipSpace();
    const size_t at = cursor_.position();
    if (slot == kMaxCalled) return cursor_.Error(at, "too many called computations");
    if (braced && cursor_.Consume('{')) {
      MW_ASSIGN_OR_RETURN(const size_t nested, ReadNestedComputation());
      place() = ComputationId(nested);
      ++slot;
      continue;
    }
    const std::string_view name = cursor_.Name();
    if (name.empty()) return cursor_.Expected("the name of a computation");
    const auto found = named_.find(name);
    if (found != named_.end()) {
      place() = ComputationId(found->second);
    } else {
      place() = ComputationId();
      forward_calls_.push_back({scope.number, {kPending, slot, name, at}});
    }
    ++slot;
  } while (braced && cursor_.Consume(','));
  return braced ? cursor_.Expect("}", "after the called computations") : absl::OkStatus();
}

bool HloTextReader::AtBody() {
  const size_t at = cursor_.position();
  const bool is_root = cursor_.ConsumeWord("ROOT");
  const bool is_body = !cursor_.Name().empty() && (is_root || cursor_.Peek() == '=');
  cursor_.set_position(at);
  return is_body;
}

absl::StatusOr<size_t> HloTextReader::ReadNestedComputation() {
  if (++depth_ > kMaxTextNesting) {
    return cursor_.Error(StrCat("computations nested deeper than ", kMaxTextNesting));
  }
  const size_t number = computations_.size();
  Computation& computation = computations_.emplace_back();
  computation.name = "region";
  nested_.push_back(number);
  Scope scope{number, computation, forward_calls_.size()};
  MW_RETURN_IF_ERROR(ReadBody(scope, cursor_.position()));
  --depth_;
  return number;
}

absl::Status HloTextReader::ReadControlPredecessors(Instruction& instruction, Scope& scope) {
  MW_RETURN_IF_ERROR(cursor_.Expect("{", "before control predecessors"));
  if (cursor_.Consume('}')) return absl::OkStatus();
  do {
    MW_ASSIGN_OR_RETURN(
        const InstructionId predecessor,
        ReadReference(instruction.control_predecessors.size(), scope, scope.control_predecessors));
    instruction.control_predecessors.push_back(predecessor);
  } while (cursor_.Consume(','));
  return cursor_.Expect("}", "after control predecessors");
}

absl::Status HloTextReader::CheckRequiredAttributes(const Instruction& instruction,
                                                    const AttributeNames& seen,
                                                    size_t position) const {
  const auto has = [&seen](std::string_view name) {
    return std::find(seen.begin(), seen.end(), name) != seen.end();
  };
  const std::string_view opcode = OpcodeName(instruction.opcode);
  for (const std::string_view names : RequiredAttributes(AttributeOpcode(instruction))) {
    const size_t bar = names.find('|');
    if (has(names.substr(0, bar))) continue;
    if (bar != std::string_view::npos && has(names.substr(bar + 1))) continue;
    return cursor_.Error(position,
                         StrCat(instruction.name.empty() ? opcode : instruction.name, ": ", opcode,
                                " lacks the attribute ", names.substr(0, bar), "="));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
