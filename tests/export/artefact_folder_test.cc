#include "meshwright/export/artefact_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "tests/testing/scratch_folder.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ArtefactFolderTest : public testing::Test {
 protected:
  std::string Read(const std::string& name) const { return ReadText(root_ / name); }
  int Entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }

  const Artefacts files_ = {{"launch.sh", "#!/bin/sh\n", true},
                            {"model/config.json", "{}\n", false}};
  const ScratchFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(ArtefactFolderTest, WritesAllFiles) {
  const std::string folder = (root_ / "out").string();
  ASSERT_TRUE(WriteArtefactFolder(folder, files_).ok());
  EXPECT_EQ(Read("out/launch.sh"), "#!/bin/sh\n");
  EXPECT_EQ(Read("out/model/config.json"), "{}\n");
  struct stat status {};
  ASSERT_EQ(stat((folder + "/launch.sh").c_str(), &status), 0);
  EXPECT_NE(status.st_mode & S_IXUSR, 0u);
  ASSERT_EQ(stat((folder + "/model/config.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & S_IXUSR, 0u);
  EXPECT_EQ(Entries(), 1);  // nothing beside it is left
}

TEST_F(ArtefactFolderTest, FillsAnEmptyFolderAndNoOther) {
  const std::string folder = (root_ / "out").string();
  fs::create_directory(folder);
  ASSERT_TRUE(WriteArtefactFolder(folder + "/", files_).ok());
  const absl::Status again = WriteArtefactFolder(folder, {{"launch.sh", "other", true}});
  EXPECT_EQ(again.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(again.message()), HasSubstr("nothing is overwritten"));
  EXPECT_EQ(Read("out/launch.sh"), "#!/bin/sh\n");
}

TEST_F(ArtefactFolderTest, RefusesFilesAndMissingParents) {
  std::ofstream(root_ / "file") << "x";
  EXPECT_THAT(std::string(WriteArtefactFolder((root_ / "file").string(), files_).message()),
              HasSubstr("is a file"));
  EXPECT_THAT(std::string(WriteArtefactFolder((root_ / "a/b").string(), files_).message()),
              HasSubstr("does not exist"));
  EXPECT_FALSE(WriteArtefactFolder("", files_).ok());
  EXPECT_EQ(Read("file"), "x");
  EXPECT_EQ(Entries(), 1);
}

TEST_F(ArtefactFolderTest, LeavesNothingHalfWritten) {
  // The second file cannot be made: its folder has the name of the first.
  const Artefacts bad = {{"model", "x", false}, {"model/config.json", "{}", false}};
  EXPECT_FALSE(WriteArtefactFolder((root_ / "out").string(), bad).ok());
  EXPECT_EQ(Entries(), 0);
}

TEST_F(ArtefactFolderTest, TakesNamesThatShellsWouldRun) {
  const std::string folder = (root_ / "a $(touch x) 'b'\nc").string();
  ASSERT_TRUE(WriteArtefactFolder(folder, files_).ok());
  EXPECT_TRUE(fs::exists(folder + "/launch.sh"));
}

}  // namespace
}  // namespace meshwright
