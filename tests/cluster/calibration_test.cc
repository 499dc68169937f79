#include "meshwright/cluster/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/cluster/builtin_calibrations.h"
#include "meshwright/cluster/measurements.h"
#include "tests/testing/reference_texts.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kHeader = "op,group,bytes_or_flops,dtype,usec\n";

std::string CsvError(const std::string& text) {
  return std::string(ParseMeasurements(text, "m.csv").status().message());
}

// What Calibrate makes of the rows, without a warning.
absl::StatusOr<Calibration> Fitted(const std::vector<Measurement>& rows) {
  std::vector<std::string> warnings;
  absl::StatusOr<Calibration> calibration =
      Calibrate(rows, *FindDevice("h100-sxm"), "m.csv", &warnings);
  EXPECT_THAT(warnings, IsEmpty());
  return calibration;
}

std::string YamlError(const std::string& text) {
  return std::string(ParseCalibration(text, "c.yaml").status().message());
}

TEST(TimeCurveTest, InterpolatesAndExtrapolates) {
  const TimeCurve curve{{{10, 1}, {20, 2}, {40, 6}}};
  EXPECT_EQ(curve.Seconds(0), 1);
  EXPECT_EQ(curve.Seconds(10), 1);
  EXPECT_EQ(curve.Seconds(15), 1.5);
  EXPECT_EQ(curve.Seconds(40), 6);
  EXPECT_EQ(curve.Seconds(60), 10);
  EXPECT_EQ(TimeCurve().Seconds(5), 0);
}

TEST(MeasurementsTest, ReadsRows) {
  const auto rows = ParseMeasurements(
      std::string(kHeader) +
          "# a note\nall_reduce,2,1024,bf16,42.5\r\n\ngemm_8x8x8,1,1024,bfloat16,3\n",
      "m.csv");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].op, "all_reduce");
  EXPECT_EQ((*rows)[0].group, 2);
  EXPECT_EQ((*rows)[0].amount, 1024);
  EXPECT_DOUBLE_EQ((*rows)[0].seconds, 42.5e-6);
  EXPECT_EQ((*rows)[1].line, 5);
}

TEST(MeasurementsTest, ErrorsNameLineAndColumn) {
  EXPECT_THAT(CsvError(""), HasSubstr("m.csv:1:1: the file is empty"));
  EXPECT_THAT(CsvError("op,group,bytes,dtype,usec\n"),
              HasSubstr("m.csv:1:10: bytes_or_flops: expected the column's name"));
  EXPECT_THAT(CsvError(std::string(kHeader) + "copy,1,8\n"),
              HasSubstr("m.csv:2:1: found 3 columns"));
  EXPECT_THAT(CsvError(std::string(kHeader) + "copy,0,8,bf16,1\n"),
              HasSubstr("m.csv:2:6: group: expected a number of devices, found \"0\""));
  EXPECT_THAT(CsvError(std::string(kHeader) + "copy,1,8,bf16,nan\n"),
              HasSubstr("m.csv:2:15: usec: expected microseconds, found \"nan\""));
  EXPECT_THAT(CsvError(std::string(kHeader) + "copy,1,-8,bf16,1\n"),
              HasSubstr("m.csv:2:8: bytes_or_flops: expected bytes or operations"));
}

