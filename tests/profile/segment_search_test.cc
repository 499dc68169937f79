#include "meshwright/profile/segment_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "meshwright/profile/pareto_products.h"

namespace meshwright {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Judged {
  double seconds = kNever, resharding_seconds = 0;
  int64_t kept_bytes = 0, working_bytes = 0;
};

Judged Judge(const SegmentProblem& problem, const std::vector<int32_t>& choice) {
  Judged judged{0};
  for (size_t i = 0; i < choice.size(); ++i) {
    const SegmentOption& option = problem.options[problem.sequence[i]][choice[i]];
    judged.seconds += option.seconds;
    judged.kept_bytes += option.kept_bytes;
    judged.working_bytes = std::max(judged.working_bytes, option.working_bytes);
    if (i == 0) continue;
    const int32_t before = problem.sequence[i - 1];
    judged.resharding_seconds += problem.resharding.at(
        {before, problem.sequence[i]})[problem.options[before][choice[i - 1]].exit][option.entry];
  }
  judged.seconds += judged.resharding_seconds;
  return judged;
}

// All choices one after the other.
struct AllChoices {
  double seconds = kNever;                                    // of the best that fits
  int64_t least_bytes = std::numeric_limits<int64_t>::max();  // of any that is possible

  explicit AllChoices(const SegmentProblem& problem) {
    std::vector<int32_t> choice(problem.sequence.size(), 0);
    while (true) {
      const Judged judged = Judge(problem, choice);
      if (std::isfinite(judged.seconds)) {
        const int64_t bytes = judged.kept_bytes + judged.working_bytes;
        least_bytes = std::min(least_bytes, bytes);
        if (bytes <= problem.memory_limit) seconds = std::min(seconds, judged.seconds);
      }
      size_t i = 0;
      while (i < choice.size() &&
             ++choice[i] == static_cast<int32_t>(problem.options[problem.sequence[i]].size()))
        choice[i++] = 0;
      if (i == choice.size()) return;
    }
  }
};

struct Sizes {
  int segments = 2, options = 4, positions = 5, layouts = 2, values = 6;
  int impossible_percent = 10;
};

SegmentProblem RandomProblem(std::mt19937& random, const Sizes& sizes) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  SegmentProblem problem;
  std::vector<std::pair<int, int>> layouts;
  for (int s = 0; s < 1 + up_to(sizes.segments - 1); ++s) {
    layouts.emplace_back(1 + up_to(sizes.layouts - 1), 1 + up_to(sizes.layouts - 1));
    std::vector<SegmentOption>& options = problem.options.emplace_back();
    // Every layout has an option, as its number is known by the options.
    const int count = std::max({1 + up_to(sizes.options - 1), layouts[s].first, layouts[s].second});
    for (int o = 0; o < count; ++o) {
      options.push_back({static_cast<double>(up_to(sizes.values)), up_to(sizes.values),
                         up_to(sizes.values),
                         o < layouts[s].first ? o : up_to(layouts[s].first - 1),
                         o < layouts[s].second ? o : up_to(layouts[s].second - 1)});
    }
  }
  for (int i = 0; i < 1 + up_to(sizes.positions - 1); ++i)
    problem.sequence.push_back(up_to(static_cast<int>(problem.options.size()) - 1));
  for (size_t i = 1; i < problem.sequence.size(); ++i) {
    const int32_t a = problem.sequence[i - 1], b = problem.sequence[i];
    auto [entry, is_new] = problem.resharding.try_emplace({a, b});
    if (!is_new) continue;
    for (int x = 0; x < layouts[a].second; ++x) {
      std::vector<double>& row = entry->second.emplace_back();
      for (int y = 0; y < layouts[b].first; ++y)
        row.push_back(up_to(99) < sizes.impossible_percent ? kNever : up_to(sizes.values));
    }
  }
  problem.memory_limit = up_to(sizes.values * (static_cast<int>(problem.sequence.size()) + 1));
  return problem;
}

