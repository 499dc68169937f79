// Values are resharded (PartitionedHlo::Reshard in xla/service/spmd) by the first of these that
// applies, whatever it costs:
//
//  1. a permute, if all dimensions keep their number of pieces;
//  2. all-to-alls, if dimensions only exchange their numbers of pieces;
//  3. slices, and a permute of the target's pieces, if no dimension has fewer than before;
//  4. all-gathers, behind a permute, if none has more;
//  5. an all-to-all that splits the axes of one dimension or merges those of two;
//  6. the gather of one dimension whose axes are as many as the target replicates more, or slices
//     along all axes that are unused, and then this list again;
//  7. this list again for the dimensions that change by themselves;
//  8. gathers of everything, then slices.
//
// Partial sums are combined first. The partitioner counts pieces and compares devices;
// here axes stand for both, so that axes of equal size are told apart where it does not.

#include "meshwright/intra/partitioner_reshard.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace meshwright {
namespace {

// Bytes that leave a device, as good a price as any where only bytes count.
double BytesMoved(const Mesh& mesh, CollectiveKind kind, const AxisList& axes, int64_t bytes) {
  const auto n = static_cast<double>(mesh.Size(axes));
  const double once = static_cast<double>(bytes) * (n - 1) / n;
  constexpr double kStep = 1e-3;  // of paths that move as much, the one of fewer steps
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * once + kStep;
    case CollectiveKind::kCollectivePermute:
      return static_cast<double>(bytes) + kStep;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      break;
  }
  return once + kStep;
}

bool Holds(const AxisList& list, AxisIndex axis) {
  return std::find(list.begin(), list.end(), axis) != list.end();
}

bool IsPrefix(const AxisList& prefix, const AxisList& list) {
  return prefix.size() <= list.size() && std::equal(prefix.begin(), prefix.end(), list.begin());
}

// Every dimension of `to` is cut further than in `from`, if at all.
bool OnlySlices(const Sharding& from, const Sharding& to) {
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (!IsPrefix(from.dims[d], to.dims[d])) return false;
  }
  return true;
}

class PartitionerPath {
 public:
  PartitionerPath(const Shape& shape, const Sharding& from, const Sharding& to, const Mesh& mesh)
      : shape_(shape), mesh_(mesh), at_(from), to_(to), settled_(to.dims.size(), false) {}

  Resharding Run() {
    // Only partial sums that stay so are left to the general search.
    if (!to_.unreduced.empty() || at_.dims.size() != to_.dims.size()) {
      Leg(to_);
      return std::move(path_);
    }
    if (!at_.unreduced.empty()) Reduce();
    // The list ends after a few steps; were it not to, gathering everything does.
    constexpr int kMaxSteps = 8;
    for (int i = 0; path_.possible && !(at_ == to_); ++i) {
      if (i < kMaxSteps) {
        Next();
      } else {
        GatherAll();
        Leg(to_);
      }
    }
    return std::move(path_);
  }

 private:
  void Next() {
    if (OnlySlices(at_, to_)) return Leg(to_);
    Count();
    if (from_ == into_) return Leg(to_);                    // 1
    if (Exchanged()) return Exchange();                     // 2
    if (total_from_ < devices_ && Divides(from_, into_)) {  // 3
      return Jump(
          {CollectiveKind::kCollectivePermute, Changed(), BytesPerDevice(shape_, to_, mesh_)});
    }
    if (total_into_ < devices_ && Divides(into_, from_)) return GatherDown();  // 4
    // Uneven pieces are neither split nor cut further on the way.
    const bool even = DividesEvenly(shape_, at_, mesh_) && DividesEvenly(shape_, to_, mesh_);
    if (even && SplitsOrMerges()) return SplitOrMerge();  // 5
    if (total_from_ > 1 && total_into_ > 1) {
      if (GatherOne() || (even && SliceUnused())) return;  // 6
      if (Settle()) return;                                // 7
    }
    GatherAll();  // 8
  }

  // Combines partial sums; at once into pieces where those are along one dimension and all that is
  // wanted besides (ReduceScatterCreator).
  void Reduce() {
    while (const std::optional<Sharding> first = ScatteredFirst(shape_, at_, to_, mesh_))
      Leg(*first);
    Sharding whole = at_;
    whole.unreduced.clear();
    whole.reduction = Reduction::kNone;
    bool scattered = false;
    for (size_t d = 0; d < to_.dims.size(); ++d) {
      Sharding pieces = whole;
      pieces.dims[d] = to_.dims[d];
      AxisList added = at_.dims[d];
      added.insert(added.end(), at_.unreduced.begin(), at_.unreduced.end());
      scattered |= pieces == to_ && added == to_.dims[d];
    }
    Leg(scattered ? to_ : whole);
  }

