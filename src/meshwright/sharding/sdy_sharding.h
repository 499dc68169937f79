#ifndef MESHWRIGHT_SHARDING_SDY_SHARDING_H_
#define MESHWRIGHT_SHARDING_SDY_SHARDING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "meshwright/sharding/sharding.h"

// Shardy's spelling of shardings, as it stands inside of `#sdy.sharding...`.

namespace meshwright {

// `<["x"=2, "y"=4]>`
std::string SdyMeshText(const Mesh& mesh);

// `<@mesh, [{"x"}, {}, {"y", "z"}]>`; what is unreduced follows as `unreduced={"x"}`. Dimensions
// are closed: propagation adds nothing to them.
std::string SdyShardingText(const Sharding& sharding, const Mesh& mesh, std::string_view mesh_name);

// `<@mesh, [{?}, {?}]>`: says nothing of an array of this rank.
std::string OpenSdyShardingText(int64_t rank, std::string_view mesh_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_SDY_SHARDING_H_
