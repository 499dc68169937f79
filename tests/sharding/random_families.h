#ifndef MESHWRIGHT_TESTS_SHARDING_RANDOM_FAMILIES_H_
#define MESHWRIGHT_TESTS_SHARDING_RANDOM_FAMILIES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "tests/sharding/random_operators.h"

// The generators of random operators, and what they have in common: random dimensions, their text,
// and an entry computation that grows line by line.

namespace meshwright::random_operators {

// --- random_window_operators.cc ---
std::string RandomConvolution(Random& random);
std::string RandomReduceWindow(Random& random);
std::string RandomSelectAndScatter(Random& random);
// --- random_rearranging_operators.cc ---
std::string RandomBroadcast(Random& random);
std::string RandomTranspose(Random& random);
std::string RandomReshape(Random& random);
std::string RandomBitcast(Random& random);
std::string RandomSlice(Random& random);
std::string RandomPad(Random& random);
std::string RandomConcatenate(Random& random);
std::string RandomReverse(Random& random);
// --- random_indexed_operators.cc ---
std::string RandomDynamicSlice(Random& random);
std::string RandomDynamicUpdateSlice(Random& random);
std::string RandomGather(Random& random);
std::string RandomScatter(Random& random);
// --- shared by them ---

using Dims = std::vector<int64_t>;

inline int64_t Pick(Random& random, const Dims& from) { return from[random() % from.size()]; }

inline Dims RandomDims(Random& random, int64_t min_rank, int64_t max_rank) {
  Dims dims(static_cast<size_t>(min_rank + Below(random, max_rank - min_rank + 1)));
  for (int64_t& dim : dims) dim = Pick(random, {1, 2, 3, 4, 4, 6, 8});
  return dims;
}

inline std::string List(const Dims& list) { return StrCat("{", absl::StrJoin(list, ","), "}"); }
inline std::string Type(std::string_view element, const Dims& dims) {
  return StrCat(element, "[", absl::StrJoin(dims, ","), "]");
}
inline std::string F32(const Dims& dims) { return Type("f32", dims); }

inline Dims Permutation(Random& random, size_t n) {
  Dims order(n);
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(i);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

inline Dims Minus(const Dims& a, const Dims& b) {
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

}  // namespace meshwright::random_operators

#endif  // MESHWRIGHT_TESTS_SHARDING_RANDOM_FAMILIES_H_
