#include <string>
#include <vector>

#include "meshwright/base/nearest_name.h"
#include "meshwright/base/strings.h"
#include "meshwright/published/nersc/nersc.h"

namespace meshwright::transformer::nersc {
namespace {

struct Row {
  const char* name;
  System system;
};

// systems/config-*.json of the published code: matrix and vector TFLOP/s; HBM GB/s and GB; NVLink
// GB/s, efficiency, latency; InfiniBand likewise.
constexpr Row kSystems[] = {
    {"A100", {312, 78, 1555, 80, 300, 0.7, 2.5e-6, 25, 0.7, 5e-6}},
    {"H200", {989.4, 133.8, 4800, 141, 450, 0.7, 2.5e-6, 50, 0.7, 5e-6}},
    {"B200", {2500, 339, 8000, 192, 900, 0.7, 2.5e-6, 100, 0.7, 5e-6}},
    {"B200-next", {3750, 508.5, 16000, 384, 3600, 0.8, 5e-6, 200, 0.8, 1e-5}},
};

}  // namespace

absl::StatusOr<System> PublishedSystem(std::string_view name, int64_t nvlink_size) {
  std::vector<std::string> names;
  std::string listed;
  for (const Row& row : kSystems) {
    if (name == row.name) {
      System system = row.system;
      system.nvlink_size = nvlink_size;
      return system;
    }
    names.emplace_back(row.name);
    StrAppend(&listed, listed.empty() ? "" : ", ", row.name);
  }
  return absl::InvalidArgumentError(StrCat("unknown system \"", name, "\"; published are ", listed,
                                           "; did you mean \"", NearestName(name, names), "\"?"));
}

}  // namespace meshwright::transformer::nersc
