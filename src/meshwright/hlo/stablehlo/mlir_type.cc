#include <array>
#include <charconv>
#include <limits>
#include <system_error>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/mlir_syntax.h"

namespace meshwright {
namespace {

struct TypeName {
  std::string_view mlir;
  ElementType type;
};
constexpr TypeName kTypeNames[] = {
    {"f32", ElementType::kF32},
    {"bf16", ElementType::kBF16},
    {"f16", ElementType::kF16},
    {"f64", ElementType::kF64},
    {"i1", ElementType::kPred},
    {"i2", ElementType::kS2},
    {"i4", ElementType::kS4},
    {"i8", ElementType::kS8},
    {"i16", ElementType::kS16},
    {"i32", ElementType::kS32},
    {"i64", ElementType::kS64},
    {"si2", ElementType::kS2},
    {"si4", ElementType::kS4},
    {"si8", ElementType::kS8},
    {"si16", ElementType::kS16},
    {"si32", ElementType::kS32},
    {"si64", ElementType::kS64},
    {"ui2", ElementType::kU2},
    {"ui4", ElementType::kU4},
    {"ui8", ElementType::kU8},
    {"ui16", ElementType::kU16},
    {"ui32", ElementType::kU32},
    {"ui64", ElementType::kU64},
    {"index", ElementType::kS64},
    {"f8E5M2", ElementType::kF8E5M2},
    {"f8E4M3", ElementType::kF8E4M3},
    {"f8E3M4", ElementType::kF8E3M4},
    {"f8E4M3FN", ElementType::kF8E4M3FN},
    {"f8E4M3B11FNUZ", ElementType::kF8E4M3B11FNUZ},
    {"f8E5M2FNUZ", ElementType::kF8E5M2FNUZ},
    {"f8E4M3FNUZ", ElementType::kF8E4M3FNUZ},
    {"f4E2M1FN", ElementType::kF4E2M1FN},
    {"f8E8M0FNU", ElementType::kF8E8M0FNU},
};

ElementType ElementTypeFromMlir(std::string_view name) {
  for (const TypeName& row : kTypeNames) {
    if (row.mlir == name) return row.type;
  }
  return ElementType::kInvalid;
}

// `f32` or `complex<f32>`
absl::StatusOr<ElementType> ParseElementType(TextCursor& cursor) {
  cursor.SkipSpace();
  const size_t at = cursor.position();
  const std::string_view name = MlirName(cursor);
  if (name == "complex") {
    MW_RETURN_IF_ERROR(cursor.Expect("<", "before the type of a complex number's parts"));
    const std::string_view part = MlirName(cursor);
    MW_RETURN_IF_ERROR(cursor.Expect(">", "after the type of a complex number's parts"));
    if (part == "f32") return ElementType::kC64;
    if (part == "f64") return ElementType::kC128;
    return cursor.Error(at, StrCat("complex numbers of ", QuoteForError(part),
                                   " do not exist; there are complex<f32> and complex<f64>"));
  }
  if (name.empty() && cursor.Consume("!quant")) {
    return cursor.Error(at,
                        "a quantized type; planning needs plain numbers, so lower the program with "
                        "those, such as i8");
  }
  const ElementType type = ElementTypeFromMlir(name);
  if (type != ElementType::kInvalid) return type;
  cursor.set_position(at);
  return cursor.Expected("a size or an element type like f32, bf16, i32, ui8, i1");
}

absl::StatusOr<Shape> ParseTensor(TextCursor& cursor) {
  MW_RETURN_IF_ERROR(cursor.Expect("<", "after \"tensor\""));
  Shape shape;
  while (true) {
    const char c = cursor.Peek();
    const size_t at = cursor.position();
    if (c == '?' || c == '*') {
      return cursor.Error(at,
                          "this type has a dimension of unknown size; planning needs sizes, so "
                          "lower the program for shapes that are known");
    }
    if (c < '0' || c > '9') break;
    int64_t size = 0;
    const std::string_view text = cursor.text();
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), size);
    if (error != std::errc()) return cursor.Error(at, "a size that does not fit in 64 bits");
    cursor.set_position(static_cast<size_t>(end - text.data()));
    shape.dims.push_back(size);
    MW_RETURN_IF_ERROR(cursor.Expect("x", "after the size of a dimension"));
  }
  MW_ASSIGN_OR_RETURN(shape.type, ParseElementType(cursor));
  if (cursor.Consume(',')) {
    cursor.SkipSpace();
    const size_t at = cursor.position();
    if (cursor.Consume("#stablehlo.bounds") || cursor.Consume("#stablehlo.type_extensions") ||
        cursor.Consume("#mhlo.type_extensions")) {
      return cursor.Error(at,
                          "a type with bounded dimensions; planning needs exact sizes, so lower "
                          "the program for shapes that are known");
    }
    return cursor.Error(at,
                        "a type with an encoding, which this program would not carry out; "
                        "only plain dense tensors can be read");
  }
  MW_RETURN_IF_ERROR(cursor.Expect(">", "after the type of a tensor"));
  return shape;
}

absl::StatusOr<Shape> ParseType(TextCursor& cursor, int depth) {
  if (depth == kMaxTextNesting) {
    return cursor.Error(StrCat("types nested deeper than ", kMaxTextNesting));
  }
  cursor.SkipSpace();
  const size_t at = cursor.position();
  Shape shape;
  if (cursor.Consume('!')) {
    const std::string_view name = MlirName(cursor);
    if (name == "stablehlo.token" || name == "mhlo.token") {
      shape.type = ElementType::kToken;
      return shape;
    }
    return cursor.Error(at, StrCat("type ", QuoteForError(StrCat("!", name)),
                                   " cannot be planned; tensors, tuples of them and "
                                   "!stablehlo.token can"));
  }
  const std::string_view name = MlirName(cursor);
  if (name == "tensor") return ParseTensor(cursor);
  if (name == "tuple") {
    shape.type = ElementType::kTuple;
    MW_RETURN_IF_ERROR(cursor.Expect("<", "after \"tuple\""));
    if (cursor.Consume('>')) return shape;
    do {
      MW_ASSIGN_OR_RETURN(shape.tuple.emplace_back(), ParseType(cursor, depth + 1));
    } while (cursor.Consume(','));
    MW_RETURN_IF_ERROR(cursor.Expect(">", "after the types of a tuple"));
    return shape;
  }
  cursor.set_position(at);
  return cursor.Expected("a type like tensor<4x8xf32>");
}

}  // namespace

absl::StatusOr<Shape> ParseMlirType(TextCursor& cursor) { return ParseType(cursor, 0); }

std::string MlirTensorText(const Shape& shape) {
  std::string text = "tensor<";
  for (const int64_t size : shape.dims) StrAppend(&text, size, "x");
  if (shape.type == ElementType::kC64) return text + "complex<f32>>";
  if (shape.type == ElementType::kC128) return text + "complex<f64>>";
  for (const TypeName& row : kTypeNames) {
    if (row.type == shape.type) return StrCat(text, row.mlir, ">");
  }
  return StrCat(text, ElementTypeName(shape.type), ">");
}

}  // namespace meshwright
