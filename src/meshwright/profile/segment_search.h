#ifndef MESHWRIGHT_PROFILE_SEGMENT_SEARCH_H_
#define MESHWRIGHT_PROFILE_SEGMENT_SEARCH_H_

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

// The best choice for every segment of a network within a memory limit; knows no programs.

namespace meshwright {

// One way to run a segment.
struct SegmentOption {
  double seconds = 0;           // of one execution, forward and backward; >= 0
  int64_t kept_bytes = 0;       // adds up over segments: weights, optimizer state, activations that
                                // the backward phase needs
  int64_t working_bytes = 0;    // what is in use besides, while the segment runs
  int32_t entry = 0, exit = 0;  // how the values at its two borders are laid out: numbers from 0
};

struct SegmentProblem {
  std::vector<std::vector<SegmentOption>> options;  // by segment; at least one each
  std::vector<int32_t> sequence;                    // segments as a step runs them
  // By two segments that follow each other in `sequence`, [exit of the first][entry of the second]:
  // seconds to move what crosses the border, >= 0; infinite if that cannot be.
  std::map<std::pair<int32_t, int32_t>, std::vector<std::vector<double>>> resharding;
  // The limit of the sum of kept_bytes over the sequence and the largest of working_bytes.
  int64_t memory_limit = std::numeric_limits<int64_t>::max();
};

struct SegmentSearchOptions {
  int64_t most_entries = 4096;  // of a Pareto set; above, some are left out
  int64_t most_steps =
      20'000'000;            // pairs of entries that are looked at before sets are kept small
  double target_gap = 1e-4;  // a choice so near to the bound is good enough
};

struct SegmentSearchResult {
  bool possible = true;  // false: what the borders need cannot be had; then nothing else is set
  bool fits = true;      // false: nothing found within the limit; the choice of least memory then
  std::vector<int32_t> choice;    // by position: an index into the segment's options
  double seconds = 0;             // of all segments, and of resharding between them
  double resharding_seconds = 0;  // part of it
  double bound = 0;  // no choice within the limit takes less; infinite if there is provably none
  int64_t kept_bytes = 0, working_bytes = 0;  // sum, largest
  bool exact = false;                         // the choice is the best, and `bound` what it takes
};

SegmentSearchResult SearchSegments(const SegmentProblem& problem,
                                   const SegmentSearchOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_SEGMENT_SEARCH_H_
