#ifndef MESHWRIGHT_SHARDING_RESHARD_SPACE_H_
#define MESHWRIGHT_SHARDING_RESHARD_SPACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "meshwright/sharding/sharding.h"

// The states of a resharding: shardings of one array in which only the axes and dimensions that
// either end uses are told apart. Both are numbered among those in motion; a state packs into 64
// bits.

namespace meshwright {

// Where the axes in motion are.
struct ReshardState {
  static constexpr size_t kMaxAxes = 8;  // beyond that replicate and slice
  static constexpr int8_t kUnused = -1;
  static constexpr int8_t kUnreduced = -2;

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

// Whether `pieces` of a dimension are pieces of the `fewer` that it can be cut into. Uneven ones
// may not be: 10 elements on 2 devices are 5 each, on 2x4 devices 2 each, so that those of the
// first four, 8, are not the 5 of the first. What is whole can be cut in any way.
bool PiecesNest(int64_t size, int64_t fewer, int64_t pieces);

using MovingAxes = absl::InlinedVector<uint8_t, ReshardState::kMaxAxes>;  // axes in motion

class ReshardSpace {
 public:
  // `from`, `to` and `mesh` must outlive the object. What works on states assumes that at most
  // ReshardState::kMaxAxes axes are in motion.
  ReshardSpace(const Shape& shape, const Sharding& from, const Sharding& to, const Mesh& mesh);

  size_t axes() const { return axes_.size(); }  // how many are in motion
  size_t dims() const { return dims_.size(); }
  const std::vector<size_t>& array_dims() const { return dims_; }  // as the array numbers them
  int64_t Size(size_t dim) const { return sizes_[dim]; }
  int64_t AxisSize(uint8_t a) const { return mesh_.axes[axes_[a]].size; }

  // States of shardings that use nothing beyond the ends' axes and dimensions, and back.
  ReshardState Pack(const Sharding& sharding) const;
  Sharding Unpack(const ReshardState& state) const;
  AxisList MeshAxes(const MovingAxes& axes) const;

  // The axes at `place` (a dimension: major to minor).
  MovingAxes List(const ReshardState& state, int64_t place) const;
  int64_t Pieces(const ReshardState& state, size_t dim) const;
  // Bytes that a device holds, pieces rounded up; the largest int64_t stands for all beyond.
  int64_t Bytes(const ReshardState& state) const;
  int64_t HeldBytes(const Sharding& sharding) const;
  // Bytes of a buffer that joins the pieces of `axes`, of `bytes` each, to what a device holds in
  // `joined`: padding of uneven pieces is part of it.
  int64_t JoinedBytes(int64_t bytes, const ReshardState& joined, const MovingAxes& axes) const;
  // Bytes of a buffer, of `bytes` unpadded, that a device cuts along `dim` into pieces for the
  // others along `axes`, which `cut` holds: `dim` is padded for that.
  int64_t CutBytes(int64_t bytes, const ReshardState& cut, size_t dim,
                   const MovingAxes& axes) const;
  // JoinedBytes of all of dimension `dim`, as the array numbers it, of `sharding`.
  int64_t PaddedBytes(const Sharding& sharding, size_t dim) const;
  // Each piece that `sharding` makes of `dim`, as the array numbers it, is a piece of those that
  // the first of its axes make.
  bool PrefixesNest(const Sharding& sharding, size_t dim) const;
  // One state cuts `dim` further than the other, and its pieces are pieces of the other's.
  bool Nests(const ReshardState& a, const ReshardState& b, size_t dim) const;
  // Intermediate cuts are even, unless an end of the path has the same uneven one.
  bool CutAllowed(const ReshardState& state, size_t dim) const;

  // `axes` move to the minor end of `place`, which has `position` axes already, or nowhere in
  // particular (kUnused).
  static void Move(ReshardState& state, const MovingAxes& axes, int8_t place, size_t position) {
    for (uint8_t a : axes) {
      state.place[a] = place;
      state.position[a] = place >= 0 ? static_cast<int8_t>(position++) : int8_t{0};
    }
  }

 private:
  // Bytes of a device where dimension d in motion is cut into `pieces_of(d)`.
  template <typename PiecesOf>
  int64_t BytesWith(const PiecesOf& pieces_of) const;

  const Mesh& mesh_;
  const Sharding &from_, &to_;
  std::vector<AxisIndex> axes_;  // in motion
  std::vector<size_t> dims_;     // in motion
  std::vector<int64_t> sizes_;   // of dims_
  int64_t rest_bytes_ = 0;       // bytes of an element times the sizes of the other dimensions
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_RESHARD_SPACE_H_
