#include "meshwright/hlo/text_reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/dependency_order.h"
#include "meshwright/hlo/module_order.h"
#include "meshwright/hlo/text_attributes.h"
#include "meshwright/hlo/text_cursor.h"
#include "meshwright/hlo/text_header.h"
#include "meshwright/hlo/text_literal.h"
#include "meshwright/hlo/text_shape.h"
#include "meshwright/hlo/verifier.h"

// A recursive-descent reader in one pass. Names of operands and computations that are already
// defined, as all are in text that XLA printed, are resolved at once; others are noted with their
// position and resolved at the end of the computation or module, which are then put in order.

namespace meshwright {
namespace {

// More attributes than any instruction has; keeps the search for duplicates linear.
constexpr size_t kMaxAttributes = 100;
constexpr size_t kMaxCalled = 10000;

// A name used before its definition. The reference is
// Computation::instructions[instruction].operands (or control_predecessors, or called) [slot].
struct ForwardReference {
  size_t instruction;
  size_t slot;
  std::string_view name;
  size_t position;
};

struct ForwardCall {
  size_t computation;
  ForwardReference reference;
};

// The names of a computation while it is being read.
struct Scope {
  absl::flat_hash_map<std::string_view, size_t> instructions;
  std::vector<ForwardReference> operands, control_predecessors;
  std::vector<size_t> positions;  // of the instructions
};

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

class HloTextReader {
 public:
  HloTextReader(std::string_view text, std::string_view file_name) : cursor_(text, file_name) {}

  absl::StatusOr<Module> Read() {
    MW_RETURN_IF_ERROR(ReadModuleHeader(cursor_, module_));
    while (!cursor_.AtEnd()) MW_RETURN_IF_ERROR(ReadComputation());
    if (!module_.entry.valid()) {
      return cursor_.Error("no computation is marked ENTRY; put it before the main computation");
    }
    MW_RETURN_IF_ERROR(ResolveCalls());
    MW_RETURN_IF_ERROR(OrderComputations());
    if (const auto error = FindVerifierError(module_)) {
      return ErrorAtLine(module_[error->computation][error->instruction].line, error->message);
    }
    return std::move(module_);
  }

 private:
  absl::Status ReadComputation();
  absl::Status ReadInstruction(Computation& computation, Scope& scope);
  absl::Status ReadOpcode(Instruction& instruction);
  absl::Status ReadOperands(Instruction& instruction, size_t index, Scope& scope);
  absl::Status ReadAttribute(Instruction& instruction, size_t index, Scope& scope);
  absl::Status ReadCalled(const CalledAttribute& attribute, Instruction& instruction, size_t index);
  absl::Status ReadControlPredecessors(Instruction& instruction, size_t index, Scope& scope);
  absl::Status CheckRequiredAttributes(const Instruction& instruction, size_t position);

  // Reads a name and returns what it stands for; if it is not defined yet, an invalid id, and notes
  // the reference in `forward`.
  absl::StatusOr<InstructionId> ReadReference(size_t index, size_t slot, const Scope& scope,
                                              std::vector<ForwardReference>& forward);
  absl::Status FinishComputation(Computation& computation, Scope& scope);
  absl::Status CollectParameters(Computation& computation);
  absl::Status OrderInstructions(Computation& computation, const Scope& scope);
  absl::Status ResolveCalls();
  absl::Status OrderComputations();
  absl::Status ErrorAtLine(int32_t line, std::string_view message) const;
  // About how many instructions the body that starts here has, to allocate once.
  size_t EstimateInstructions();

