#ifndef MESHWRIGHT_PLAN_ANNOTATE_MLIR_EDITS_H_
#define MESHWRIGHT_PLAN_ANNOTATE_MLIR_EDITS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/hlo/stablehlo/mlir_module.h"

namespace meshwright {

// A piece of a text and what takes its place.
struct Edit {
  size_t begin = 0, end = 0;
  std::string text;
};

// `text` with all edits made, which do not overlap; those of one place in their order.
std::string ApplyEdits(std::string_view text, std::vector<Edit> edits);

// Adds the edits that make `value` the anchor's sharding and remove those that are there.
void SetSharding(std::string_view text, const MlirAnchor& anchor, std::string_view value,
                 std::vector<Edit>& edits);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_MLIR_EDITS_H_
