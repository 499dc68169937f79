#include "tests/sharding/random_operators.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/module.h"

namespace meshwright {
namespace {

using Dims = std::vector<int64_t>;

int64_t Pick(Random& random, const Dims& from) { return from[random() % from.size()]; }

Dims RandomDims(Random& random, int64_t min_rank, int64_t max_rank) {
  Dims dims(static_cast<size_t>(min_rank + Below(random, max_rank - min_rank + 1)));
  for (int64_t& dim : dims) dim = Pick(random, {1, 2, 3, 4, 4, 6, 8});
  return dims;
}

std::string List(const Dims& list) { return StrCat("{", absl::StrJoin(list, ","), "}"); }
std::string Type(std::string_view element, const Dims& dims) {
  return StrCat(element, "[", absl::StrJoin(dims, ","), "]");
}
std::string F32(const Dims& dims) { return Type("f32", dims); }

Dims Permutation(Random& random, size_t n) {
  Dims order(n);
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(i);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

Dims Minus(const Dims& a, const Dims& b) {
  Dims rest;
  for (int64_t x : a) {
    if (std::find(b.begin(), b.end(), x) == b.end()) rest.push_back(x);
  }
  return rest;
}

// Writes `  pN = TYPE parameter(N)` lines and the names of operands.
class Entry {
 public:
  std::string Parameter(const std::string& type) {
    std::string name = StrCat("p", count_);
    StrAppend(&text_, "  ", name, " = ", type, " parameter(", count_++, ")\n");
    return name;
  }
  void Line(const std::string& line) { StrAppend(&text_, "  ", line, "\n"); }
  std::string Root(const std::string& type, const std::string& call) {
    return StrCat(text_, "  ROOT r = ", type, " ", call, "\n");
  }

 private:
  std::string text_;
  int count_ = 0;
};

std::string RandomElementwise(Random& random) {
  Entry entry;
  Dims dims = RandomDims(random, 0, 3);
  std::string x = entry.Parameter(F32(dims)), y = entry.Parameter(F32(dims));
  switch (random() % 7) {
    case 0:
      return entry.Root(F32(dims), StrCat("add(", x, ", ", y, ")"));
    case 1:
      return entry.Root(F32(dims), StrCat("subtract(", x, ", ", y, ")"));
    case 2:
      return entry.Root(F32(dims), StrCat("multiply(", x, ", ", y, ")"));
    case 3:
      return entry.Root(Type("pred", dims), StrCat("compare(", x, ", ", y, "), direction=LT"));
    case 4: {
      std::string low = entry.Parameter("f32[]"), high = entry.Parameter("f32[]");
      return entry.Root(F32(dims), StrCat("clamp(", low, ", ", x, ", ", high, ")"));
    }
    case 5: {
      std::string predicate = entry.Parameter(random() % 2 ? Type("pred", dims) : "pred[]");
      return entry.Root(F32(dims), StrCat("select(", predicate, ", ", x, ", ", y, ")"));
    }
    default:
      return entry.Root(Type("bf16", dims), StrCat("convert(", x, ")"));
  }
}

std::string RandomDot(Random& random) {
  int64_t batch = Below(random, 3), contracting = Below(random, 3), left = Below(random, 3),
          right = Below(random, 2);
  Dims sizes = RandomDims(random, batch + contracting, batch + contracting);
  Dims lhs = sizes, rhs = sizes, out(sizes.begin(), sizes.begin() + batch);
  for (int64_t i = 0; i < left; ++i) lhs.push_back(Pick(random, {1, 2, 3, 4, 8}));
  for (int64_t i = 0; i < right; ++i) rhs.push_back(Pick(random, {1, 2, 3, 4, 8}));
  // Where each of these dimensions stands in its operand.
  Dims lhs_at = Permutation(random, lhs.size()), rhs_at = Permutation(random, rhs.size());
  Dims lhs_dims(lhs.size()), rhs_dims(rhs.size());
  for (size_t i = 0; i < lhs.size(); ++i) lhs_dims[lhs_at[i]] = lhs[i];
  for (size_t i = 0; i < rhs.size(); ++i) rhs_dims[rhs_at[i]] = rhs[i];
  auto part = [](const Dims& list, int64_t begin, int64_t end) {
    return Dims(list.begin() + begin, list.begin() + end);
  };
  Dims lhs_used = part(lhs_at, 0, batch + contracting),
       rhs_used = part(rhs_at, 0, batch + contracting);
  for (size_t d = 0; d < lhs_dims.size(); ++d) {
    if (!Minus({static_cast<int64_t>(d)}, lhs_used).empty()) out.push_back(lhs_dims[d]);
  }
  for (size_t d = 0; d < rhs_dims.size(); ++d) {
    if (!Minus({static_cast<int64_t>(d)}, rhs_used).empty()) out.push_back(rhs_dims[d]);
  }
  Entry entry;
  std::string x = entry.Parameter(F32(lhs_dims)), y = entry.Parameter(F32(rhs_dims));
  return entry.Root(
      F32(out), StrCat("dot(", x, ", ", y, "), lhs_batch_dims=", List(part(lhs_at, 0, batch)),
                       ", lhs_contracting_dims=", List(part(lhs_at, batch, batch + contracting)),
                       ", rhs_batch_dims=", List(part(rhs_at, 0, batch)),
                       ", rhs_contracting_dims=", List(part(rhs_at, batch, batch + contracting))));
}

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

std::string RandomReduce(Random& random) {
  Dims dims = RandomDims(random, 1, 4);
  Dims reduced = Permutation(random, dims.size());
  reduced.resize(1 + random() % dims.size());
  std::sort(reduced.begin(), reduced.end());
  Dims out;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!Minus({static_cast<int64_t>(d)}, reduced).empty()) out.push_back(dims[d]);
  }
  const char* bodies[] = {"add_body", "maximum_body", "minimum_body", "multiply_body"};
  Entry entry;
  std::string x = entry.Parameter(F32(dims)), init = entry.Parameter("f32[]");
  return entry.Root(F32(out), StrCat("reduce(", x, ", ", init, "), dimensions=", List(reduced),
                                     ", to_apply=", bodies[random() % 4]));
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

std::string RandomBroadcast(Random& random) {
  Dims out = RandomDims(random, 0, 4), at = Permutation(random, out.size()), in;
  at.resize(random() % (out.size() + 1));
  std::sort(at.begin(), at.end());
  for (int64_t d : at) in.push_back(out[d]);
  Entry entry;
  std::string x = entry.Parameter(F32(in));
  return entry.Root(F32(out), StrCat("broadcast(", x, "), dimensions=", List(at)));
}

std::string RandomTranspose(Random& random) {
  Dims dims = RandomDims(random, 1, 4), order = Permutation(random, dims.size()), out;
  for (int64_t d : order) out.push_back(dims[d]);
  Entry entry;
  std::string x = entry.Parameter(F32(dims));
  return entry.Root(F32(out), StrCat("transpose(", x, "), dimensions=", List(order)));
}

// Some other dimensions with as many elements: neighbours merged, split, or moved between each
// other.
Dims Reshaped(Random& random, Dims dims) {
  for (int edits = 0; edits < 4; ++edits) {
    size_t at = dims.empty() ? 0 : random() % dims.size();
    switch (random() % 4) {
      case 0:
        dims.insert(dims.begin() + static_cast<int64_t>(at), 1);
        break;
      case 1:
        if (at + 1 < dims.size()) {
          dims[at] *= dims[at + 1];
          dims.erase(dims.begin() + static_cast<int64_t>(at) + 1);
        }
        break;
      case 2:
        for (int64_t factor : {2, 3}) {
          if (at < dims.size() && dims[at] % factor == 0 && dims[at] > factor) {
            dims[at] /= factor;
            dims.insert(dims.begin() + static_cast<int64_t>(at), factor);
            break;
          }
        }
        break;
      default:
        if (at + 1 < dims.size()) std::swap(dims[at], dims[at + 1]);
    }
  }
  return dims;
}

std::string RandomReshape(Random& random) {
  Dims dims = RandomDims(random, 0, 4), out = Reshaped(random, dims);
  Entry entry;
  std::string x = entry.Parameter(F32(dims));
  return entry.Root(F32(out), StrCat("reshape(", x, ")"));
}

std::string RandomBitcast(Random& random) {
  Dims dims = RandomDims(random, 1, 3), out = Reshaped(random, dims);
  auto with_layout = [&](const Dims& d) {
    return StrCat(F32(d), List(Permutation(random, d.size())));
  };
  Entry entry;
  std::string x = entry.Parameter(with_layout(dims));
  return entry.Root(with_layout(out), StrCat("bitcast(", x, ")"));
}

std::string RandomSlice(Random& random) {
  Dims dims = RandomDims(random, 1, 3), out;
  std::vector<std::string> parts;
  for (int64_t size : dims) {
    int64_t start = random() % 2 ? 0 : Below(random, size), stride = Pick(random, {1, 1, 2});
    int64_t limit = random() % 2 ? size : start + 1 + Below(random, size - start);
    parts.push_back(StrCat("[", start, ":", limit, ":", stride, "]"));
    out.push_back((limit - start + stride - 1) / stride);
  }
  Entry entry;
  std::string x = entry.Parameter(F32(dims));
  return entry.Root(F32(out), StrCat("slice(", x, "), slice={", absl::StrJoin(parts, ", "), "}"));
}

// Sizes up to `dims`, often equal.
Dims Part(Random& random, const Dims& dims) {
  Dims part;
  for (int64_t size : dims) part.push_back(random() % 2 ? size : 1 + Below(random, size));
  return part;
}

std::string RandomDynamicSlice(Random& random) {
  Dims dims = RandomDims(random, 1, 3), sizes = Part(random, dims);
  Entry entry;
  std::vector<std::string> operands = {entry.Parameter(F32(dims))};
  for (size_t d = 0; d < dims.size(); ++d) operands.push_back(entry.Parameter("s32[]"));
  return entry.Root(F32(sizes), StrCat("dynamic-slice(", absl::StrJoin(operands, ", "),
                                       "), dynamic_slice_sizes=", List(sizes)));
}

std::string RandomDynamicUpdateSlice(Random& random) {
  Dims dims = RandomDims(random, 1, 3);
  Entry entry;
  std::vector<std::string> operands = {entry.Parameter(F32(dims))};
  operands.push_back(entry.Parameter(F32(Part(random, dims))));
  for (size_t d = 0; d < dims.size(); ++d) operands.push_back(entry.Parameter("s32[]"));
  return entry.Root(F32(dims), StrCat("dynamic-update-slice(", absl::StrJoin(operands, ", "), ")"));
}

std::string RandomPad(Random& random) {
  Dims dims = RandomDims(random, 1, 3), out;
  std::vector<std::string> parts;
  for (int64_t size : dims) {
    int64_t low = random() % 2 ? 0 : Below(random, 3), high = low == 0 ? 0 : Below(random, 3) - 1;
    int64_t interior = random() % 4 == 0 ? 1 : 0;
    parts.push_back(StrCat(low, "_", high, interior ? "_1" : ""));
    out.push_back(size + (size - 1) * interior + low + high);
  }
  Entry entry;
  std::string x = entry.Parameter(F32(dims)), value = entry.Parameter("f32[]");
  return entry.Root(F32(out),
                    StrCat("pad(", x, ", ", value, "), padding=", absl::StrJoin(parts, "x")));
}

std::string RandomConcatenate(Random& random) {
  Dims dims = RandomDims(random, 1, 3);
  int64_t dim = Below(random, static_cast<int64_t>(dims.size()));
  Entry entry;
  std::vector<std::string> operands;
  int64_t total = 0;
  for (uint32_t i = 1 + random() % 3; i > 0; --i) {
    dims[dim] = Pick(random, {1, 2, 3, 4});
    total += dims[dim];
    operands.push_back(entry.Parameter(F32(dims)));
  }
  dims[dim] = total;
  return entry.Root(F32(dims), StrCat("concatenate(", absl::StrJoin(operands, ", "),
                                      "), dimensions={", dim, "}"));
}

std::string RandomReverse(Random& random) {
  Dims dims = RandomDims(random, 1, 3), reversed = Permutation(random, dims.size());
  reversed.resize(random() % (dims.size() + 1));
  Entry entry;
  std::string x = entry.Parameter(F32(dims));
  return entry.Root(F32(dims), StrCat("reverse(", x, "), dimensions=", List(reversed)));
}

std::string RandomIota(Random& random) {
  Dims dims = RandomDims(random, 1, 3);
  return Entry().Root(F32(dims), StrCat("iota(), iota_dimension=", random() % dims.size()));
}

std::string RandomSort(Random& random) {
  Dims dims = RandomDims(random, 1, 3);
  Entry entry;
  std::string x = entry.Parameter(F32(dims)), y = entry.Parameter(F32(dims));
  return entry.Root(StrCat("(", F32(dims), ", ", F32(dims), ")"),
                    StrCat("sort(", x, ", ", y, "), dimensions={", random() % dims.size(),
                           "}, is_stable=true, to_apply=less"));
}

// Attributes common to gather and scatter: an operand whose dimensions are indexed, batched or
// windows.
struct Indexing {
  Dims operand, indices, batch;  // sizes; batch: of the index array without index_vector_dim
  Dims collapsed, indexed, operand_batching, indices_batching,
      window_sizes;  // window_sizes: all operand dims
  int64_t index_vector_dim = 0;
};

Indexing RandomIndexing(Random& random) {
  Indexing x;
  x.operand = RandomDims(random, 1, 4);
  x.batch = RandomDims(random, 0, 2);
  x.window_sizes.assign(x.operand.size(), 1);
  Dims batch_left = Permutation(random, x.batch.size());
  for (size_t d = 0; d < x.operand.size(); ++d) {
    int64_t dim = static_cast<int64_t>(d);
    if (random() % 4 == 0 && !batch_left.empty()) {
      x.operand_batching.push_back(dim);
      x.indices_batching.push_back(batch_left.back());
      x.operand[d] = x.batch[batch_left.back()];
      batch_left.pop_back();
      continue;
    }
    bool indexed = random() % 2;
    if (indexed) x.indexed.push_back(dim);
    if (random() % 2) {
      x.collapsed.push_back(dim);
    } else {
      x.window_sizes[d] = random() % 3 ? x.operand[d] : 1 + Below(random, x.operand[d]);
    }
  }
  std::shuffle(x.indexed.begin(), x.indexed.end(), random);
  x.index_vector_dim = Below(random, static_cast<int64_t>(x.batch.size()) + 1);
  x.indices = x.batch;
  x.indices.insert(x.indices.begin() + x.index_vector_dim, static_cast<int64_t>(x.indexed.size()));
  for (int64_t& d : x.indices_batching) d += d >= x.index_vector_dim;
  return x;
}

// The sizes of gather results or scatter updates: batch dimensions mixed with windows.
// `window_dims` receives where the windows stand.
Dims MixWindows(Random& random, const Indexing& x, Dims& window_dims) {
  Dims windows;
  for (size_t d = 0; d < x.operand.size(); ++d) {
    int64_t dim = static_cast<int64_t>(d);
    if (!Minus(Minus({dim}, x.collapsed), x.operand_batching).empty())
      windows.push_back(x.window_sizes[d]);
  }
  window_dims = Permutation(random, windows.size() + x.batch.size());
  window_dims.resize(windows.size());
  std::sort(window_dims.begin(), window_dims.end());
  Dims dims;
  size_t next_window = 0, next_batch = 0;
  for (size_t d = 0; d < windows.size() + x.batch.size(); ++d) {
    bool window = Minus({static_cast<int64_t>(d)}, window_dims).empty();
    dims.push_back(window ? windows[next_window++] : x.batch[next_batch++]);
  }
  return dims;
}

std::string RandomGather(Random& random) {
  Indexing x = RandomIndexing(random);
  Dims offset_dims, out = MixWindows(random, x, offset_dims);
  Entry entry;
  std::string operand = entry.Parameter(F32(x.operand)),
              indices = entry.Parameter(Type("s32", x.indices));
  return entry.Root(
      F32(out),
      StrCat("gather(", operand, ", ", indices, "), offset_dims=", List(offset_dims),
             ", collapsed_slice_dims=", List(x.collapsed), ", start_index_map=", List(x.indexed),
             ", operand_batching_dims=", List(x.operand_batching),
             ", start_indices_batching_dims=", List(x.indices_batching),
             ", index_vector_dim=", x.index_vector_dim, ", slice_sizes=", List(x.window_sizes)));
}

std::string RandomScatter(Random& random) {
  Indexing x = RandomIndexing(random);
  Dims window_dims, updates = MixWindows(random, x, window_dims);
  Entry entry;
  std::string operand = "zeros";
  if (random() % 2) {
    entry.Line("zero = f32[] constant(0)");
    entry.Line(StrCat("zeros = ", F32(x.operand), " broadcast(zero), dimensions={}"));
  } else {
    operand = entry.Parameter(F32(x.operand));
  }
  std::string indices = entry.Parameter(Type("s32", x.indices)),
              update = entry.Parameter(F32(updates));
  const char* bodies[] = {"add_body", "add_body", "maximum_body", "multiply_body", "second_body"};
  return entry.Root(
      F32(x.operand),
      StrCat("scatter(", operand, ", ", indices, ", ", update, "), update_window_dims=",
             List(window_dims), ", inserted_window_dims=", List(x.collapsed),
             ", scatter_dims_to_operand_dims=", List(x.indexed), ", input_batching_dims=",
             List(x.operand_batching), ", scatter_indices_batching_dims=", List(x.indices_batching),
             ", index_vector_dim=", x.index_vector_dim, ", to_apply=", bodies[random() % 5]));
}

}  // namespace

const std::vector<OperatorFamily>& OperatorFamilies() {
  static const auto* const families =
      new std::vector<OperatorFamily>{{"elementwise", RandomElementwise, 100},
                                      {"dot", RandomDot, 200},
                                      {"convolution", RandomConvolution, 300},
                                      {"reduce", RandomReduce, 100},
                                      {"reduce_window", RandomReduceWindow, 100},
                                      {"select_and_scatter", RandomSelectAndScatter, 100},
                                      {"broadcast", RandomBroadcast, 100},
                                      {"transpose", RandomTranspose, 100},
                                      {"reshape", RandomReshape, 300},
                                      {"bitcast", RandomBitcast, 300},
                                      {"slice", RandomSlice, 100},
                                      {"dynamic_slice", RandomDynamicSlice, 100},
                                      {"dynamic_update_slice", RandomDynamicUpdateSlice, 100},
                                      {"pad", RandomPad, 100},
                                      {"concatenate", RandomConcatenate, 100},
                                      {"reverse", RandomReverse, 100},
                                      {"iota", RandomIota, 50},
                                      {"sort", RandomSort, 100},
                                      {"gather", RandomGather, 400},
                                      {"scatter", RandomScatter, 400}};
  return *families;
}

std::string ModuleText(std::string_view body) {
  std::string text = "HloModule t\n\n";
  for (std::string_view op : {"add", "maximum", "minimum", "multiply"}) {
    StrAppend(&text, op,
              "_body {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] ", op,
              "(a, b)\n}\n\n");
  }
  StrAppend(&text, "second_body {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\n\n");
  StrAppend(&text, "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n",
            "  c = f32[] parameter(2)\n  d = f32[] parameter(3)\n",
            "  ROOT e = pred[] compare(a, b), direction=LT\n}\n\n");
  StrAppend(&text, "greater_equal {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n",
            "  ROOT e = pred[] compare(a, b), direction=GE\n}\n\n");
  StrAppend(&text, "ENTRY e {\n", body, "}\n");
  return text;
}

}  // namespace meshwright
