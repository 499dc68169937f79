#include "meshwright/intra/given_cuts.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace meshwright {

void GivenCuts::Allow(Rule* rule) const {
  if (uneven.empty()) return;
  AllowUneven([this](int64_t size) { return uneven.contains(size); }, rule);
}

GivenCuts FindGivenCuts(const Graph& graph, const Mesh& mesh, const Pins& pins) {
  GivenCuts cuts;
  const auto add = [&](const std::optional<Sharding>& pin, const Shape& shape) {
    if (!pin.has_value()) return;
    for (size_t d = 0; d < pin->dims.size(); ++d) {
      const AxisList& axes = pin->dims[d];
      const bool known =
          std::is_sorted(axes.begin(), axes.end()) ||
          std::find(cuts.orders.begin(), cuts.orders.end(), axes) != cuts.orders.end();
      if (!known) cuts.orders.push_back(axes);
      if (shape.dims[d] % mesh.Size(axes) != 0) cuts.uneven.insert(shape.dims[d]);
    }
  };
  for (size_t i = 0; i < pins.parameters.size(); ++i)
    add(pins.parameters[i], graph[graph[graph.parameters[i]].results[0]].shape);
  for (size_t i = 0; i < pins.outputs.size(); ++i)
    add(pins.outputs[i], graph[graph[graph.outputs[i]].operands[0]].shape);
  for (size_t i = 0; i < pins.values.size(); ++i) add(pins.values[i], graph.values[i].shape);
  return cuts;
}

}  // namespace meshwright
