#ifndef MESHWRIGHT_HLO_STABLEHLO_MLIR_LOCATION_H_
#define MESHWRIGHT_HLO_STABLEHLO_MLIR_LOCATION_H_

#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/stablehlo/mlir_syntax.h"

namespace meshwright {

// What locations say of where an operation comes from. A location that cannot be understood says
// nothing; none is an error.
class MlirLocations {
 public:
  // All must outlive the object.
  MlirLocations(std::string_view text, const MlirAliases& aliases)
      : text_(text), aliases_(aliases) {}

  // op_name, source_file and source_line of the location whose text, without `loc(`, begins at
  // `position` (npos: there is none). The name is that of the outermost name around it, as
  // frameworks wrap it: `"jit(step)/mul"(callsite(... at ...))`; the file and line are those of
  // the innermost call. Aliases are understood once each.
  Metadata Find(size_t position);

 private:
  Metadata Parse(TextCursor& cursor, int depth);
  Metadata ParseAlias(std::string_view name, int depth);

  std::string_view text_;
  const MlirAliases& aliases_;
  absl::flat_hash_map<std::string_view, Metadata> known_;  // by alias
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_MLIR_LOCATION_H_
