#include "meshwright/hlo/inline_calls.h"

#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/unique_names.h"

namespace meshwright {
namespace {

// Whether the instruction runs what it calls as a part of the program: such a computation gets a
// copy a caller. The others call a function of scalars for every element.
bool OwnsCallees(Opcode opcode) {
  switch (opcode) {
    case Opcode::kFusion:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kAsyncStart:
      return true;
    default:
      return false;
  }
}

class Inliner {
 public:
  explicit Inliner(const Module& module)
      : in_(module), shared_(module.computations.size()), active_(module.computations.size()) {}

  absl::StatusOr<Module> Run() {
    if (!Exists(in_.entry)) {
      return absl::InvalidArgumentError(
          StrCat("module \"", in_.name, "\" has no entry computation"));
    }
    // The entry keeps its names: users know its parameters by them.
    for (const Instruction& instruction : in_.entry_computation().instructions) {
      instruction_names_.Take(instruction.name);
    }
    computation_names_.Take(in_.entry_computation().name);
    MW_ASSIGN_OR_RETURN(const ComputationId entry, Copy(in_.entry));
    Module out;
    out.name = in_.name;
    out.is_scheduled = in_.is_scheduled;
    out.input_output_alias = in_.input_output_alias;
    out.buffer_donors = in_.buffer_donors;
    out.entry_parameter_layouts = in_.entry_parameter_layouts;
    out.entry_result_layout = in_.entry_result_layout;
    out.other = in_.other;
    out.file_names = in_.file_names;
    out.function_names = in_.function_names;
    out.file_locations = in_.file_locations;
    out.stack_frames = in_.stack_frames;
    out.computations = std::move(computations_);
    out.entry = entry;
    return out;
  }

 private:
  bool Exists(ComputationId id) const { return id.valid() && id.index() < in_.computations.size(); }

  // A computation being copied is entered once a nesting level, whether called or owned.
  absl::Status Enter(ComputationId id) {
    if (active_[id.index()]) {
      return absl::InvalidArgumentError(StrCat("computation \"", in_[id].name, "\" calls itself"));
    }
    if (depth_ >= kMaxCallDepth) {
      return absl::InvalidArgumentError(StrCat("computations call each other more than ",
                                               kMaxCallDepth, " deep (at \"", in_[id].name, "\")"));
    }
    active_[id.index()] = true;
    ++depth_;
    return absl::OkStatus();
  }
  void Leave(ComputationId id) {
    active_[id.index()] = false;
    --depth_;
  }

  // A new computation that computes what `id` does.
  absl::StatusOr<ComputationId> Copy(ComputationId id) {
    const Computation& from = in_[id];
    MW_RETURN_IF_ERROR(Enter(id));
    Computation to;
    to.name = id == in_.entry ? from.name : computation_names_.Take(from.name);
    to.execution_thread = from.execution_thread;
    to.has_signature = from.has_signature;
    to.parameters.resize(from.parameters.size());
    MW_ASSIGN_OR_RETURN(to.root, Expand(from, nullptr, to));
    to.instructions[to.root.index()].is_root = true;
    Leave(id);
    computations_.push_back(std::move(to));
    return ComputationId(computations_.size() - 1);
  }

