#include "meshwright/sharding/reshard_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

// Resharding as a shortest path.
//
// A state is a sharding of the array. Moves between states, with the bytes that are priced:
//
//   slice               [d: A] -> [d: A a]           free; a unused before
//   all-gather          [d: A B] -> [d: A]           bytes held after
//   all-to-all          [d: A B, e: C] -> [d: A, e: C B]          bytes held
//   collective-permute  same pieces of each dimension, other owners: any arrangement of
//                       axes (with more than kMaxPermutedAxes in motion: only the target)     bytes
//                       held
//   all-reduce          {A B} -> {A}                 bytes held
//   reduce-scatter      {A B}, [d: C] -> {A}, [d: C B]            bytes held before
//
// where A, B, C are lists of axes, B a run of one or more at the minor end, {} the unreduced axes.
//
// Only axes and dimensions that either end uses take part, which keeps the graph small: an array
// with two axes to move has a few dozen states. A state packs into 64 bits. Two bounds keep the
// search short: replicate-and-slice is known from the start and prunes everything dearer; and the
// search stops after kMaxExpansions states (reached only with five or more axes in motion), then
// answering with the best path so far, which is still a valid one.

namespace meshwright {
namespace {

constexpr size_t kMaxAxes = 8;  // in motion; beyond that replicate and slice
constexpr size_t kMaxPermutedAxes = 4;
// Up to which one search goes to the ends of all paths: thousands of states would be too many.
constexpr size_t kMaxSharedAxes = 3;
constexpr int kMaxExpansions = 4096;
constexpr int8_t kUnused = -1;
constexpr int8_t kUnreduced = -2;

// Where the axes in motion are. Axes and dimensions are numbered among those in motion.
struct State {
  std::array<int8_t, kMaxAxes> place;     // dimension, kUnused or kUnreduced
  std::array<int8_t, kMaxAxes> position;  // in its dimension's list, 0 the major end; 0 elsewhere

  uint64_t Key(size_t axes) const {
    uint64_t key = 0;
    for (size_t a = 0; a < axes; ++a) {
      key =
          key << 8 | static_cast<uint64_t>(place[a] + 2) << 3 | static_cast<uint64_t>(position[a]);
    }
    return key;
  }
};

using Axes = absl::InlinedVector<uint8_t, kMaxAxes>;  // axes in motion

struct Node {
  State state;
  double seconds = 0;
  int moves = 0;
  int32_t parent = -1;
  // The move from the parent.
  std::optional<CollectiveKind> collective;
  Axes axes;
  int64_t bytes = 0;
  bool done = false;
};

int64_t Clamp(unsigned __int128 value) {
  constexpr unsigned __int128 kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value < kMax ? value : kMax);
}

class Search {
 public:
  // Several ends: see SharesSearch.
  Search(const Shape& shape, const Sharding& from, const std::vector<const Sharding*>& ends,
         const Mesh& mesh, const CollectivePrice& price)
      : mesh_(mesh), from_(from), ends_(ends), to_(*ends[0]), price_(price) {
    std::vector<bool> moving(mesh.rank(), false);
    for (const Sharding* end : {&from_, &to_}) {
      for (const AxisList& list : end->dims) {
        for (AxisIndex axis : list) moving[axis] = true;
      }
      for (AxisIndex axis : end->unreduced) moving[axis] = true;
    }
    for (size_t a = 0; a < moving.size(); ++a) {
      if (moving[a]) axes_.push_back(static_cast<AxisIndex>(a));
    }
    unsigned __int128 rest = static_cast<unsigned __int128>(Shape::Array(shape.type, {}).bytes());
    for (size_t d = 0; d < from.dims.size(); ++d) {
      if (from.dims[d].empty() && to_.dims[d].empty()) {
        rest = static_cast<unsigned __int128>(Clamp(rest)) * static_cast<uint64_t>(shape.dims[d]);
      } else {
        dims_.push_back(d);
        sizes_.push_back(shape.dims[d]);
      }
    }
    rest_bytes_ = Clamp(rest);
  }

  std::vector<ReshardMove> Path() {
    std::vector<ReshardMove> fallback = ReplicateAndSlice(to_);
    if (axes_.size() > kMaxAxes) return fallback;
    double bound = 0;
    for (const ReshardMove& move : fallback) bound += move.seconds;
    Explore(bound);
    const std::optional<int32_t> end = Find(to_);
    return end.has_value() ? Trace(*end) : fallback;
  }

