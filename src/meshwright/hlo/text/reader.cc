#include "meshwright/hlo/text/reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/dependency_order.h"
#include "meshwright/hlo/module_order.h"
#include "meshwright/hlo/scaled_dot.h"
#include "meshwright/hlo/text/header.h"
#include "meshwright/hlo/text/module_reader.h"
#include "meshwright/hlo/text/shape.h"
#include "meshwright/hlo/unique_names.h"
#include "meshwright/hlo/verify/infer_shape.h"
#include "meshwright/hlo/verify/verifier.h"

namespace meshwright {

absl::StatusOr<Module> HloTextReader::Read() {
  MW_RETURN_IF_ERROR(ReadModuleHeader(cursor_, module_));
  const bool has_header = !module_.name.empty();
  if (!has_header && AtSingleInstruction()) MW_RETURN_IF_ERROR(ReadSingleInstruction());
  while (!cursor_.AtEnd()) MW_RETURN_IF_ERROR(ReadComputation());
  MW_RETURN_IF_ERROR(FindEntry());
  module_.computations.assign(std::make_move_iterator(computations_.begin()),
                              std::make_move_iterator(computations_.end()));
  if (!has_header) module_.name = StrCat("module_", module_.entry_computation().name);
  if (!nested_.empty()) {
    UniqueNames names;
    for (const auto& [name, number] : named_) names.Take(std::string(name));
    for (const size_t number : nested_) {
      std::string& name = module_.computations[number].name;
      name = names.Take(name);
    }
  }
  MW_RETURN_IF_ERROR(ResolveCalls());
  MW_RETURN_IF_ERROR(OrderComputations());
  if (untyped_ > 0) MW_RETURN_IF_ERROR(InferShapes());
  MW_RETURN_IF_ERROR(CheckSignatures());
  if (has_scaled_dots_) {
    if (const absl::Status status = ExpandScaledDots(module_); !status.ok()) {
      return absl::InvalidArgumentError(StrCat(cursor_.file_name(), ": ", status.message()));
    }
  }
  if (const auto error = FindVerifierError(module_)) {
    return ErrorAtPlace(module_[error->computation][error->instruction].place, error->message);
  }
  return std::move(module_);
}

absl::Status HloTextReader::ReadComputation() {
  const bool is_entry = cursor_.ConsumeWord("ENTRY");
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  const std::string_view name = cursor_.Name();
  if (name.empty()) return cursor_.Expected("a computation: [ENTRY] name [signature] {");
  const size_t number = computations_.size();
  Computation& computation = computations_.emplace_back();
  computation.name = std::string(name);
  last_ = number;
  if (is_entry) {
    if (module_.entry.valid()) {
      return cursor_.Error(at, StrCat("second ENTRY computation ", QuoteForError(name), "; ",
                                      QuoteForError(computations_[module_.entry.index()].name),
                                      " is marked already"));
    }
    module_.entry = ComputationId(number);
  }
  if (named_.contains(name)) {
    return cursor_.Error(at, StrCat("computation ", QuoteForError(name), " is defined twice"));
  }

  // The parameters are said again by the instructions.
  const size_t signature = cursor_.position();
  if (cursor_.Consume('(')) {
    computation.has_signature = true;
    if (!cursor_.Consume(')')) {
      do {
        if (cursor_.Name().empty()) return cursor_.Expected("the name of a parameter");
        cursor_.Consume(':');  // XLA's parser does not insist on it
        MW_RETURN_IF_ERROR(ParseShape(cursor_).status());
      } while (cursor_.Consume(','));
      MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the parameters"));
    }
    MW_RETURN_IF_ERROR(cursor_.Expect("->", "before the type of the result"));
    MW_ASSIGN_OR_RETURN(Shape result, ParseShape(cursor_));
    signatures_.emplace(name, Signature{signature, std::move(result)});
  }

  MW_RETURN_IF_ERROR(cursor_.Expect("{", "before the instructions of the computation"));
  Scope scope{number, computation, forward_calls_.size()};
  MW_RETURN_IF_ERROR(ReadBody(scope, at));
  if (cursor_.Consume(',')) {
    if (!cursor_.ConsumeWord("execution_thread")) return cursor_.Expected("execution_thread=");
    MW_RETURN_IF_ERROR(cursor_.Expect("="));
    MW_ASSIGN_OR_RETURN(computation.execution_thread, cursor_.QuotedString());
  }
  named_.emplace(name, number);
  return absl::OkStatus();
}

bool HloTextReader::AtSingleInstruction() {
  if (AtShape()) return true;
  const size_t at = cursor_.position();
  const bool is_named = !cursor_.Name().empty() && cursor_.Peek() == '=';
  cursor_.set_position(at);
  return is_named;
}

absl::Status HloTextReader::ReadSingleInstruction() {
  Computation& computation = computations_.emplace_back();
  computation.name = "main";
  Scope scope{0, computation, 0};
  is_single_ = true;
  if (AtShape()) {
    MW_RETURN_IF_ERROR(ReadRightSide("result", cursor_.position(), scope).status());
  } else {
    MW_RETURN_IF_ERROR(ReadInstruction(scope));
  }
  is_single_ = false;
  MW_RETURN_IF_ERROR(FinishComputation(scope));
  named_.emplace("main", 0);
  if (cursor_.AtEnd()) return absl::OkStatus();
  return cursor_.Expected("the end after an instruction outside of any computation");
}

absl::Status HloTextReader::ReadBody(Scope& scope, size_t at) {
  Computation& computation = scope.computation;
  computation.instructions.reserve(EstimateInstructions());
  scope.instructions.reserve(computation.instructions.capacity());
  while (!cursor_.Consume('}')) MW_RETURN_IF_ERROR(ReadInstruction(scope));
  if (computation.instructions.empty()) {
    return cursor_.Error(
        at, StrCat("computation ", QuoteForError(computation.name), " has no instructions"));
  }
  return FinishComputation(scope);
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

absl::Status HloTextReader::FinishComputation(Scope& scope) {
  Computation& computation = scope.computation;
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
  if (scope.has_unnamed) {
    UniqueNames names;
    for (const auto& [name, index] : scope.instructions) names.Take(std::string(name));
    for (Instruction& instruction : computation.instructions) {
      if (!instruction.name.empty()) continue;
      instruction.name = names.Take(StrCat(OpcodeName(instruction.opcode), ".anon"));
    }
  }
  if (!scope.operands.empty() || !scope.control_predecessors.empty()) {
    MW_RETURN_IF_ERROR(OrderInstructions(scope));
  }
  computation[computation.root].is_root = true;
  return CollectParameters(computation);
}

absl::Status HloTextReader::OrderInstructions(const Scope& scope) {
  Computation& computation = scope.computation;
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
  for (size_t i = scope.first_call; i < forward_calls_.size(); ++i) {
    ForwardCall& call = forward_calls_[i];
    if (call.computation != scope.number) continue;
    call.reference.instruction = moved[call.reference.instruction].index();
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
      return ErrorAtPlace(parameter.place, StrCat(parameter.name, ": parameter number ", number,
                                                  " leaves a gap; computation ", computation.name,
                                                  " has ", parameters.size(), " parameters"));
    }
    if (computation.parameters[number].valid()) {
      return ErrorAtPlace(parameter.place,
                          StrCat(parameter.name, ": parameter number ", number, " is taken by ",
                                 computation[computation.parameters[number]].name));
    }
    computation.parameters[number] = id;
  }
  return absl::OkStatus();
}

// Without a mark it is the last computation. A module that XLA printed has the mark: where the
// header says what the entry computation takes and the last one takes something else, the text was
// cut off before it.
absl::Status HloTextReader::FindEntry() {
  if (module_.entry.valid()) return absl::OkStatus();
  constexpr std::string_view kUnmarked =
      "no computation is marked ENTRY; put it before the main computation";
  if (computations_.empty()) return cursor_.Error(kUnmarked);
  const Computation& last = computations_[last_];
  if (module_.entry_result_layout.type != ElementType::kInvalid) {
    const std::vector<Shape>& wanted = module_.entry_parameter_layouts;
    bool fits = wanted.size() == last.parameters.size();
    for (size_t i = 0; fits && i < wanted.size(); ++i) {
      fits = last[last.parameters[i]].shape.SameType(wanted[i]);
    }
    if (!fits) {
      return cursor_.Error(StrCat(kUnmarked, "; the last one, ", last.name,
                                  ", does not fit entry_computation_layout="));
    }
  }
  module_.entry = ComputationId(last_);
  return absl::OkStatus();
}

absl::Status HloTextReader::ResolveCalls() {
  for (const auto& [computation, reference] : forward_calls_) {
    const auto found = named_.find(reference.name);
    if (found == named_.end()) {
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
  const bool in_order =
      forward_calls_.empty() && nested_.empty() && module_.entry.index() + 1 == computations.size();
  if (in_order) return absl::OkStatus();
  const DependencyOrder result = OrderByDependency(ComputationNeeds(module_));
  if (!result.cycle.empty()) {
    std::string path;
    for (const size_t c : result.cycle) StrAppend(&path, computations[c].name, " -> ");
    return ErrorAtPlace(computations[result.cycle.front()].instructions.front().place,
                        StrCat("recursive call: ", path, computations[result.cycle.front()].name));
  }
  Reorder(module_, result.order);
  return absl::OkStatus();
}

absl::Status HloTextReader::InferShapes() {
  for (Computation& computation : module_.computations) {
    for (Instruction& instruction : computation.instructions) {
      if (instruction.shape.type != ElementType::kInvalid) continue;
      absl::StatusOr<Shape> shape = InferShape(module_, computation, instruction);
      if (!shape.ok()) {
        return ErrorAtPlace(instruction.place,
                            StrCat(instruction.name, ": ", shape.status().message()));
      }
      instruction.shape = *std::move(shape);
    }
  }
  return absl::OkStatus();
}

absl::Status HloTextReader::CheckSignatures() const {
  if (signatures_.empty()) return absl::OkStatus();
  for (const Computation& computation : module_.computations) {
    const auto found = signatures_.find(computation.name);
    if (found == signatures_.end()) continue;
    const auto& [position, result] = found->second;
    const Instruction& root = computation[computation.root];
    if (result.SameType(root.shape)) continue;
    return cursor_.Error(
        position, StrCat("the signature says the result is ", result.ToString(false), ", the root ",
                         root.name, " is ", root.shape.ToString(false)));
  }
  return absl::OkStatus();
}

absl::Status HloTextReader::ErrorAtPlace(SourcePlace place, std::string_view message) const {
  const std::string_view text = cursor_.text();
  size_t at = 0;
  for (int32_t l = 1; l < place.line; ++l) at = text.find('\n', at) + 1;
  at = std::min(text.find_first_not_of(" \t", at), text.size());
  return cursor_.Error(at, message);
}

absl::StatusOr<Module> ParseHloText(std::string_view text, std::string_view file_name) {
  return HloTextReader(text, file_name).Read();
}

}  // namespace meshwright
