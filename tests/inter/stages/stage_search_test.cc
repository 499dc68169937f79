// The search for stages against exhaustive search, and at the size of real clusters.

#include "meshwright/inter/stages/stage_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <tuple>

#include "meshwright/base/infinity.h"
#include "tests/testing/exhaustive.h"
#include "tests/testing/fresh_seed.h"

namespace meshwright {
namespace {

using Table = std::map<std::tuple<int32_t, int32_t, int32_t>, std::vector<StageOption>>;

void Use(const Table& table, StageSearchInput* input) {
  input->options = [&table](int32_t begin, int32_t end, int32_t submesh) {
    const auto it = table.find({begin, end, submesh});
    return it == table.end() ? std::vector<StageOption>() : it->second;
  };
}

// Tries everything, from the first stage to the last; memory is judged when all stages are known.
class AllStages {
 public:
  explicit AllStages(const StageSearchInput& input) : in_(input), left_(input.devices) {}

  double Run() {
    Extend(0);
    return best_;
  }

 private:
  struct Stage {
    StageOption option;
    int32_t type = 0;
  };

  void Extend(int32_t begin) {
    if (begin == in_.layers) return Judge();
    for (int32_t end = begin + 1; end <= in_.layers; ++end) {
      for (size_t m = 0; m < in_.submeshes.size(); ++m) {
        const SubmeshChoice& submesh = in_.submeshes[m];
        if (left_[submesh.type] < submesh.devices) continue;
        left_[submesh.type] -= submesh.devices;
        for (const StageOption& option : in_.options(begin, end, static_cast<int32_t>(m))) {
          stages_.push_back({option, submesh.type});
          Extend(end);
          stages_.pop_back();
        }
        left_[submesh.type] += submesh.devices;
      }
    }
  }

  void Judge() {
    const auto count = static_cast<int32_t>(stages_.size());
    if (std::any_of(left_.begin(), left_.end(), [](int64_t n) { return n > 0; })) return;
    if (in_.stages > 0 && count != in_.stages) return;
    double sum = 0, slowest = 0, tail = 0, before = 0;
    for (int32_t i = 0; i < count; ++i) {
      const auto& [option, type] = stages_[i];
      const int64_t in_flight = in_.in_flight(count - 1 - i, in_.micro_batches);
      if (option.fixed_bytes + in_flight * option.bytes_in_flight > in_.memory_bytes[type]) return;
      sum += option.seconds - option.filled_seconds;
      slowest = std::max(slowest, option.seconds);
      tail = std::max(tail, option.once_seconds - before);
      before += option.backward_seconds;
    }
    best_ = std::min(best_, sum + static_cast<double>(in_.micro_batches - 1) * slowest + tail);
  }