  std::vector<double> Seconds() {
    std::vector<double> seconds;
    if (ends_.size() == 1) {
      double sum = 0;
      for (const ReshardMove& move : Path()) sum += move.seconds;
      return {sum};
    }
    Explore(std::numeric_limits<double>::infinity());
    for (const Sharding* end : ends_) seconds.push_back(SecondsTo(*Find(*end)));
    return seconds;
  }

 private:
  struct Entry {
    double seconds;
    int moves;
    uint64_t key;
    int32_t node;
    // The queue's top is the cheapest, then the one of fewest moves, then that of the smallest key:
    // an order that does not depend on where the search ends.
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tie(b.seconds, b.moves, b.key) < std::tie(a.seconds, a.moves, a.key);
    }
  };

  // Finds the cheapest ways to all ends that cost at most `bound`.
  void Explore(double bound) {
    bound_ = bound;
    target_ = Pack(to_);
    absl::flat_hash_set<uint64_t> open;
    for (const Sharding* end : ends_) open.insert(Pack(*end).Key(axes_.size()));
    Node start;
    start.state = Pack(from_);
    const uint64_t start_key = start.state.Key(axes_.size());
    nodes_.push_back(start);
    index_[start_key] = 0;
    queue_.push({0, 0, start_key, 0});
    for (int expansions = 0; !queue_.empty() && expansions < kMaxExpansions; ++expansions) {
      const Entry top = queue_.top();
      queue_.pop();
      if (nodes_[top.node].done) continue;
      nodes_[top.node].done = true;
      if (open.erase(top.key) > 0 && open.empty()) return;
      Expand(top.node);
    }
  }

  // The node of `end`, if it was reached.
  std::optional<int32_t> Find(const Sharding& end) const {
    const auto found = index_.find(Pack(end).Key(axes_.size()));
    if (found == index_.end()) return std::nullopt;
    return found->second;
  }

  State Pack(const Sharding& sharding) const {
    State state;
    state.place.fill(kUnused);
    state.position.fill(0);
    for (size_t a = 0; a < axes_.size(); ++a) {
      auto is_axis = [&](AxisIndex axis) { return axis == axes_[a]; };
      if (std::any_of(sharding.unreduced.begin(), sharding.unreduced.end(), is_axis)) {
        state.place[a] = kUnreduced;
      }
      for (size_t d = 0; d < dims_.size(); ++d) {
        const AxisList& list = sharding.dims[dims_[d]];
        auto found = std::find_if(list.begin(), list.end(), is_axis);
        if (found == list.end()) continue;
        state.place[a] = static_cast<int8_t>(d);
        state.position[a] = static_cast<int8_t>(found - list.begin());
      }
    }
    return state;
  }

  Sharding Unpack(const State& state) const {
    Sharding sharding = Sharding::Replicated(static_cast<int64_t>(from_.dims.size()));
    for (size_t d = 0; d < dims_.size(); ++d) sharding.dims[dims_[d]] = MeshAxes(List(state, d));
    sharding.unreduced = MeshAxes(List(state, kUnreduced));
    if (!sharding.unreduced.empty()) sharding.reduction = from_.reduction;
    return sharding;
  }

  AxisList MeshAxes(const Axes& axes) const {
    AxisList list;
    for (uint8_t a : axes) list.push_back(axes_[a]);
    return list;
  }

  int64_t AxisSize(uint8_t a) const { return mesh_.axes[axes_[a]].size; }

