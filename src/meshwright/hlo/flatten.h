#ifndef MESHWRIGHT_HLO_FLATTEN_H_
#define MESHWRIGHT_HLO_FLATTEN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/shape.h"

// Tuples taken apart. The *leaves* of a shape are its arrays, tokens and opaque values in order,
// depth first; an array is its own only leaf, an empty tuple has none. A leaf is named by its
// *path*, the tuple indices that lead to it: in `(f32[], (s32[], s32[]))` the last leaf has the
// path {1,1}.

namespace meshwright {

// Calls `visit(path, leaf)` for every leaf of `shape` in order. The path is valid during the call.
void ForEachLeaf(
    const Shape& shape,
    const std::function<void(const std::vector<int64_t>& path, const Shape& leaf)>& visit);

int64_t LeafCount(const Shape& shape);

// "{1,1}"; empty for the empty path, so that it can be appended to the name of any value.
std::string LeafPathText(const std::vector<int64_t>& path);

// The shardings of the `leaves` leaves of one instruction, from its `sharding` text: the elements
// of a tuple sharding `{{devices=[2]<=[2]}, {replicated}}`, or the one sharding that holds for all.
// Empty if the text is empty or lists another number of shardings.
std::vector<std::string_view> LeafShardings(std::string_view sharding, int64_t leaves);

// Where the elements of tuple shapes begin among the tuples' leaves. Each shape is looked at once,
// so that taking a tuple of n elements apart one by one costs O(n) altogether. Shapes are told
// apart by address: they must stay where they are.
class LeafOffsets {
 public:
  struct Range {
    int32_t begin = 0, count = 0;
  };
  // Leaves of element `index` of `tuple`. Requires tuple.is_tuple() and a valid index.
  Range Element(const Shape& tuple, int64_t index);

 private:
  absl::flat_hash_map<const Shape*, std::vector<int32_t>>
      begins_;  // and the end, as one more entry
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_FLATTEN_H_
