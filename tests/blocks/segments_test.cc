#include "meshwright/blocks/segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using Kinds = std::vector<int32_t>;

double CombinationsOf(const std::set<Kinds>& segments, const std::vector<double>& strategies) {
  double sum = 0;
  for (const Kinds& segment : segments) {
    double product = 1;
    for (int32_t kind : segment) product *= strategies[kind];
    sum += product;
  }
  return sum;
}

// Every way to cut `kinds` into segments of up to `longest`: the fewest distinct ones, then the
// fewest combinations.
std::pair<size_t, double> BestByEnumeration(const Kinds& kinds,
                                            const std::vector<double>& strategies,
                                            int32_t longest) {
  std::pair<size_t, double> best = {kinds.size() + 1, 0};
  const size_t cuts = kinds.size() - 1;
  for (uint32_t mask = 0; mask < (1U << cuts); ++mask) {
    std::set<Kinds> segments;
    Kinds open;
    bool allowed = true;
    for (size_t i = 0; i < kinds.size(); ++i) {
      open.push_back(kinds[i]);
      allowed = allowed && open.size() <= static_cast<size_t>(longest);
      if (i == cuts || (mask >> i & 1) != 0) {
        segments.insert(open);
        open.clear();
      }
    }
    if (!allowed) continue;
    best = std::min(best, {segments.size(), CombinationsOf(segments, strategies)});
  }
  return best;
}

void ExpectCovers(const SegmentCover& cover, const Kinds& kinds, int32_t longest) {
  Kinds joined;
  for (int32_t s : cover.sequence) {
    ASSERT_LT(s, static_cast<int32_t>(cover.distinct.size()));
    const Kinds& segment = cover.distinct[s];
    EXPECT_LE(segment.size(), static_cast<size_t>(longest));
    joined.insert(joined.end(), segment.begin(), segment.end());
  }
  EXPECT_EQ(joined, kinds);
  EXPECT_EQ(std::set<Kinds>(cover.distinct.begin(), cover.distinct.end()).size(),
            cover.distinct.size());
}

TEST(SegmentsOptimalityTest, AllShortSequences) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::vector<double> strategies = {2, 3, 5};
  for (int length = 1; length <= 7; ++length) {
    Kinds kinds(length, 0);
    for (;;) {
      for (int32_t longest : {2, 3}) {
        const SegmentCover cover = CoverWithSegments(kinds, strategies, {.longest = longest});
        ExpectCovers(cover, kinds, longest);
        const auto best = BestByEnumeration(kinds, strategies, longest);
        ASSERT_EQ(cover.distinct.size(), best.first);
        ASSERT_DOUBLE_EQ(CombinationsOf({cover.distinct.begin(), cover.distinct.end()}, strategies),
                         best.second);
      }
      int i = 0;
      while (i < length && ++kinds[i] == 3) kinds[i++] = 0;
      if (i == length) break;
    }
  }
}

TEST(SegmentsOptimalityTest, RandomSequences) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(testing::Message() << "seed 7, round " << round);
    const int32_t alphabet = 2 + static_cast<int32_t>(random() % 4);
    const int32_t longest = 2 + static_cast<int32_t>(random() % 4);
    std::vector<double> strategies;
    for (int32_t k = 0; k < alphabet; ++k) strategies.push_back(1 + random() % 6);
    Kinds kinds(8 + random() % 6);
    for (int32_t& kind : kinds) kind = static_cast<int32_t>(random() % alphabet);
    const SegmentCover cover = CoverWithSegments(kinds, strategies, {.longest = longest});
    ASSERT_TRUE(cover.exact);
    ExpectCovers(cover, kinds, longest);
    const auto best = BestByEnumeration(kinds, strategies, longest);
    ASSERT_EQ(cover.distinct.size(), best.first);
    ASSERT_DOUBLE_EQ(CombinationsOf({cover.distinct.begin(), cover.distinct.end()}, strategies),
                     best.second);
  }
}

// The ends differ; everything between them is one segment, however deep the network.
TEST(Segments, UniformNetworks) {
  Kinds kinds = {9, 1, 2, 3};
  for (int layer = 0; layer < 500; ++layer) kinds.insert(kinds.end(), {0, 1, 2, 3});
  kinds.insert(kinds.end(), {0, 1, 2, 8, 7});
  const SegmentCover cover = CoverWithSegments(kinds, std::vector<double>(10, 4), {});
  EXPECT_TRUE(cover.exact);
  ExpectCovers(cover, kinds, SegmentOptions().longest);
  EXPECT_EQ(cover.distinct.size(), 3U);
  EXPECT_GE(std::count(cover.sequence.begin(), cover.sequence.end(), 1), 500);
}

TEST(Segments, WhenWorkRunsOutACoverIsFound) {
  std::mt19937 random(3);
  Kinds kinds(400);
  for (int32_t& kind : kinds) kind = static_cast<int32_t>(random() % 40);
  const SegmentCover cover =
      CoverWithSegments(kinds, std::vector<double>(40, 4), {.longest = 6, .most_steps = 1000});
  EXPECT_FALSE(cover.exact);
  ExpectCovers(cover, kinds, 6);
}

TEST(Segments, NothingToCover) { EXPECT_TRUE(CoverWithSegments({}, {}, {}).sequence.empty()); }

}  // namespace
}  // namespace meshwright