  TextCursor cursor_;
  Module module_;
  absl::flat_hash_map<std::string_view, size_t> computations_;
  std::vector<ForwardCall> forward_calls_;
  std::vector<std::string_view> seen_;  // attributes of the instruction being read
  size_t next_close_ = 0;  // a line that starts with '}', as far as EstimateInstructions looked
};

absl::Status HloTextReader::ReadComputation() {
  const bool is_entry = cursor_.ConsumeWord("ENTRY");
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty()) return cursor_.Expected("a computation: [ENTRY] name [signature] {");
  const size_t number = module_.computations.size();
  Computation& computation = module_.computations.emplace_back();
  computation.name = std::string(name);
  if (is_entry) {
    if (module_.entry.valid()) {
      return cursor_.Error(
          at, StrCat("second ENTRY computation ", QuoteForError(name), "; ",
                     QuoteForError(module_.entry_computation().name), " is marked already"));
    }
    module_.entry = ComputationId(number);
  }
  if (!computations_.emplace(name, number).second) {
    return cursor_.Error(at, StrCat("computation ", QuoteForError(name), " is defined twice"));
  }

  // `(a: f32[2], b: s32[]) -> f32[2]`; the parameters are said again by the instructions.
  std::optional<Shape> result;
  const size_t signature = cursor_.position();
  if (cursor_.Consume('(')) {
    computation.has_signature = true;
    if (!cursor_.Consume(')')) {
      do {
        if (cursor_.Name().empty()) return cursor_.Expected("the name of a parameter");
        MW_RETURN_IF_ERROR(cursor_.Expect(":", "after the name of a parameter"));
        MW_RETURN_IF_ERROR(ParseShape(cursor_).status());
      } while (cursor_.Consume(','));
      MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the parameters"));
    }
    MW_RETURN_IF_ERROR(cursor_.Expect("->", "before the type of the result"));
    MW_ASSIGN_OR_RETURN(result, ParseShape(cursor_));
  }

  MW_RETURN_IF_ERROR(cursor_.Expect("{", "before the instructions of the computation"));
  computation.instructions.reserve(EstimateInstructions());
  Scope scope;
  scope.instructions.reserve(computation.instructions.capacity());
  while (!cursor_.Consume('}')) MW_RETURN_IF_ERROR(ReadInstruction(computation, scope));
  if (cursor_.Consume(',')) {
    if (!cursor_.ConsumeWord("execution_thread")) return cursor_.Expected("execution_thread=");
    MW_RETURN_IF_ERROR(cursor_.Expect("="));
    MW_ASSIGN_OR_RETURN(computation.execution_thread, cursor_.QuotedString());
  }
  if (computation.instructions.empty()) {
    return cursor_.Error(at, StrCat("computation ", QuoteForError(name), " has no instructions"));
  }
  MW_RETURN_IF_ERROR(FinishComputation(computation, scope));
  const Shape& root = computation[computation.root].shape;
  if (result.has_value() && !result->SameType(root)) {
    return cursor_.Error(
        signature,
        StrCat("the signature says the result is ", result->ToString(false), ", the root ",
               computation[computation.root].name, " is ", root.ToString(false)));
  }
  return absl::OkStatus();
}

size_t HloTextReader::EstimateInstructions() {
  // Text is looked at once only: bodies on one line that precede the same '}' get no estimate.
  if (cursor_.position() < next_close_) return 0;
  const std::string_view text = cursor_.text();
  const size_t begin = cursor_.position();
  next_close_ = std::min(text.find("\n}", begin), text.size());
  const std::string_view body = text.substr(begin, next_close_ - begin);
  const auto lines = static_cast<size_t>(std::count(body.begin(), body.end(), '\n'));
  // Empty lines must not make us allocate much: an instruction takes 1 KB in memory.
  constexpr size_t kUsualLineLength = 64;
  return std::min(lines, body.size() / kUsualLineLength + 4);
}

absl::Status HloTextReader::ReadInstruction(Computation& computation, Scope& scope) {
  const bool is_root = cursor_.ConsumeWord("ROOT");
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty())
    return cursor_.Expected("an instruction, [ROOT] name = type opcode(...), or '}'");
  MW_RETURN_IF_ERROR(cursor_.Expect("=", "after the name of an instruction"));

