#include "meshwright/hlo/module.h"
#include "tests/sharding/random_families.h"

// Operators that slide a window over their operand.

namespace meshwright::random_operators {
namespace {

// The result's size for a window over `input` elements; at least 1 or the caller tries again.
int64_t WindowOutput(int64_t input, const WindowDimension& w) {
  int64_t dilated = input == 0 ? 0 : (input - 1) * w.base_dilation + 1;
  int64_t window = (w.size - 1) * w.window_dilation + 1;
  int64_t padded = dilated + w.padding_low + w.padding_high;
  return padded < window ? 0 : (padded - window) / w.stride + 1;
}

std::string WindowText(const std::vector<WindowDimension>& window, bool convolution) {
  auto join = [&](auto field) {
    return absl::StrJoin(
        window, "x", [&](std::string* out, const WindowDimension& w) { StrAppend(out, field(w)); });
  };
  std::string text = StrCat(
      "{size=", join([](const auto& w) { return StrCat(w.size); }),
      " stride=", join([](const auto& w) { return StrCat(w.stride); }),
      " pad=", join([](const auto& w) { return StrCat(w.padding_low, "_", w.padding_high); }));
  if (convolution) {
    StrAppend(&text, " lhs_dilate=", join([](const auto& w) { return StrCat(w.base_dilation); }),
              " rhs_dilate=", join([](const auto& w) { return StrCat(w.window_dilation); }),
              " rhs_reversal=", join([](const auto& w) { return StrCat(w.reversal ? 1 : 0); }));
  }
  return text + "}";
}

std::vector<WindowDimension> RandomPoolWindow(Random& random, const Dims& dims) {
  std::vector<WindowDimension> window(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (random() % 2) continue;
    window[d].size = Pick(random, {1, 2, 3});
    window[d].stride = Pick(random, {1, 2});
    window[d].padding_low = Below(random, window[d].size);
    window[d].padding_high = Below(random, window[d].size);
    if (WindowOutput(dims[d], window[d]) < 1) window[d] = WindowDimension();
  }
  return window;
}

}  // namespace

std::string RandomConvolution(Random& random) {
  int64_t spatial = 1 + Below(random, 2);
  int64_t feature_groups = Pick(random, {1, 1, 2, 4});
  int64_t batch_groups = feature_groups == 1 ? Pick(random, {1, 1, 2, 4}) : 1;
  int64_t batch = Pick(random, {1, 2, 4}), inputs = Pick(random, {1, 2, 4}),
          outputs = Pick(random, {1, 2});
  // In the order batch, feature, spatial...; then permuted by dim_labels.
  Dims lhs = {batch * batch_groups, inputs * feature_groups};
  Dims rhs = {inputs, outputs * feature_groups * batch_groups};
  Dims out = {batch, rhs[1]};
  std::vector<WindowDimension> window;
  for (int64_t s = 0; s < spatial; ++s) {
    WindowDimension w;
    int64_t input = Pick(random, {1, 2, 4, 5});
    switch (random() % 3) {
      case 0:  // pointwise
        break;
      case 1:  // the kernel is as large as the input, as in a gradient
        w.size = input;
        w.reversal = random() % 4 == 0;
        break;
      default:
        w = {Pick(random, {1, 2, 3}), Pick(random, {1, 2}), Below(random, 3), Below(random, 3),
             Pick(random, {1, 2}),    Pick(random, {1, 2}), random() % 2 == 0};
    }
    if (WindowOutput(input, w) < 1) w = WindowDimension();
    window.push_back(w);
    lhs.push_back(input);
    rhs.push_back(w.size);
    out.push_back(WindowOutput(input, w));
  }
  auto label = [&](const Dims& dims, std::string_view letters, Dims& permuted) {
    std::string text(dims.size(), ' ');
    permuted.resize(dims.size());
    Dims at = Permutation(random, dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      permuted[at[i]] = dims[i];
      text[at[i]] = letters[i];
    }
    return text;
  };
  Dims lhs_dims, rhs_dims, out_dims;
  std::string labels = label(lhs, "bf01", lhs_dims);
  StrAppend(&labels, "_", label(rhs, "io01", rhs_dims));
  StrAppend(&labels, "->", label(out, "bf01", out_dims));
  Entry entry;
  std::string x = entry.Parameter(F32(lhs_dims)), y = entry.Parameter(F32(rhs_dims));
  std::string call = StrCat("convolution(", x, ", ", y, "), window=", WindowText(window, true),
                            ", dim_labels=", labels);
  if (feature_groups > 1) StrAppend(&call, ", feature_group_count=", feature_groups);
  if (batch_groups > 1) StrAppend(&call, ", batch_group_count=", batch_groups);
  return entry.Root(F32(out_dims), call);
}

std::string RandomReduceWindow(Random& random) {
  Dims dims = RandomDims(random, 1, 3);
  std::vector<WindowDimension> window = RandomPoolWindow(random, dims);
  Dims out;
  for (size_t d = 0; d < dims.size(); ++d) out.push_back(WindowOutput(dims[d], window[d]));
  Entry entry;
  std::string x = entry.Parameter(F32(dims)), init = entry.Parameter("f32[]");
  return entry.Root(F32(out), StrCat("reduce-window(", x, ", ", init, "), window=",
                                     WindowText(window, false), ", to_apply=add_body"));
}

std::string RandomSelectAndScatter(Random& random) {
  Dims dims = RandomDims(random, 1, 3);
  std::vector<WindowDimension> window = RandomPoolWindow(random, dims);
  Dims source;
  for (size_t d = 0; d < dims.size(); ++d) source.push_back(WindowOutput(dims[d], window[d]));
  Entry entry;
  std::string x = entry.Parameter(F32(dims)), y = entry.Parameter(F32(source));
  std::string init = entry.Parameter("f32[]");
  return entry.Root(F32(dims), StrCat("select-and-scatter(", x, ", ", y, ", ", init,
                                      "), window=", WindowText(window, false),
                                      ", select=greater_equal, scatter=add_body"));
}

}  // namespace meshwright::random_operators