// Measurements made from known curves give those curves back.
TEST(CalibrateTest, RecoversWhatMeasurementsWereMadeFrom) {
  const DeviceType& device = *FindDevice("h100-sxm");
  std::ostringstream csv;
  csv.precision(12);
  csv << kHeader
      << "kernel_start,1,8,f32,2\nstep_host,1,2,f32,304\nstep_host,2,100,f32,700\nstep_host,1,0,"
         "f32,700\n";
  for (double bytes : {1e6, 1e8, 1e9})
    csv << "copy,1," << bytes << ",bf16," << 2 + bytes / 2e12 * 1e6 << "\n"
        << "transpose_x,1," << bytes << ",bf16," << 2 + bytes / 1e12 * 1e6 << "\n";
  for (double bytes : {1e3, 1e6, 1e9})
    csv << "all_gather,4," << bytes << ",bf16," << 10 + bytes / 1e11 * 1e6 << "\n";
  csv << "overlap_all_gather,4,1e9,bf16," << 0.4 * (10 + 1e4) << "\n";
  const double peak = device.PeakFlops("bf16");
  for (double m : {128, 1024, 8192}) {
    for (double n : {512, 4096}) {
      for (double k : {512, 4096}) {
        const double share = 0.8 * m / (m + 96) * n / (n + 96) * k / (k + 256);
        csv << "gemm_" << m << "x" << n << "x" << k << ",1," << 2 * m * n * k << ",bfloat16,"
            << 2 + 2 * m * n * k / (peak * share) * 1e6 << "\n";
      }
    }
  }
  const auto rows = ParseMeasurements(csv.str(), "m.csv");
  ASSERT_TRUE(rows.ok()) << rows.status();
  const auto calibration = Fitted(*rows);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_DOUBLE_EQ(calibration->kernel_start_seconds, 2e-6);
  EXPECT_NEAR(calibration->step_seconds, 3e-4, 1e-9);
  EXPECT_NEAR(calibration->array_seconds, 2e-6, 1e-12);
  EXPECT_NEAR(calibration->overlap_cost, 0.4, 1e-6);
  EXPECT_NEAR(calibration->memory.Seconds(5e8), 5e8 / 2e12, 1e-9);
  EXPECT_NEAR(calibration->rearrange.Seconds(5e8), 5e8 / 1e12, 1e-9);
  EXPECT_NEAR(calibration->collectives.at(CollectiveKind::kAllGather).at(4).Seconds(5e8),
              10e-6 + 5e-3, 1e-8);
  const MatmulCurve& matmul = calibration->matmul.at("bf16");
  EXPECT_NEAR(matmul.efficiency, 0.8, 0.03);
  EXPECT_NEAR(matmul.half_mn, 96, 40);
  EXPECT_NEAR(matmul.half_k, 256, 100);

  const auto again = ParseCalibration(CalibrationYaml(*calibration), "c.yaml");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(CalibrationYaml(*again), CalibrationYaml(*calibration));
}

// Noise at small sizes must not make a larger transfer cheaper.
TEST(CalibrateTest, CurvesNeverFall) {
  const auto rows = ParseMeasurements(
      std::string(kHeader) + "gemm_8192x8192x8192,1,1e12,bf16,2000\ncopy,1,1e8,bf16,60\n" +
          "all_reduce,2,1e3,bf16,50\nall_reduce,2,1e4,bf16,40\nall_reduce,2,1e9,bf16,3000\n",
      "m.csv");
  ASSERT_TRUE(rows.ok()) << rows.status();
  const auto calibration = Fitted(*rows);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  const TimeCurve& curve = calibration->collectives.at(CollectiveKind::kAllReduce).at(2);
  EXPECT_DOUBLE_EQ(curve.Seconds(1e3), 45e-6);
  EXPECT_DOUBLE_EQ(curve.Seconds(1e4), 45e-6);
}

// A compiler that sees through an operation leaves nothing to measure.
TEST(CalibrateTest, LeavesOutWhatNoDeviceCanDo) {
  const std::string sound = std::string(kHeader) +
                            "gemm_8192x8192x8192,1,1e12,bf16,2000\ngelu,1,1e8,bf16,60\n"
                            "all_reduce,2,1e9,bf16,3000\n";
  const auto rows =
      ParseMeasurements(sound +
                            "copy,1,1e6,bf16,4\ncopy,1,1e9,bf16,4\ntranspose_a,1,1e9,bf16,0\n"
                            "gemm_4096x8192x8192,1,5e11,bf16,3\n",
                        "m.csv");
  ASSERT_TRUE(rows.ok()) << rows.status();
  std::vector<std::string> warnings;
  const auto calibration = Calibrate(*rows, *FindDevice("h100-sxm"), "m.csv", &warnings);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("m.csv:6: copy: 1e+09 bytes in 4 us"),
                          HasSubstr("m.csv:7: transpose_a: 1e+09 bytes in 0 us"),
                          HasSubstr("m.csv:8: gemm_4096x8192x8192: 5e+11 operations in 3 us")));
  EXPECT_EQ(*calibration, *Fitted(*ParseMeasurements(sound, "m.csv")));
}

