#ifndef MESHWRIGHT_HLO_STABLEHLO_PLATFORM_INDEX_H_
#define MESHWRIGHT_HLO_STABLEHLO_PLATFORM_INDEX_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "meshwright/hlo/stablehlo/mlir_module.h"

namespace meshwright {

// What jax.export exports for several platforms takes the index of the one that it runs on as an
// argument, and where their code differs that chooses a branch. A plan is for one platform, so the
// argument is a constant, and code for others is not there.

// The names of the platforms in the order of their indices, as the module's attribute: the program
// itself has only the index.
inline constexpr std::string_view kPlatformsAttribute = "meshwright.platforms";

// Whether an argument of the main function is the index.
bool IsPlatformIndex(const MlirPort& argument);

struct PlatformChoice {
  int64_t index = 0;
  std::string warning;  // where the program does not say which platforms there are
};
// Clusters are of GPUs, so that is CUDA if the program runs there, else the first platform.
PlatformChoice ChoosePlatform(const MlirModule& module, const MlirFunction& main);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_PLATFORM_INDEX_H_
