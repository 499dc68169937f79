// Clusters as YAML: of one type of device, of several, and calibrations.

#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace meshwright;
  const std::string_view text = fuzzing::Bytes(data, size);
  fuzzing::ExpectAnswer(ParseClusterYaml(text, "input").status());
  fuzzing::ExpectAnswer(ParseMixedClusterYaml(text, "input").status());
  fuzzing::ExpectAnswer(ParseCalibration(text, "input").status());
  return 0;
}