  // The axes at `place` (a dimension: major to minor).
  Axes List(const State& state, int64_t place) const {
    Axes list;
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (state.place[a] == place) list.push_back(static_cast<uint8_t>(a));
    }
    std::sort(list.begin(), list.end(), [&](uint8_t a, uint8_t b) {
      return std::pair(state.position[a], a) < std::pair(state.position[b], b);
    });
    return list;
  }

  int64_t Pieces(const State& state, size_t dim) const {
    int64_t pieces = 1;
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (state.place[a] == static_cast<int8_t>(dim)) pieces *= AxisSize(static_cast<uint8_t>(a));
    }
    return pieces;
  }

  int64_t Bytes(const State& state) const {
    unsigned __int128 bytes = static_cast<unsigned __int128>(rest_bytes_);
    for (size_t d = 0; d < dims_.size(); ++d) {
      int64_t pieces = Pieces(state, d);
      int64_t part = sizes_[d] / pieces + (sizes_[d] % pieces != 0);
      bytes = static_cast<unsigned __int128>(Clamp(bytes)) * static_cast<uint64_t>(part);
    }
    return Clamp(bytes);
  }

  // Intermediate cuts are even, unless an end of the path has the same uneven one.
  bool CutAllowed(const State& state, size_t dim) const {
    int64_t pieces = Pieces(state, dim);
    if (sizes_[dim] % pieces == 0) return true;
    AxisList list = MeshAxes(List(state, static_cast<int64_t>(dim)));
    auto starts = [&](const AxisList& end) {
      return list.size() <= end.size() && std::equal(list.begin(), list.end(), end.begin());
    };
    return starts(from_.dims[dims_[dim]]) || starts(to_.dims[dims_[dim]]);
  }

  // `axes` move to the minor end of `place`, or nowhere in particular (kUnused).
  static void Move(State& state, const Axes& axes, int8_t place, size_t position) {
    for (uint8_t a : axes) {
      state.place[a] = place;
      state.position[a] = place >= 0 ? static_cast<int8_t>(position++) : int8_t{0};
    }
  }

  void Reach(int32_t parent, const State& state, std::optional<CollectiveKind> collective,
             const Axes& axes, int64_t bytes) {
    double seconds = nodes_[parent].seconds;
    if (seconds > bound_) return;
    if (collective) seconds += price_(*collective, MeshAxes(axes), bytes);
    if (seconds > bound_) return;
    int moves = nodes_[parent].moves + 1;
    const uint64_t key = state.Key(axes_.size());
    auto [found, is_new] = index_.try_emplace(key, static_cast<int32_t>(nodes_.size()));
    if (is_new) nodes_.emplace_back();
    Node& node = nodes_[found->second];
    if (!is_new && (node.done || std::pair(node.seconds, node.moves) <= std::pair(seconds, moves)))
      return;
    node = {state, seconds, moves, parent, collective, axes, bytes, false};
    queue_.push({seconds, moves, key, found->second});
  }

  void Expand(int32_t node) {
    const State state = nodes_[node].state;
    int64_t bytes = Bytes(state);
    std::vector<Axes> lists;
    for (size_t d = 0; d < dims_.size(); ++d) lists.push_back(List(state, static_cast<int64_t>(d)));
    ExpandSlices(node, state, lists);
    ExpandRuns(node, state, lists, bytes);
    ExpandPermutes(node, state, bytes);
    ExpandReductions(node, state, lists, bytes);
  }

  void ExpandSlices(int32_t node, const State& state, const std::vector<Axes>& lists) {
    for (uint8_t a : List(state, kUnused)) {
      for (size_t d = 0; d < dims_.size(); ++d) {
        State next = state;
        Move(next, {a}, static_cast<int8_t>(d), lists[d].size());
        if (CutAllowed(next, d)) Reach(node, next, std::nullopt, {a}, 0);
      }
    }
  }

  // All-gathers and all-to-alls of the runs at the minor ends.
  void ExpandRuns(int32_t node, const State& state, const std::vector<Axes>& lists, int64_t bytes) {
    for (size_t d = 0; d < dims_.size(); ++d) {
      for (size_t run = 1; run <= lists[d].size(); ++run) {
        Axes axes(lists[d].end() - static_cast<int64_t>(run), lists[d].end());
        State gathered = state;
        Move(gathered, axes, kUnused, 0);
        Reach(node, gathered, CollectiveKind::kAllGather, axes, Bytes(gathered));
        for (size_t e = 0; e < dims_.size(); ++e) {
          if (e == d) continue;
          State moved = state;
          Move(moved, axes, static_cast<int8_t>(e), lists[e].size());
          if (CutAllowed(moved, e)) Reach(node, moved, CollectiveKind::kAllToAll, axes, bytes);
        }
      }
    }
  }

  // Every other way to cut the dimensions into as many pieces; with many axes in motion only the
  // target, where it is one.
  // One permute does what two in a row do.
  void ExpandPermutes(int32_t node, const State& state, int64_t bytes) {
    if (nodes_[node].collective == CollectiveKind::kCollectivePermute) return;
    if (axes_.size() <= kMaxPermutedAxes) {
      State bare = state;
      Axes free;
      for (uint8_t a = 0; a < axes_.size(); ++a) {
        if (state.place[a] == kUnreduced) continue;
        free.push_back(a);
        Move(bare, {a}, kUnused, 0);
      }
      pieces_.clear();
      for (size_t d = 0; d < dims_.size(); ++d) pieces_.push_back(Pieces(state, d));
      return FillDimension(node, bare, free, 0, 0, 1, bytes);
    }
    for (uint8_t a = 0; a < axes_.size(); ++a) {
      if ((state.place[a] == kUnreduced) != (target_.place[a] == kUnreduced)) return;
    }
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (Pieces(state, d) != Pieces(target_, d)) return;
    }
    ReachByPermute(node, target_, bytes);
  }

  // Completes `partial`, in which dimensions before `dim` are as they will be and `dim` has
  // `position` axes that cut it into `pieces`, in every way that gives each dimension the pieces
  // that `node` does.
  void FillDimension(int32_t node, const State& partial, const Axes& free, size_t dim,
                     size_t position, int64_t pieces, int64_t bytes) {
    if (dim == dims_.size()) return ReachByPermute(node, partial, bytes);
    int64_t wanted = pieces_[dim];
    if (pieces == wanted) {
      if (sizes_[dim] % pieces != 0 && !CutAllowed(partial, dim)) return;
      return FillDimension(node, partial, free, dim + 1, 0, 1, bytes);
    }
    for (uint8_t a : free) {
      if (partial.place[a] != kUnused || wanted % (pieces * AxisSize(a)) != 0) continue;
      State next = partial;
      Move(next, {a}, static_cast<int8_t>(dim), position);
      FillDimension(node, next, free, dim, position + 1, pieces * AxisSize(a), bytes);
    }
  }

  void ReachByPermute(int32_t node, const State& next, int64_t bytes) {
    const State& state = nodes_[node].state;
    Axes changed;
    for (uint8_t a = 0; a < axes_.size(); ++a) {
      if (state.place[a] != next.place[a] || state.position[a] != next.position[a])
        changed.push_back(a);
    }
    if (!changed.empty()) Reach(node, next, CollectiveKind::kCollectivePermute, changed, bytes);
  }

  // All-reduces of any of the unreduced axes that must not stay so; reduce-scatters of one of them,
  // or of as many as come next in the target's dimension.
  void ExpandReductions(int32_t node, const State& state, const std::vector<Axes>& lists,
                        int64_t bytes) {
    Axes open;
    for (uint8_t a : List(state, kUnreduced)) {
      if (target_.place[a] != kUnreduced) open.push_back(a);
    }
    for (uint32_t subset = 1; subset < (1u << open.size()); ++subset) {
      Axes axes;
      for (size_t i = 0; i < open.size(); ++i) {
        if (subset >> i & 1) axes.push_back(open[i]);
      }
      State next = state;
      Move(next, axes, kUnused, 0);
      Reach(node, next, CollectiveKind::kAllReduce, axes, bytes);
    }
    for (size_t d = 0; d < dims_.size() && !open.empty(); ++d) {
      for (uint8_t a : open) Scatter(node, state, {a}, d, lists[d].size(), bytes);
      Axes run = List(target_, static_cast<int64_t>(d));
      if (run.size() < lists[d].size() + 2 ||
          !std::equal(lists[d].begin(), lists[d].end(), run.begin())) {
        continue;
      }
      run.erase(run.begin(), run.begin() + static_cast<int64_t>(lists[d].size()));
      while (!run.empty() && !std::all_of(run.begin(), run.end(), [&](uint8_t a) {
        return std::find(open.begin(), open.end(), a) != open.end();
      })) {
        run.pop_back();
      }
      if (run.size() > 1) Scatter(node, state, run, d, lists[d].size(), bytes);
    }
  }

  void Scatter(int32_t node, const State& state, const Axes& axes, size_t dim, size_t position,
               int64_t bytes) {
    State next = state;
    Move(next, axes, static_cast<int8_t>(dim), position);
    if (CutAllowed(next, dim)) Reach(node, next, CollectiveKind::kReduceScatter, axes, bytes);
  }

  std::vector<ReshardMove> Trace(int32_t node) const {
    std::vector<ReshardMove> path;
    for (; nodes_[node].parent >= 0; node = nodes_[node].parent) {
      const Node& n = nodes_[node];
      path.push_back({n.collective, MeshAxes(n.axes), n.bytes, n.seconds - nodes_[n.parent].seconds,
                      Unpack(n.state)});
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  // What the moves of Trace take, added up as its caller would.
  double SecondsTo(int32_t node) const {
    absl::InlinedVector<double, 8> moves;
    for (; nodes_[node].parent >= 0; node = nodes_[node].parent)
      moves.push_back(nodes_[node].seconds - nodes_[nodes_[node].parent].seconds);
    return std::accumulate(moves.rbegin(), moves.rend(), 0.0);
  }

  // All-reduces what must be, gathers every dimension and slices: what any partitioner can do.
  std::vector<ReshardMove> ReplicateAndSlice(const Sharding& to) const {
    std::vector<ReshardMove> path;
    Sharding at = from_;
    auto step = [&](std::optional<CollectiveKind> kind, const AxisList& axes, int64_t bytes) {
      path.push_back({kind, axes, bytes, kind ? price_(*kind, axes, bytes) : 0, at});
    };
    AxisList reduced;
    for (AxisIndex axis : from_.unreduced) {
      if (std::find(to.unreduced.begin(), to.unreduced.end(), axis) == to.unreduced.end()) {
        reduced.push_back(axis);
      }
    }
    at.unreduced = to.unreduced;
    at.reduction = to.reduction;
    if (!reduced.empty()) step(CollectiveKind::kAllReduce, reduced, HeldBytes(at));
    for (size_t d : dims_) {
      AxisList axes = at.dims[d];
      at.dims[d].clear();
      if (!axes.empty()) step(CollectiveKind::kAllGather, axes, HeldBytes(at));
    }
    for (size_t d : dims_) {
      for (AxisIndex axis : to.dims[d]) {
        at.dims[d].push_back(axis);
        step(std::nullopt, {axis}, 0);
      }
    }
    return path;
  }

  int64_t HeldBytes(const Sharding& sharding) const {
    unsigned __int128 bytes = static_cast<unsigned __int128>(rest_bytes_);
    for (size_t d = 0; d < dims_.size(); ++d) {
      int64_t pieces = mesh_.Size(sharding.dims[dims_[d]]);
      int64_t part = sizes_[d] / pieces + (sizes_[d] % pieces != 0);
      bytes = static_cast<unsigned __int128>(Clamp(bytes)) * static_cast<uint64_t>(part);
    }
    return Clamp(bytes);
  }

  const Mesh& mesh_;
  const Sharding& from_;
  const std::vector<const Sharding*>& ends_;
  const Sharding& to_;  // the first of them, which stands for all
  const CollectivePrice& price_;
  std::vector<AxisIndex> axes_;  // in motion
  std::vector<size_t> dims_;     // in motion
  std::vector<int64_t> pieces_;  // by dimension, of the state whose permutes are being made
  std::vector<int64_t> sizes_;   // of dims_
  int64_t rest_bytes_ = 0;       // bytes of an element times the sizes of the other dimensions
  State target_;
  double bound_ = 0;  // seconds beyond which no path is wanted
  std::vector<Node> nodes_;
  absl::flat_hash_map<uint64_t, int32_t> index_;
  std::priority_queue<Entry> queue_;
};

}  // namespace

