#ifndef MESHWRIGHT_HLO_STABLEHLO_MLIR_SYNTAX_H_
#define MESHWRIGHT_HLO_STABLEHLO_MLIR_SYNTAX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/hlo/mlir_name.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/hlo/text_cursor.h"

// The pieces of MLIR text that know nothing of operations: names, types and attributes.

namespace meshwright {

// `@main` or `@"jit(f)"` without the '@' and quotes, escapes left alone.
absl::StatusOr<std::string_view> MlirSymbol(TextCursor& cursor);
// A string with MLIR's escapes (`\22` is a hexadecimal byte) resolved.
absl::StatusOr<std::string> MlirString(TextCursor& cursor);

// The type of a value: `tensor<4x8xf32>`, `tensor<complex<f32>>`, `!stablehlo.token`,
// `tuple<...>`. Dimensions that are not known or only bounded are errors: plans need sizes.
// Layouts are not set.
absl::StatusOr<Shape> ParseMlirType(TextCursor& cursor);
// The inverse for arrays: "tensor<4x8xf32>".
std::string MlirTensorText(const Shape& shape);

struct MlirEntry;

// An attribute. Which fields are used follows from the kind.
struct MlirAttribute {
  enum class Kind {
    kUnit,
    kInteger,   // also true (1) and false (0)
    kIntegers,  // [1, 2] or array<i64: 1, 2>
    kString,
    kSymbol,      // string: the name
    kList,        // that is not kIntegers
    kDictionary,  // {a = 1}, and #dialect.name<a = 1>
    kElements,    // dense<...> : type; text is what stands between < and >
    kOpaque,      // anything else, only its text
  };
  Kind kind = Kind::kUnit;
  int64_t integer = 0;
  std::vector<int64_t> integers;
  std::string string;
  std::vector<MlirAttribute> list;
  std::vector<MlirEntry> entries;
  Shape type;             // kElements
  bool elided = false;    // kElements whose value is not in the text
  std::string_view text;  // as written, without a type behind it
  size_t position = 0;    // of `text` in the program

  // The entry of a dictionary, or nullptr.
  const MlirAttribute* Find(std::string_view name) const;
};
// A named attribute.
struct MlirEntry {
  std::string_view name;
  MlirAttribute value;
};
using MlirAttributes = std::vector<MlirEntry>;

// `#name = ...` and `!name = ...` lines: where in the text the value of each alias begins.
class MlirAliases {
 public:
  explicit MlirAliases(std::string_view text);
  // npos if there is no such alias. `name` is without the '#', but with the '!' of a type.
  size_t Find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string_view, size_t>> positions_;  // sorted by name
};

// Any attribute. `typed`: a type may follow a number, ` : i64`.
absl::StatusOr<MlirAttribute> ParseMlirAttribute(TextCursor& cursor, const MlirAliases& aliases,
                                                 bool typed = true);
// `{a = 1, b}`; the cursor is before the '{'.
absl::StatusOr<MlirAttributes> ParseMlirDictionary(TextCursor& cursor, const MlirAliases& aliases);

// Moves past `<...>` with everything inside. `->` does not close a bracket.
absl::Status SkipAngleBrackets(TextCursor& cursor);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_MLIR_SYNTAX_H_
