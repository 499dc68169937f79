#include "meshwright/sharding/hlo_sharding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

// Between HLO's device lists and axes of a mesh. A tile assignment belongs to a mesh if moving one
// step along a mesh axis always moves by the same amount along one tile dimension (or none, if the
// axis replicates): the steps from device 0 tell which, and checking every device tells whether it
// holds.

namespace meshwright {
namespace {

using Kind = HloSharding::Kind;

// Part of a named mesh's axis: `size` pieces with `before` pieces of the same axis outside of it.
struct SubAxis {
  size_t axis = 0;
  int64_t before = 1, size = 1;
};

absl::Status Error(const HloSharding& sharding, std::string_view what) {
  return absl::InvalidArgumentError(StrCat("sharding ", HloShardingText(sharding), " ", what));
}

absl::StatusOr<SubAxis> ResolveAxis(const HloSharding& sharding, const std::string& ref) {
  size_t colon = std::min(ref.find(':'), ref.size());
  for (size_t a = 0; a < sharding.mesh_axes.size(); ++a) {
    const auto& [name, size] = sharding.mesh_axes[a];
    if (name != ref.substr(0, colon)) continue;
    SubAxis sub{a, 1, size};
    if (colon == ref.size()) return sub;
    size_t close = ref.find(')', colon);
    bool numbers = close != std::string::npos &&
                   absl::SimpleAtoi(ref.substr(colon + 2, close - colon - 2), &sub.before) &&
                   absl::SimpleAtoi(ref.substr(close + 1), &sub.size);
    if (!numbers || sub.before < 1 || sub.size < 1 || sub.before > size || sub.size > size ||
        size % (sub.before * sub.size) != 0) {
      return Error(sharding, StrCat("takes ", ref, ", which does not divide its axis of ", size));
    }
    return sub;
  }
  return Error(sharding, StrCat("names axis '", ref, "', which its mesh does not have"));
}

// The named form as tiles; axes in no dimension replicate.
absl::StatusOr<HloSharding> NamedToTiled(const HloSharding& named, int64_t rank) {
  HloSharding tiled;
  bool all_replicated = named.named_all == "replicated";
  if (named.named_all == "manual" || !named.named_manual.empty()) tiled.kind = Kind::kManual;
  if (named.named_all == "unreduced") tiled.kind = Kind::kUnreduced;
  if (all_replicated || tiled.kind != Kind::kReplicated) return tiled;
  if (static_cast<int64_t>(named.named_dims.size()) > rank) {
    return Error(named, StrCat("has more dimensions than the array's ", rank));
  }
  // Where device `d` of the mesh stands: tile coordinates of the dimensions, then of the unreduced
  // axes.
  std::vector<std::vector<SubAxis>> groups;
  auto add_group = [&](const std::vector<std::string>& refs) -> absl::Status {
    groups.emplace_back();
    for (const std::string& ref : refs) {
      if (ref == "?") continue;
      MW_ASSIGN_OR_RETURN(SubAxis sub, ResolveAxis(named, ref));
      groups.back().push_back(sub);
    }
    return absl::OkStatus();
  };
  for (const std::vector<std::string>& dim : named.named_dims) MW_RETURN_IF_ERROR(add_group(dim));
  for (size_t d = named.named_dims.size(); d < static_cast<size_t>(rank); ++d)
    groups.emplace_back();
  MW_RETURN_IF_ERROR(add_group(named.named_unreduced));

  int64_t devices = 1;
  for (const auto& [name, size] : named.mesh_axes) devices *= size;
  tiled.kind = Kind::kTiled;
  int64_t tiles = 1;
  for (const std::vector<SubAxis>& group : groups) {
    int64_t size = 1;
    for (const SubAxis& sub : group) size *= sub.size;
    if (devices % size != 0 || (tiles *= size) > devices) {
      return Error(named, "uses an axis more than once");
    }
    tiled.tile_dims.push_back(size);
  }
  if (devices % tiles != 0) return Error(named, "uses an axis more than once");
  int64_t replicas = devices / tiles;
  tiled.tile_dims.push_back(replicas);
  tiled.last_tile_dims = {"unreduced", "replicated"};
  tiled.devices.assign(static_cast<size_t>(devices), -1);
  std::vector<int64_t> filled(static_cast<size_t>(tiles), 0);
  for (int64_t d = 0; d < devices; ++d) {
    std::vector<int64_t> coordinates(named.mesh_axes.size());
    int64_t rest = d;
    for (size_t a = named.mesh_axes.size(); a-- > 0;) {
      coordinates[a] = rest % named.mesh_axes[a].second;
      rest /= named.mesh_axes[a].second;
    }
    int64_t tile = 0;
    for (const std::vector<SubAxis>& group : groups) {
      for (const SubAxis& sub : group) {
        int64_t after = named.mesh_axes[sub.axis].second / (sub.before * sub.size);
        tile = tile * sub.size + coordinates[sub.axis] / after % sub.size;
      }
    }
    if (filled[tile] == replicas) return Error(named, "uses an axis more than once");
    int64_t id = named.mesh_devices.empty() ? d : named.mesh_devices[d];
    tiled.devices[tile * replicas + filled[tile]++] = id;
  }
  return tiled;
}

// Which tile dimensions say where a device's data are: those of the array and the unreduced one,
// and what stands for each after them.
struct TileRoles {
  std::vector<bool> matters;    // by tile dimension; false: replicated
  std::vector<bool> unreduced;  // by tile dimension
};

absl::StatusOr<TileRoles> RolesOf(const HloSharding& sharding, int64_t rank) {
  size_t subgroups = sharding.last_tile_dims.size() + (sharding.last_tile_dim_replicate ? 1 : 0);
  size_t dims = sharding.tile_dims.size() - subgroups;
  if (static_cast<int64_t>(dims) != rank) {
    return Error(sharding, StrCat("has ", dims, " dimensions, the array has ", rank));
  }
  TileRoles roles;
  roles.matters.assign(sharding.tile_dims.size(), false);
  roles.unreduced.assign(sharding.tile_dims.size(), false);
  for (size_t d = 0; d < dims; ++d) roles.matters[d] = true;
  for (size_t i = 0; i < sharding.last_tile_dims.size(); ++i) {
    const std::string& type = sharding.last_tile_dims[i];
    if (type == "manual") return Error(sharding, "is manual; manual code is not planned");
    if (type != "unreduced") continue;
    roles.unreduced[dims + i] = true;
    roles.matters[dims + i] = true;
  }
  return roles;
}

absl::StatusOr<Sharding> FromTiles(const HloSharding& sharding, const Mesh& mesh, int64_t rank) {
  MW_ASSIGN_OR_RETURN(TileRoles roles, RolesOf(sharding, rank));
  int64_t devices = mesh.devices();
  if (static_cast<int64_t>(sharding.devices.size()) != devices) {
    return Error(sharding,
                 StrCat("is over ", sharding.devices.size(), " devices, the mesh has ", devices));
  }
  size_t tile_rank = sharding.tile_dims.size();
  std::vector<std::vector<int64_t>> coordinates(static_cast<size_t>(devices));  // by device
  for (int64_t position = 0; position < devices; ++position) {
    std::vector<int64_t>& at = coordinates[sharding.devices[position]];
    at.assign(tile_rank, 0);
    int64_t rest = position;
    for (size_t d = tile_rank; d-- > 0;) {
      if (roles.matters[d]) at[d] = rest % sharding.tile_dims[d];
      rest /= sharding.tile_dims[d];
    }
  }
  absl::Status not_axes = Error(sharding, "is not a combination of the axes of the mesh");
  // Per tile dimension its axes by step: a larger step is more major.
  std::vector<std::map<int64_t, AxisIndex, std::greater<int64_t>>> steps(tile_rank);
  int64_t stride = devices;
  for (size_t a = 0; a < mesh.rank(); ++a) {
    stride /= mesh.axes[a].size;
    if (mesh.axes[a].size == 1) continue;
    const std::vector<int64_t>& at = coordinates[stride];
    for (size_t d = 0; d < tile_rank; ++d) {
      if (at[d] != 0 && !steps[d].emplace(at[d], static_cast<AxisIndex>(a)).second) return not_axes;
    }
  }
  Sharding result = Sharding::Replicated(rank);
  std::set<AxisIndex> used;
  for (size_t d = 0; d < tile_rank; ++d) {
    for (const auto& [step, axis] : steps[d]) {
      if (!used.insert(axis).second) return not_axes;
      if (roles.unreduced[d]) {
        result.unreduced.push_back(axis);
        result.reduction = Reduction::kSum;
      } else {
        result.dims[d].push_back(axis);
      }
    }
  }
  std::sort(result.unreduced.begin(), result.unreduced.end());
  for (int64_t device = 0; device < devices; ++device) {
    for (size_t d = 0; d < tile_rank; ++d) {
      int64_t expected = 0;
      for (const auto& [step, axis] : steps[d]) {
        int64_t inner = 1;
        for (size_t a = axis + 1; a < mesh.rank(); ++a) inner *= mesh.axes[a].size;
        expected += step * (device / inner % mesh.axes[axis].size);
      }
      if (coordinates[device][d] != expected) return not_axes;
    }
  }
  for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
    int64_t expected = mesh.Size(result.dims[d]);
    if (expected != sharding.tile_dims[d]) return not_axes;
    for (const auto& [step, axis] : steps[d]) {
      expected /= mesh.axes[axis].size;
      if (step != expected) return not_axes;
    }
  }
  return result;
}

// Every axis of more than one device.
AxisList AllAxes(const Mesh& mesh) {
  AxisList list;
  for (size_t a = 0; a < mesh.rank(); ++a) {
    if (mesh.axes[a].size > 1) list.push_back(static_cast<AxisIndex>(a));
  }
  return list;
}

}  // namespace