std::vector<ReshardMove> CheapestPath(const Shape& shape, const Sharding& from, const Sharding& to,
                                      const Mesh& mesh, const CollectivePrice& price) {
  const std::vector<const Sharding*> ends = {&to};
  return Search(shape, from, ends, mesh, price).Path();
}

bool SharesSearch(const Shape& shape, const Sharding& from, const Sharding& to, const Mesh& mesh) {
  // Cuts that no other end may make, and partial sums that are scattered along several axes at once
  // because the end has them in that order.
  if (!DividesEvenly(shape, from, mesh) || !DividesEvenly(shape, to, mesh)) return false;
  const auto summed = [&](AxisIndex axis) {
    const auto is_axis = [&](AxisIndex other) { return other == axis; };
    return std::any_of(from.unreduced.begin(), from.unreduced.end(), is_axis);
  };
  std::vector<bool> moving(mesh.rank(), false);
  for (AxisIndex axis : from.unreduced) moving[axis] = true;
  for (size_t d = 0; d < to.dims.size(); ++d) {
    for (AxisIndex axis : from.dims[d]) moving[axis] = true;
    for (AxisIndex axis : to.dims[d]) moving[axis] = true;
    for (size_t i = 1; i < to.dims[d].size(); ++i) {
      if (summed(to.dims[d][i - 1]) && summed(to.dims[d][i])) return false;
    }
  }
  return static_cast<size_t>(std::count(moving.begin(), moving.end(), true)) <= kMaxSharedAxes;
}

std::vector<double> CheapestSeconds(const Shape& shape, const Sharding& from,
                                    const std::vector<const Sharding*>& to, const Mesh& mesh,
                                    const CollectivePrice& price) {
  return Search(shape, from, to, mesh, price).Seconds();
}

}  // namespace meshwright