TEST(CalibrateTest, SaysWhatIsMissing) {
  const auto rows = ParseMeasurements(std::string(kHeader) + "copy,1,8,bf16,1\n", "m.csv");
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT(std::string(Fitted(*rows).status().message()),
              HasSubstr("m.csv: measurements lack matmuls (gemm_MxNxK)"));
}

TEST(CalibrationYamlTest, ErrorsNameLineAndColumn) {
  EXPECT_THAT(YamlError(""), HasSubstr("c.yaml:1:1: the file is empty"));
  EXPECT_THAT(YamlError("device: a\n"), HasSubstr("needs the key \"matmul\""));
  EXPECT_THAT(YamlError("devise: a\n"),
              HasSubstr("c.yaml:1:1: unknown key \"devise\" in a calibration; did you mean"));
  EXPECT_THAT(YamlError("memory: [[5, 2], [4, 3]]\n"),
              HasSubstr("c.yaml:1:18: memory: bytes must rise"));
  EXPECT_THAT(YamlError("overlap_cost: 2\n"),
              HasSubstr("c.yaml:1:15: overlap_cost: expected a number from 0 to 1, found \"2\""));
  EXPECT_THAT(
      YamlError("collectives: {all-sum: {2: [[1, 1]]}}\n"),
      HasSubstr("c.yaml:1:15: unknown key \"all-sum\" in collectives; did you mean \"all-"));
  EXPECT_THAT(YamlError("collectives: {all-reduce: {1: [[1, 1]]}}\n"),
              HasSubstr("expected a number of members from 2"));
  EXPECT_THAT(YamlError("matmul: {bf16: {half_k: 3}}\n"), HasSubstr("bf16 needs an efficiency"));
  EXPECT_THAT(YamlError("a: [\n"), HasSubstr("not valid YAML"));
}

TEST(BuiltinCalibrationTest, AllParseAndNameDevices) {
  for (const std::string_view text : BuiltinCalibrationTexts()) {
    const auto calibration = ParseCalibration(text, "built-in");
    ASSERT_TRUE(calibration.ok()) << calibration.status();
    EXPECT_NE(FindDevice(calibration->device), nullptr) << calibration->device;
    EXPECT_EQ(*FindCalibration(calibration->device), *calibration);
  }
  EXPECT_EQ(FindCalibration("nothing"), nullptr);
}

// The built-in curves are what the measurements give.
TEST(BuiltinCalibrationTest, IsWhatCalibrateWrites) {
  for (const ReferenceText& measured :
       ReferenceTexts("measured/h100x4_micro.csv.gz", "measured/h100x4_micro.csv")) {
    SCOPED_TRACE(measured.path);
    const auto rows = ParseMeasurements(measured.text, "h100x4_micro.csv");
    ASSERT_TRUE(rows.ok()) << rows.status();
    std::vector<std::string> warnings;
    const auto calibration =
        Calibrate(*rows, *FindDevice("h100-sxm"), "h100x4_micro.csv", &warnings);
    EXPECT_THAT(warnings, IsEmpty());
    ASSERT_TRUE(calibration.ok()) << calibration.status();
    EXPECT_EQ(CalibrationYaml(*calibration), CalibrationYaml(*FindCalibration("h100-sxm")));
  }
}

}  // namespace
}  // namespace meshwright
