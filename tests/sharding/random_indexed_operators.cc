#include "tests/sharding/random_families.h"

// Operators that find elements by computed indices.

namespace meshwright::random_operators {
namespace {

// Sizes up to `dims`, often equal.
Dims Part(Random& random, const Dims& dims) {
  Dims part;
  for (int64_t size : dims) part.push_back(random() % 2 ? size : 1 + Below(random, size));
  return part;
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

}  // namespace

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

}  // namespace meshwright::random_operators