  const StageSearchInput& in_;
  std::vector<int64_t> left_;
  std::vector<Stage> stages_;
  double best_ = kInfinity;
};

// What `result` really takes; fails if it breaks a rule.
double Check(const StageSearchInput& input, const StageSearchResult& result) {
  std::vector<int64_t> left = input.devices;
  double sum = 0, slowest = 0, tail = 0, before = 0;
  int32_t layer = 0;
  for (size_t i = 0; i < result.stages.size(); ++i) {
    const ChosenStage& stage = result.stages[i];
    EXPECT_EQ(stage.begin, layer);
    layer = stage.end;
    const SubmeshChoice& submesh = input.submeshes[stage.submesh];
    left[submesh.type] -= submesh.devices;
    const StageOption option = input.options(stage.begin, stage.end, stage.submesh)[stage.option];
    const auto after = static_cast<int32_t>(result.stages.size() - 1 - i);
    EXPECT_LE(
        option.fixed_bytes + input.in_flight(after, input.micro_batches) * option.bytes_in_flight,
        input.memory_bytes[submesh.type]);
    sum += option.seconds - option.filled_seconds;
    slowest = std::max(slowest, option.seconds);
    tail = std::max(tail, option.once_seconds - before);
    before += option.backward_seconds;
  }
  EXPECT_EQ(layer, input.layers);
  for (int64_t n : left) EXPECT_EQ(n, 0);
  return sum + static_cast<double>(input.micro_batches - 1) * slowest + tail;
}

TEST(StageSearchTest, EqualsExhaustiveSearchOnRandomCases) {
  const uint64_t seed = FreshSeed();
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int solved = 0, ended_early = 0;
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(testing::Message() << "case " << i);
    StageSearchInput input;
    input.layers = draw(1, 5);
    const int types = draw(1, 2);
    for (int t = 0; t < types; ++t) {
      input.devices.push_back(draw(1, 6));
      input.memory_bytes.push_back(draw(20, 120));
      for (int s = draw(1, 3); s > 0; --s) input.submeshes.push_back({t, draw(1, 4)});
    }
    input.micro_batches = draw(1, 6);
    if (draw(0, 3) == 0) input.stages = draw(1, input.layers);
    const bool filled = draw(0, 2) == 0;
    Table table;
    for (int32_t b = 0; b < input.layers; ++b) {
      for (int32_t e = b + 1; e <= input.layers; ++e) {
        for (size_t m = 0; m < input.submeshes.size(); ++m) {
          for (int o = draw(0, 2); o > 0; --o) {
            const int seconds = draw(1, 30);
            table[{b, e, static_cast<int32_t>(m)}].push_back(
                {.seconds = static_cast<double>(seconds),
                 .backward_seconds = static_cast<double>(draw(0, seconds)),
                 .once_seconds = static_cast<double>(draw(0, 3) == 0 ? draw(0, 40) : 0),
                 .fixed_bytes = draw(0, 60),
                 .bytes_in_flight = draw(0, 40),
                 .filled_seconds = static_cast<double>(filled ? draw(0, seconds) : 0)});
          }
        }
      }
    }
    Use(table, &input);
    input.in_flight = [](int32_t after, int64_t micro_batches) {
      return std::min<int64_t>(after + 1, micro_batches);
    };
    const StageSearchResult result = SearchStages(input);
    const double expected = AllStages(input).Run();
    if (expected == kInfinity) {
      ASSERT_TRUE(result.stages.empty());
      continue;
    }
    ++solved;
    ASSERT_FALSE(result.stages.empty());
    ASSERT_DOUBLE_EQ(result.seconds, expected);
    ASSERT_DOUBLE_EQ(result.bound, expected);
    ASSERT_DOUBLE_EQ(Check(input, result), expected);
    // Cut anywhere, it says what holds, and the same every time.
    input.max_steps = draw(1, 40);
    const StageSearchResult cut = SearchStages(input);
    ASSERT_LE(cut.bound, expected);
    ASSERT_EQ(cut.steps, SearchStages(input).steps);
    ASSERT_LE(cut.steps, result.steps);
    if (cut.stages.empty()) continue;
    ASSERT_DOUBLE_EQ(Check(input, cut), cut.seconds);
    ended_early += cut.seconds > expected || cut.bound < expected ? 1 : 0;
  }
  EXPECT_GT(solved, 300);
  EXPECT_GT(ended_early, 20);
}

// 98 layers, the first and the last unlike the others, on 1,024 devices, at many micro-batches and
// at a few; memory binds.
TEST(StageSearchTest, LargeClustersAreSolvedToOptimality) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const int64_t micro_batches : {1, 4, 32}) {
    StageSearchInput input;
    input.layers = 98;
    input.devices = {1024};
    input.memory_bytes = {80'000};
    for (int64_t n = 1; n <= 1024; n *= 2) input.submeshes.push_back({0, n});
    input.micro_batches = micro_batches;
    input.options = [&](int32_t begin, int32_t end, int32_t submesh) {
      const auto n = static_cast<double>(input.submeshes[submesh].devices);
      double work = 0;
      for (int32_t l = begin; l < end; ++l) work += l == 0 ? 0.3 : l == 97 ? 1.7 : 1.0;
      // Less efficient the more devices, with a second way that takes less memory.
      const double seconds =
          work / n * (1 + 0.3 * std::log2(n)) / static_cast<double>(micro_batches);
      const auto state = static_cast<int64_t>(21'000 * work / n);
      const auto activations = static_cast<int64_t>(4'000 * work / n);
      return std::vector<StageOption>{
          {seconds, seconds / 2, 0.01 * work / n, state, activations},
          {seconds * 1.3, seconds / 2, 0.01 * work / n, state, activations / 8}};
    };
    input.in_flight = [](int32_t after, int64_t m) { return std::min<int64_t>(after + 1, m); };
    const StageSearchResult result = SearchStages(input);
    ASSERT_FALSE(result.stages.empty());
    EXPECT_DOUBLE_EQ(result.bound, result.seconds);
    EXPECT_NEAR(Check(input, result), result.seconds, 1e-12);
    std::printf("%lld micro-batches: %zu stages, %.6f\n", static_cast<long long>(micro_batches),
                result.stages.size(), result.seconds);
  }
}

TEST(StageSearchTest, NothingFitsOrAddsUp) {
  StageSearchInput input;
  input.layers = 2;
  input.devices = {3};
  input.memory_bytes = {10};
  input.submeshes = {{0, 2}};
  input.in_flight = [](int32_t, int64_t) { return int64_t{1}; };
  input.options = [](int32_t, int32_t, int32_t) {
    return std::vector<StageOption>{{.seconds = 1, .fixed_bytes = 5}};
  };
  EXPECT_TRUE(SearchStages(input).stages.empty());  // 3 is no multiple of 2
  input.devices = {4};
  EXPECT_EQ(SearchStages(input).stages.size(), 2);
  input.memory_bytes = {4};
  EXPECT_TRUE(SearchStages(input).stages.empty());
}

}  // namespace
}  // namespace meshwright
