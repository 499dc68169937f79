#include "meshwright/hlo/verify/shape_inference.h"

#include <algorithm>

#include "meshwright/base/strings.h"

namespace meshwright {

bool SameElementType(ElementType a, ElementType b) {
  return a == b || (IsFloating(a) && IsFloating(b));
}

bool Compatible(const Shape& a, const Shape& b) {
  if (!SameElementType(a.type, b.type) || a.dims != b.dims || a.tuple.size() != b.tuple.size()) {
    return false;
  }
  for (size_t i = 0; i < a.tuple.size(); ++i) {
    if (!Compatible(a.tuple[i], b.tuple[i])) return false;
  }
  return true;
}

Problem Mismatch(const Shape& is, const Shape& given) {
  // Long tuples are cut: what differs is rarely visible in them anyway.
  const auto text = [](const Shape& shape) {
    std::string s = shape.ToString(false);
    if (s.size() > 200) s = s.substr(0, 200) + "...";
    return s;
  };
  return StrCat("shape mismatch: is ", text(is), ", its operands give ", text(given));
}

Problem CheckResult(const TypedInstruction& i, const Shape& given) {
  if (i.inferred != nullptr) {
    *i.inferred = given;
    return "";
  }
  return Compatible(i.result(), given) ? "" : Mismatch(i.result(), given);
}

Problem CheckResult(const TypedInstruction& i, absl::Span<const int64_t> dims, ElementType type) {
  if (i.inferred != nullptr) {
    const ElementType open = i.operand_count() > 0 ? i.operand(0).type : type;
    *i.inferred = Shape::Array(type == ElementType::kInvalid ? open : type,
                               std::vector<int64_t>(dims.begin(), dims.end()));
    return "";
  }
  const Shape& is = i.result();
  if (absl::MakeConstSpan(is.dims) == dims &&
      (type == ElementType::kInvalid ? is.is_array() : SameElementType(is.type, type))) {
    return "";
  }
  return Mismatch(is, Shape::Array(type == ElementType::kInvalid ? is.type : type,
                                   std::vector<int64_t>(dims.begin(), dims.end())));
}

Problem CheckArrays(const TypedInstruction& i, size_t begin, size_t end) {
  for (size_t k = begin; k < end; ++k) {
    if (!i.operand(k).is_array()) {
      return StrCat("operand ", k, " must be an array, is ", ElementTypeName(i.operand(k).type));
    }
  }
  return "";
}

Problem CheckDimensionList(absl::Span<const int64_t> dims, int64_t rank, std::string_view what) {
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] < 0 || dims[k] >= rank) {
      return StrCat(what, " has dimension ", dims[k], "; valid are 0 to ", rank - 1);
    }
    // At most `rank` rounds: a longer list of valid dimensions repeats one.
    if (Contains(dims.subspan(0, k), dims[k])) {
      return StrCat(what, " has dimension ", dims[k], " twice");
    }
  }
  return "";
}

ElementType RealOf(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  if (type == ElementType::kC128) return ElementType::kF64;
  return type;
}

ElementType ComplexOf(ElementType type) {
  return type == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64;
}

bool Contains(absl::Span<const int64_t> values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<int64_t> Joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

int64_t WindowedSize(int64_t size, const WindowDimension& window) {
  // 128 bits hold every product of attributes, however absurd.
  using Wide = __int128;
  if (window.stride < 1 || window.size < 0 || window.base_dilation < 1 ||
      window.window_dilation < 1) {
    return -1;
  }
  const Wide dilated = size == 0 ? Wide{0} : Wide{size - 1} * window.base_dilation + 1;
  const Wide padded = dilated + window.padding_low + window.padding_high;
  const Wide extent =
      window.size == 0 ? Wide{0} : Wide{window.size - 1} * window.window_dilation + 1;
  if (padded < 0) return -1;
  if (padded == 0 || extent > padded) return 0;
  const Wide result = (padded - extent) / window.stride + 1;
  return result > (Wide{1} << 62) ? -1 : static_cast<int64_t>(result);
}

}  // namespace meshwright
