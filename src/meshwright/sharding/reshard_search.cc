#include "meshwright/sharding/reshard_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/sharding/reshard_space.h"

// Resharding as a shortest path.
//
// A state is a sharding of the array. Moves between states, with the bytes that are priced:
//
//   slice               [d: A] -> [d: A a]           free; a unused before
//   all-gather          [d: A B] -> [d: A]           bytes held after, and padding
//   all-to-all          [d: A B, e: C] -> [d: A, e: C B]          bytes held, and padding
//   collective-permute  same pieces of each dimension, other owners: any arrangement of
//                       axes (with more than kMaxPermutedAxes in motion: only the target)     bytes
//                       held
//   all-reduce          {A B} -> {A}                 bytes held
//   reduce-scatter      {A B}, [d: C] -> {A}, [d: C B]            bytes held before, and padding
//
// where A, B, C are lists of axes, B a run of one or more at the minor end, {} the unreduced axes.
// Uneven pieces that are not pieces of fewer ones (PiecesNest) are cut and joined with all axes of
// their dimension at once.
//
// Only axes and dimensions that either end uses take part, which keeps the graph small: an array
// with two axes to move has a few dozen states. A state packs into 64 bits. Two bounds keep the
// search short: replicate-and-slice is known from the start and prunes everything more expensive;
// and the search stops after kMaxExpansions states (reached only with five or more axes in motion),
// then answering with the best path so far, which is still a valid one.

namespace meshwright {
namespace {

constexpr size_t kMaxPermutedAxes = 4;
// Up to which one search goes to the ends of all paths: thousands of states would be too many.
constexpr size_t kMaxSharedAxes = 3;
constexpr int kMaxExpansions = 4096;

struct Node {
  ReshardState state;
  double seconds = 0;
  int moves = 0;
  int32_t parent = -1;
  // The move from the parent.
  std::optional<CollectiveKind> collective;
  MovingAxes axes;
  int64_t bytes = 0;
  bool done = false;
};

class Search {
 public:
  // Several ends: see SharesSearch.
  Search(const Shape& shape, const Sharding& from, const std::vector<const Sharding*>& ends,
         const Mesh& mesh, const CollectivePrice& price)
      : space_(shape, from, *ends[0], mesh),
        from_(from),
        ends_(ends),
        to_(*ends[0]),
        price_(price) {}

  std::vector<ReshardMove> Path() {
    std::vector<ReshardMove> fallback = ReplicateAndSlice(to_);
    if (space_.axes() > ReshardState::kMaxAxes) return fallback;
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
    target_ = space_.Pack(to_);
    absl::flat_hash_set<uint64_t> open;
    for (const Sharding* end : ends_) open.insert(space_.Pack(*end).Key(space_.axes()));
    Node start;
    start.state = space_.Pack(from_);
    const uint64_t start_key = start.state.Key(space_.axes());
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
    const auto found = index_.find(space_.Pack(end).Key(space_.axes()));
    if (found == index_.end()) return std::nullopt;
    return found->second;
  }

  void Reach(int32_t parent, const ReshardState& state, std::optional<CollectiveKind> collective,
             const MovingAxes& axes, int64_t bytes) {
    double seconds = nodes_[parent].seconds;
    if (seconds > bound_) return;
    if (collective) seconds += price_(*collective, space_.MeshAxes(axes), bytes);
    if (seconds > bound_) return;
    int moves = nodes_[parent].moves + 1;
    const uint64_t key = state.Key(space_.axes());
    auto [found, is_new] = index_.try_emplace(key, static_cast<int32_t>(nodes_.size()));
    if (is_new) nodes_.emplace_back();
    Node& node = nodes_[found->second];
    if (!is_new && (node.done || std::pair(node.seconds, node.moves) <= std::pair(seconds, moves)))
      return;
    node = {state, seconds, moves, parent, collective, axes, bytes, false};
    queue_.push({seconds, moves, key, found->second});
  }

  void Expand(int32_t node) {
    const ReshardState state = nodes_[node].state;
    int64_t bytes = space_.Bytes(state);
    std::vector<MovingAxes> lists;
    for (size_t d = 0; d < space_.dims(); ++d)
      lists.push_back(space_.List(state, static_cast<int64_t>(d)));
    ExpandSlices(node, state, lists);
    ExpandRuns(node, state, lists, bytes);
    ExpandPermutes(node, state, bytes);
    ExpandReductions(node, state, lists, bytes);
  }