  const size_t index = computation.instructions.size();
  Instruction& instruction = computation.instructions.emplace_back();
  instruction.name = std::string(name);
  instruction.line = cursor_.LineAt(at);
  scope.positions.push_back(at);
  if (is_root) {
    if (computation.root.valid()) {
      return cursor_.Error(at, StrCat("second ROOT ", QuoteForError(name), "; ",
                                      computation[computation.root].name, " is marked already"));
    }
    computation.root = InstructionId(index);
  }
  if (!scope.instructions.emplace(name, index).second) {
    return cursor_.Error(at, StrCat("instruction ", QuoteForError(name),
                                    " is defined twice in computation ", computation.name));
  }

  MW_ASSIGN_OR_RETURN(instruction.shape, ParseShape(cursor_));
  MW_RETURN_IF_ERROR(ReadOpcode(instruction));
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
    MW_RETURN_IF_ERROR(ReadOperands(instruction, index, scope));
  }
  MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the operands"));
  const int arity = OpcodeArity(instruction.opcode);
  if (arity >= 0 && instruction.operands.size() != static_cast<size_t>(arity)) {
    return cursor_.Error(
        at, StrCat(name, ": ", OpcodeName(instruction.opcode), " takes ", arity,
                   arity == 1 ? " operand" : " operands", ", found ", instruction.operands.size()));
  }

  seen_.clear();
  while (cursor_.Consume(',')) MW_RETURN_IF_ERROR(ReadAttribute(instruction, index, scope));
  return CheckRequiredAttributes(instruction, at);
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

absl::StatusOr<InstructionId> HloTextReader::ReadReference(size_t index, size_t slot,
                                                           const Scope& scope,
                                                           std::vector<ForwardReference>& forward) {
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty()) return cursor_.Expected("the name of an instruction");
  const auto found = scope.instructions.find(name);
  // An instruction that names itself is left for the search for cycles to report.
  if (found != scope.instructions.end() && found->second != index) {
    return InstructionId(found->second);
  }
  forward.push_back({index, slot, name, at});
  return InstructionId();
}

absl::Status HloTextReader::ReadOperands(Instruction& instruction, size_t index, Scope& scope) {
  if (cursor_.Peek() == ')') return absl::OkStatus();
  do {
    // An operand's type may stand before its name: `(f32[2], s32[]) %t`, `f32[2]{0} x`.
    bool typed = cursor_.Peek() == '(';
    if (!typed) {
      const size_t at = cursor_.position();
      const std::string_view name = cursor_.Name();
      const size_t end = cursor_.position();
      typed = !name.empty() && end < cursor_.text().size() && cursor_.text()[end] == '[';
      cursor_.set_position(at);
    }
    if (typed) MW_RETURN_IF_ERROR(ParseShape(cursor_).status());
    MW_ASSIGN_OR_RETURN(const InstructionId operand,
                        ReadReference(index, instruction.operands.size(), scope, scope.operands));
    instruction.operands.push_back(operand);
  } while (cursor_.Consume(','));
  return absl::OkStatus();
}

absl::Status HloTextReader::ReadAttribute(Instruction& instruction, size_t index, Scope& scope) {
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty()) return cursor_.Expected("the name of an attribute");
  if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) {
    return cursor_.Error(at, StrCat("attribute ", QuoteForError(name), " is given twice"));
  }
  if (seen_.size() == kMaxAttributes) {
    return cursor_.Error(at, StrCat("more than ", kMaxAttributes, " attributes"));
  }
  seen_.push_back(name);
  MW_RETURN_IF_ERROR(cursor_.Expect("=", "after the name of an attribute"));
  const Opcode opcode = AttributeOpcode(instruction);
  if (const TypedAttribute* typed = FindTypedAttribute(name, opcode)) {
    return typed->read(cursor_, instruction);
  }
  if (const CalledAttribute* called = FindCalledAttribute(name, opcode)) {
    return ReadCalled(*called, instruction, index);
  }
  if (name == "control-predecessors") return ReadControlPredecessors(instruction, index, scope);
  MW_ASSIGN_OR_RETURN(const std::string_view value, cursor_.RawValue());
  instruction.other.emplace_back(name, CanonicalText(value));
  return absl::OkStatus();
}

