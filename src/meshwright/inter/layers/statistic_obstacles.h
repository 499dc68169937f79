#ifndef MESHWRIGHT_INTER_LAYERS_STATISTIC_OBSTACLES_H_
#define MESHWRIGHT_INTER_LAYERS_STATISTIC_OBSTACLES_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/inter/layers/batch_propagation.h"

namespace meshwright {

// Statistics that a micro-batch's own cannot stand in for: weights that a later part of the program
// uses again after they were updated (two steps in one program), and what is combined otherwise
// than by a sum where it is needed once a step too (the mean over micro-batches is not it). `split`
// has its roles.
std::vector<BatchPropagation::Obstacle> FindStatisticObstacles(const Graph& graph,
                                                               const BatchPropagation& propagation,
                                                               const std::vector<int32_t>& tied,
                                                               const BatchSplit& split);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_STATISTIC_OBSTACLES_H_
