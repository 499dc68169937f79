#include "meshwright/hlo/shape.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

enum class TypeKind { kOther, kPredicate, kInteger, kFloat, kComplex };

struct TypeInfo {
  ElementType type;
  std::string_view name;
  int bits;
  TypeKind kind;
};

constexpr TypeInfo kTypes[] = {
    {ElementType::kInvalid, "invalid", 0, TypeKind::kOther},
    {ElementType::kPred, "pred", 8, TypeKind::kPredicate},
    {ElementType::kS1, "s1", 1, TypeKind::kInteger},
    {ElementType::kS2, "s2", 2, TypeKind::kInteger},
    {ElementType::kS4, "s4", 4, TypeKind::kInteger},
    {ElementType::kS8, "s8", 8, TypeKind::kInteger},
    {ElementType::kS16, "s16", 16, TypeKind::kInteger},
    {ElementType::kS32, "s32", 32, TypeKind::kInteger},
    {ElementType::kS64, "s64", 64, TypeKind::kInteger},
    {ElementType::kU1, "u1", 1, TypeKind::kInteger},
    {ElementType::kU2, "u2", 2, TypeKind::kInteger},
    {ElementType::kU4, "u4", 4, TypeKind::kInteger},
    {ElementType::kU8, "u8", 8, TypeKind::kInteger},
    {ElementType::kU16, "u16", 16, TypeKind::kInteger},
    {ElementType::kU32, "u32", 32, TypeKind::kInteger},
    {ElementType::kU64, "u64", 64, TypeKind::kInteger},
    {ElementType::kF4E2M1FN, "f4e2m1fn", 4, TypeKind::kFloat},
    {ElementType::kF8E5M2, "f8e5m2", 8, TypeKind::kFloat},
    {ElementType::kF8E4M3, "f8e4m3", 8, TypeKind::kFloat},
    {ElementType::kF8E4M3FN, "f8e4m3fn", 8, TypeKind::kFloat},
    {ElementType::kF8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, TypeKind::kFloat},
    {ElementType::kF8E5M2FNUZ, "f8e5m2fnuz", 8, TypeKind::kFloat},
    {ElementType::kF8E4M3FNUZ, "f8e4m3fnuz", 8, TypeKind::kFloat},
    {ElementType::kF8E3M4, "f8e3m4", 8, TypeKind::kFloat},
    {ElementType::kF8E8M0FNU, "f8e8m0fnu", 8, TypeKind::kFloat},
    {ElementType::kF16, "f16", 16, TypeKind::kFloat},
    {ElementType::kBF16, "bf16", 16, TypeKind::kFloat},
    {ElementType::kF32, "f32", 32, TypeKind::kFloat},
    {ElementType::kF64, "f64", 64, TypeKind::kFloat},
    {ElementType::kC64, "c64", 64, TypeKind::kComplex},
    {ElementType::kC128, "c128", 128, TypeKind::kComplex},
    {ElementType::kTuple, "tuple", 0, TypeKind::kOther},
    {ElementType::kOpaque, "opaque", 0, TypeKind::kOther},
    {ElementType::kToken, "token", 0, TypeKind::kOther},
};

constexpr size_t kTypeNumbers = 64;  // beyond XLA's largest number, with room

// Row of kTypes for each number of ElementType; 0 (invalid) where there is none.
constexpr std::array<uint8_t, kTypeNumbers> kRowOfType = [] {
  std::array<uint8_t, kTypeNumbers> rows = {};
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    rows[static_cast<size_t>(kTypes[i].type)] = static_cast<uint8_t>(i);
  }
  return rows;
}();

const TypeInfo& Info(ElementType type) {
  const auto number = static_cast<size_t>(type);
  return kTypes[number < kTypeNumbers ? kRowOfType[number] : 0];
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

void AppendTo(const Shape& shape, bool with_layout, std::string& out) {
  if (shape.is_tuple()) {
    out += '(';
    for (size_t i = 0; i < shape.tuple.size(); ++i) {
      if (i > 0) out += ", ";
      if (i > 0 && i % 5 == 0) StrAppend(&out, "/*index=", i, "*/");
      AppendTo(shape.tuple[i], with_layout, out);
    }
    out += ')';
    return;
  }
  StrAppend(&out, ElementTypeName(shape.type), "[");
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    StrAppend(&out, i > 0 ? "," : "", i < shape.dynamic.size() && shape.dynamic[i] ? "<=" : "",
              shape.dims[i]);
  }
  out += ']';
  // A scalar's empty order is not printed unless something follows it.
  if (with_layout && shape.has_layout &&
      !(shape.minor_to_major.empty() && shape.layout_suffix.empty())) {
    StrAppend(&out, "{", absl::StrJoin(shape.minor_to_major, ","), shape.layout_suffix, "}");
  }
}

}  // namespace

std::string_view ElementTypeName(ElementType type) { return Info(type).name; }

ElementType ElementTypeFromName(std::string_view name) {
  for (const TypeInfo& info : kTypes) {
    if (info.name == name) return info.type;
  }
  return ElementType::kInvalid;
}

int ElementBits(ElementType type) { return Info(type).bits; }
bool IsFloating(ElementType type) { return Info(type).kind == TypeKind::kFloat; }
bool IsInteger(ElementType type) { return Info(type).kind == TypeKind::kInteger; }
bool IsSigned(ElementType type) { return IsInteger(type) && Info(type).name[0] == 's'; }
std::string_view DefaultComparison(ElementType type) {
  if (IsInteger(type)) return IsSigned(type) ? "SIGNED" : "UNSIGNED";
  return type == ElementType::kPred ? "UNSIGNED" : "FLOAT";
}

Shape Shape::Array(ElementType type, std::vector<int64_t> dims) {
  Shape shape;
  shape.type = type;
  shape.dims = std::move(dims);
  return shape;
}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.type = ElementType::kTuple;
  shape.tuple = std::move(elements);
  return shape;
}

bool Shape::is_array() const { return Info(type).kind != TypeKind::kOther; }

int64_t Shape::elements() const {
  if (!is_array()) return 0;
  // A zero anywhere wins over an overflow before it.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t product = 1;
  for (const int64_t dim : dims) product = SaturatingMultiply(product, dim);
  return product;
}

int64_t Shape::bytes() const {
  if (is_tuple()) {
    int64_t sum = 0;
    for (const Shape& element : tuple) {
      if (__builtin_add_overflow(sum, element.bytes(), &sum)) {
        return std::numeric_limits<int64_t>::max();
      }
    }
    return sum;
  }
  return SaturatingMultiply(elements(), (ElementBits(type) + 7) / 8);
}

std::string Shape::ToString(bool with_layout) const {
  std::string out;
  AppendTo(*this, with_layout, out);
  return out;
}

bool Shape::SameType(const Shape& other) const {
  if (type != other.type || dims != other.dims || tuple.size() != other.tuple.size()) return false;
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (!tuple[i].SameType(other.tuple[i])) return false;
  }
  return true;
}

}  // namespace meshwright
