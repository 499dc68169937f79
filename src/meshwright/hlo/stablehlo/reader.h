#ifndef MESHWRIGHT_HLO_STABLEHLO_READER_H_
#define MESHWRIGHT_HLO_STABLEHLO_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/stablehlo/mlir_module.h"

namespace meshwright {

// Where the values of a module stand in the StableHLO text that it was read from.
struct StablehloSource {
  struct Operation {
    size_t begin = 0, end = 0;   // in the text
    MlirAnchor anchor;           // for shardings that are there already
    bool is_constraint = false;  // sdy.sharding_constraint: its sharding stands without a name
    std::vector<MlirDefinition> definitions;
    std::vector<Shape> types;  // of the results
    // [begin, end) of the operands' names in the text, and their types, in the order of the
    // instruction's, which has constants right of commutative operators; empty if they do not stand
    // in the text in the operation's order.
    std::vector<std::pair<size_t, size_t>> operands;
    std::vector<Shape> operand_types;
    // The operand that its only result is, of an operation that changes nothing; -1: it is none.
    int32_t same_as = -1;
  };
  // Result `result` of `operations[operation]` is this instruction.
  struct Result {
    int32_t operation = 0, result = 0;
    ComputationId computation;
    InstructionId instruction;
    // The operation does not compute it: a branch of it does that is always taken, or it is an
    // operand of a barrier or of what changes nothing.
    bool handed_on = false;
  };
  // [begin, end) of a `%a#1` that names such a result.
  struct PartUse {
    size_t begin = 0, end = 0;
    int32_t operation = 0, result = 0;
  };
  // Where a branch of `operations[conditional]` ends, and what it hands on.
  struct BranchEnd {
    int32_t conditional = 0, branch = 0;
    size_t begin = 0;  // of the terminator in the text
    // As those of an operation.
    std::vector<std::pair<size_t, size_t>> operands;
    std::vector<Shape> operand_types;
  };
  std::vector<Operation> operations;
  std::vector<Result> results;
  std::vector<PartUse> part_uses;
  std::vector<BranchEnd> branch_ends;
  // Positions in the main function. What is no parameter of the program, as JAX's platform index,
  // is no argument here.
  std::vector<MlirAnchor> arguments, outputs;
  // Its arguments' names, [begin, end) with the '%', where its first operation stands, and its
  // return, which is of no conditional.
  std::vector<std::pair<size_t, size_t>> argument_names;
  size_t main_begin = 0;
  BranchEnd main_end;
  std::vector<MlirMesh> meshes;
  size_t module_body = 0;  // where the first operation of the module could stand
  // [begin, end) of the number of partitions in the module's attributes; equal if it says none.
  size_t partitions_begin = 0, partitions_end = 0;
};

struct StablehloProgram {
  Module module;
  StablehloSource source;
  // The text that `source` speaks of, if the program was read from bytecode or has functions in the
  // generic form; else empty.
  std::string text;
  std::vector<std::string> warnings;  // one line each, about what was assumed
};

// Reads StableHLO text as MLIR prints it, in generic or short form, with or without locations, and
// makes of it what XLA makes of it: @main is the entry computation, operations of chlo and sdy
// become those of HLO, constants are folded and shared as XLA's conversion does. Instructions are
// named after locations. Bytecode (MLIR's, of StableHLO or VHLO) and what jax.export serializes are
// written as text first (bytecode_text.h). Of a conditional whose branch is known the branch is all
// that is there; so of what was exported for several platforms only the code for one
// (platform_index.h). The module is verified. An operation that is not known becomes a custom-call
// of its name. Errors: one line, `file:line:column: what was found, what
// would be valid`, of bytecode `file: byte N: ...`. Time and memory are linear in the size of the
// text.
absl::StatusOr<StablehloProgram> ReadStablehlo(std::string_view text, std::string_view file_name);
absl::StatusOr<Module> ParseStablehlo(std::string_view text, std::string_view file_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_READER_H_
