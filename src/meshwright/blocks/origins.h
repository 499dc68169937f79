#ifndef MESHWRIGHT_BLOCKS_ORIGINS_H_
#define MESHWRIGHT_BLOCKS_ORIGINS_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "meshwright/hlo/graph.h"

namespace meshwright {

// Indices of an array that count elements `stride` apart: a dimension, or a part of one.
struct IndexRange {
  int64_t stride = 1, size = 1;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
  friend auto operator<=>(const IndexRange&, const IndexRange&) = default;
};
using IndexRanges = absl::InlinedVector<IndexRange, 2>;

// Sorted, and neighbours that make one longer range joined: equal for equal sets of indices.
IndexRanges Joined(IndexRanges ranges);

// A value as another one in another layout or type.
struct Origin {
  ValueId root;
  // By dimension of the value: the indices of `root` that it runs over, major to minor; none for
  // dimensions of size 1.
  std::vector<IndexRanges> dims;
};

// Follows values up through reshapes, transposes, conversions and copies, and from loops to what
// they only read: to its entry for the iteration, and if an earlier loop put those together, to
// what that made an entry of. What is computed again from the same has the origin of the first.
class Origins {
 public:
  explicit Origins(const Graph& graph);
  const Origin& Of(ValueId v);

 private:
  Origin Find(ValueId v);
  void FindFirst();
  bool RunsOverAll(const Origin& origin, ElementType type) const;
  // The value that `v` is a layout of, or invalid.
  ValueId Source(ValueId v) const;
  // The value that the loop which made the array of `slice` put there; invalid: none did.
  ValueId Stacked(const Op& slice) const;

  const Graph& graph_;
  // By ValueId: where a loop's parameter that never changes is from; what a loop's result is at the
  // end of its last iteration.
  std::vector<ValueId> invariant_, last_;
  std::vector<ValueId> first_;   // by ValueId: the first value that is computed in the same way
  std::vector<Origin> origins_;  // by ValueId; root invalid: not known yet
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_ORIGINS_H_
