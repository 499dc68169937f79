#include "meshwright/sharding/reshard.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/sharding/reshard_search.h"
#include "meshwright/sharding/reshard_space.h"

namespace meshwright {
namespace {

bool Holds(const AxisList& list, AxisIndex axis) {
  return std::find(list.begin(), list.end(), axis) != list.end();
}

// `to` wants nothing that no exchange of data can give.
bool Possible(const Sharding& from, const Sharding& to) {
  bool subset = std::includes(from.unreduced.begin(), from.unreduced.end(), to.unreduced.begin(),
                              to.unreduced.end());
  if (!subset || from.dims.size() != to.dims.size()) return false;
  if (!to.unreduced.empty() && from.reduction != to.reduction) return false;
  return from.reduction != Reduction::kOther || from.unreduced == to.unreduced;
}

// Only axes are added, each at the minor end of its dimension: nothing but slices.
bool SlicesOnly(const Shape& shape, const Sharding& from, const Sharding& to, const Mesh& mesh) {
  if (from.unreduced != to.unreduced) return false;
  for (size_t d = 0; d < from.dims.size(); ++d) {
    const AxisList& before = from.dims[d];
    const AxisList& after = to.dims[d];
    if (before.size() > after.size() || !std::equal(before.begin(), before.end(), after.begin())) {
      return false;
    }
    if (!PiecesNest(shape.dims[d], mesh.Size(before), mesh.Size(after))) return false;
  }
  return true;
}

// Whether a device holds one element only of every dimension before `dim`: it is outermost.
bool IsOutermost(const Shape& shape, const Sharding& sharding, size_t dim, const Mesh& mesh) {
  for (size_t d = 0; d < dim; ++d) {
    if (shape.dims[d] > mesh.Size(sharding.dims[d])) return false;
  }
  return true;
}

// Bytes moved to make the dimension outermost that a collective cuts or joins, and back. Matrices
// need not go back: their users, products, read them either way; so only the smaller side is moved.
int64_t CopyBytes(const Shape& shape, const Sharding& before, const ReshardMove& move,
                  const Mesh& mesh) {
  const auto long_dims =
      std::count_if(shape.dims.begin(), shape.dims.end(), [](int64_t size) { return size > 1; });
  const int64_t held = std::min(move.bytes, std::numeric_limits<int64_t>::max() / 16);
  int64_t bytes = 0;
  for (size_t d = 0; d < before.dims.size(); ++d) {
    const bool changes = before.dims[d] != move.after.dims[d];
    if (!changes || IsOutermost(shape, before, d, mesh)) continue;
    switch (*move.collective) {
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        bytes += 2 * (long_dims <= 2 ? held / std::max<int64_t>(1, mesh.Size(move.axes)) : held);
        break;
      case CollectiveKind::kAllToAll:
        bytes += 2 * held;
        break;
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kCollectivePermute:
        break;
    }
  }
  return bytes;
}

// What, besides `from`, an end is searched by: see SharesSearch.
struct SearchKey {
  AxisList axes;          // that the end or `from` uses, ascending
  std::vector<bool> cut;  // by dimension: whether the end or `from` cuts it
  AxisList unreduced;
  friend bool operator==(const SearchKey&, const SearchKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const SearchKey& key) {
    return H::combine(std::move(h), key.axes, key.cut, key.unreduced);
  }
};

SearchKey KeyOf(const Sharding& from, const Sharding& to) {
  SearchKey key{.axes = from.unreduced, .cut = {}, .unreduced = to.unreduced};
  for (size_t d = 0; d < to.dims.size(); ++d) {
    key.cut.push_back(!from.dims[d].empty() || !to.dims[d].empty());
    for (const Sharding* end : {&from, &to})
      key.axes.insert(key.axes.end(), end->dims[d].begin(), end->dims[d].end());
  }
  std::sort(key.axes.begin(), key.axes.end());
  key.axes.erase(std::unique(key.axes.begin(), key.axes.end()), key.axes.end());
  return key;
}

}  // namespace

std::optional<Sharding> ScatteredFirst(const Shape& shape, const Sharding& from, const Sharding& to,
                                       const Mesh& mesh) {
  AxisList summed;  // that are to be combined
  for (AxisIndex axis : from.unreduced) {
    if (!Holds(to.unreduced, axis)) summed.push_back(axis);
  }
  if (summed.size() < 2 || from.dims.size() != to.dims.size()) return std::nullopt;
  Sharding scattered = from;
  size_t cut = 0;
  for (size_t d = 0; d < to.dims.size(); ++d) {
    const AxisList& before = from.dims[d];
    const AxisList& after = to.dims[d];
    cut += static_cast<size_t>(std::count_if(after.begin(), after.end(),
                                             [&](AxisIndex axis) { return Holds(summed, axis); }));
    const bool further =
        after.size() > before.size() && std::equal(before.begin(), before.end(), after.begin()) &&
        std::all_of(after.begin() + static_cast<int64_t>(before.size()), after.end(),
                    [&](AxisIndex axis) { return Holds(summed, axis); }) &&
        PiecesNest(shape.dims[d], mesh.Size(before), mesh.Size(after));
    if (!further || scattered.unreduced.size() < from.unreduced.size()) continue;
    scattered.dims[d] = after;
    AxisList left;
    for (AxisIndex axis : scattered.unreduced) {
      if (!Holds(after, axis)) left.push_back(axis);
    }
    scattered.unreduced = std::move(left);
  }
  if (cut == summed.size() || scattered == from) return std::nullopt;
  return scattered;
}

std::optional<std::vector<ReshardMove>> ReshardingPath(const Shape& shape, const Sharding& from,
                                                       const Sharding& to, const Mesh& mesh,
                                                       const CollectivePrice& price) {
  if (!Possible(from, to)) return std::nullopt;
  if (from == to) return std::vector<ReshardMove>();
  const std::optional<Sharding> first = ScatteredFirst(shape, from, to, mesh);
  if (!first.has_value()) return CheapestPath(shape, from, to, mesh, price);
  std::vector<ReshardMove> path = CheapestPath(shape, from, *first, mesh, price);
  const auto rest = ReshardingPath(shape, *first, to, mesh, price);
  path.insert(path.end(), rest->begin(), rest->end());
  return path;
}

Resharding PlanResharding(const Shape& shape, const Sharding& from, const Sharding& to,
                          const Mesh& mesh, const CollectivePrice& price) {
  Resharding result;
  result.possible = Possible(from, to);
  if (!result.possible || SlicesOnly(shape, from, to, mesh)) return result;
  if (const std::optional<Sharding> first = ScatteredFirst(shape, from, to, mesh)) {
    result = PlanResharding(shape, from, *first, mesh, price);
    const Resharding rest = PlanResharding(shape, *first, to, mesh, price);
    result.seconds += rest.seconds;
    result.steps.insert(result.steps.end(), rest.steps.begin(), rest.steps.end());
    result.copy_bytes += rest.copy_bytes;
    return result;
  }
  Sharding before = from;
  for (const ReshardMove& move : CheapestPath(shape, from, to, mesh, price)) {
    if (move.collective) {
      result.seconds += move.seconds;
      result.steps.push_back({*move.collective, move.axes, move.bytes});
      result.copy_bytes += CopyBytes(shape, before, move, mesh);
    }
    before = move.after;
  }
  return result;
}

std::vector<double> PlanReshardings(const Shape& shape, const Sharding& from,
                                    std::span<const Sharding> to, const Mesh& mesh,
                                    const CollectivePrice& price) {
  std::vector<double> seconds(to.size(), 0);
  absl::flat_hash_map<SearchKey, std::vector<size_t>> shared;
  absl::flat_hash_map<Sharding, std::vector<size_t>>
      by_scattered;  // ends behind the same first leg
  for (size_t i = 0; i < to.size(); ++i) {
    if (!Possible(from, to[i])) {
      seconds[i] = std::numeric_limits<double>::infinity();
    } else if (std::optional<Sharding> first = ScatteredFirst(shape, from, to[i], mesh)) {
      by_scattered[*std::move(first)].push_back(i);
    } else if (SlicesOnly(shape, from, to[i], mesh)) {
      continue;
    } else if (SharesSearch(shape, from, to[i], mesh)) {
      shared[KeyOf(from, to[i])].push_back(i);
    } else {
      seconds[i] = CheapestSeconds(shape, from, {&to[i]}, mesh, price)[0];
    }
  }
  for (const auto& [_, ends] : shared) {
    std::vector<const Sharding*> group;
    for (size_t i : ends) group.push_back(&to[i]);
    const std::vector<double> found = CheapestSeconds(shape, from, group, mesh, price);
    for (size_t i = 0; i < ends.size(); ++i) seconds[ends[i]] = found[i];
  }
  for (const auto& [scattered, ends] : by_scattered) {
    const double first = CheapestSeconds(shape, from, {&scattered}, mesh, price)[0];
    std::vector<Sharding> rest;
    rest.reserve(ends.size());
    for (size_t i : ends) rest.push_back(to[i]);
    const std::vector<double> found = PlanReshardings(shape, scattered, rest, mesh, price);
    for (size_t i = 0; i < ends.size(); ++i) seconds[ends[i]] = first + found[i];
  }
  return seconds;
}

}  // namespace meshwright
