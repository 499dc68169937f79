// Alpa's cost of collectives, restated. With n members, B bytes of the group's full buffer:
//
//   all-gather      f(alpha + beta (n-1)/n B) + 0.1
//   all-reduce      f(alpha + beta 2 (n-1)/n B) + 0.01
//   reduce-scatter  f(alpha + beta (n-1)/n B) + 0.001
//   all-to-all      f(alpha + beta (n-1)/n^2 B p) + 0.001
//
// f truncates in the playground (Python's int), does nothing in LogicalDeviceMesh, and rounds in
// C++; p is 1.5 in the playground and n/2 elsewhere. Expressions are evaluated in the order of the
// originals, so that results are the same doubles. A collective-permute, which only XLA has, is
// taken as f(alpha + beta B).
//
// Several axes at once: XLA takes one group with the largest alpha and beta,
// LogicalDeviceMesh::flatten the largest alpha and the smallest beta, Alpa's C++ one all-reduce an
// axis.
//
// Resharding:
//  * Playground (and LogicalDeviceMesh, which has none of its own): an all-gather of the *full*
//    array along every axis that a dimension loses. Slices are free, so is everything else.
//  * C++: slices are free; gathers grow from a device's bytes to the full array; one gather with
//    one slice is an all-to-all on a mesh with one axis. Anything else is impossible in Alpa
//    (1e13). XLA permutes where only the place of axes changes, else replicates (all-gathers that
//    grow) and slices.
//
// Left out: measured tables (profiled mode), penalties that are declared 0, and the byte counts of
// Alpa's mixed one- and two-dimensional meshes, which its authors mark as wrong.

#include "meshwright/cost/alpha_beta.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace meshwright {
namespace {

double Identity(double value) { return value; }
double Truncate(double value) { return std::trunc(value); }
double Round(double value) { return std::round(value); }

struct FlavourRow {
  double (*integral)(double);
  bool all_to_all_by_members;  // penalty n/2 instead of 1.5
  bool gathers_full_array;     // else gathers grow from a device's bytes
};

// Indexed by AlphaBetaFlavour.
constexpr FlavourRow kFlavours[] = {
    {Truncate, false, true},  // kPlayground
    {Identity, true, true},   // kLogicalMesh
    {Round, true, false},     // kAlpaCpp
    {Round, true, false},     // kXla
};

const FlavourRow& Row(AlphaBetaFlavour flavour) { return kFlavours[static_cast<size_t>(flavour)]; }

bool Contains(const AxisList& list, AxisIndex axis) {
  return std::find(list.begin(), list.end(), axis) != list.end();
}

// Bytes of a device's piece as Alpa counts them: the plain quotient, without padding.
double PieceBytes(const Shape& shape, const Sharding& sharding, const Mesh& mesh) {
  return static_cast<double>(shape.bytes()) / static_cast<double>(sharding.shards(mesh));
}

}  // namespace

AlphaBetaCostModel::AlphaBetaCostModel(const Mesh& mesh, AlphaBetaOptions options)
    : CostModel(mesh), options_(std::move(options)) {}

double AlphaBetaCostModel::Alpha(AxisIndex axis) const {
  return axis < options_.alpha.size() ? options_.alpha[axis] : 1;
}

double AlphaBetaCostModel::Beta(AxisIndex axis) const {
  return axis < options_.beta.size() ? options_.beta[axis] : 1;
}

