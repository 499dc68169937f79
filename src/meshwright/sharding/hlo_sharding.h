#ifndef MESHWRIGHT_SHARDING_HLO_SHARDING_H_
#define MESHWRIGHT_SHARDING_HLO_SHARDING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// HLO's `sharding=` attribute as its own value type, every form XLA prints. The metadata that may
// stand inside is not kept.
struct HloSharding {
  enum class Kind { kReplicated, kMaximal, kManual, kUnknown, kUnreduced, kTiled, kNamed, kTuple };
  Kind kind = Kind::kReplicated;
  int64_t maximal_device = 0;
  // kTiled: tile_dims are the tile counts of the array's dimensions followed by `subgroups` further
  // dimensions; devices lists device ids in row-major order of tile_dims.
  std::vector<int64_t> tile_dims;
  std::vector<int64_t> devices;
  bool last_tile_dim_replicate = false;
  std::vector<std::string>
      last_tile_dims;  // "replicated", "manual", "unreduced", ... (V1 subgroup form)
  // kNamed: {mesh['x'=2,'y'=2], [{'x'}, {}]}. An axis reads "x"; part of one "x:(2)4" (after the
  // first 2 of its pieces, 4); "?" at the end of a dimension leaves it open.
  std::vector<std::pair<std::string, int64_t>> mesh_axes;
  std::vector<int64_t> mesh_devices;  // device_ids; empty: 0, 1, 2, ...
  std::string named_all;  // {mesh[...], replicated}: "replicated", "unreduced" or "manual"
  std::vector<std::vector<std::string>> named_dims;
  std::vector<std::string> named_replicated, named_unreduced, named_manual;
  std::string shard_group;  // "shard_as 1" or "shard_like 1"; usually empty
  std::vector<HloSharding> tuple;
  friend bool operator==(const HloSharding&, const HloSharding&) = default;
};

// Shardings over more devices than this are refused.
inline constexpr int64_t kMaxShardingDevices = 1 << 20;

// Parses text such as "{devices=[2,4]<=[8]}" (with the braces). Errors say where and what is wrong.
absl::StatusOr<HloSharding> ParseHloSharding(std::string_view text);
// Canonical text: iota form where the device list has one.
std::string HloShardingText(const HloSharding& sharding);

// Expresses `sharding` of an array of rank `rank` over the axes of `mesh`; what is unreduced is so
// by sum. Errors: a device order that is not a combination of mesh axes, manual, a different number
// of devices.
absl::StatusOr<Sharding> FromHloSharding(const HloSharding& sharding, const Mesh& mesh,
                                         int64_t rank);
// The `sharding=` text of `sharding` (V2 iota form, last_tile_dim_replicate where partly
// replicated).
std::string ToHloShardingText(const Sharding& sharding, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_HLO_SHARDING_H_
