#ifndef MESHWRIGHT_HETERO_PARTITION_H_
#define MESHWRIGHT_HETERO_PARTITION_H_

#include <cstdint>
#include <vector>

#include "meshwright/hetero/bounds.h"
#include "meshwright/hetero/costs.h"

namespace meshwright::transformer::hetero {

// The layers of each stage where the stage classes of all stages are decided, by dynamic
// programming from the last stage to the first: of the partitions whose stages are held to what
// their places leave them, one with the least sum of both passes over all stages. What is sent does
// not depend on the partition.
class Partitioner {
 public:
  // All must outlive it; `stage_classes` in the order of the pipeline. `layers`: of each stage,
  // where these are fixed; else empty.
  Partitioner(const Costs& costs, const std::vector<int32_t>& stage_classes,
              const std::vector<int64_t>& layers);

  // By number of stages behind, what a place leaves. False if there is no partition.
  bool Solve(const std::vector<Place>& places, std::vector<Stage>* stages);
  int64_t effort() const { return effort_; }  // partial partitions that were looked at

 private:
  const Costs& costs_;
  const std::vector<int32_t>& stage_classes_;
  const std::vector<int64_t>& fixed_;
  std::vector<double> sums_;    // by stage and first layer, of it and those behind
  std::vector<int32_t> taken_;  // ... and its number of layers
  int64_t effort_ = 0;
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_PARTITION_H_
