#include "meshwright/cluster/prices.h"

#include <string>

#include "meshwright/base/counted.h"
#include "meshwright/base/strings.h"

namespace meshwright {

absl::Status CheckPricesKnown(const MixedCluster& cluster) {
  for (const NodeGroup& group : cluster.groups) {
    const int64_t on_demand = group.cluster.nodes - group.spot_nodes;
    const bool no_spot = group.spot_nodes > 0 && !group.spot_price.has_value();
    const bool no_on_demand = on_demand > 0 && !group.on_demand_price.has_value();
    if (!no_spot && !no_on_demand) continue;
    const std::string place = group.place.empty() ? "" : group.place + ": ";
    if (group.spot_nodes == 0) {
      return absl::InvalidArgumentError(
          StrCat(place, "no price of ", group.name,
                 " is known; give price_per_hour: ... (dollars a device) of the group in the "
                 "cluster's file"));
    }
    const std::string spot = Counted(group.spot_nodes, "spot node"),
                      other = Counted(on_demand, "node") + " on demand";
    return absl::InvalidArgumentError(StrCat(
        place, "no price of the ", no_spot ? spot : "", no_spot && no_on_demand ? " and the " : "",
        no_on_demand ? other : "", " of ", group.name, " is known; give ", no_spot ? "spot" : "",
        no_spot && no_on_demand ? " and " : "", no_on_demand ? "on_demand" : "",
        " in price_per_hour: {on_demand: ..., spot: ...} (dollars a device) of the group in "
        "the cluster's file"));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
