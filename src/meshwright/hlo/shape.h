#ifndef MESHWRIGHT_HLO_SHAPE_H_
#define MESHWRIGHT_HLO_SHAPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

// Element types with the numbers of XLA's `PrimitiveType` (xla/xla_data.proto), so that they can be
// written to and read from an HloModuleProto unchanged.
enum class ElementType : int {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kTuple = 13,
  kOpaque = 14,
  kC64 = 15,
  kBF16 = 16,
  kToken = 17,
  kC128 = 18,
  kF8E5M2 = 19,
  kF8E4M3FN = 20,
  kS4 = 21,
  kU4 = 22,
  kF8E4M3B11FNUZ = 23,
  kF8E5M2FNUZ = 24,
  kF8E4M3FNUZ = 25,
  kS2 = 26,
  kU2 = 27,
  kF8E4M3 = 28,
  kF8E3M4 = 29,
  kS1 = 30,
  kU1 = 31,
  kF4E2M1FN = 32,
  kF8E8M0FNU = 33,
};

// HLO's spelling, e.g. "bf16"; "invalid" for kInvalid.
std::string_view ElementTypeName(ElementType type);
// Inverse of ElementTypeName; kInvalid if there is no such type.
ElementType ElementTypeFromName(std::string_view name);
// Bits of one element (1-bit and 4-bit types occupy a whole byte in XLA unless packed; `pred` is
// 8). 0 for tuple, opaque and token.
int ElementBits(ElementType type);
bool IsFloating(ElementType type);
bool IsInteger(ElementType type);  // signed or unsigned; not pred
bool IsSigned(ElementType type);   // a signed integer
// How values of `type` are compared unless a program says otherwise, in HLO's words.
std::string_view DefaultComparison(ElementType type);

// A Shape is the type of a value: an array, a tuple of shapes, a token or an opaque value.
struct Shape {
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dims;            // arrays: sizes, major first as written; each >= 0
  std::vector<bool> dynamic;            // empty, or one flag a dimension (`<=` in HLO text)
  std::vector<int64_t> minor_to_major;  // layout; meaningful if has_layout
  bool has_layout = false;
  std::string
      layout_suffix;  // what follows the order inside the braces: ":T(8,128)S(1)"; canonical text
  std::vector<Shape> tuple;  // kTuple: the elements

  static Shape Array(ElementType type, std::vector<int64_t> dims);
  static Shape Tuple(std::vector<Shape> elements);

  bool is_tuple() const { return type == ElementType::kTuple; }
  bool is_array() const;  // everything but tuple, token and opaque
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t elements()
      const;  // product of dims (1 for a scalar); 0 for non-arrays; saturates at INT64_MAX
  int64_t bytes() const;  // whole value, tuples summed; saturates at INT64_MAX
  std::string ToString(
      bool with_layout = true) const;  // HLO text, tuples with /*index=N*/ comments

  // Same element type and dimensions all the way down; layouts and dynamic flags ignored.
  bool SameType(const Shape& other) const;

  friend bool operator==(const Shape&, const Shape&) = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SHAPE_H_
