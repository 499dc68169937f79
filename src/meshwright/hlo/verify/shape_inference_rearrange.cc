#include <algorithm>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/verify/shape_inference.h"

// Instructions that move, repeat or drop elements.

namespace meshwright {

Problem CheckBroadcast(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 1); !p.empty()) return p;
  const Shape& operand = i.operand(0);
  const std::vector<int64_t>& dims = i->dimensions;
  if (static_cast<int64_t>(dims.size()) != operand.rank()) {
    return StrCat("dimensions= has ", dims.size(), " entries; the operand ",
                  operand.ToString(false), " has ", operand.rank(), " dimensions");
  }
  if (Problem p = CheckDimensionList(dims, i.result().rank(), "dimensions="); !p.empty()) return p;
  std::vector<int64_t> given = i.result().dims;
  for (size_t k = 0; k < dims.size(); ++k) {
    given[static_cast<size_t>(dims[k])] = operand.dims[k];
  }
  return CheckResult(i, given, operand.type);
}

Problem CheckTranspose(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 1); !p.empty()) return p;
  const Shape& operand = i.operand(0);
  if (static_cast<int64_t>(i->dimensions.size()) != operand.rank()) {
    return StrCat("dimensions= has ", i->dimensions.size(), " entries; the operand ",
                  operand.ToString(false), " has ", operand.rank(), " dimensions");
  }
  if (Problem p = CheckDimensionList(i->dimensions, operand.rank(), "dimensions="); !p.empty()) {
    return p;
  }
  std::vector<int64_t> given;
  for (const int64_t d : i->dimensions) given.push_back(operand.dims[static_cast<size_t>(d)]);
  return CheckResult(i, given, operand.type);
}

Problem CheckReshape(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 1); !p.empty()) return p;
  const Shape& operand = i.operand(0);
  if (!i.result().is_array() || !SameElementType(operand.type, i.result().type)) {
    return Mismatch(i.result(), operand);
  }
  if (operand.elements() == i.result().elements()) return "";
  return StrCat("shape mismatch: is ", i.result().ToString(false), " with ", i.result().elements(),
                " elements, its operand ", operand.ToString(false), " has ", operand.elements());
}

Problem CheckConcatenate(const TypedInstruction& i) {
  if (i.operand_count() == 0) return "takes at least one operand";
  if (Problem p = CheckArrays(i, 0, i.operand_count()); !p.empty()) return p;
  if (i->dimensions.size() != 1) return "dimensions= must name one dimension";
  const Shape& first = i.operand(0);
  if (Problem p = CheckDimensionList(i->dimensions, first.rank(), "dimensions="); !p.empty()) {
    return p;
  }
  const auto along = static_cast<size_t>(i->dimensions[0]);
  std::vector<int64_t> given = first.dims;
  for (size_t k = 1; k < i.operand_count(); ++k) {
    std::vector<int64_t> dims = i.operand(k).dims;
    if (dims.size() == given.size()) {
      if (__builtin_add_overflow(given[along], dims[along], &given[along])) {
        return "the operands' sizes add up to more than 2^63";
      }
      dims[along] = first.dims[along];
    }
    if (dims != first.dims || !SameElementType(i.operand(k).type, first.type)) {
      return StrCat("operands must agree but in dimension ", along, ": operand 0 is ",
                    first.ToString(false), ", operand ", k, " is ", i.operand(k).ToString(false));
    }
  }
  return CheckResult(i, given, first.type);
}

Problem CheckSlice(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 1); !p.empty()) return p;
  const Shape& operand = i.operand(0);
  if (i->slice.size() != operand.dims.size()) {
    return StrCat("slice= has ", i->slice.size(), " dimensions; the operand ",
                  operand.ToString(false), " has ", operand.rank());
  }
  std::vector<int64_t> given;
  for (size_t d = 0; d < i->slice.size(); ++d) {
    const SliceDimension& s = i->slice[d];
    if (s.start < 0 || s.start > s.limit || s.limit > operand.dims[d] || s.stride < 1) {
      return StrCat("slice= of dimension ", d, " is [", s.start, ":", s.limit, ":", s.stride,
                    "]; it must stay inside 0:", operand.dims[d], " with a stride of at least 1");
    }
    const int64_t length = s.limit - s.start;
    given.push_back(length / s.stride + (length % s.stride != 0 ? 1 : 0));
  }
  return CheckResult(i, given, operand.type);
}

Problem CheckPad(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 2); !p.empty()) return p;
  const Shape& operand = i.operand(0);
  if (i.operand(1).rank() != 0 || !SameElementType(i.operand(1).type, operand.type)) {
    return StrCat("operand 1, the value to pad with, must be ",
                  Shape::Array(operand.type, {}).ToString(false), "; is ",
                  i.operand(1).ToString(false));
  }
  if (i->padding.size() != operand.dims.size()) {
    return StrCat("padding= has ", i->padding.size(), " dimensions; the operand ",
                  operand.ToString(false), " has ", operand.rank());
  }
  std::vector<int64_t> given;
  for (size_t d = 0; d < i->padding.size(); ++d) {
    const PaddingDimension& p = i->padding[d];
    const __int128 between = std::max<__int128>(operand.dims[d] - 1, 0);
    const __int128 size = __int128{operand.dims[d]} + p.low + p.high + between * p.interior;
    if (p.interior < 0 || size < 0 || size > (__int128{1} << 62)) {
      return StrCat("padding= of dimension ", d, " (", p.low, "_", p.high, "_", p.interior,
                    ") does not fit its size ", operand.dims[d]);
    }
    given.push_back(static_cast<int64_t>(size));
  }
  return CheckResult(i, given, operand.type);
}

Problem CheckIota(const TypedInstruction& i) {
  if (!i.result().is_array()) return "the result must be an array";
  return CheckDimensionList({i->iota_dimension}, i.result().rank(), "iota_dimension=");
}

Problem CheckReverse(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 1); !p.empty()) return p;
  if (Problem p = CheckDimensionList(i->dimensions, i.operand(0).rank(), "dimensions=");
      !p.empty()) {
    return p;
  }
  return CheckResult(i, i.operand(0).dims, i.operand(0).type);
}

}  // namespace meshwright
