#ifndef MESHWRIGHT_BLOCKS_SEGMENTS_H_
#define MESHWRIGHT_BLOCKS_SEGMENTS_H_

#include <cstdint>
#include <vector>

// A network as a sequence of few distinct segments: runs of blocks, each of which has to be
// measured once only.

namespace meshwright {

struct SegmentCover {
  std::vector<std::vector<int32_t>>
      distinct;                   // the kinds of a segment's blocks, by first appearance
  std::vector<int32_t> sequence;  // indices into `distinct`; in sequence they make the input
  bool exact = true;              // no cover has fewer distinct segments; false: the work ran out
};

struct SegmentOptions {
  int32_t longest = 12;  // blocks a segment
  int64_t most_steps = 20'000'000;
};

// Covers `kinds` with as few distinct segments as possible; of those covers the one with the fewest
// combinations that the search came to: the sum over distinct segments of the product over their
// blocks of `strategies[kind]` (at least 1).
SegmentCover CoverWithSegments(const std::vector<int32_t>& kinds,
                               const std::vector<double>& strategies,
                               const SegmentOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_SEGMENTS_H_
