#ifndef MESHWRIGHT_HLO_STABLEHLO_BYTECODE_VHLO_H_
#define MESHWRIGHT_HLO_STABLEHLO_BYTECODE_VHLO_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/stablehlo/bytecode_attributes.h"

// VHLO is StableHLO with a version behind the name of everything and with attributes of fewer
// kinds, so that what was written once can be read by later versions. Portable artifacts are
// written in it.

namespace meshwright {

// An attribute of an operation as text; without a value if it is one that is only there or not.
struct MlirNamedText {
  std::string name, value;
  bool is_unit = false;
};

// "stablehlo.add" for "vhlo.add_v1", "func.call" for "vhlo.call_v1"; other names stay.
std::string StablehloOperationName(std::string_view vhlo_operation);

// The attributes `named` of `vhlo_operation` as those of the operation of StableHLO: dimension
// numbers put together, symbols named, defaults left out. `named` are those that VHLO declares.
absl::StatusOr<std::vector<MlirNamedText>> StablehloProperties(
    BytecodeAttributes& attributes, std::string_view vhlo_operation,
    const BytecodeAttributes::Named& named);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_BYTECODE_VHLO_H_