absl::Status HloTextReader::ReadCalled(const CalledAttribute& attribute, Instruction& instruction,
                                       size_t index) {
  const bool list = cursor_.Consume('{');
  if (list && cursor_.Consume('}')) return absl::OkStatus();
  size_t slot = attribute.slot;
  do {
    cursor_.SkipSpace();
    const size_t at = cursor_.position();
    const std::string_view name = cursor_.Name();
    if (name.empty()) return cursor_.Expected("the name of a computation");
    if (slot == kMaxCalled) return cursor_.Error(at, "too many called computations");
    if (instruction.called.size() <= slot) instruction.called.resize(slot + 1);
    if (const auto found = computations_.find(name);
        found != computations_.end() && found->second + 1 < module_.computations.size()) {
      instruction.called[slot] = ComputationId(found->second);
    } else {
      forward_calls_.push_back({module_.computations.size() - 1, {index, slot, name, at}});
    }
    ++slot;
  } while (list && cursor_.Consume(','));
  return list ? cursor_.Expect("}", "after the called computations") : absl::OkStatus();
}

absl::Status HloTextReader::ReadControlPredecessors(Instruction& instruction, size_t index,
                                                    Scope& scope) {
  MW_RETURN_IF_ERROR(cursor_.Expect("{", "before control predecessors"));
  if (cursor_.Consume('}')) return absl::OkStatus();
  do {
    MW_ASSIGN_OR_RETURN(const InstructionId predecessor,
                        ReadReference(index, instruction.control_predecessors.size(), scope,
                                      scope.control_predecessors));
    instruction.control_predecessors.push_back(predecessor);
  } while (cursor_.Consume(','));
  return cursor_.Expect("}", "after control predecessors");
}

absl::Status HloTextReader::CheckRequiredAttributes(const Instruction& instruction,
                                                    size_t position) {
  const auto seen = [this](std::string_view name) {
    return std::find(seen_.begin(), seen_.end(), name) != seen_.end();
  };
  for (const std::string_view names : RequiredAttributes(AttributeOpcode(instruction))) {
    const size_t bar = names.find('|');
    if (seen(names.substr(0, bar))) continue;
    if (bar != std::string_view::npos && seen(names.substr(bar + 1))) continue;
    return cursor_.Error(position, StrCat(instruction.name, ": ", OpcodeName(instruction.opcode),
                                          " lacks the attribute ", names.substr(0, bar), "="));
  }
  return absl::OkStatus();
}

absl::Status HloTextReader::FinishComputation(Computation& computation, Scope& scope) {
  const auto resolve = [&](const std::vector<ForwardReference>& references,
                           std::vector<InstructionId> Instruction::*field) -> absl::Status {
    for (const ForwardReference& reference : references) {
      const auto found = scope.instructions.find(reference.name);
      if (found == scope.instructions.end()) {
        return cursor_.Error(reference.position,
                             StrCat("no instruction ", QuoteForError(reference.name),
                                    " in computation ", computation.name));
      }
      (computation.instructions[reference.instruction].*field)[reference.slot] =
          InstructionId(found->second);
    }
    return absl::OkStatus();
  };
  MW_RETURN_IF_ERROR(resolve(scope.operands, &Instruction::operands));
  MW_RETURN_IF_ERROR(resolve(scope.control_predecessors, &Instruction::control_predecessors));
  if (!computation.root.valid()) {
    computation.root = InstructionId(computation.instructions.size() - 1);
  }
  if (!scope.operands.empty() || !scope.control_predecessors.empty()) {
    MW_RETURN_IF_ERROR(OrderInstructions(computation, scope));
  }
  computation[computation.root].is_root = true;
  return CollectParameters(computation);
}

