#include "meshwright/base/strings.h"
#include "meshwright/hlo/verify/shape_inference.h"

// Instructions that compute each element by itself.

namespace meshwright {
namespace {

// All operands are arrays of operand 0's dimensions.
Problem CheckOperands(const TypedInstruction& i, bool same_type) {
  if (Problem p = CheckArrays(i, 0, i.operand_count()); !p.empty()) return p;
  for (size_t k = 1; k < i.operand_count(); ++k) {
    const Shape& first = i.operand(0);
    const Shape& other = i.operand(k);
    if (other.dims != first.dims || (same_type && !SameElementType(first.type, other.type))) {
      return StrCat("operands must agree: operand 0 is ", first.ToString(false), ", operand ", k,
                    " is ", other.ToString(false));
    }
  }
  return "";
}

}  // namespace

Problem CheckElementwise(const TypedInstruction& i) {
  if (Problem p = CheckOperands(i, /*same_type=*/true); !p.empty()) return p;
  return CheckResult(i, i.operand(0).dims, i.operand(0).type);
}

Problem CheckSameDimensions(const TypedInstruction& i) {
  if (Problem p = CheckOperands(i, /*same_type=*/false); !p.empty()) return p;
  return CheckResult(i, i.operand(0).dims, ElementType::kInvalid);
}

Problem CheckCompare(const TypedInstruction& i) {
  if (Problem p = CheckOperands(i, /*same_type=*/true); !p.empty()) return p;
  return CheckResult(i, i.operand(0).dims, ElementType::kPred);
}

Problem CheckSelect(const TypedInstruction& i) {
  const Shape& predicate = i.operand(0);
  const Shape& on_true = i.operand(1);
  const Shape& on_false = i.operand(2);
  if (predicate.type != ElementType::kPred) {
    return StrCat("operand 0 must be of type pred, is ", predicate.ToString(false));
  }
  if (!Compatible(on_true, on_false)) {
    return StrCat("operands 1 and 2 must agree: ", on_true.ToString(false), " and ",
                  on_false.ToString(false));
  }
  if (predicate.rank() > 0 && predicate.dims != on_true.dims) {
    return StrCat("operand 0 must be a scalar or have the dimensions of operand 1, ",
                  on_true.ToString(false), "; is ", predicate.ToString(false));
  }
  return CheckResult(i, on_true);
}

Problem CheckClamp(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 3); !p.empty()) return p;
  const Shape& value = i.operand(1);
  for (const size_t k : {0, 2}) {
    const Shape& bound = i.operand(k);
    if (!SameElementType(bound.type, value.type) ||
        (bound.rank() > 0 && bound.dims != value.dims)) {
      return StrCat("operand ", k, " must be a scalar or have the type of operand 1, ",
                    value.ToString(false), "; is ", bound.ToString(false));
    }
  }
  return CheckResult(i, value.dims, value.type);
}

Problem CheckSameAsFirst(const TypedInstruction& i) { return CheckResult(i, i.operand(0)); }

}  // namespace meshwright
