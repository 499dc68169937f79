#include <algorithm>
#include <optional>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/verify/shape_inference.h"

// dot and convolution, whose result types are free as products may accumulate in another type; and
// fft.

namespace meshwright {
namespace {

// `lhs_dims` of operand 0 and `rhs_dims` of operand 1 are paired; paired sizes must be equal.
Problem CheckPairs(const TypedInstruction& i, const std::vector<int64_t>& lhs_dims,
                   const std::vector<int64_t>& rhs_dims, std::string_view what) {
  if (lhs_dims.size() != rhs_dims.size()) {
    return StrCat("lhs and rhs have different numbers of ", what, " dimensions: ", lhs_dims.size(),
                  " and ", rhs_dims.size());
  }
  for (size_t k = 0; k < lhs_dims.size(); ++k) {
    const int64_t lhs = i.operand(0).dims[static_cast<size_t>(lhs_dims[k])];
    const int64_t rhs = i.operand(1).dims[static_cast<size_t>(rhs_dims[k])];
    if (lhs != rhs) {
      return StrCat(what, " dimensions do not match: dimension ", lhs_dims[k], " of ",
                    i.operand(0).ToString(false), " and ", rhs_dims[k], " of ",
                    i.operand(1).ToString(false));
    }
  }
  return "";
}

void AppendFreeSizes(const Shape& shape, const std::vector<int64_t>& used,
                     std::vector<int64_t>& sizes) {
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!Contains(used, d)) sizes.push_back(shape.dims[static_cast<size_t>(d)]);
  }
}

Problem CheckLabels(const Shape& shape, int64_t first, int64_t second,
                    const std::vector<int64_t>& spatial, std::string_view what) {
  if (shape.rank() != static_cast<int64_t>(spatial.size()) + 2) {
    return StrCat("dim_labels= gives ", what, " ", spatial.size() + 2, " dimensions; it is ",
                  shape.ToString(false));
  }
  return CheckDimensionList(Joined({first, second}, spatial), shape.rank(),
                            StrCat("dim_labels= of ", what));
}

}  // namespace

Problem CheckDot(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 2); !p.empty()) return p;
  const Shape& lhs = i.operand(0);
  const Shape& rhs = i.operand(1);
  const DotDimensions& dot = i->dot;
  const std::vector<int64_t> lhs_used = Joined(dot.lhs_batch, dot.lhs_contracting);
  const std::vector<int64_t> rhs_used = Joined(dot.rhs_batch, dot.rhs_contracting);
  if (Problem p = CheckDimensionList(lhs_used, lhs.rank(), "lhs batch and contracting dims");
      !p.empty()) {
    return p;
  }
  if (Problem p = CheckDimensionList(rhs_used, rhs.rank(), "rhs batch and contracting dims");
      !p.empty()) {
    return p;
  }
  if (Problem p = CheckPairs(i, dot.lhs_batch, dot.rhs_batch, "batch"); !p.empty()) return p;
  if (Problem p = CheckPairs(i, dot.lhs_contracting, dot.rhs_contracting, "contracting");
      !p.empty()) {
    return p;
  }
  std::vector<int64_t> given;
  for (const int64_t d : dot.lhs_batch) given.push_back(lhs.dims[static_cast<size_t>(d)]);
  AppendFreeSizes(lhs, lhs_used, given);
  AppendFreeSizes(rhs, rhs_used, given);
  return CheckResult(i, given, ElementType::kInvalid);
}

