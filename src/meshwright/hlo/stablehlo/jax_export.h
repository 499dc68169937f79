#ifndef MESHWRIGHT_HLO_STABLEHLO_JAX_EXPORT_H_
#define MESHWRIGHT_HLO_STABLEHLO_JAX_EXPORT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace meshwright {

// The file that jax.export.Exported.serialize() writes: a flatbuffer (serialization.fbs in JAX)
// around a StableHLO portable artifact. What is planned is the artifact: names, shardings and
// donation of arguments stand in it.

// Whether `contents` are such a file; cheap.
bool IsJaxExport(std::string_view contents);

// Where the artifact is in `contents`, of which IsJaxExport holds. Errors, `file: message`: the
// function was exported for sizes that are not known, or the file is cut off.
struct JaxExportModule {
  size_t offset = 0, size = 0;
  // If there are several, the artifact's first argument says which of them the program runs on.
  std::vector<std::string> platforms;
};
absl::StatusOr<JaxExportModule> FindJaxExportModule(std::string_view contents,
                                                    std::string_view file_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_JAX_EXPORT_H_
