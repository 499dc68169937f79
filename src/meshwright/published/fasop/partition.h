#ifndef MESHWRIGHT_PUBLISHED_FASOP_PARTITION_H_
#define MESHWRIGHT_PUBLISHED_FASOP_PARTITION_H_

#include <array>
#include <vector>

#include "meshwright/published/fasop/fasop.h"

namespace meshwright::transformer::fasop {

// Seconds of each layer, forward and backward of a micro-batch, by Gpu.
using LayerSeconds = std::array<std::vector<double>, kGpuKinds>;

struct StageCost {
  double computation = 0, communication = 0;  // communication of middle stages only
  double total() const { return communication + computation; }
};

// `sends` are the seconds between neighbours, `gpus` of each stage.
std::vector<StageCost> StageCosts(const std::vector<int>& partition, const LayerSeconds& seconds,
                                  const std::vector<float>& sends, const std::vector<Gpu>& gpus);

struct Partition {
  std::vector<int> layers;
  // What it was costed as: after one of the ways to stop, the partition before the last change.
  std::vector<StageCost> costs;
};

// Moves single layers, of the first `layers`, from the slowest stage to the fastest ("minmax").
Partition Balance(int layers, const LayerSeconds& seconds, const std::vector<float>& sends,
                  const std::vector<Gpu>& gpus);

}  // namespace meshwright::transformer::fasop

#endif  // MESHWRIGHT_PUBLISHED_FASOP_PARTITION_H_
