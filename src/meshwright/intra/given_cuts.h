#ifndef MESHWRIGHT_INTRA_GIVEN_CUTS_H_
#define MESHWRIGHT_INTRA_GIVEN_CUTS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/pins.h"
#include "meshwright/sharding/rule.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// Ways to cut a dimension that are considered only because shardings that are given cut one so.
// They are open to all operators then, which need not move what comes to them in such a sharding.
struct GivenCuts {
  // Orders of dimensions that several axes cut in another order than the mesh's; see
  // EnumerateStrategies.
  std::vector<AxisList> orders;
  // Sizes of dimensions that are cut into more pieces than divide them evenly.
  absl::flat_hash_set<int64_t> uneven;

  // Lets factors of such sizes be cut unevenly.
  void Allow(Rule* rule) const;
  bool MayCut(int64_t size, int64_t pieces) const {
    return size % pieces == 0 || (uneven.contains(size) && size >= pieces);
  }
};

GivenCuts FindGivenCuts(const Graph& graph, const Mesh& mesh, const Pins& pins);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_GIVEN_CUTS_H_
