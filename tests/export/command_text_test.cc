#include "meshwright/export/command_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/printable.h"
#include "tests/export/shell.h"

namespace meshwright {
namespace {

TEST(CommandText, KeepsOptionsWithTheirValues) {
  EXPECT_EQ(CommandText({{"meshwright", "plan", "llama3-8b"}, {"--fix", "tp=4,sp=on"}}),
            "\n    meshwright plan llama3-8b --fix tp=4,sp=on");
  EXPECT_EQ(CommandText({{"meshwright", "plan", "a b"},
                         {"--cluster", std::string(30, 'c')},
                         {"--global-batch", "64"}}),
            absl::StrCat("\n    meshwright plan 'a b' --cluster ", std::string(30, 'c'),
                         " \\\n      --global-batch 64"));
}

TEST(CommandText, FixesFillLines) {
  std::vector<std::string> fixes;
  for (int i = 0; i < 40; ++i) fixes.push_back(absl::StrCat("key", i, "=value"));
  std::vector<std::string> read;
  for (const CommandWords& words : FixWords(fixes)) {
    ASSERT_EQ(words.size(), 2u);
    EXPECT_EQ(words[0], "--fix");
    for (const auto& fix : absl::StrSplit(words[1], ',')) read.emplace_back(fix);
  }
  EXPECT_EQ(read, fixes);
}

// A shell reads the words that were written, whatever they hold, and no line is too wide.
TEST(CommandText, ShellsReadTheWords) {
  constexpr int kSeed = 5;
  std::mt19937 random(kSeed);
  const std::string letters = "ab/_=.'\"$ \\*~#!&;(){}<>|?`-%";
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", kSeed, " round ", round));
    std::vector<CommandWords> words = {{"printf", "%s\\n"}};
    std::string expected;
    for (int i = 0; i < 6; ++i) {
      std::string word = "w";
      const size_t length = random() % (round % 2 == 0 ? 20 : 300);
      for (size_t j = 0; j < length; ++j) word += letters[random() % letters.size()];
      words.push_back({word});
      absl::StrAppend(&expected, word, "\n");
    }
    const std::string text = CommandText(words);
    for (const auto& line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(DisplayWidth(std::string(line)), kColumns) << line;
    }
    const LaunchFolder folder({{"command.sh", text, true}});
    std::string output;
    EXPECT_EQ(folder.Run("bash command.sh", &output), 0);
    EXPECT_EQ(output, expected);
  }
}

}  // namespace
}  // namespace meshwright
