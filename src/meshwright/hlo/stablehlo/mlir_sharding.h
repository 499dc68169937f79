#ifndef MESHWRIGHT_HLO_STABLEHLO_MLIR_SHARDING_H_
#define MESHWRIGHT_HLO_STABLEHLO_MLIR_SHARDING_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/hlo/stablehlo/mlir_module.h"

// Shardy's annotations as HLO's `sharding=` text, which is what the rest of the program reads.

namespace meshwright {

// Each sharding in the attribute, in order: one of `#sdy.sharding<@mesh, [{"x"}, {}]>` or
// `<@mesh, [...]>`, all of `#sdy.sharding_per_value<[<@mesh, [...]>, ...]>`; an alias may stand for
// any of them and for a mesh. Texts are like
// "{mesh['x'=2,'y'=4], [{'x'}, {}]}"; empty for one that leaves everything open. Axes and
// dimensions left open ('?') count as they stand; priorities are dropped.
absl::StatusOr<std::vector<std::string>> HloShardingsFromSdy(std::string_view text,
                                                             std::string_view file_name,
                                                             size_t position,
                                                             absl::Span<const MlirMesh> meshes,
                                                             const MlirAliases& aliases);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_MLIR_SHARDING_H_
