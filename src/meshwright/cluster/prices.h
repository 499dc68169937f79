#ifndef MESHWRIGHT_CLUSTER_PRICES_H_
#define MESHWRIGHT_CLUSTER_PRICES_H_

#include "absl/status/status.h"
#include "meshwright/cluster/mixed_cluster.h"

namespace meshwright {

// Whether the price of every node that may be used is known. An error says of which group, whether
// of its spot nodes or those on demand, and which key gives it.
absl::Status CheckPricesKnown(const MixedCluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_PRICES_H_
