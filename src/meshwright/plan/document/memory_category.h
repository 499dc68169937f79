#ifndef MESHWRIGHT_PLAN_DOCUMENT_MEMORY_CATEGORY_H_
#define MESHWRIGHT_PLAN_DOCUMENT_MEMORY_CATEGORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "meshwright/base/words.h"

namespace meshwright {

// What a value in device memory is for.
enum class MemoryCategory : uint8_t {
  kParameters,      // weights, their new values, and plain copies of them (converted, transposed)
  kOptimizerState,  // carried from step to step, but not used by the model itself
  kInputs,          // entry parameters that no output replaces: data, labels, constants of the user
  kGradients,       // of a parameter's size, on the way into its update
  kActivations,     // made before the first gradient and still needed after it
  kTemporaries,     // everything else, buffers of reshardings among it
};
template <>
inline constexpr auto kWords<MemoryCategory> = std::to_array<std::string_view>(
    {"parameters", "optimizer_state", "inputs", "gradients", "activations", "temporaries"});
inline constexpr size_t kMemoryCategories = kWords<MemoryCategory>.size();

// Bytes of one device by MemoryCategory.
using MemoryByCategory = std::array<int64_t, kMemoryCategories>;

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_MEMORY_CATEGORY_H_
