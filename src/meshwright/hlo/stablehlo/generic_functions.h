#ifndef MESHWRIGHT_HLO_STABLEHLO_GENERIC_FUNCTIONS_H_
#define MESHWRIGHT_HLO_STABLEHLO_GENERIC_FUNCTIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace meshwright {

// True if functions of a module may be in MLIR's generic form, as `--mlir-print-op-generic` prints
// them: `"func.func"() <{...}> ({...}) : () -> ()`.
bool MayHaveGenericFunctions(std::string_view text);

// `text` with its functions and meshes in the short form, which attributes of arguments and results
// can be added to. Everything else is as it was, in the same lines.
// Error: such a function or mesh that cannot be read, as `file_name:line:column: message`.
absl::StatusOr<std::string> WithShortFunctions(std::string_view text, std::string_view file_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_GENERIC_FUNCTIONS_H_
