#ifndef MESHWRIGHT_INTER_LAYERS_BATCH_ROLES_H_
#define MESHWRIGHT_INTER_LAYERS_BATCH_ROLES_H_

#include <string>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/inter/layers/batch_propagation.h"

namespace meshwright {

// Fills roles, dimension, statistics, indivisible and warnings of `split` from where the batch
// goes. `tied`:
// see TiedParameters.
void AssignRoles(const Graph& graph, const BatchPropagation& propagation,
                 const std::vector<int32_t>& tied, BatchSplit* split);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_BATCH_ROLES_H_