Problem CheckConvolution(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 2); !p.empty()) return p;
  const Shape& input = i.operand(0);
  const Shape& kernel = i.operand(1);
  const ConvolutionDimensions& c = i->convolution;
  const size_t spatial = c.input_spatial.size();
  if (Problem p = CheckLabels(input, c.input_batch, c.input_feature, c.input_spatial, "the input");
      !p.empty()) {
    return p;
  }
  if (Problem p = CheckLabels(kernel, c.kernel_input_feature, c.kernel_output_feature,
                              c.kernel_spatial, "the kernel");
      !p.empty()) {
    return p;
  }
  if (Problem p =
          CheckLabels(i.result(), c.output_batch, c.output_feature, c.output_spatial, "the output");
      !p.empty()) {
    return p;
  }
  if (c.kernel_spatial.size() != spatial || c.output_spatial.size() != spatial ||
      i->window.size() != spatial) {
    return StrCat("window= has ", i->window.size(), " dimensions, dim_labels= ", spatial,
                  " spatial ones");
  }
  if (i->feature_group_count < 1 || i->batch_group_count < 1) {
    return "feature_group_count= and batch_group_count= must be at least 1";
  }
  const auto input_size = [&](int64_t d) { return input.dims[static_cast<size_t>(d)]; };
  const auto kernel_size = [&](int64_t d) { return kernel.dims[static_cast<size_t>(d)]; };
  const int64_t features = input_size(c.input_feature);
  if (features % i->feature_group_count != 0 ||
      features / i->feature_group_count != kernel_size(c.kernel_input_feature)) {
    return StrCat("the input has ", features, " features in ", i->feature_group_count,
                  " groups, the kernel takes ", kernel_size(c.kernel_input_feature), " a group");
  }
  if (input_size(c.input_batch) % i->batch_group_count != 0) {
    return StrCat("batch_group_count=", i->batch_group_count, " does not divide the batch of ",
                  input_size(c.input_batch));
  }
  std::vector<int64_t> given(spatial + 2);
  const auto given_size = [&](int64_t d) -> int64_t& { return given[static_cast<size_t>(d)]; };
  given_size(c.output_batch) = input_size(c.input_batch) / i->batch_group_count;
  given_size(c.output_feature) = kernel_size(c.kernel_output_feature);
  for (size_t s = 0; s < spatial; ++s) {
    if (i->window[s].size != kernel_size(c.kernel_spatial[s])) {
      return StrCat("window= has size ", i->window[s].size, " in spatial dimension ", s,
                    ", the kernel ", kernel_size(c.kernel_spatial[s]));
    }
    const int64_t size = WindowedSize(input_size(c.input_spatial[s]), i->window[s]);
    if (size < 0) return StrCat("window= does not fit spatial dimension ", s);
    given_size(c.output_spatial[s]) = size;
  }
  return CheckResult(i, given, ElementType::kInvalid);
}

// XLA's rules (ShapeInference::InferFftShape): of real values one half of the last dimension is
// kept, as the other is its conjugate; complex ones are taken as they are.
Problem CheckFft(const TypedInstruction& i) {
  if (Problem p = CheckArrays(i, 0, 1); !p.empty()) return p;
  const Shape& operand = i.operand(0);
  const std::string* const type = FindAttribute(i.instruction, "fft_type");
  const std::optional<std::vector<int64_t>> lengths = FindIntegers(i.instruction, "fft_length");
  const size_t rank = operand.dims.size();
  if (type == nullptr || !lengths.has_value() || lengths->empty() ||
      lengths->size() > std::min<size_t>(rank, 3) ||
      std::any_of(lengths->begin(), lengths->end(), [](int64_t n) { return n < 0; })) {
    return StrCat("needs fft_type=, and as fft_length= the sizes of one to three last dimensions; ",
                  "operand 0 is ", operand.ToString(false));
  }
  const bool from_real = *type == "RFFT", to_real = *type == "IRFFT";
  const int64_t last = lengths->back(), half = last == 0 ? 0 : last / 2 + 1;
  Shape result = operand;
  if (from_real || to_real) {
    std::vector<int64_t> dims = *lengths;
    if (to_real) dims.back() = half;
    for (size_t k = 0; k < dims.size(); ++k) {
      const size_t d = rank - dims.size() + k;
      if (operand.dims[d] == dims[k]) continue;
      return StrCat("fft_length= needs size ", dims[k], " in dimension ", d, " of operand 0, ",
                    operand.ToString(false));
    }
    result.type = from_real ? ComplexOf(operand.type) : RealOf(operand.type);
    result.dims.back() = from_real ? half : last;
  }
  return CheckResult(i, result);
}

}  // namespace meshwright
