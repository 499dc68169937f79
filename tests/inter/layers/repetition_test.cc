#include "meshwright/inter/layers/repetition.h"

#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Repetition> Find(std::string_view symbols, double least_share = 0.25) {
  std::vector<uint64_t> list(symbols.begin(), symbols.end());
  return FindRepetitions(list, std::vector<double>(list.size(), 1), least_share);
}

TEST(RepetitionTest, BlocksAndWhatStandsAroundThem) {
  EXPECT_THAT(Find("xabcabcabcy"), ElementsAre(Repetition{1, 3, 3, 0}));
  EXPECT_THAT(Find("aaaa"), ElementsAre(Repetition{0, 1, 4, 0}));
  EXPECT_THAT(Find("abacabac"), ElementsAre(Repetition{0, 4, 2, 0}));
}

TEST(RepetitionTest, ThePartialBlockIsSlack) {
  EXPECT_THAT(Find("abcabcab"), ElementsAre(Repetition{0, 3, 2, 2}));
}

TEST(RepetitionTest, SeveralStretches) {
  EXPECT_THAT(Find("ababababpcdcdcd"), ElementsAre(Repetition{0, 2, 4, 0}, Repetition{9, 2, 3, 0}));
}

TEST(RepetitionTest, NotWorthMentioning) {
  EXPECT_THAT(Find(""), IsEmpty());
  EXPECT_THAT(Find("abcdefgh"), IsEmpty());
  EXPECT_THAT(Find("abccdefghij"), IsEmpty()) << "two of eleven";
  EXPECT_THAT(Find("abccdefghij", 0.1), ElementsAre(Repetition{2, 1, 2, 0}));
}

TEST(RepetitionTest, CostDecides) {
  EXPECT_THAT(FindRepetitions({1, 1, 1, 1, 2, 2}, {1, 1, 1, 1, 9, 9}, 0.25),
              ElementsAre(Repetition{0, 1, 4, 0}, Repetition{4, 1, 2, 0}));
}

}  // namespace
}  // namespace meshwright
