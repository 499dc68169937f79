#include "meshwright/hetero/partition.h"

#include <algorithm>
#include <limits>

namespace meshwright::transformer::hetero {
namespace {

constexpr double kNoPartition = std::numeric_limits<double>::infinity();

}  // namespace

Partitioner::Partitioner(const Costs& costs, const std::vector<int32_t>& stage_classes,
                         const std::vector<int64_t>& layers)
    : costs_(costs),
      stage_classes_(stage_classes),
      fixed_(layers),
      sums_((stage_classes.size() + 1) * (costs.layers() + 1)),
      taken_((stage_classes.size() + 1) * (costs.layers() + 1)) {}

bool Partitioner::Solve(const std::vector<Place>& places, std::vector<Stage>* stages) {
  const int64_t layers = costs_.layers(), width = layers + 1;
  const int64_t count = static_cast<int64_t>(stage_classes_.size());
  if (count > MostStages(layers)) return false;
  std::fill(sums_.begin(), sums_.end(), kNoPartition);
  sums_[count * width + layers] = 0;
  for (int64_t i = count; i-- > 0;) {
    const int64_t in_flight = std::min(costs_.micro_batches(), count - i);
    const double* const behind = &sums_[(i + 1) * width];
    const int64_t least = LeastLayers(i, count - 1 - i);
    const int64_t before = LeastLayersOf(i, count - i);
    const int64_t rest = std::max<int64_t>(0, count - 2 - i);  // the last stage needs none
    const int64_t last_first = i == 0 ? 0 : layers - least - rest;
    for (int64_t first = before; first <= last_first; ++first) {
      double best = kNoPartition;
      int32_t taken = 0;
      for (int64_t n = least; first + n <= layers - rest; ++n) {
        const Cell& cell = costs_.CellAt(stage_classes_[i], {first, n, i == 0, i + 1 == count});
        if (cell.most_in_flight < in_flight || !places[count - 1 - i].Takes(cell)) break;
        ++effort_;
        if (!fixed_.empty() && fixed_[i] != n) continue;
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
    stages->push_back({stage_classes_[i], taken});
    first += taken;
  }
  return true;
}

}  // namespace meshwright::transformer::hetero
