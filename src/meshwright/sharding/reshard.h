#ifndef MESHWRIGHT_SHARDING_RESHARD_H_
#define MESHWRIGHT_SHARDING_RESHARD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "meshwright/cluster/collective.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// One collective of a resharding. Slices (free) are not listed.
struct CollectiveStep {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  AxisList axes;
  int64_t bytes = 0;  // full buffer of one group, see cluster/collective.h
  friend bool operator==(const CollectiveStep&, const CollectiveStep&) = default;
};

struct Resharding {
  bool possible = true;  // false: e.g. unreduced by max wanted unreduced by sum
  double seconds = 0;
  std::vector<CollectiveStep> steps;
  // Bytes that a device reads and writes to put buffers into the order that the steps need: XLA's
  // collectives on GPUs cut and join the outermost dimension in memory (GpuLayoutAssignment).
  int64_t copy_bytes = 0;
};

// Seconds of one collective (kind, axes, bytes).
using CollectivePrice = std::function<double(CollectiveKind, const AxisList&, int64_t)>;

// The cheapest sequence of slice, all-gather, all-to-all, collective-permute, all-reduce and
// reduce-scatter that takes `shape` from `from` to `to`: a shortest path over shardings of the
// array (Dijkstra; each step moves, drops or adds axes at the minor end of dimensions, as GSPMD's
// and Shardy's partitioners can). `to` may stay unreduced only along axes along which `from` is.
// Replicating and slicing is always one of the paths, so every reachable target has a price.
//
// Partial sums are combined as XLA's partitioner combines them, see ScatteredFirst.
//
// Steps only use axes that `from` or `to` uses (an axis along which both replicate stays out of it,
// as in what XLA emits), and dimensions that one of them shards.
Resharding PlanResharding(const Shape& shape, const Sharding& from, const Sharding& to,
                          const Mesh& mesh, const CollectivePrice& price);

// How the array is sharded, partial sums among it, before the last of them are combined on the way
// from `from` to `to`, if not all are combined at once: where `to` is cut along some of the axes
// that `from` has partial sums along, and not along all, those are combined and cut away first
// (PartitionDot in xla/service/spmd/dot_handler.cc), and the others of the pieces that are left.
std::optional<Sharding> ScatteredFirst(const Shape& shape, const Sharding& from, const Sharding& to,
                                       const Mesh& mesh);

// Resharding::seconds of `from` to each of `to`, infinite where that is not possible. Much faster
// than one after another, as most of them share a search.
std::vector<double> PlanReshardings(const Shape& shape, const Sharding& from,
                                    std::span<const Sharding> to, const Mesh& mesh,
                                    const CollectivePrice& price);

// The path of PlanResharding with every intermediate sharding. A move without a collective is a
// slice.
struct ReshardMove {
  std::optional<CollectiveKind> collective;
  AxisList axes;  // of the collective's groups; of a slice: the axis it cuts along
  int64_t bytes = 0;
  double seconds = 0;
  Sharding after;
};
// nullopt where PlanResharding says it is not possible; empty if `from` is `to`.
std::optional<std::vector<ReshardMove>> ReshardingPath(const Shape& shape, const Sharding& from,
                                                       const Sharding& to, const Mesh& mesh,
                                                       const CollectivePrice& price);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_RESHARD_H_