  // Takes the cheapest way to `next`, which is one that leaves no choice.
  void Leg(const Sharding& next) {
    const Resharding leg = PlanResharding(
        shape_, at_, next, mesh_, [this](CollectiveKind kind, const AxisList& axes, int64_t bytes) {
          return BytesMoved(mesh_, kind, axes, bytes);
        });
    path_.possible &= leg.possible;
    path_.steps.insert(path_.steps.end(), leg.steps.begin(), leg.steps.end());
    path_.copy_bytes += leg.copy_bytes;
    at_ = next;
  }

  // A step by which the target is reached in a way that axes cannot express.
  void Jump(CollectiveStep step) {
    path_.steps.push_back(std::move(step));
    at_ = to_;
  }

  // Pieces of the dimensions that are not settled, and the devices that those have to themselves.
  void Count() {
    devices_ = mesh_.devices();
    total_from_ = total_into_ = 1;
    from_.assign(to_.dims.size(), 1);
    into_ = from_;
    for (size_t d = 0; d < to_.dims.size(); ++d) {
      if (settled_[d]) {
        devices_ /= mesh_.Size(to_.dims[d]);
        continue;
      }
      total_from_ *= from_[d] = mesh_.Size(at_.dims[d]);
      total_into_ *= into_[d] = mesh_.Size(to_.dims[d]);
    }
  }

  bool Exchanged() const {
    if (total_from_ != total_into_) return false;
    std::vector<int64_t> from, into;
    for (size_t d = 0; d < from_.size(); ++d) {
      if (from_[d] == into_[d]) continue;
      from.push_back(from_[d]);
      into.push_back(into_[d]);
    }
    std::sort(from.begin(), from.end());
    std::sort(into.begin(), into.end());
    return from == into;
  }

  // Two dimensions that are both cut, before and after, exchange what one is cut more: an
  // all-to-all along part of an axis. Else axes move from dimension to dimension.
  void Exchange() {
    std::vector<size_t> changed;
    for (size_t d = 0; d < from_.size(); ++d) {
      if (from_[d] != into_[d]) changed.push_back(d);
    }
    if (changed.size() != 2) return Leg(to_);
    const bool swaps = std::min(from_[changed[0]], from_[changed[1]]) > 1;
    if (!swaps) return MoveMinor(0);
    const size_t more = from_[changed[0]] > from_[changed[1]] ? changed[0] : changed[1];
    const int64_t held = BytesPerDevice(shape_, at_, mesh_);
    path_.steps.push_back({CollectiveKind::kAllToAll, at_.dims[more], held});
    Jump({CollectiveKind::kCollectivePermute, Changed(), held});
  }

  static bool Divides(const std::vector<int64_t>& divisors, const std::vector<int64_t>& numbers) {
    for (size_t d = 0; d < divisors.size(); ++d) {
      if (numbers[d] % divisors[d] != 0) return false;
    }
    return true;
  }

  // Axes that are not where they were.
  AxisList Changed() const {
    AxisList changed;
    for (size_t axis = 0; axis < mesh_.rank(); ++axis) {
      const auto a = static_cast<AxisIndex>(axis);
      for (size_t d = 0; d < to_.dims.size(); ++d) {
        const auto before = std::find(at_.dims[d].begin(), at_.dims[d].end(), a);
        const auto after = std::find(to_.dims[d].begin(), to_.dims[d].end(), a);
        if (before - at_.dims[d].begin() == after - to_.dims[d].begin() &&
            (before == at_.dims[d].end()) == (after == to_.dims[d].end()))
          continue;
        changed.push_back(a);
        break;
      }
    }
    return changed;
  }

  void GatherDown() {
    Sharding middle = at_;
    bool known = true;
    for (size_t d = 0; d < to_.dims.size(); ++d) {
      if (settled_[d] || IsPrefix(to_.dims[d], at_.dims[d])) continue;
      middle.dims[d] = to_.dims[d];
      for (AxisIndex axis : at_.dims[d]) {
        if (!Holds(to_.dims[d], axis)) middle.dims[d].push_back(axis);
      }
      known &= middle.dims[d].size() == at_.dims[d].size();
    }
    if (known) {
      if (!(middle == at_)) Leg(middle);
      return GatherTo(to_);
    }
    // Pieces of axes are gathered, which no sharding says.
    int64_t bytes = BytesPerDevice(shape_, at_, mesh_);
    const AxisList changed = Changed();
    path_.steps.push_back({CollectiveKind::kCollectivePermute, changed, bytes});
    AxisList gathered;
    for (AxisIndex axis : changed) {
      const bool kept = std::any_of(to_.dims.begin(), to_.dims.end(),
                                    [&](const AxisList& list) { return Holds(list, axis); });
      if (!kept) gathered.push_back(axis);
    }
    if (gathered.empty()) gathered = changed;
    for (size_t d = from_.size(); d-- > 0;) {
      if (from_[d] == into_[d]) continue;
      bytes *= from_[d] / into_[d];
      path_.steps.push_back({CollectiveKind::kAllGather, gathered, bytes});
    }
    at_ = to_;
  }

