#ifndef MESHWRIGHT_INTRA_PARTITIONER_RESHARD_H_
#define MESHWRIGHT_INTRA_PARTITIONER_RESHARD_H_

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/sharding/reshard.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// The collectives by which XLA's partitioner takes an array from one sharding to another, without
// their prices: `seconds` is not set. Not possible where PlanResharding says so.
Resharding PartitionerReshard(const Shape& shape, const Sharding& from, const Sharding& to,
                              const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PARTITIONER_RESHARD_H_
