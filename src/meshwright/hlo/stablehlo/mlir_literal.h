#ifndef MESHWRIGHT_HLO_STABLEHLO_MLIR_LITERAL_H_
#define MESHWRIGHT_HLO_STABLEHLO_MLIR_LITERAL_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/stablehlo/mlir_syntax.h"

namespace meshwright {

// The value of `dense<...> : type`.
struct MlirElements {
  Literal literal;
  bool splat = false;  // `literal` has one element, which fills the whole tensor
};

// Reads every form of an elements attribute: `dense<1.0>`, `dense<[[1, 2], [3, 4]]>`,
// `dense<"0x...">`; dense_resource and `__elided__` give an elided literal. `text` is the whole
// program, for errors to say where.
absl::StatusOr<MlirElements> ReadMlirElements(const MlirAttribute& elements, std::string_view text,
                                              std::string_view file_name);

// Integers of an attribute: of a list, an array<...> or a dense<...>, row-major.
absl::StatusOr<std::vector<int64_t>> ReadMlirIntegers(const MlirAttribute& attribute,
                                                      std::string_view text,
                                                      std::string_view file_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_MLIR_LITERAL_H_
