#include "meshwright/published/fasop/partition.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace meshwright::transformer::fasop {

namespace {

// Computes the costs of stages [first, behind) again.
void UpdateComputation(const std::vector<int>& partition, const LayerSeconds& seconds,
                       const std::vector<Gpu>& gpus, int first, int behind,
                       std::vector<StageCost>* costs) {
  int layer = std::accumulate(partition.begin(), partition.begin() + first, 0);
  for (int i = first; i < behind; ++i) {
    const double* const of_gpu = seconds[static_cast<size_t>(gpus[i])].data();
    double sum = 0;  // from left to right, as sums that are equal decide when to stop
    for (int n = 0; n < partition[i]; ++n) sum += of_gpu[layer++];
    (*costs)[i].computation = sum;
  }
}

}  // namespace

std::vector<StageCost> StageCosts(const std::vector<int>& partition, const LayerSeconds& seconds,
                                  const std::vector<float>& sends, const std::vector<Gpu>& gpus) {
  std::vector<StageCost> costs(partition.size());
  for (size_t i = 1; i + 1 < partition.size(); ++i) costs[i].communication = sends[i - 1];
  UpdateComputation(partition, seconds, gpus, 0, static_cast<int>(partition.size()), &costs);
  return costs;
}

Partition Balance(int layers, const LayerSeconds& seconds, const std::vector<float>& sends,
                  const std::vector<Gpu>& gpus) {
  const int stages = static_cast<int>(gpus.size());
  Partition result;
  std::vector<int>& partition = result.layers;
  partition.assign(stages, layers / stages);
  // The first of those left over goes to the last stage, whose index the original writes as -1.
  for (int i = 0; i < layers % stages; ++i) ++partition[i == 0 ? stages - 1 : i - 1];
  std::vector<std::vector<int>> before;  // all but the present partition
  double last = std::numeric_limits<double>::infinity();
  int slowest = 0, fastest = 0;
  bool moved = false;
  const auto undo = [&] {
    ++partition[slowest];
    --partition[fastest];
  };
  const auto update = [&] {
    UpdateComputation(partition, seconds, gpus, std::min(slowest, fastest),
                      std::max(slowest, fastest) + 1, &result.costs);
  };
  result.costs = StageCosts(partition, seconds, sends, gpus);
  while (true) {
    const auto less = [](const StageCost& a, const StageCost& b) { return a.total() < b.total(); };
    const auto most = std::max_element(result.costs.begin(), result.costs.end(), less);
    const double now = most->total();
    const bool again =
        now == last && std::find(before.begin(), before.end(), partition) != before.end();
    if (moved && (now > last || again)) {
      undo();
      update();
      return result;
    }
    last = now;
    slowest = static_cast<int>(most - result.costs.begin());
    fastest = static_cast<int>(std::min_element(result.costs.begin(), result.costs.end(), less) -
                               result.costs.begin());
    if ((slowest == 0 || slowest == stages - 1) && partition[slowest] == 2) {
      // A defect: this undoes a move that was not made, and the costs are those of before.
      if (moved) undo();
      return result;
    }
    if (partition[slowest] == 1) return result;
    before.push_back(partition);
    --partition[slowest];
    ++partition[fastest];
    update();
    moved = true;
  }
}

}  // namespace meshwright::transformer::fasop