absl::Status HloTextReader::OrderInstructions(Computation& computation, const Scope& scope) {
  const DependencyOrder result = OrderByDependency(InstructionNeeds(computation));
  if (!result.cycle.empty()) {
    std::string path;
    for (const size_t i : result.cycle) {
      StrAppend(&path, computation.instructions[i].name, " -> ");
    }
    return cursor_.Error(
        scope.positions[result.cycle.front()],
        StrCat("cyclic reference: ", path, computation.instructions[result.cycle.front()].name));
  }
  const std::vector<InstructionId> moved = Reorder(computation, result.order);
  // Calls noted for later name their instruction by its old place.
  for (auto call = forward_calls_.rbegin(); call != forward_calls_.rend(); ++call) {
    if (call->computation + 1 != module_.computations.size()) break;
    call->reference.instruction = moved[call->reference.instruction].index();
  }
  return absl::OkStatus();
}

absl::Status HloTextReader::CollectParameters(Computation& computation) {
  std::vector<InstructionId> parameters;
  for (size_t i = 0; i < computation.instructions.size(); ++i) {
    if (computation.instructions[i].opcode == Opcode::kParameter) parameters.emplace_back(i);
  }
  computation.parameters.assign(parameters.size(), InstructionId());
  for (const InstructionId id : parameters) {
    const Instruction& parameter = computation[id];
    const auto number = static_cast<size_t>(parameter.parameter_number);
    if (number >= parameters.size()) {
      return ErrorAtLine(parameter.line, StrCat(parameter.name, ": parameter number ", number,
                                                " leaves a gap; computation ", computation.name,
                                                " has ", parameters.size(), " parameters"));
    }
    if (computation.parameters[number].valid()) {
      return ErrorAtLine(parameter.line,
                         StrCat(parameter.name, ": parameter number ", number, " is taken by ",
                                computation[computation.parameters[number]].name));
    }
    computation.parameters[number] = id;
  }
  return absl::OkStatus();
}

absl::Status HloTextReader::ResolveCalls() {
  for (const auto& [computation, reference] : forward_calls_) {
    const auto found = computations_.find(reference.name);
    if (found == computations_.end()) {
      return cursor_.Error(reference.position,
                           StrCat("no computation ", QuoteForError(reference.name)));
    }
    module_.computations[computation].instructions[reference.instruction].called[reference.slot] =
        ComputationId(found->second);
  }
  return absl::OkStatus();
}

absl::Status HloTextReader::OrderComputations() {
  const std::vector<Computation>& computations = module_.computations;
  const bool in_order = forward_calls_.empty() && module_.entry.index() + 1 == computations.size();
  if (in_order) return absl::OkStatus();
  const DependencyOrder result = OrderByDependency(ComputationNeeds(module_));
  if (!result.cycle.empty()) {
    std::string path;
    for (const size_t c : result.cycle) StrAppend(&path, computations[c].name, " -> ");
    return ErrorAtLine(computations[result.cycle.front()].instructions.front().line,
                       StrCat("recursive call: ", path, computations[result.cycle.front()].name));
  }
  Reorder(module_, result.order);
  return absl::OkStatus();
}

absl::Status HloTextReader::ErrorAtLine(int32_t line, std::string_view message) const {
  const std::string_view text = cursor_.text();
  size_t at = 0;
  for (int32_t l = 1; l < line; ++l) at = text.find('\n', at) + 1;
  at = std::min(text.find_first_not_of(" \t", at), text.size());
  return cursor_.Error(at, message);
}

}  // namespace

absl::StatusOr<Module> ParseHloText(std::string_view text, std::string_view file_name) {
  return HloTextReader(text, file_name).Read();
}

}  // namespace meshwright