  // Appends the instructions of `from` to `to`; parameters are `arguments`, or copied if that is
  // null. Returns the root.
  absl::StatusOr<InstructionId> Expand(const Computation& from,
                                       const std::vector<InstructionId>* arguments,
                                       Computation& to) {
    std::vector<InstructionId> moved(from.instructions.size());
    const auto rename = [&](std::vector<InstructionId>& ids) -> absl::Status {
      for (InstructionId& id : ids) {
        if (!id.valid() || id.index() >= moved.size() || !moved[id.index()].valid()) {
          return absl::InvalidArgumentError(StrCat(
              "an operand does not come before its user in computation \"", from.name, "\""));
        }
        id = moved[id.index()];
      }
      return absl::OkStatus();
    };
    for (size_t i = 0; i < from.instructions.size(); ++i) {
      const Instruction& instruction = from.instructions[i];
      if (++inlined_ > kMaxInlinedInstructions) {
        return absl::InvalidArgumentError(
            StrCat("module \"", in_.name, "\" has more than ", kMaxInlinedInstructions,
                   " instructions once calls are inlined (at \"", instruction.name, "\")"));
      }
      const int64_t number = instruction.parameter_number;
      if (instruction.opcode == Opcode::kParameter) {
        if (number < 0 || number >= static_cast<int64_t>(from.parameters.size())) {
          return absl::InvalidArgumentError(StrCat("\"", instruction.name, "\" is parameter ",
                                                   number, " of a computation with ",
                                                   from.parameters.size(), " parameters"));
        }
        if (arguments != nullptr) {
          moved[i] = (*arguments)[static_cast<size_t>(number)];
          continue;
        }
      }
      Instruction copy = instruction;
      MW_RETURN_IF_ERROR(rename(copy.operands));
      MW_RETURN_IF_ERROR(rename(copy.control_predecessors));
      if (copy.opcode == Opcode::kCall) {
        MW_ASSIGN_OR_RETURN(moved[i], Call(copy, to));
        continue;
      }
      for (ComputationId& called : copy.called) {
        MW_ASSIGN_OR_RETURN(called, Called(copy, called));
      }
      if (&from != &in_.entry_computation()) copy.name = instruction_names_.Take(copy.name);
      copy.is_root = false;
      moved[i] = InstructionId(to.instructions.size());
      if (copy.opcode == Opcode::kParameter) {
        to.parameters[static_cast<size_t>(number)] = moved[i];
      }
      to.instructions.push_back(std::move(copy));
    }
    if (!from.root.valid() || from.root.index() >= moved.size()) {
      return absl::InvalidArgumentError(StrCat("computation \"", from.name, "\" has no root"));
    }
    return moved[from.root.index()];
  }

  // `call` has operands of `to` already.
  absl::StatusOr<InstructionId> Call(const Instruction& call, Computation& to) {
    if (call.called.size() != 1 || !Exists(call.called[0])) {
      return absl::InvalidArgumentError(
          StrCat("\"", call.name, "\" calls a computation that does not exist"));
    }
    const Computation& callee = in_[call.called[0]];
    if (call.operands.size() != callee.parameters.size()) {
      return absl::InvalidArgumentError(StrCat("\"", call.name, "\" gives ", call.operands.size(),
                                               " arguments to computation \"", callee.name,
                                               "\", which takes ", callee.parameters.size()));
    }
    MW_RETURN_IF_ERROR(Enter(call.called[0]));
    const size_t begin = to.instructions.size();
    MW_ASSIGN_OR_RETURN(const InstructionId root, Expand(callee, &call.operands, to));
    Leave(call.called[0]);
    // What the program asks of the call's value, it asks of the value that takes its place: one
    // from outside where the callee hands an argument on. What was asked of that before goes first.
    if (to[root].sharding.empty()) to[root].sharding = call.sharding;
    for (size_t i = begin; i < to.instructions.size(); ++i) AddSource(call, to.instructions[i]);
    for (size_t i = begin; i < to.instructions.size() && !call.control_predecessors.empty(); ++i) {
      std::vector<InstructionId>& after = to.instructions[i].control_predecessors;
      after.insert(after.end(), call.control_predecessors.begin(), call.control_predecessors.end());
    }
    return root;
  }

  // What a framework's own functions compute has no place in the user's program but the call's.
  static void AddSource(const Instruction& call, Instruction& instruction) {
    Metadata& metadata = instruction.metadata;
    if (!metadata.source_file.empty() || metadata.stack_frame_id != 0) return;
    metadata.source_file = call.metadata.source_file;
    metadata.source_line = call.metadata.source_line;
    metadata.source_end_line = call.metadata.source_end_line;
    metadata.source_column = call.metadata.source_column;
    metadata.source_end_column = call.metadata.source_end_column;
    metadata.stack_frame_id = call.metadata.stack_frame_id;
  }

  absl::StatusOr<ComputationId> Called(const Instruction& caller, ComputationId called) {
    if (!Exists(called)) {
      return absl::InvalidArgumentError(
          StrCat("\"", caller.name, "\" calls a computation that does not exist"));
    }
    if (OwnsCallees(caller.opcode)) return Copy(called);
    ComputationId& shared = shared_[called.index()];
    if (!shared.valid()) {
      MW_ASSIGN_OR_RETURN(shared, Copy(called));
    }
    return shared;
  }

  const Module& in_;
  std::vector<Computation> computations_;  // of the result, so far
  UniqueNames instruction_names_, computation_names_;
  std::vector<ComputationId> shared_;  // by computation of `in_`: its copy for functions
  std::vector<bool> active_;           // by computation of `in_`: being copied or inlined
  int depth_ = 0;
  int64_t inlined_ = 0;
};

}  // namespace

absl::StatusOr<Module> InlineCalls(const Module& module) { return Inliner(module).Run(); }

}  // namespace meshwright
