#ifndef MESHWRIGHT_HLO_STABLEHLO_BYTECODE_TEXT_H_
#define MESHWRIGHT_HLO_STABLEHLO_BYTECODE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace meshwright {

// A module as MLIR text, one operation a line.
struct BytecodeText {
  std::string text;
  // Lines (1-based) and bytes of the file at which operations begin, ascending.
  std::vector<std::pair<int32_t, size_t>> origins;

  // `error`, which the reader of `text` gave as `file:line:column: message`, as `file: byte N:
  // message`. Others are left alone.
  absl::Status AtBytes(const absl::Status& error, std::string_view file_name) const;
};

// Reads MLIR bytecode (versions 0 to 6) of builtin, func, StableHLO, CHLO, Shardy and VHLO, which
// portable artifacts are written in, and writes it as the text that MLIR would print in its generic
// form, VHLO as StableHLO. Operations of other dialects are written without what only their dialect
// can decode. `bytes` stand at `offset` in the file called `file_name`. `platforms`, if there are
// several, become the module's attribute kPlatformsAttribute (platform_index.h). Whether the
// program can be planned is up to the reader of the text. Time and memory are linear in the size of
// the bytecode and of the text, which is limited to 64 times that. Errors: `file: byte N: message`.
absl::StatusOr<BytecodeText> TextFromBytecode(std::string_view bytes, size_t offset,
                                              std::string_view file_name,
                                              absl::Span<const std::string> platforms);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_BYTECODE_TEXT_H_
