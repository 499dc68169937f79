#include "meshwright/sharding/reshard_space.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace meshwright {
namespace {

int64_t ClampToInt64(unsigned __int128 value) {
  constexpr unsigned __int128 kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value < kMax ? value : kMax);
}

int64_t ClampedProduct(int64_t a, int64_t b) {
  return ClampToInt64(static_cast<unsigned __int128>(a) * static_cast<uint64_t>(b));
}

}  // namespace

bool PiecesNest(int64_t size, int64_t fewer, int64_t pieces) {
  if (fewer == 1 || size % pieces == 0) return true;
  const auto piece = [size](int64_t count) { return size / count + (size % count != 0); };
  return piece(pieces) * (pieces / fewer) == piece(fewer);
}

ReshardSpace::ReshardSpace(const Shape& shape, const Sharding& from, const Sharding& to,
                           const Mesh& mesh)
    : mesh_(mesh), from_(from), to_(to) {
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
  rest_bytes_ = Shape::Array(shape.type, {}).bytes();
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (from.dims[d].empty() && to_.dims[d].empty()) {
      rest_bytes_ = ClampedProduct(rest_bytes_, shape.dims[d]);
    } else {
      dims_.push_back(d);
      sizes_.push_back(shape.dims[d]);
    }
  }
}

ReshardState ReshardSpace::Pack(const Sharding& sharding) const {
  ReshardState state;
  state.place.fill(ReshardState::kUnused);
  state.position.fill(0);
  for (size_t a = 0; a < axes_.size(); ++a) {
    auto is_axis = [&](AxisIndex axis) { return axis == axes_[a]; };
    if (std::any_of(sharding.unreduced.begin(), sharding.unreduced.end(), is_axis)) {
      state.place[a] = ReshardState::kUnreduced;
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

Sharding ReshardSpace::Unpack(const ReshardState& state) const {
  Sharding sharding = Sharding::Replicated(static_cast<int64_t>(from_.dims.size()));
  for (size_t d = 0; d < dims_.size(); ++d) {
    sharding.dims[dims_[d]] = MeshAxes(List(state, static_cast<int64_t>(d)));
  }
  sharding.unreduced = MeshAxes(List(state, ReshardState::kUnreduced));
  if (!sharding.unreduced.empty()) sharding.reduction = from_.reduction;
  return sharding;
}

AxisList ReshardSpace::MeshAxes(const MovingAxes& axes) const {
  AxisList list;
  for (uint8_t a : axes) list.push_back(axes_[a]);
  return list;
}

MovingAxes ReshardSpace::List(const ReshardState& state, int64_t place) const {
  MovingAxes list;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (state.place[a] == place) list.push_back(static_cast<uint8_t>(a));
  }
  std::sort(list.begin(), list.end(), [&](uint8_t a, uint8_t b) {
    return std::pair(state.position[a], a) < std::pair(state.position[b], b);
  });
  return list;
}

int64_t ReshardSpace::Pieces(const ReshardState& state, size_t dim) const {
  int64_t pieces = 1;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (state.place[a] == static_cast<int8_t>(dim)) pieces *= AxisSize(static_cast<uint8_t>(a));
  }
  return pieces;
}

template <typename PiecesOf>
int64_t ReshardSpace::BytesWith(const PiecesOf& pieces_of) const {
  int64_t bytes = rest_bytes_;
  for (size_t d = 0; d < dims_.size(); ++d) {
    const int64_t pieces = pieces_of(d);
    bytes = ClampedProduct(bytes, sizes_[d] / pieces + (sizes_[d] % pieces != 0));
  }
  return bytes;
}

int64_t ReshardSpace::Bytes(const ReshardState& state) const {
  return BytesWith([&](size_t d) { return Pieces(state, d); });
}

int64_t ReshardSpace::HeldBytes(const Sharding& sharding) const {
  return BytesWith([&](size_t d) { return mesh_.Size(sharding.dims[dims_[d]]); });
}

int64_t ReshardSpace::JoinedBytes(int64_t bytes, const ReshardState& joined,
                                  const MovingAxes& axes) const {
  for (uint8_t a : axes) bytes = ClampedProduct(bytes, AxisSize(a));
  return std::max(bytes, Bytes(joined));
}

int64_t ReshardSpace::CutBytes(int64_t bytes, const ReshardState& cut, size_t dim,
                               const MovingAxes& axes) const {
  int64_t pieces = 1;
  for (uint8_t a : axes) pieces *= AxisSize(a);
  const int64_t all = Pieces(cut, dim), before = all / pieces;
  const int64_t held = sizes_[dim] / before + (sizes_[dim] % before != 0);
  const int64_t padded = (sizes_[dim] / all + (sizes_[dim] % all != 0)) * pieces;
  return padded <= held ? bytes : ClampedProduct(bytes / held, padded);
}

int64_t ReshardSpace::PaddedBytes(const Sharding& sharding, size_t dim) const {
  return ClampedProduct(HeldBytes(sharding), mesh_.Size(sharding.dims[dim]));
}

bool ReshardSpace::PrefixesNest(const Sharding& sharding, size_t dim) const {
  const auto at = std::find(dims_.begin(), dims_.end(), dim) - dims_.begin();
  int64_t fewer = 1;
  for (AxisIndex axis : sharding.dims[dim]) {
    const int64_t pieces = fewer * mesh_.axes[axis].size;
    if (!PiecesNest(sizes_[at], fewer, pieces)) return false;
    fewer = pieces;
  }
  return true;
}

bool ReshardSpace::Nests(const ReshardState& a, const ReshardState& b, size_t dim) const {
  const auto [fewer, more] = std::minmax({Pieces(a, dim), Pieces(b, dim)});
  return PiecesNest(sizes_[dim], fewer, more);
}

bool ReshardSpace::CutAllowed(const ReshardState& state, size_t dim) const {
  int64_t pieces = Pieces(state, dim);
  if (sizes_[dim] % pieces == 0) return true;
  AxisList list = MeshAxes(List(state, static_cast<int64_t>(dim)));
  auto starts = [&](const AxisList& end) {
    return list.size() <= end.size() && std::equal(list.begin(), list.end(), end.begin());
  };
  return starts(from_.dims[dims_[dim]]) || starts(to_.dims[dims_[dim]]);
}

}  // namespace meshwright
