#include "meshwright/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/testing/scratch_folder.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Gzip(const std::string& data) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, data.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(FileTest, WritesAndReadsBack) {
  const ScratchFolder folder;
  const std::string path = folder.Path("write");
  const std::string data("a\0b\n\xff", 5);
  ASSERT_TRUE(WriteFile(path, data).ok());
  EXPECT_EQ(*ReadFile(path), data);
  ASSERT_TRUE(WriteFile(path, "shorter").ok());
  EXPECT_EQ(*ReadFile(path), "shorter");
  ASSERT_TRUE(WriteFile(path, "").ok());
  EXPECT_EQ(*ReadFile(path), "");
}

TEST(FileTest, ReadsFilesOfUnknownSize) {
  const auto data = ReadFile("/proc/self/status");
  ASSERT_TRUE(data.ok());
  EXPECT_THAT(*data, HasSubstr("Pid:"));
}

TEST(FileTest, FailedWriteLeavesTheOldFileAndNothingElse) {
  const ScratchFolder folder;
  ASSERT_TRUE(std::filesystem::create_directory(folder.Path("target")));
  EXPECT_FALSE(WriteFile(folder.Path("target"), "data").ok());  // a folder is in the way
  EXPECT_THAT(folder.Names(), ElementsAre("target"));
}

TEST(FileTest, ErrorsNamePathAndReason) {
  const auto missing = ReadFile("/no/such/file");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.status().message(), "cannot open /no/such/file: No such file or directory");
  EXPECT_EQ(ReadFile("/tmp").status().message(), "cannot read /tmp: Is a directory");
  EXPECT_THAT(std::string(WriteFile("/no/such/file", "").message()),
              HasSubstr("cannot write /no/such/file: No such"));
}

TEST(GunzipTest, InflatesGzipAndLeavesOtherDataAlone) {
  const std::string text(100000, 'x');
  EXPECT_EQ(*MaybeGunzip(Gzip(text), "f"), text);
  EXPECT_EQ(*MaybeGunzip(text, "f"), text);
  EXPECT_EQ(*MaybeGunzip(Gzip(""), "f"), "");
  EXPECT_EQ(*MaybeGunzip("", "f"), "");
  EXPECT_EQ(*MaybeGunzip("\x1f", "f"), "\x1f");
}

TEST(GunzipTest, ConcatenatedMembersAreOneText) {
  EXPECT_EQ(*MaybeGunzip(Gzip("one ") + Gzip("two"), "f"), "one two");
}

TEST(GunzipTest, EveryTruncationIsAnError) {
  const std::string packed = Gzip("some text that is long enough to be packed, packed, packed");
  for (size_t size = 2; size < packed.size(); ++size) {
    const auto result = MaybeGunzip(packed.substr(0, size), "the/file");
    EXPECT_EQ(result.status().message(), "the/file: gzip data is truncated") << size;
  }
}

TEST(GunzipTest, DamageIsAnError) {
  std::string packed = Gzip("some text that is long enough to be packed");
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_THAT(std::string(MaybeGunzip(packed, "f").status().message()),
              HasSubstr("f: gzip data is damaged"));
  EXPECT_THAT(std::string(MaybeGunzip(Gzip("x") + "garbage", "f").status().message()),
              HasSubstr("7 bytes of garbage after the gzip data"));
}

TEST(GunzipTest, StopsAtTheLimit) {
  const std::string bomb = Gzip(std::string(1000000, '\0'));
  EXPECT_EQ(MaybeGunzip(bomb, "f", 999999).status().message(),
            "f: inflates to more than 999999 bytes");
  EXPECT_EQ(MaybeGunzip(bomb, "f", 1000000)->size(), 1000000u);
  EXPECT_FALSE(MaybeGunzip(bomb, "f", 0).ok());
}

TEST(GunzipTest, ReadsAFile) {
  const ScratchFolder folder;
  const std::string path = folder.Path("gz");
  ASSERT_TRUE(WriteFile(path, Gzip("text")).ok());
  EXPECT_EQ(*ReadFileMaybeGzip(path), "text");
}

}  // namespace
}  // namespace meshwright
