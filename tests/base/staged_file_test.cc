#include "meshwright/base/staged_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/file.h"
#include "tests/testing/scratch_folder.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StagedFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }
  std::vector<std::string> Names() const { return folder_.Names(); }

  const ScratchFolder folder_;
};

TEST_F(StagedFileTest, ReplacesOnlyWhenCommitted) {
  ASSERT_TRUE(WriteFile(Path("a"), "old").ok());
  auto staged = StagedFile::Make(Path("a"), "new");
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(*ReadFile(Path("a")), "old");
  ASSERT_TRUE(staged->Commit().ok());
  EXPECT_EQ(*ReadFile(Path("a")), "new");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(StagedFileTest, LeavesNothingWithoutCommit) {
  {
    auto staged = StagedFile::Make(Path("a"), "new");
    ASSERT_TRUE(staged.ok());
    StagedFile moved = *std::move(staged);
    EXPECT_EQ(Names().size(), 1);
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(StagedFileTest, WhatCannotBeWrittenIsNamed) {
  const auto staged = StagedFile::Make(Path("none/a"), "new");
  EXPECT_THAT(std::string(staged.status().message()), HasSubstr(Path("none/a") + ": No such"));
}

}  // namespace
}  // namespace meshwright
