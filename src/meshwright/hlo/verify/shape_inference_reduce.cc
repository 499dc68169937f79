#include "meshwright/base/strings.h"
#include "meshwright/hlo/verify/shape_inference.h"

// Instructions that fold elements with a called computation, and sort. The first half of the
// operands of reduce and reduce-window are arrays, the second half their initial values; with more
// than one array the result is a tuple.

namespace meshwright {
namespace {

// Checks the halves of the operands and the parameters of the called computation.
Problem CheckFolded(const TypedInstruction& i) {
  const size_t count = i.operand_count();
  if (count == 0 || count % 2 != 0) {
    return StrCat("takes arrays and as many initial values, found ", count, " operands");
  }
  if (Problem p = CheckArrays(i, 0, count); !p.empty()) return p;
  for (size_t k = 0; k < count / 2; ++k) {
    if (i.operand(k).dims != i.operand(0).dims) {
      return StrCat("arrays must have the same dimensions: operand 0 is ",
                    i.operand(0).ToString(false), ", operand ", k, " is ",
                    i.operand(k).ToString(false));
    }
    if (i.operand(k + count / 2).rank() != 0) {
      return StrCat("operand ", k + count / 2, ", an initial value, must be a scalar; is ",
                    i.operand(k + count / 2).ToString(false));
    }
  }
  if (!i->called.empty() && i.called(0).parameters.size() != count) {
    return StrCat("to_apply=", i.called(0).name, " has ", i.called(0).parameters.size(),
                  " parameters, not ", count);
  }
  return "";
}

// The results: an array of `dims` for each folded operand. Accumulators choose the element types.
Problem CheckFoldedResult(const TypedInstruction& i, const std::vector<int64_t>& dims) {
  const size_t arrays = i.operand_count() / 2;
  std::vector<Shape> given;
  for (size_t k = 0; k < arrays; ++k) given.push_back(Shape::Array(i.operand(k).type, dims));
  if (i.inferred != nullptr) {
    return CheckResult(i, arrays == 1 ? given[0] : Shape::Tuple(std::move(given)));
  }
  const bool is_tuple = i.result().is_tuple();
  const size_t results = is_tuple ? i.result().tuple.size() : 1;
  bool ok = results == arrays && (is_tuple || arrays == 1);
  for (size_t k = 0; ok && k < arrays; ++k) {
    const Shape& result = is_tuple ? i.result().tuple[k] : i.result();
    ok = result.is_array() && result.dims == dims;
  }
  if (ok) return "";
  return Mismatch(i.result(), arrays == 1 ? given[0] : Shape::Tuple(std::move(given)));
}

// Sizes after `window`; a problem if it does not fit. No window at all means that of size 1.
Problem WindowedDims(const Shape& shape, const std::vector<WindowDimension>& window,
                     std::vector<int64_t>& dims) {
  if (!window.empty() && window.size() != shape.dims.size()) {
    return StrCat("window= has ", window.size(), " dimensions; the operand ", shape.ToString(false),
                  " has ", shape.rank());
  }
  dims = shape.dims;
  for (size_t d = 0; d < window.size(); ++d) {
    dims[d] = WindowedSize(shape.dims[d], window[d]);
    if (dims[d] < 0) return StrCat("window= does not fit dimension ", d);
  }
  return "";
}

}  // namespace

Problem CheckReduce(const TypedInstruction& i) {
  if (Problem p = CheckFolded(i); !p.empty()) return p;
  const Shape& operand = i.operand(0);
  if (Problem p = CheckDimensionList(i->dimensions, operand.rank(), "dimensions="); !p.empty()) {
    return p;
  }
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (!Contains(i->dimensions, d)) dims.push_back(operand.dims[static_cast<size_t>(d)]);
  }
  return CheckFoldedResult(i, dims);
}

Problem CheckReduceWindow(const TypedInstruction& i) {
  if (Problem p = CheckFolded(i); !p.empty()) return p;
  std::vector<int64_t> dims;
  if (Problem p = WindowedDims(i.operand(0), i->window, dims); !p.empty()) return p;
  return CheckFoldedResult(i, dims);
}

Problem CheckSelectAndScatter(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 3); !p.empty()) return p;
  std::vector<int64_t> dims;
  if (Problem p = WindowedDims(i.operand(0), i->window, dims); !p.empty()) return p;
  if (i.operand(1).dims != dims) {
    return StrCat("operand 1, the source, must be ",
                  Shape::Array(i.operand(1).type, dims).ToString(false), "; is ",
                  i.operand(1).ToString(false));
  }
  return CheckResult(i, i.operand(0).dims, i.operand(0).type);
}

Problem CheckSort(const TypedInstruction& i) {
  const size_t count = i.operand_count();
  if (count == 0) return "takes at least one operand";
  if (Problem p = CheckArrays(i, 0, count); !p.empty()) return p;
  const Shape& first = i.operand(0);
  if (Problem p = CheckDimensionList(i->dimensions, first.rank(), "dimensions="); !p.empty()) {
    return p;
  }
  std::vector<Shape> given;
  for (size_t k = 0; k < count; ++k) {
    if (i.operand(k).dims != first.dims) {
      return StrCat("operands must have the same dimensions: operand 0 is ", first.ToString(false),
                    ", operand ", k, " is ", i.operand(k).ToString(false));
    }
    given.push_back(i.operand(k));
  }
  const Shape result = count == 1 ? first : Shape::Tuple(std::move(given));
  return CheckResult(i, result);
}

}  // namespace meshwright
