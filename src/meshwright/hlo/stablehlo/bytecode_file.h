#ifndef MESHWRIGHT_HLO_STABLEHLO_BYTECODE_FILE_H_
#define MESHWRIGHT_HLO_STABLEHLO_BYTECODE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/stablehlo/bytecode_cursor.h"

namespace meshwright {

inline constexpr std::string_view kBytecodeMagic = "ML\xefR";

// The sections of a file of MLIR bytecode, taken apart but not understood: what attributes, types
// and operations mean is up to their dialects. The format is that of
// https://mlir.llvm.org/docs/BytecodeFormat, versions 0 to 6. Views point into the file.
struct BytecodeFile {
  // Versions from which on something is encoded otherwise.
  static constexpr uint64_t kDialectVersions = 1;
  static constexpr uint64_t kIsolatedRegions = 2;  // they stand in sections of their own
  static constexpr uint64_t kUseListOrders = 3;
  static constexpr uint64_t kElidedLocations = 4;  // of block arguments; operations are counted
  static constexpr uint64_t kProperties = 5;       // operations say whether they were registered
  static constexpr uint64_t kNewest = 6;

  struct Operation {
    std::string_view dialect, name;
    bool registered = true;  // otherwise its properties are an attribute
  };
  // An attribute or a type.
  struct Entry {
    std::string_view dialect;
    BytecodeCursor data;
    bool is_text = false;  // as MLIR prints it, with a NUL behind; else coded by its dialect
  };

  uint64_t version = 0;
  std::vector<std::string_view> strings, dialects;
  std::vector<Operation> operations;
  std::vector<Entry> attributes, types;
  std::vector<BytecodeCursor> properties;
  BytecodeCursor ir;
};

// `bytes` begin with kBytecodeMagic and stand at `offset` in the file called `file_name`. Time and
// memory are linear in their size. Errors as those of BytecodeCursor.
absl::StatusOr<BytecodeFile> ParseBytecodeFile(std::string_view bytes, size_t offset,
                                               std::string_view file_name);

// The cursor is before a section of any kind, which is consumed.
struct BytecodeSection {
  uint8_t id = 0;
  BytecodeCursor data;
};
inline constexpr uint8_t kBytecodeIrSection = 4;
absl::StatusOr<BytecodeSection> ParseBytecodeSection(BytecodeCursor& cursor);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_BYTECODE_FILE_H_