double AlphaBetaCostModel::Flat(CollectiveKind kind, double members, double alpha, double beta,
                                double bytes) const {
  const FlavourRow& row = Row(options_.flavour);
  const double n = members;
  switch (kind) {
    case CollectiveKind::kAllGather:
      if (options_.force_all_gather) return *options_.force_all_gather;
      return row.integral(alpha + beta * (n - 1) / n * bytes) + 0.1;
    case CollectiveKind::kAllReduce:
      if (options_.force_all_reduce) return *options_.force_all_reduce;
      return row.integral(alpha + beta * 2 * (n - 1) / n * bytes) + 0.01;
    case CollectiveKind::kReduceScatter:
      if (options_.force_reduce_scatter) return *options_.force_reduce_scatter;
      return row.integral(alpha + beta * (n - 1) / n * bytes) + 0.001;
    case CollectiveKind::kAllToAll: {
      const double penalty = row.all_to_all_by_members ? n / 2.0 : 1.5;
      return row.integral(alpha + beta * (n - 1) / n / n * bytes * penalty) + 0.001;
    }
    case CollectiveKind::kCollectivePermute:
      break;
  }
  return row.integral(alpha + beta * bytes);
}

double AlphaBetaCostModel::Collective(CollectiveKind kind, const AxisList& axes,
                                      double bytes) const {
  if (axes.empty()) return 0;
  if (options_.flavour == AlphaBetaFlavour::kAlpaCpp && kind == CollectiveKind::kAllReduce) {
    double sum = 0;
    for (AxisIndex axis : axes) {
      sum +=
          Flat(kind, static_cast<double>(mesh().axes[axis].size), Alpha(axis), Beta(axis), bytes);
    }
    return sum;
  }
  double alpha = Alpha(axes[0]), beta = Beta(axes[0]);
  for (AxisIndex axis : axes) {
    alpha = std::max(alpha, Alpha(axis));
    beta = options_.flavour == AlphaBetaFlavour::kLogicalMesh ? std::min(beta, Beta(axis))
                                                              : std::max(beta, Beta(axis));
  }
  return Flat(kind, static_cast<double>(mesh().Size(axes)), alpha, beta, bytes);
}

double AlphaBetaCostModel::CollectiveSeconds(CollectiveKind kind, const AxisList& axes,
                                             int64_t bytes) const {
  return Collective(kind, axes, static_cast<double>(bytes));
}

double AlphaBetaCostModel::ParameterSeconds(const Shape& shape, const Sharding& sharding) const {
  if (!sharding.is_replicated()) return 0;
  if (Row(options_.flavour).gathers_full_array) return 2;
  // Alpa's C++: an all-reduce of one byte along every mesh dimension, rounded down.
  double sum = 0;
  for (size_t axis = 0; axis < mesh().rank(); ++axis) {
    sum += Collective(CollectiveKind::kAllReduce, {static_cast<AxisIndex>(axis)}, 1);
  }
  return std::floor(sum);
}

void AlphaBetaCostModel::Add(CollectiveKind kind, const AxisList& axes, double bytes,
                             Resharding* result) const {
  result->seconds += Collective(kind, axes, bytes);
  result->steps.push_back({kind, axes, static_cast<int64_t>(std::llround(bytes))});
}

void AlphaBetaCostModel::ReduceAll(const Shape& shape, const Sharding& from, const AxisList& axes,
                                   Resharding* result) const {
  const double bytes = PieceBytes(shape, from, mesh());
  if (options_.flavour == AlphaBetaFlavour::kXla) {
    Add(CollectiveKind::kAllReduce, axes, bytes, result);
    return;
  }
  for (AxisIndex axis : axes) Add(CollectiveKind::kAllReduce, {axis}, bytes, result);
}

void AlphaBetaCostModel::GatherByAxis(const Shape& shape, const Sharding& from, const Sharding& to,
                                      Resharding* result) const {
  for (size_t d = 0; d < from.dims.size(); ++d) {
    const AxisList& have = from.dims[d];
    const AxisList& want = to.dims[d];
    // Axes keep their place while the lists agree from the major end.
    const size_t kept =
        std::mismatch(have.begin(), have.end(), want.begin(), want.end()).first - have.begin();
    for (size_t i = kept; i < have.size(); ++i) {
      Add(CollectiveKind::kAllGather, {have[i]}, static_cast<double>(shape.bytes()), result);
    }
  }
}