  // One dimension after the other, from the last.
  void GatherTo(const Sharding& next) {
    for (size_t d = next.dims.size(); d-- > 0;) {
      if (at_.dims[d] == next.dims[d]) continue;
      Sharding step = at_;
      step.dims[d] = next.dims[d];
      Leg(step);
    }
  }

  bool SplitsOrMerges() const {
    if (total_from_ != total_into_) return false;
    std::vector<size_t> changed;
    for (size_t d = 0; d < from_.size(); ++d) {
      if (from_[d] != into_[d]) changed.push_back(d);
    }
    if (changed.size() != 2) return false;
    for (const size_t d : changed) {
      const auto [least, most] = std::minmax(from_[d], into_[d]);
      if (least > 1 && most % least == 0) return true;
    }
    return false;
  }

  // What is split off is the minor part; where that is not what moves, a permute follows.
  void SplitOrMerge() {
    for (size_t d = 0; d < from_.size(); ++d) {
      if (from_[d] <= into_[d] || into_[d] == 1 || IsPrefix(to_.dims[d], at_.dims[d])) continue;
      const int64_t held = BytesPerDevice(shape_, at_, mesh_);
      path_.steps.push_back({CollectiveKind::kAllToAll, {at_.dims[d].back()}, held});
      return Jump({CollectiveKind::kCollectivePermute, Changed(), held});
    }
    for (size_t d = 0; d < from_.size(); ++d) {
      if (from_[d] > into_[d]) return MoveMinor(to_.dims[d].size());
    }
    Leg(to_);
  }

  // Of the two dimensions that change, the one with fewer pieces after than before keeps its first
  // `kept` axes; the others go to the minor end of the other one. Where the target has them
  // elsewhere, a permute follows.
  void MoveMinor(size_t kept) {
    Sharding next = at_;
    size_t less = 0, more = 0;
    for (size_t d = 0; d < from_.size(); ++d) {
      if (from_[d] > into_[d]) less = d;
      if (from_[d] < into_[d]) more = d;
    }
    AxisList& left = next.dims[less];
    next.dims[more].insert(next.dims[more].end(), left.begin() + static_cast<int64_t>(kept),
                           left.end());
    left.resize(kept);
    Leg(next);
  }

  bool GatherOne() {
    if (total_into_ == devices_) return false;
    for (size_t d = 0; d < from_.size(); ++d) {
      if (from_[d] == 1 || from_[d] * (devices_ / total_from_) != devices_ / total_into_) continue;
      Sharding next = at_;
      next.dims[d].clear();
      Leg(next);
      return true;
    }
    return false;
  }

  bool SliceUnused() {
    if (total_into_ < devices_ || total_from_ == devices_) return false;
    AxisList unused;
    for (size_t axis = 0; axis < mesh_.rank(); ++axis) {
      const auto a = static_cast<AxisIndex>(axis);
      const bool used = std::any_of(at_.dims.begin(), at_.dims.end(),
                                    [&](const AxisList& list) { return Holds(list, a); });
      if (!used && mesh_.axes[axis].size > 1) unused.push_back(a);
    }
    const int64_t size = mesh_.Size(unused);
    for (size_t d = 0; d < from_.size(); ++d) {
      if (settled_[d] || from_[d] == into_[d] || from_[d] != 1 || into_[d] % size != 0) continue;
      at_.dims[d] = unused;  // for nothing
      return true;
    }
    return false;
  }

  bool Settle() {
    bool any = false;
    for (size_t d = 0; d < from_.size(); ++d) {
      if (settled_[d] || at_.dims[d].empty() || at_.dims[d] != to_.dims[d]) continue;
      settled_[d] = any = true;
    }
    return any;
  }

  void GatherAll() {
    Sharding next = at_;
    for (size_t d = 0; d < next.dims.size(); ++d) {
      if (!settled_[d]) next.dims[d].clear();
    }
    GatherTo(next);
  }

  const Shape& shape_;
  const Mesh& mesh_;
  Sharding at_;
  const Sharding& to_;
  std::vector<bool> settled_;  // by dimension: it is as it will be
  // Of the present step.
  std::vector<int64_t> from_, into_;  // pieces by dimension
  int64_t total_from_ = 1, total_into_ = 1, devices_ = 1;
  Resharding path_;
};

}  // namespace

Resharding PartitionerReshard(const Shape& shape, const Sharding& from, const Sharding& to,
                              const Mesh& mesh) {
  return PartitionerPath(shape, from, to, mesh).Run();
}

}  // namespace meshwright
