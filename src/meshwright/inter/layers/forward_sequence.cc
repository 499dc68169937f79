#include "meshwright/inter/layers/forward_sequence.h"

#include <algorithm>
#include <limits>

namespace meshwright {
ForwardSequence MakeForwardSequence(const Graph& graph, const FusionInfo& fusion,
                                    const UnitGraph& units, const std::vector<Phase>& phase) {
  ForwardSequence sequence;
  sequence.prepares = PrepareData(graph, units);
  sequence.position.assign(units.units.size(), -1);
  for (size_t u = 0; u < units.units.size(); ++u) {
    const Unit& unit = units.units[u];
    if (phase[u] != Phase::kForward || !IsPerMicroBatch(unit) || sequence.prepares[u]) continue;
    sequence.position[u] = static_cast<int32_t>(sequence.units.size());
    if (unit.heavy) sequence.heavy.push_back(sequence.position[u]);
    sequence.units.push_back(static_cast<int32_t>(u));
  }
  const size_t n = sequence.units.size();
  sequence.crossing_bytes.assign(n + 1, 0);
  for (size_t p = 0; p < n; ++p) {
    for (ValueId v : units.units[sequence.units[p]].outputs) {
      int32_t last = -1;
      for (int32_t user : units.users[v.index()]) {
        last = std::max(last, sequence.position[user]);
      }
      if (last < 0 || fusion.free[v.index()]) continue;
      // It crosses the cuts after its producer up to that before its last user.
      const auto bytes = static_cast<double>(graph[v].shape.bytes());
      sequence.crossing_bytes[p + 1] += bytes;
      if (static_cast<size_t>(last) < n) sequence.crossing_bytes[last + 1] -= bytes;
    }
  }
  for (size_t p = 1; p <= n; ++p) sequence.crossing_bytes[p] += sequence.crossing_bytes[p - 1];
  // Where what depends on no data is used first.
  constexpr int32_t kNowhere = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> first(units.units.size(), kNowhere);
  sequence.weight_bytes.assign(n, 0);
  for (size_t u = units.units.size(); u-- > 0;) {
    const Unit& unit = units.units[u];
    if (sequence.position[u] >= 0) first[u] = sequence.position[u];
    if (unit.role != BatchRole::kConstant) continue;
    for (ValueId v : unit.outputs) {
      for (int32_t user : units.users[v.index()]) first[u] = std::min(first[u], first[user]);
    }
    if (first[u] == kNowhere || !IsParameter(graph, unit)) continue;
    sequence.weight_bytes[first[u]] += static_cast<double>(graph[unit.outputs[0]].shape.bytes());
  }
  return sequence;
}

int32_t NarrowestCut(const ForwardSequence& sequence, int32_t after, int32_t before) {
  const auto& bytes = sequence.crossing_bytes;
  int32_t narrowest = after + 1;
  for (int32_t cut = after + 2; cut <= before; ++cut) {
    if (bytes[cut] <= bytes[narrowest]) narrowest = cut;
  }
  return narrowest;
}

}  // namespace meshwright