// Whatever the search says holds; `exact` says whether the best is asked for.
void ExpectRight(const SegmentProblem& problem, const SegmentSearchResult& result, bool exact) {
  const AllChoices best(problem);
  EXPECT_EQ(result.possible, best.least_bytes != std::numeric_limits<int64_t>::max());
  if (!result.possible) return;
  const Judged judged = Judge(problem, result.choice);
  EXPECT_NEAR(result.seconds, judged.seconds, 1e-9);
  EXPECT_NEAR(result.resharding_seconds, judged.resharding_seconds, 1e-9);
  EXPECT_EQ(result.kept_bytes, judged.kept_bytes);
  EXPECT_EQ(result.working_bytes, judged.working_bytes);
  EXPECT_EQ(result.fits, std::isfinite(best.seconds));
  EXPECT_EQ(result.fits, judged.kept_bytes + judged.working_bytes <= problem.memory_limit);
  if (!result.fits) {
    EXPECT_EQ(judged.kept_bytes + judged.working_bytes, best.least_bytes);
    EXPECT_TRUE(std::isinf(result.bound));
    return;
  }
  EXPECT_LE(result.bound, best.seconds + 1e-9);
  EXPECT_GE(judged.seconds, best.seconds - 1e-9);
  if (exact) {
    EXPECT_TRUE(result.exact);
  }
  if (result.exact) {
    EXPECT_NEAR(judged.seconds, best.seconds, 1e-9);
    EXPECT_EQ(result.bound, result.seconds);
  }
}

TEST(SegmentSearch, FindsTheBestOfRandomProblems) {
  std::mt19937 random(1);
  int limited = 0;
  for (int i = 0; i < 6000; ++i) {
    SCOPED_TRACE(i);
    const SegmentProblem problem = RandomProblem(random, {});
    const SegmentSearchResult result = SearchSegments(problem, {.target_gap = 0});
    ExpectRight(problem, result, /*exact=*/true);
    if (HasFailure()) return;
    SegmentProblem without = problem;
    without.memory_limit = std::numeric_limits<int64_t>::max();
    limited += result.possible && result.fits && SearchSegments(without).seconds < result.seconds;
  }
  EXPECT_GT(limited, 500);  // where memory decides
}

// The same with times and bytes of which no two are equal.
TEST(SegmentSearch, FindsTheBestOfFineGrainedProblems) {
  std::mt19937 random(2);
  for (int i = 0; i < 1500; ++i) {
    SCOPED_TRACE(i);
    const SegmentProblem problem = RandomProblem(
        random, {.segments = 3, .options = 5, .positions = 6, .layouts = 3, .values = 100000});
    ExpectRight(problem, SearchSegments(problem, {.target_gap = 0}), /*exact=*/true);
    if (HasFailure()) return;
  }
}

// All problems with two segments of two options, of two layouts, on all sequences of three.
TEST(SegmentSearch, FindsTheBestOfAllSmallProblems) {
  for (int bits = 0; bits < 1 << 12; ++bits) {
    SegmentProblem problem;
    int rest = bits;
    const auto bit = [&] {
      const int low = rest & 1;
      rest >>= 1;
      return low;
    };
    problem.options.resize(2);
    for (int s = 0; s < 2; ++s) {
      problem.options[s].push_back({1.0 + bit(), 2 - bit(), 0, 0, 0});
      problem.options[s].push_back({1.0, 2, 1 - bit(), 1, 1});
    }
    for (int i = 0; i < 3; ++i) problem.sequence.push_back(bit());
    for (const auto& pair : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}})
      problem.resharding[pair] = {{0, 1.0 * (1 + pair.first)}, {0.5, 0}};
    problem.memory_limit = 2 + 2 * bit() + bit() + bit();
    ExpectRight(problem, SearchSegments(problem, {.target_gap = 0}), /*exact=*/true);
    if (HasFailure()) FAIL() << bits;
  }
}

// With sets that are cut short the choice still is one that fits, and the bound a bound.
TEST(SegmentSearch, IsHonestWhereItLeavesOut) {
  std::mt19937 random(3);
  int inexact = 0;
  for (int i = 0; i < 1500; ++i) {
    SCOPED_TRACE(i);
    const SegmentProblem problem = RandomProblem(
        random, {.segments = 2, .options = 6, .positions = 6, .layouts = 2, .values = 1000});
    SegmentSearchOptions options;
    options.most_entries = 2 + static_cast<int64_t>(random() % 3);
    const SegmentSearchResult result = SearchSegments(problem, options);
    ExpectRight(problem, result, /*exact=*/false);
    inexact += result.possible && !result.exact;
    if (HasFailure()) return;
  }
  EXPECT_GT(inexact, 20);
}