void AlphaBetaCostModel::GatherByDimension(const Shape& shape, const Sharding& from,
                                           const Sharding& to, Resharding* result) const {
  // By dimension: the axes it loses and whether it gains some, beyond what the lists agree on from
  // the major end.
  std::vector<AxisList> gathered;
  int sliced = 0;
  bool moved = false;  // some dimension does both
  for (size_t d = 0; d < from.dims.size(); ++d) {
    const AxisList& have = from.dims[d];
    const AxisList& want = to.dims[d];
    const auto [lost, gained] = std::mismatch(have.begin(), have.end(), want.begin(), want.end());
    if (lost != have.end() && gained != want.end()) moved = true;
    if (lost != have.end()) gathered.emplace_back(lost, have.end());
    if (gained != want.end()) ++sliced;
  }
  if (gathered.empty()) return;  // only slices

  const int64_t real_axes = std::count_if(mesh().axes.begin(), mesh().axes.end(),
                                          [](const MeshAxis& axis) { return axis.size > 1; });
  if (!moved && sliced == 1 && gathered.size() == 1 && real_axes <= 1) {
    Add(CollectiveKind::kAllToAll, gathered[0], static_cast<double>(shape.bytes()), result);
    return;
  }
  double bytes = PieceBytes(shape, from, mesh());
  if (sliced == 0) {
    for (const AxisList& axes : gathered) {
      bytes *= static_cast<double>(mesh().Size(axes));
      Add(CollectiveKind::kAllGather, axes, bytes, result);
    }
    return;
  }
  if (options_.flavour == AlphaBetaFlavour::kAlpaCpp) {
    result->possible = false;
    result->seconds += kAlpaInfinity;
    return;
  }

  // XLA: a permute if every dimension keeps its number of pieces, else replicate and slice.
  bool same_tiles = true;
  AxisList changed;
  for (size_t d = 0; d < from.dims.size(); ++d) {
    same_tiles &= mesh().Size(from.dims[d]) == mesh().Size(to.dims[d]);
    if (from.dims[d] == to.dims[d]) continue;
    for (AxisIndex axis : from.dims[d]) {
      if (!Contains(changed, axis)) changed.push_back(axis);
    }
  }
  if (same_tiles) {
    Add(CollectiveKind::kCollectivePermute, changed, bytes, result);
    return;
  }
  for (const AxisList& axes : from.dims) {
    if (axes.empty()) continue;
    bytes *= static_cast<double>(mesh().Size(axes));
    Add(CollectiveKind::kAllGather, axes, bytes, result);
  }
}

Resharding AlphaBetaCostModel::Reshard(const Shape& shape, const Sharding& from,
                                       const Sharding& to) const {
  Resharding result;
  if (from == to) return result;
  AxisList reduced;
  for (AxisIndex axis : from.unreduced) {
    if (!Contains(to.unreduced, axis)) reduced.push_back(axis);
  }
  const bool gains_unreduced =
      std::any_of(to.unreduced.begin(), to.unreduced.end(),
                  [&](AxisIndex axis) { return !Contains(from.unreduced, axis); });
  if (gains_unreduced || (!to.unreduced.empty() && to.reduction != from.reduction)) {
    result.possible = false;
    result.seconds = kAlpaInfinity;
    return result;
  }
  if (!reduced.empty()) ReduceAll(shape, from, reduced, &result);
  if (Row(options_.flavour).gathers_full_array) {
    GatherByAxis(shape, from, to, &result);
  } else {
    GatherByDimension(shape, from, to, &result);
  }
  return result;
}

std::vector<double> AlphaBetaCostModel::ReshardSeconds(const Shape& shape, const Sharding& from,
                                                       std::span<const Sharding> to) const {
  std::vector<double> seconds;
  for (const Sharding& end : to) {
    const Resharding resharding = Reshard(shape, from, end);
    seconds.push_back(resharding.possible ? resharding.seconds
                                          : std::numeric_limits<double>::infinity());
  }
  return seconds;
}

}  // namespace meshwright
