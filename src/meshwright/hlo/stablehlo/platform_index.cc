#include "meshwright/hlo/stablehlo/platform_index.h"

#include <algorithm>

namespace meshwright {

bool IsPlatformIndex(const MlirPort& argument) {
  return std::any_of(
      argument.attributes.begin(), argument.attributes.end(), [](const MlirEntry& entry) {
        return entry.name == "jax.global_constant" && entry.value.string == "_platform_index";
      });
}

PlatformChoice ChoosePlatform(const MlirModule& module, const MlirFunction& main) {
  if (std::none_of(main.arguments.begin(), main.arguments.end(), IsPlatformIndex)) return {};
  for (const MlirEntry& entry : module.attributes) {
    if (entry.name != kPlatformsAttribute) continue;
    const std::vector<MlirAttribute>& platforms = entry.value.list;
    const auto cuda =
        std::find_if(platforms.begin(), platforms.end(),
                     [](const MlirAttribute& platform) { return platform.string == "cuda"; });
    return {cuda == platforms.end() ? 0 : cuda - platforms.begin(), ""};
  }
  return {0,
          "this program was exported for several platforms and does not say for which; it is "
          "planned as it runs on the first (a file of jax.export says)"};
}

}  // namespace meshwright