TEST(SegmentSearch, ParetoEntriesAreThoseThatNothingBeats) {
  std::mt19937 random(4);
  for (int i = 0; i < 3000; ++i) {
    ParetoSet set(random() % 12);
    for (ParetoEntry& e : set) {
      e.seconds = static_cast<double>(random() % 4);
      e.kept_bytes = random() % 4;
      e.working_bytes = random() % 4;
    }
    const auto beats = [](const ParetoEntry& a, const ParetoEntry& b) {
      return a.seconds <= b.seconds && a.kept_bytes <= b.kept_bytes &&
             a.working_bytes <= b.working_bytes;
    };
    ParetoSet kept = set;
    KeepParetoEntries(&kept);
    for (const ParetoEntry& e : set) {
      EXPECT_TRUE(
          std::any_of(kept.begin(), kept.end(), [&](const auto& k) { return beats(k, e); }));
    }
    for (size_t a = 0; a < kept.size(); ++a) {
      for (size_t b = 0; b < kept.size(); ++b) EXPECT_TRUE(a == b || !beats(kept[a], kept[b]));
    }
  }
}

SegmentProblem DeepNetwork(int layers) {
  std::mt19937 random(5);
  SegmentProblem problem;
  problem.options.resize(3);
  for (int o = 0; o < 200; ++o) {
    const double seconds = 1e-3 * (1 + static_cast<double>(random() % 1000) / 250);
    problem.options[1].push_back({seconds, static_cast<int64_t>(4e6 / seconds / (1 + random() % 3)),
                                  static_cast<int64_t>(random() % 1000) << 20,
                                  static_cast<int32_t>(o % 4), static_cast<int32_t>(random() % 4)});
  }
  for (int o = 0; o < 4; ++o) {
    problem.options[1][o].exit = o;
    problem.options[0].push_back({1e-3, 1000, 0, 0, o});
    problem.options[2].push_back({1e-3, 1000, 0, o, 0});
  }
  for (const auto& pair : {std::pair{0, 1}, {1, 1}, {1, 2}}) {
    auto& rows = problem.resharding[pair];
    rows.assign(4, std::vector<double>(4, 2e-4));
    for (int i = 0; i < 4; ++i) rows[i][i] = 0;
  }
  problem.sequence.assign(layers, 1);
  problem.sequence.front() = 0;
  problem.sequence.back() = 2;
  return problem;
}

// Limits between the least memory and that of the fastest choice.
TEST(SegmentSearch, GivesDeepNetworksAsTightBounds) {
  for (const int layers : {32, 98, 4000}) {
    SegmentProblem problem = DeepNetwork(layers);
    const SegmentSearchResult fastest = SearchSegments(problem);
    EXPECT_TRUE(fastest.exact);
    problem.memory_limit = 0;
    const SegmentSearchResult smallest = SearchSegments(problem);
    EXPECT_FALSE(smallest.fits);
    const int64_t least = smallest.kept_bytes + smallest.working_bytes,
                  most = fastest.kept_bytes + fastest.working_bytes;
    ASSERT_LT(least, most);
    for (const double share : {0.2, 0.8}) {
      problem.memory_limit =
          least + static_cast<int64_t>(share * static_cast<double>(most - least));
      const SegmentSearchResult result = SearchSegments(problem);
      EXPECT_TRUE(result.fits);
      EXPECT_LE(result.kept_bytes + result.working_bytes, problem.memory_limit);
      EXPECT_LE(result.bound, result.seconds);
      EXPECT_LT(result.seconds, result.bound * 1.005) << layers << " " << share;
    }
  }
}

TEST(SegmentSearch, OfNothing) {
  const SegmentSearchResult result = SearchSegments({});
  EXPECT_TRUE(result.choice.empty());
  EXPECT_TRUE(result.exact);
}

}  // namespace
}  // namespace meshwright
