// Searches against a slow enumeration of the published rules and one evaluation a candidate.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "absl/strings/match.h"
#include "meshwright/published/nersc/nersc.h"
#include "tests/published/nersc/samples.h"
#include "tests/testing/fresh_seed.h"

namespace meshwright::transformer::nersc {
namespace {

std::vector<int64_t> NaivePanels(Strategy strategy, int64_t tp1, int64_t tp2, int64_t embedding) {
  if (strategy != Strategy::kSumma) return {0};
  const int64_t start = std::max(tp1, tp2);
  std::vector<int64_t> range;
  for (int k = 0; k < std::log2(static_cast<double>(embedding / start)); ++k)
    range.push_back(start << k);
  std::vector<int64_t> panels;
  if (static_cast<double>(embedding) / static_cast<double>(start) < 512) {
    if (!range.empty()) panels.push_back(range.front());
  } else {
    for (const int64_t nb : range) {
      if (embedding % nb == 0 && embedding / nb >= 512) panels.push_back(nb);
    }
  }
  return panels;
}

// (nv_tp1, nv_tp2, nv_dp, nv_pp)
std::vector<std::vector<int64_t>> NaivePlacements(const Config& config, int64_t nvs) {
  if (config.gpus() <= nvs) return {{config.tp1, config.tp2, config.dp, config.pp}};
  std::vector<std::vector<int64_t>> placements;
  for (int64_t a = 1; a <= nvs; ++a) {
    for (int64_t b = 1; a * b <= nvs; ++b) {
      for (int64_t c = 1; a * b * c <= nvs; ++c) {
        const int64_t d = nvs / (a * b * c);
        if (a * b * c * d == nvs && config.tp1 % a == 0 && config.tp2 % b == 0 &&
            config.dp % c == 0 && config.pp % d == 0)
          placements.push_back({a, b, c, d});
      }
    }
  }
  return placements;
}

bool DegreesAreAllowed(const Model& model, Strategy strategy, int64_t gpus, int64_t tp1,
                       int64_t tp2) {
  if (gpus % tp1 != 0 || model.heads % tp1 != 0 || model.embedding % tp1 != 0) return false;
  if (strategy == Strategy::k1d) return tp2 == 1 && 3 * model.embedding / tp1 >= 128;
  if (gpus / tp1 % tp2 != 0) return false;
  if (strategy == Strategy::kSumma && model.embedding % tp2 != 0) return false;
  return model.embedding / tp1 >= 128 && model.sequence / tp2 >= 128;
}

std::vector<Config> NaiveCandidates(const Model& model, const System& system, Strategy strategy,
                                    int64_t gpus, int64_t global_batch) {
  std::vector<Config> candidates;
  for (int64_t tp1 = 1; tp1 <= gpus; ++tp1) {
    for (int64_t tp2 = 1; tp1 * tp2 <= gpus; ++tp2) {
      if (!DegreesAreAllowed(model, strategy, gpus, tp1, tp2)) continue;
      const int64_t tp = tp1 * tp2, most_pp = std::min(gpus / tp, model.layers);
      for (int64_t pp = 1; pp <= most_pp; ++pp) {
        if (most_pp % pp != 0 || gpus % (tp * pp) != 0 || model.layers % pp != 0) continue;
        const int64_t dp = gpus / (tp * pp);
        if (dp > global_batch || global_batch % dp != 0) continue;
        for (int64_t mbs = 1; mbs <= global_batch / dp; ++mbs) {
          const int64_t split = strategy == Strategy::kSumma ? tp2 : tp;
          if (global_batch / dp % mbs != 0 || mbs * model.sequence % split != 0) continue;
          for (const int64_t nb : NaivePanels(strategy, tp1, tp2, model.embedding)) {
            Config config{.dp = dp, .tp1 = tp1, .tp2 = tp2, .pp = pp, .micro_batch = mbs};
            config.panels = nb;
            for (const auto& nv : NaivePlacements(config, system.nvlink_size)) {
              config.nv_tp1 = nv[0];
              config.nv_tp2 = nv[1];
              config.nv_dp = nv[2];
              config.nv_pp = nv[3];
              candidates.push_back(config);
            }
          }
        }
      }
    }
  }
  return candidates;
}

void ExpectSearchEqualsEnumeration(const Model& model, const System& system, Strategy strategy,
                                   int64_t gpus, int64_t global_batch) {
  const auto found =
      Search(model, system, strategy, {.gpus = gpus, .global_batch = global_batch, .top = 10});
  ASSERT_TRUE(found.ok()) << found.status();
  const std::vector<Config> candidates =
      NaiveCandidates(model, system, strategy, gpus, global_batch);
  int64_t feasible = 0;
  double throughput_sum = 0, memory_sum = 0;
  std::vector<double> throughputs;
  for (const Config& config : candidates) {
    const auto one = Evaluate(model, system, strategy, config, global_batch);
    ASSERT_TRUE(one.ok()) << one.status();
    if (!one->feasible) continue;
    ++feasible;
    throughput_sum += one->throughput;
    memory_sum += one->stats.memory_gb;
    throughputs.push_back(one->throughput);
  }
  EXPECT_EQ(found->candidates, static_cast<int64_t>(candidates.size()));
  EXPECT_EQ(found->feasible, feasible);
  EXPECT_NEAR(found->throughput_sum, throughput_sum, 1e-12 * throughput_sum);
  EXPECT_NEAR(found->memory_sum, memory_sum, 1e-12 * memory_sum);
  std::sort(throughputs.begin(), throughputs.end(), std::greater<>());
  throughputs.resize(std::min<size_t>(throughputs.size(), 10));
  ASSERT_EQ(found->top.size(), throughputs.size());
  for (size_t i = 0; i < throughputs.size(); ++i) {
    EXPECT_EQ(found->top[i].throughput, throughputs[i]);
    EXPECT_EQ(std::count(candidates.begin(), candidates.end(), found->top[i].config), 1);
  }
}

TEST(NerscSearchTest, EqualsEnumeration) {
  for (const Strategy strategy : kStrategies) {
    for (const auto& [gpus, batch, nvs] :
         {std::tuple(1, 8, 4), std::tuple(4, 8, 4), std::tuple(36, 24, 6), std::tuple(32, 16, 8),
          std::tuple(24, 36, 1), std::tuple(30, 7, 4)}) {
      SCOPED_TRACE(testing::Message() << StrategyName(strategy) << ", " << gpus << " GPUs, batch "
                                      << batch << ", domains of " << nvs);
      ExpectSearchEqualsEnumeration(SmallModel(), SmallSystem(nvs), strategy, gpus, batch);
    }
  }
}

TEST(NerscSearchTest, EqualsEnumerationOfRandomModels) {
  const uint64_t seed = FreshSeed();
  std::mt19937 random(seed);
  const auto draw = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  for (int i = 0; i < 60; ++i) {
    const Model model{.sequence = draw({100, 384, 1000, 2048, 8191}),
                      .embedding = draw({256, 960, 1200, 4096, 5120}),
                      .heads = draw({1, 8, 12, 20, 30}),
                      .layers = draw({1, 5, 12, 16}),
                      .hidden = draw({1000, 4099, 11008})};
    System system = SmallSystem(draw({1, 2, 3, 8, 12}));
    system.hbm_gb = static_cast<double>(draw({1, 10, 100}));
    system.nics_per_gpu = draw({1, 2}) == 1 ? 1 : 0.5;
    const int64_t gpus = draw({2, 6, 16, 24, 40}), batch = draw({1, 12, 16, 30});
    for (const Strategy strategy : kStrategies) {
      SCOPED_TRACE(testing::Message()
                   << StrategyName(strategy) << " l " << model.sequence << " e " << model.embedding
                   << " h " << model.heads << " depth " << model.layers << " f " << model.hidden
                   << ", " << gpus << " GPUs, batch " << batch << ", domains of "
                   << system.nvlink_size);
      ExpectSearchEqualsEnumeration(model, system, strategy, gpus, batch);
    }
  }
}

TEST(NerscSearchTest, TopIsAsLongAsAsked) {
  const Model model = SmallModel();
  const auto search = [&](int64_t top) {
    return Search(model, SmallSystem(), Strategy::kSequence,
                  {.gpus = 16, .global_batch = 16, .top = top});
  };
  const auto all = search(1'000'000);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(static_cast<int64_t>(all->top.size()), all->feasible);
  const auto some = search(7);
  ASSERT_TRUE(some.ok());
  ASSERT_EQ(some->top.size(), 7u);
  // The first found of equals are kept, so a longer list goes on where a shorter one ends.
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(some->top[i].config, all->top[i].config);
  EXPECT_TRUE(search(0)->top.empty());
  EXPECT_FALSE(search(-1).ok());
}

TEST(NerscSearchTest, NothingIsFeasible) {
  System system = SmallSystem();
  system.hbm_gb = 0;
  const auto found = Search(SmallModel(), system, Strategy::k1d, {.gpus = 16, .global_batch = 16});
  ASSERT_TRUE(found.ok());
  EXPECT_GT(found->candidates, 0);
  EXPECT_EQ(found->feasible, 0);
  EXPECT_EQ(found->throughput_sum, 0);
  EXPECT_TRUE(found->top.empty());
}

TEST(NerscSearchTest, BadOptions) {
  const auto message = [](const SearchOptions& options) {
    return std::string(
        Search(SmallModel(), SmallSystem(), Strategy::k1d, options).status().message());
  };
  EXPECT_EQ(message({.gpus = 0, .global_batch = 8}),
            "the number of GPUs is 0, expected an integer from 1 to 1073741824");
  EXPECT_TRUE(
      absl::StrContains(message({.gpus = 8, .global_batch = -8}), "the global batch is -8"));
  EXPECT_TRUE(absl::StrContains(message({.gpus = int64_t{1} << 62, .global_batch = 8}),
                                "the number of GPUs is 4611686018427387904"));
}

// Sizes with as many divisors as any of theirs: the search is counted, and refused, before it runs.
TEST(NerscSearchTest, HugeSearchesAreRefused) {
  const Model model{.sequence = 735'134'400,
                    .embedding = 735'134'400,
                    .heads = 735'134'400,
                    .layers = 735'134'400,
                    .hidden = 735'134'400};
  const System system = SmallSystem(55'440);
  for (const Strategy strategy : kStrategies) {
    const auto found = Search(model, system, strategy,
                              {.gpus = 735'134'400, .global_batch = 735'134'400, .top = 10});
    EXPECT_TRUE(absl::StrContains(found.status().message(), "the search is too large"))
        << found.status();
  }
}

// The largest of all sizes overflows nothing.
TEST(NerscSearchTest, LargestSizes) {
  const int64_t most = int64_t{1} << 30;
  const Model model{
      .sequence = most, .embedding = most, .heads = most, .layers = most, .hidden = most};
  System system = SmallSystem(1);
  system.hbm_gb = 1e15;
  for (const Strategy strategy : kStrategies) {
    const auto found = Search(model, system, strategy, {.gpus = 64, .global_batch = most});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_GT(found->candidates, 0);
    for (const Evaluation& one : found->top) {
      EXPECT_TRUE(std::isfinite(one.stats.seconds));
      EXPECT_GT(one.stats.seconds, 0);
      EXPECT_GT(one.stats.memory_gb, 0);
    }
  }
}

}  // namespace
}  // namespace meshwright::transformer::nersc
