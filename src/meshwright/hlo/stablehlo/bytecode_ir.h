#ifndef MESHWRIGHT_HLO_STABLEHLO_BYTECODE_IR_H_
#define MESHWRIGHT_HLO_STABLEHLO_BYTECODE_IR_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/stablehlo/bytecode_attributes.h"
#include "meshwright/hlo/stablehlo/bytecode_file.h"
#include "meshwright/hlo/stablehlo/bytecode_operations.h"
#include "meshwright/hlo/stablehlo/bytecode_vhlo.h"

namespace meshwright {

// Reads operations, blocks and regions of bytecode in turn, as they stand there. Values get names
// as they are defined. Errors as those of BytecodeCursor, also for values that are used before they
// are defined and for regions nested too deep.
class BytecodeIr {
 public:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  struct Value {
    uint64_t type = 0;
    bool is_argument = false;
    uint64_t number = 0;  // in its name, %3 or %arg3
  };
  // Values that operations can name: those of a region that sees nothing outside of it and of the
  // regions inside. Numbers are given out as regions are entered and taken back as they are left.
  struct Scope {
    absl::flat_hash_map<uint64_t, Value> values;
    uint64_t size = 0;  // numbers below this are given out
    uint64_t next = 0;  // of the innermost region, the number of the value that is defined next
    uint64_t end = 0;
  };
  // What stands before the operations of a block.
  struct Block {
    uint64_t operations = 0;          // how many
    std::vector<uint64_t> arguments;  // values
    std::vector<uint64_t> locations;  // of the arguments, kNone if they have none
  };
  struct Operation {
    std::string name;   // in StableHLO
    size_t offset = 0;  // in the file
    uint64_t location = 0;
    BytecodeAttributes::Named properties, attributes;  // those it declares, and others
    std::vector<MlirNamedText> groups;                 // sizes of groups of operands and results
    std::string vhlo;                                  // its name in VHLO, if it is of that
    std::vector<uint64_t> results;                     // types
    std::vector<uint64_t> operands;                    // values
    size_t regions = 0;
    bool isolated = false;  // regions see nothing outside of them
    uint64_t first = 0;     // number in the name of the first result
    uint64_t value = 0;     // and that of its value

    std::optional<uint64_t> Find(std::string_view name) const {
      for (const BytecodeAttributes::Named* named : {&properties, &attributes}) {
        for (const auto& [key, value] : *named) {
          if (key == name) return value;
        }
      }
      return std::nullopt;
    }
  };

  // Both must outlive the object.
  BytecodeIr(const BytecodeFile& file, BytecodeAttributes& attributes)
      : file_(file), attributes_(attributes), layouts_(file.operations.size()) {}

  // The head of a block; `block.operations` operations follow.
  absl::Status ReadBlock(BytecodeCursor& cursor, Scope& scope, Block& block);
  // An operation without its regions, which follow; its results are defined.
  absl::StatusOr<Operation> ReadOperation(BytecodeCursor& cursor, Scope& scope);
  // Calls `visit` for each region of `operation`, which was read last; it reads the operations of
  // the block, nullptr if the region has none.
  using VisitRegion = absl::FunctionRef<absl::Status(size_t region, BytecodeCursor& cursor,
                                                     Scope& scope, const Block* block)>;
  absl::Status ForEachRegion(const Operation& operation, BytecodeCursor& outer, Scope& outer_scope,
                             VisitRegion visit);

  // Names of values begin anew, as they do in every function.
  void StartNames() { next_argument_ = next_result_ = 0; }
  int depth() const { return depth_; }  // of regions

 private:
  absl::StatusOr<uint64_t> Define(const BytecodeCursor& cursor, Scope& scope, Value value);
  absl::Status ReadProperties(const BytecodeCursor& cursor, uint64_t number,
                              const std::vector<BytecodeProperties>& layouts, Operation& operation);
  absl::Status ReadLayout(BytecodeCursor data, const BytecodeProperties& layout,
                          Operation& operation);

  const BytecodeFile& file_;
  BytecodeAttributes& attributes_;
  std::vector<std::optional<std::vector<BytecodeProperties>>> layouts_;  // by operation
  // For names. Regions that see nothing outside of them number their values anew, so names have
  // numbers of their own.
  uint64_t next_argument_ = 0, next_result_ = 0;
  int depth_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_BYTECODE_IR_H_