absl::StatusOr<Sharding> FromHloSharding(const HloSharding& sharding, const Mesh& mesh,
                                         int64_t rank) {
  Sharding replicated = Sharding::Replicated(rank);
  switch (sharding.kind) {
    case Kind::kReplicated:
      return replicated;
    case Kind::kMaximal:
      if (mesh.devices() == 1 && sharding.maximal_device == 0) return replicated;
      return Error(sharding, StrCat("puts everything on one of ", mesh.devices(), " devices"));
    case Kind::kManual:
      return Error(sharding, "is manual; manual code is not planned");
    case Kind::kUnknown:
      return Error(sharding, "says nothing");
    case Kind::kUnreduced:
      replicated.unreduced = AllAxes(mesh);
      if (!replicated.unreduced.empty()) replicated.reduction = Reduction::kSum;
      return replicated;
    case Kind::kTiled:
      return FromTiles(sharding, mesh, rank);
    case Kind::kNamed: {
      MW_ASSIGN_OR_RETURN(HloSharding tiled, NamedToTiled(sharding, rank));
      return FromHloSharding(tiled, mesh, rank);
    }
    case Kind::kTuple:
      return Error(sharding, "is of a tuple, not of an array");
  }
  return Error(sharding, "is of no known kind");
}

std::string ToHloShardingText(const Sharding& sharding, const Mesh& mesh) {
  HloSharding text;
  if (sharding.is_replicated()) return HloShardingText(text);
  text.kind = Kind::kTiled;
  AxisList order;  // of the tile dimensions, major to minor
  for (const AxisList& list : sharding.dims) {
    text.tile_dims.push_back(mesh.Size(list));
    order.insert(order.end(), list.begin(), list.end());
  }
  order.insert(order.end(), sharding.unreduced.begin(), sharding.unreduced.end());
  AxisList replicated;
  for (AxisIndex axis : AllAxes(mesh)) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) replicated.push_back(axis);
  }
  order.insert(order.end(), replicated.begin(), replicated.end());
  if (!sharding.unreduced.empty()) {
    text.tile_dims.push_back(mesh.Size(sharding.unreduced));
    text.last_tile_dims.push_back("unreduced");
    if (!replicated.empty()) text.last_tile_dims.push_back("replicated");
  }
  if (!replicated.empty()) text.tile_dims.push_back(mesh.Size(replicated));
  text.last_tile_dim_replicate = !replicated.empty() && sharding.unreduced.empty();

  text.devices = {0};
  for (size_t i = order.size();
       i-- > 0;) {  // minor first: repeat what there is, one stride further
    int64_t stride = 1;
    for (size_t a = order[i] + 1; a < mesh.rank(); ++a) stride *= mesh.axes[a].size;
    size_t block = text.devices.size();
    for (int64_t k = 1; k < mesh.axes[order[i]].size; ++k) {
      for (size_t j = 0; j < block; ++j) text.devices.push_back(text.devices[j] + k * stride);
    }
  }
  return HloShardingText(text);
}

}  // namespace meshwright
