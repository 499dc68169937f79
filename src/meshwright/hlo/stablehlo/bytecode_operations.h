#ifndef MESHWRIGHT_HLO_STABLEHLO_BYTECODE_OPERATIONS_H_
#define MESHWRIGHT_HLO_STABLEHLO_BYTECODE_OPERATIONS_H_

#include <cstddef>
#include <string_view>
#include <vector>

namespace meshwright {

// An attribute among the properties of an operation.
struct BytecodeProperty {
  std::string_view name;
  bool optional = false;
  bool is_array = false;  // array<...> in text, where VHLO has a tensor
  size_t groups = 0;      // if not 0, it is no attribute but the sizes of as many groups
  friend bool operator==(const BytecodeProperty&, const BytecodeProperty&) = default;
};

// In the order in which bytecode has them, which is that of their names.
using BytecodeProperties = std::vector<BytecodeProperty>;

// What the properties of "stablehlo.dot_general" may be: several where versions of a dialect
// differ, the newest first; none if the operation has none or is not known.
std::vector<BytecodeProperties> FindBytecodeProperties(std::string_view operation);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_BYTECODE_OPERATIONS_H_
