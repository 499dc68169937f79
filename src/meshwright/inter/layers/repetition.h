#ifndef MESHWRIGHT_INTER_LAYERS_REPETITION_H_
#define MESHWRIGHT_INTER_LAYERS_REPETITION_H_

#include <cstdint>
#include <vector>

namespace meshwright {

// `count` blocks of `period` symbols each, from `begin` on, all equal. `slack`: the blocks could
// also begin up to so many symbols later.
struct Repetition {
  int32_t begin = 0, period = 0, count = 0, slack = 0;
  int32_t end() const { return begin + period * count; }
  friend bool operator==(const Repetition&, const Repetition&) = default;
};

// Stretches of a sequence that repeat, in order and disjoint: the stretch of the largest cost
// first, the shortest period of equals, then the same on either side of it. A stretch has to have
// `least_share` of the cost of the part in which it is found. Quadratic in the length, with small
// factors.
std::vector<Repetition> FindRepetitions(const std::vector<uint64_t>& symbols,
                                        const std::vector<double>& cost, double least_share);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_REPETITION_H_
