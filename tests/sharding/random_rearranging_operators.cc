#include <utility>

#include "tests/sharding/random_families.h"

// Operators that move elements to places that are known beforehand.

namespace meshwright::random_operators {
namespace {

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

}  // namespace

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

}  // namespace meshwright::random_operators
