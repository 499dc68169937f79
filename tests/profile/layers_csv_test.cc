#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/hetero/layer_profile.h"
#include "meshwright/profile/profile_program.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

ProfileReport LayersReport() {
  ProfileReport report;
  report.environment.device_type = "h100-sxm";
  report.mesh_devices = 4;
  report.batch_size = 8;
  for (const double forward : {0.001, 0.002}) {
    SegmentProfile& segment = report.segments.emplace_back();
    segment.whole_forward = forward;
    segment.whole_backward = 2 * forward;
    segment.whole_update = 0.5;
  }
  report.sequence = {0, 1, 1};
  return report;
}

TEST(LayersCsv, AddsUpToWhatWasMeasured) {
  const absl::StatusOr<std::string> csv = LayersCsv(LayersReport());
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_EQ(*csv,
            "gpu,tp,micro_batch,layer_id,forward_seconds,backward_seconds,update_seconds\n"
            "h100-sxm,4,8,0,0.001,0.002,0.5\n"
            "h100-sxm,4,8,1,0.002,0.004,0.5\n"
            "h100-sxm,4,8,2,0.002,0.004,0.5\n");
}

// Which has an update of its own, whatever a layer's was: once a step, not with each micro-batch.
TEST(LayersCsv, IsReadWithoutTheUpdate) {
  const absl::StatusOr<transformer::hetero::LayerProfile> read =
      transformer::hetero::LayerProfile::Parse(*LayersCsv(LayersReport()), "layers.csv", {});
  ASSERT_TRUE(read.ok()) << read.status();
  const auto layers = read->Find("h100-sxm", 4, 8);
  ASSERT_TRUE(layers.has_value());
  EXPECT_EQ(*layers, (std::vector<transformer::hetero::LayerTime>{
                         {0.001, 0.002}, {0.002, 0.004}, {0.002, 0.004}}));
}

TEST(LayersCsv, SaysWhichPartLacksAMeasurement) {
  ProfileReport report = LayersReport();
  report.segments[1].whole_forward = -1;
  const absl::StatusOr<std::string> csv = LayersCsv(report);
  ASSERT_FALSE(csv.ok());
  EXPECT_THAT(std::string(csv.status().message()),
              HasSubstr("of segment 1 no choice was measured"));
}

}  // namespace
}  // namespace meshwright
