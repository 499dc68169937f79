#ifndef MESHWRIGHT_SHARDING_RESHARD_SEARCH_H_
#define MESHWRIGHT_SHARDING_RESHARD_SEARCH_H_

#include <vector>

#include "meshwright/sharding/reshard.h"

// The shortest paths behind sharding/reshard.h, which says what a path may do. All ends must be
// reachable from `from`.

namespace meshwright {

std::vector<ReshardMove> CheapestPath(const Shape& shape, const Sharding& from, const Sharding& to,
                                      const Mesh& mesh, const CollectivePrice& price);

// Whether one search can tell the prices of all ends that together with `from` use the same axes
// and dimensions and leave the same axes unreduced as `to`: nothing else of the end decides which
// moves there are.
bool SharesSearch(const Shape& shape, const Sharding& from, const Sharding& to, const Mesh& mesh);

// Seconds of CheapestPath to each of `to`, one or several that share a search.
std::vector<double> CheapestSeconds(const Shape& shape, const Sharding& from,
                                    const std::vector<const Sharding*>& to, const Mesh& mesh,
                                    const CollectivePrice& price);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_RESHARD_SEARCH_H_