  void ExpandSlices(int32_t node, const ReshardState& state, const std::vector<MovingAxes>& lists) {
    for (uint8_t a : space_.List(state, ReshardState::kUnused)) {
      for (size_t d = 0; d < space_.dims(); ++d) {
        ReshardState next = state;
        ReshardSpace::Move(next, {a}, static_cast<int8_t>(d), lists[d].size());
        if (space_.CutAllowed(next, d) && space_.Nests(state, next, d))
          Reach(node, next, std::nullopt, {a}, 0);
      }
    }
    for (size_t d = 0; d < space_.dims(); ++d) SliceAtOnce(node, state, lists[d], d);
  }

  // Uneven pieces along several axes that are no pieces of those along fewer.
  void SliceAtOnce(int32_t node, const ReshardState& state, const MovingAxes& list, size_t d) {
    if (!list.empty() || space_.Size(d) % space_.Pieces(target_, d) == 0) return;
    const MovingAxes axes = space_.List(target_, static_cast<int64_t>(d));
    const bool unused = std::all_of(axes.begin(), axes.end(), [&](uint8_t a) {
      return state.place[a] == ReshardState::kUnused;
    });
    if (!unused || axes.size() < 2) return;
    ReshardState next = state;
    ReshardSpace::Move(next, axes, static_cast<int8_t>(d), 0);
    Reach(node, next, std::nullopt, axes, 0);
  }

  // All-gathers and all-to-alls of the runs at the minor ends.
  void ExpandRuns(int32_t node, const ReshardState& state, const std::vector<MovingAxes>& lists,
                  int64_t bytes) {
    for (size_t d = 0; d < space_.dims(); ++d) {
      for (size_t run = 1; run <= lists[d].size(); ++run) {
        MovingAxes axes(lists[d].end() - static_cast<int64_t>(run), lists[d].end());
        ReshardState gathered = state;
        ReshardSpace::Move(gathered, axes, ReshardState::kUnused, 0);
        if (!space_.Nests(state, gathered, d)) continue;
        Reach(node, gathered, CollectiveKind::kAllGather, axes,
              space_.JoinedBytes(bytes, gathered, axes));
        for (size_t e = 0; e < space_.dims(); ++e) {
          if (e == d) continue;
          ReshardState moved = state;
          ReshardSpace::Move(moved, axes, static_cast<int8_t>(e), lists[e].size());
          if (space_.CutAllowed(moved, e) && space_.Nests(state, moved, e))
            Reach(node, moved, CollectiveKind::kAllToAll, axes,
                  space_.CutBytes(bytes, moved, e, axes));
        }
      }
    }
  }

  // Every other way to cut the dimensions into as many pieces; with many axes in motion only the
  // target, where it is one.
  // One permute does what two in a row do.
  void ExpandPermutes(int32_t node, const ReshardState& state, int64_t bytes) {
    if (nodes_[node].collective == CollectiveKind::kCollectivePermute) return;
    if (space_.axes() <= kMaxPermutedAxes) {
      ReshardState bare = state;
      MovingAxes free;
      for (uint8_t a = 0; a < space_.axes(); ++a) {
        if (state.place[a] == ReshardState::kUnreduced) continue;
        free.push_back(a);
        ReshardSpace::Move(bare, {a}, ReshardState::kUnused, 0);
      }
      pieces_.clear();
      for (size_t d = 0; d < space_.dims(); ++d) pieces_.push_back(space_.Pieces(state, d));
      return FillDimension(node, bare, free, 0, 0, 1, bytes);
    }
    for (uint8_t a = 0; a < space_.axes(); ++a) {
      if ((state.place[a] == ReshardState::kUnreduced) !=
          (target_.place[a] == ReshardState::kUnreduced))
        return;
    }
    for (size_t d = 0; d < space_.dims(); ++d) {
      if (space_.Pieces(state, d) != space_.Pieces(target_, d)) return;
    }
    ReachByPermute(node, target_, bytes);
  }

