#include "meshwright/hlo/program/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/testing/scratch_folder.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

struct Sample {
  const char* text;
  FileKind kind;
};
constexpr Sample kSamples[] = {
    {"HloModule m\n", FileKind::kProgram},
    {"// a comment\nENTRY main {\n", FileKind::kProgram},
    {"#loc = loc(unknown)\n", FileKind::kProgram},
    {"\x1f\x8b\x08", FileKind::kProgram},
    {"{\"model_type\": \"llama\"}", FileKind::kModel},
    {"# mine\nmodel: {layers: 2}\n", FileKind::kModel},
    {"{\n  \"schema\": 3,\n  \"tool_version\": \"0.1.0\"", FileKind::kPlan},
    {"groups:\n  - {device: a100-80g}\n", FileKind::kCluster},
    {"device: h100-sxm\nnodes: 2\n", FileKind::kCluster},
    {"device: h100-sxm\nmatmul:\n  bf16: {}\n", FileKind::kCalibration},
    {"gpu,tp,layer_id,forward_seconds\n", FileKind::kLayerTimes},
    {"gpus,global_batch,sequence,tp\n", FileKind::kSweep},
    {"{\"plan\": \"p\", \"passed\": true, \"checks\": []}", FileKind::kVerification},
    {"SQLite format 3", FileKind::kDatabase},
};

TEST(FileKind, IsToldByTheBeginning) {
  for (const Sample& sample : kSamples)
    EXPECT_EQ(KindOfText(sample.text), sample.kind) << sample.text;
  // Anything else is left to readers, protos too: their tags may read as the keys of YAML.
  for (const std::string text : {"", "\n", "hello\n", "{}", "a: 1\n", "\x0a\x05m\nnodes:\x01"})
    EXPECT_EQ(KindOfText(text), std::nullopt) << text;
}

TEST(FileKind, OnlyWhatIsWantedPasses) {
  for (const Sample& sample : kSamples) {
    const auto passes = [&](WantedFile wanted) {
      return CheckFileKind(sample.text, "f", wanted).ok();
    };
    EXPECT_EQ(passes(WantedFile::kProgram), sample.kind == FileKind::kProgram) << sample.text;
    EXPECT_EQ(passes(WantedFile::kModel), sample.kind == FileKind::kModel) << sample.text;
    EXPECT_EQ(passes(WantedFile::kPlan), sample.kind == FileKind::kPlan) << sample.text;
    EXPECT_EQ(passes(WantedFile::kCluster), sample.kind == FileKind::kCluster) << sample.text;
    EXPECT_EQ(passes(WantedFile::kProgramOrModel),
              sample.kind == FileKind::kProgram || sample.kind == FileKind::kModel);
  }
  EXPECT_EQ(
      CheckFileKind("groups:\n", "c.yaml", WantedFile::kProgram).message(),
      "c.yaml: this is the description of a cluster, not a program; --cluster c.yaml takes it");
}

TEST(FileKind, OfFilesAndFolders) {
  const ScratchFolder folder;
  const std::string plan = folder.Write("p.json", kSamples[6].text);
  EXPECT_TRUE(CheckFileKindAt(plan, WantedFile::kPlan).ok());
  EXPECT_THAT(CheckFileKindAt(plan, WantedFile::kModel).message(),
              HasSubstr("this is a plan, not a model; `meshwright explain " + plan));
  const std::string inside = folder.Path("model");
  std::filesystem::create_directory(inside);
  EXPECT_THAT(CheckFileKindAt(inside, WantedFile::kProgramOrModel).message(),
              HasSubstr("a folder without a config.json"));
  folder.Write("model/config.json", kSamples[4].text);
  EXPECT_TRUE(CheckFileKindAt(inside, WantedFile::kProgramOrModel).ok());
  EXPECT_THAT(CheckFileKindAt(inside, WantedFile::kProgram).message(), HasSubstr("is a folder"));
  for (const char* const unread : {"no_such_file", "/dev/null", "-"})
    EXPECT_TRUE(CheckFileKindAt(unread, WantedFile::kPlan).ok()) << unread;
}

}  // namespace
}  // namespace meshwright
