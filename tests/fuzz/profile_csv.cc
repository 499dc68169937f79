// Comma-separated measurements: of a model's layers, and of a device.

#include <vector>

#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/measurements.h"
#include "meshwright/hetero/layer_profile.h"
#include "tests/fuzz/fuzz.h"

namespace {

constexpr size_t kMostFitted = 2048;  // bytes of what is fitted: fitting takes long

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace meshwright;
  const std::string_view text = fuzzing::Bytes(data, size);
  fuzzing::ExpectAnswer(transformer::hetero::LayerProfile::Parse(text, "input", {}).status());
  const absl::StatusOr<std::vector<Measurement>> rows = ParseMeasurements(text, "input");
  fuzzing::ExpectAnswer(rows.status());
  if (!rows.ok() || size > kMostFitted) return 0;
  std::vector<std::string> warnings;
  fuzzing::ExpectAnswer(Calibrate(*rows, *FindDevice("h100-sxm"), "input", &warnings).status());
  return 0;
}
