#ifndef MESHWRIGHT_TESTS_TESTING_REFERENCE_TEXTS_H_
#define MESHWRIGHT_TESTS_TESTING_REFERENCE_TEXTS_H_

#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/base/strings.h"

namespace meshwright {

struct ReferenceText {
  std::string path, text;
  bool is_shared = false;  // out of ../shared
};

// What a test compares with: the file `own` of tests/data, which has to be there, and `shared` of
// ../shared in addition, where that is there. Inflates gzip data; prints what was found.
inline std::vector<ReferenceText> ReferenceTexts(std::string_view own, std::string_view shared) {
  std::vector<ReferenceText> texts;
  const auto read = [&](std::string path, bool is_shared) {
    absl::StatusOr<std::string> text = ReadFileMaybeGzip(path);
    EXPECT_TRUE(text.ok()) << text.status();
    if (!text.ok()) return;
    std::cout << "compared with " << path << "\n";
    texts.push_back({std::move(path), *std::move(text), is_shared});
  };
  read(StrCat(MESHWRIGHT_TEST_DATA "/", own), false);
  std::string beside = StrCat(MESHWRIGHT_SHARED "/", shared);
  if (std::filesystem::exists(beside)) {
    read(std::move(beside), true);
  } else {
    std::cout << beside << " is not here\n";
  }
  return texts;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_TESTING_REFERENCE_TEXTS_H_
