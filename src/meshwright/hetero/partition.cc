#include "meshwright/hetero/partition.h"

#include <algorithm>
#include <limits>

namespace meshwright::transformer {
namespace {

constexpr double kNoPartition = std::numeric_limits<double>::infinity();

}  // namespace

MixedPartitioner::MixedPartitioner(const MixedCosts& costs, const std::vector<int32_t>& lanes)
    : costs_(costs),
      lanes_(lanes),
      sums_((lanes.size() + 1) * (costs.layers() + 1)),
      taken_((lanes.size() + 1) * (costs.layers() + 1)) {}

bool MixedPartitioner::Solve(const std::vector<MixedPlace>& places,
                             std::vector<MixedStage>* stages) {
  const int64_t layers = costs_.layers(), width = layers + 1;
  const int64_t count = static_cast<int64_t>(lanes_.size());
  if (count > layers) return false;
  std::fill(sums_.begin(), sums_.end(), kNoPartition);
  sums_[count * width + layers] = 0;
  for (int64_t i = count; i-- > 0;) {
    const int64_t in_flight = std::min(costs_.micro_batches(), count - i);
    const double* const behind = &sums_[(i + 1) * width];
    const int64_t last_first = i == 0 ? 0 : layers - (count - i);
    for (int64_t first = i; first <= last_first; ++first) {
      double best = kNoPartition;
      int32_t taken = 0;
      for (int64_t n = 1; first + n <= layers - (count - 1 - i); ++n) {
        const MixedCell& cell = costs_.Cell(lanes_[i], first, n);
        if (cell.most_in_flight < in_flight || !places[count - 1 - i].Takes(cell)) break;
        ++effort_;
        const double all = cell.both() + behind[first + n];
        if (all < best) {
          best = all;
          taken = static_cast<int32_t>(n);
        }
      }
      sums_[i * width + first] = best;
      taken_[i * width + first] = taken;
    }
  }
  if (sums_[0] == kNoPartition) return false;
  stages->clear();
  int64_t first = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t taken = taken_[i * width + first];
    stages->push_back({lanes_[i], taken});
    first += taken;
  }
  return true;
}

}  // namespace meshwright::transformer
