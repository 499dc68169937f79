#ifndef MESHWRIGHT_HLO_TEXT_MODULE_READER_H_
#define MESHWRIGHT_HLO_TEXT_MODULE_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/hlo/text/attributes.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {

// The recursive-descent reader behind ParseHloText, in one pass. text_reader.cc reads modules and
// computations, text_instruction.cc instructions. Names of operands and computations that are
// already defined, as all are in text that XLA printed, are resolved at once; others are noted with
// their position and resolved at the end of the computation or module, which are then put in order.
// Types that are left out are inferred last, when all operands and called computations have theirs.
class HloTextReader {
 public:
  HloTextReader(std::string_view text, std::string_view file_name) : cursor_(text, file_name) {}

  absl::StatusOr<Module> Read();

 private:
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
  // A computation while it is being read, and the names in it.
  struct Scope {
    size_t number;
    Computation& computation;
    size_t first_call;  // of its own and of those nested in it among forward_calls_
    absl::flat_hash_map<std::string_view, size_t> instructions = {};
    std::vector<ForwardReference> operands = {}, control_predecessors = {};
    std::vector<size_t> positions = {};  // of the instructions
    bool has_unnamed = false;            // instructions that stand where an operand does
  };
  // `(a: f32[2], b: s32[]) -> f32[2]`: what it says the result is.
  struct Signature {
    size_t position;
    Shape result;
  };
  using AttributeNames = absl::InlinedVector<std::string_view, 16>;

  // ---- text_reader.cc ----
  absl::Status ReadComputation();
  // Text that is one instruction; operands that it names with their types are parameters.
  bool AtSingleInstruction();
  absl::Status ReadSingleInstruction();
  // Instructions up to the '}', which is consumed; the '{' was. `at`: of the computation's name.
  absl::Status ReadBody(Scope& scope, size_t at);
  // About how many instructions the body that starts here has, to allocate once.
  size_t EstimateInstructions();
  absl::Status FinishComputation(Scope& scope);
  absl::Status CollectParameters(Computation& computation);
  absl::Status OrderInstructions(const Scope& scope);
  absl::Status FindEntry();
  absl::Status ResolveCalls();
  absl::Status OrderComputations();
  absl::Status InferShapes();
  absl::Status CheckSignatures() const;
  absl::Status ErrorAtPlace(SourcePlace place, std::string_view message) const;

  // ---- text_instruction.cc ----
  absl::Status ReadInstruction(Scope& scope);
  // What stands behind `name =`; an operand that is an instruction itself has no name and, as its
  // comma would be that of the operands, no attributes. Returns its number in the computation.
  absl::StatusOr<size_t> ReadRightSide(std::string_view name, size_t at, Scope& scope);
  bool AtShape();
  absl::Status ReadOpcode(Instruction& instruction);
  absl::Status ReadOperands(Instruction& instruction, Scope& scope);
  // Reads the parameter of a single instruction: what stands here is a type, perhaps with a new
  // name behind it.
  absl::StatusOr<std::optional<InstructionId>> ReadNewParameter(Scope& scope);
  absl::Status ReadAttribute(Instruction& instruction, AttributeNames& seen, Scope& scope);
  absl::Status ReadCalled(const CalledAttribute& attribute, Instruction& instruction, Scope& scope);
  // A computation that stands where its name could; its '{' was consumed. Returns its number.
  absl::StatusOr<size_t> ReadNestedComputation();
  bool AtBody();
  absl::Status ReadControlPredecessors(Instruction& instruction, Scope& scope);
  absl::Status CheckRequiredAttributes(const Instruction& instruction, const AttributeNames& seen,
                                       size_t position) const;
  // Reads a name and returns what it stands for; if it is not defined yet, an invalid id, and notes
  // the reference in `forward`, for an instruction whose number is not known yet.
  absl::StatusOr<InstructionId> ReadReference(size_t slot, const Scope& scope,
                                              std::vector<ForwardReference>& forward);

  TextCursor cursor_;
  Module module_;
  std::deque<Computation> computations_;  // in the order they begin; moved into the module last
  size_t last_ = 0;                       // the last one that is not nested
  std::vector<size_t> nested_;
  absl::flat_hash_map<std::string_view, size_t> named_;          // those that are complete
  absl::flat_hash_map<std::string_view, Signature> signatures_;  // by name of the computation
  std::vector<ForwardCall> forward_calls_;
  size_t untyped_ = 0;  // instructions whose type is left out
  bool has_scaled_dots_ = false;
  bool is_single_ = false;  // a single instruction is being read
  int64_t single_parameters_ = 0;
  int depth_ = 0;          // of nested instructions and computations
  size_t next_close_ = 0;  // a line that starts with '}', as far as EstimateInstructions looked
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_MODULE_READER_H_