  // Completes `partial`, in which dimensions before `dim` are as they will be and `dim` has
  // `position` axes that cut it into `pieces`, in every way that gives each dimension the pieces
  // that `node` does.
  void FillDimension(int32_t node, const ReshardState& partial, const MovingAxes& free, size_t dim,
                     size_t position, int64_t pieces, int64_t bytes) {
    if (dim == space_.dims()) return ReachByPermute(node, partial, bytes);
    int64_t wanted = pieces_[dim];
    if (pieces == wanted) {
      if (space_.Size(dim) % pieces != 0 && !space_.CutAllowed(partial, dim)) return;
      return FillDimension(node, partial, free, dim + 1, 0, 1, bytes);
    }
    for (uint8_t a : free) {
      if (partial.place[a] != ReshardState::kUnused || wanted % (pieces * space_.AxisSize(a)) != 0)
        continue;
      ReshardState next = partial;
      ReshardSpace::Move(next, {a}, static_cast<int8_t>(dim), position);
      FillDimension(node, next, free, dim, position + 1, pieces * space_.AxisSize(a), bytes);
    }
  }

  void ReachByPermute(int32_t node, const ReshardState& next, int64_t bytes) {
    const ReshardState& state = nodes_[node].state;
    MovingAxes changed;
    for (uint8_t a = 0; a < space_.axes(); ++a) {
      if (state.place[a] != next.place[a] || state.position[a] != next.position[a])
        changed.push_back(a);
    }
    if (!changed.empty()) Reach(node, next, CollectiveKind::kCollectivePermute, changed, bytes);
  }

  // All-reduces of any of the unreduced axes that must not stay so; reduce-scatters of one of them,
  // or of as many as come next in the target's dimension.
  void ExpandReductions(int32_t node, const ReshardState& state,
                        const std::vector<MovingAxes>& lists, int64_t bytes) {
    MovingAxes open;
    for (uint8_t a : space_.List(state, ReshardState::kUnreduced)) {
      if (target_.place[a] != ReshardState::kUnreduced) open.push_back(a);
    }
    for (uint32_t subset = 1; subset < (1u << open.size()); ++subset) {
      MovingAxes axes;
      for (size_t i = 0; i < open.size(); ++i) {
        if (subset >> i & 1) axes.push_back(open[i]);
      }
      ReshardState next = state;
      ReshardSpace::Move(next, axes, ReshardState::kUnused, 0);
      Reach(node, next, CollectiveKind::kAllReduce, axes, bytes);
    }
    for (size_t d = 0; d < space_.dims() && !open.empty(); ++d) {
      for (uint8_t a : open) Scatter(node, state, {a}, d, lists[d].size());
      MovingAxes run = space_.List(target_, static_cast<int64_t>(d));
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
      if (run.size() > 1) Scatter(node, state, run, d, lists[d].size());
    }
  }

  void Scatter(int32_t node, const ReshardState& state, const MovingAxes& axes, size_t dim,
               size_t position) {
    ReshardState next = state;
    ReshardSpace::Move(next, axes, static_cast<int8_t>(dim), position);
    if (!space_.CutAllowed(next, dim) || !space_.Nests(state, next, dim)) return;
    const int64_t padded = space_.JoinedBytes(space_.Bytes(next), state, axes);
    Reach(node, next, CollectiveKind::kReduceScatter, axes, padded);
  }

  std::vector<ReshardMove> Trace(int32_t node) const {
    std::vector<ReshardMove> path;
    for (; nodes_[node].parent >= 0; node = nodes_[node].parent) {
      const Node& n = nodes_[node];
      path.push_back({n.collective, space_.MeshAxes(n.axes), n.bytes,
                      n.seconds - nodes_[n.parent].seconds, space_.Unpack(n.state)});
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
    if (!reduced.empty()) step(CollectiveKind::kAllReduce, reduced, space_.HeldBytes(at));
    for (size_t d : space_.array_dims()) {
      AxisList axes = at.dims[d];
      const int64_t padded = space_.PaddedBytes(at, d);
      at.dims[d].clear();
      if (!axes.empty())
        step(CollectiveKind::kAllGather, axes, std::max(padded, space_.HeldBytes(at)));
    }
    for (size_t d : space_.array_dims()) {
      if (!space_.PrefixesNest(to, d)) {
        at.dims[d] = to.dims[d];
        step(std::nullopt, to.dims[d], 0);
        continue;
      }
      for (AxisIndex axis : to.dims[d]) {
        at.dims[d].push_back(axis);
        step(std::nullopt, {axis}, 0);
      }
    }
    return path;
  }

  const ReshardSpace space_;
  const Sharding& from_;
  const std::vector<const Sharding*>& ends_;
  const Sharding& to_;  // the first of them, which stands for all
  const CollectivePrice& price_;
  std::vector<int64_t> pieces_;  // by dimension, of the state whose permutes are being made
  ReshardState target_;
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
