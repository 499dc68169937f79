// Alpa's stage dynamic programming and schedules: against enumeration, and tables written by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/match.h"
#include "meshwright/base/infinity.h"
#include "meshwright/inter/schedule/alpa_schedules.h"
#include "meshwright/inter/stages/alpa_stages.h"
#include "tests/testing/fresh_seed.h"

namespace meshwright {
namespace {

// All ways to cut and to choose, from the first stage on.
struct Enumeration {
  const StageProblem& problem;
  std::vector<StageProblem::Configuration> stages = {};
  double training = kInfinity, inference = kInfinity;

  void Extend(int32_t first, int64_t left) {
    if (first == problem.layers) {
      if (left == 0) Judge();
      return;
    }
    for (int32_t last = first; last < problem.layers; ++last) {
      for (size_t m = 0; m < problem.submeshes.size(); ++m) {
        if (problem.submeshes[m] > left) continue;
        for (const StageProblem::Configuration& one : problem.At(first, last, m)) {
          stages.push_back(one);
          Extend(last + 1, left - problem.submeshes[m]);
          stages.pop_back();
        }
      }
    }
  }

  void Judge() {
    double sum = 0, slowest = 0;
    bool fits = true;
    const auto count = static_cast<int64_t>(stages.size());
    for (int64_t i = 0; i < count; ++i) {
      sum += stages[i].seconds;
      slowest = std::max(slowest, stages[i].seconds);
      fits = fits && count - 1 - i <= stages[i].max_after;
    }
    inference = std::min(inference, slowest * static_cast<double>(count));
    if (!fits) return;
    training = std::min(training, sum + static_cast<double>(problem.micro_batches - 1) * slowest);
  }
};

TEST(AlpaStagesTest, EqualsEnumeration) {
  const uint64_t seed = FreshSeed();
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 1000; ++i) {
    StageProblem problem;
    problem.layers = draw(1, 4);
    problem.devices = draw(1, 6);
    problem.micro_batches = draw(1, 5);
    for (int m = draw(1, 3); m > 0; --m) problem.submeshes.push_back(draw(1, 4));
    for (int32_t first = 0; first < problem.layers; ++first) {
      for (int32_t last = 0; last < problem.layers; ++last) {
        for (size_t m = 0; m < problem.submeshes.size(); ++m) {
          auto& list = problem.configurations.emplace_back();
          for (int c = last < first ? 0 : draw(0, 2); c > 0; --c)
            list.push_back({static_cast<double>(draw(0, 20)), draw(-1, 4), c});
        }
      }
    }
    Enumeration all{problem};
    all.Extend(0, problem.devices);
    const TrainingResult training = TrainingCost(problem, /*deadline_seconds=*/60);
    EXPECT_TRUE(training.proven);
    EXPECT_EQ(training.cost.value_or(kInfinity), all.training);
    EXPECT_EQ(InferenceCost(problem).value_or(kInfinity), all.inference);
  }
}

TEST(AlpaStagesTest, MalformedFilesSayWhere) {
  const auto message = [](const std::string& text) {
    return std::string(ParseRecordedStages(text, "f.json").status().message());
  };
  EXPECT_TRUE(absl::StrContains(message("{}"), "f.json: $: expected a list"));
  EXPECT_TRUE(absl::StrContains(message("[]"), "holds no case"));
  EXPECT_TRUE(absl::StrContains(message(R"([{"name": "a", "num_layers": 0}])"), "$[0].num_layers"));
  EXPECT_TRUE(absl::StrContains(
      message(R"([{"name": "a", "num_layers": 1, "num_devices": 1, "num_microbatches": 1,
                   "submesh_choices": [[1, 1]], "compute_cost": [[[[1]]]],
                   "max_n_succ_stages": [[[[]]]]}])"),
      "one for each configuration"));
  EXPECT_TRUE(absl::StrContains(
      message(R"([{"name": "a", "num_layers": 1, "num_devices": 1, "num_microbatches": 1,
                   "submesh_choices": [[1, 1]], "compute_cost": [[[[-1]]]],
                   "max_n_succ_stages": [[[[1]]]]}])"),
      "expected a cost of at least 0"));
  // One layer on one device, with other members.
  const auto with = [&](const std::string& sizes, const std::string& after,
                        const std::string& optima) {
    return message(R"([{"name": "a", "submesh_choices": [[1, 1]], "compute_cost": [[[[1]]]], )" +
                   sizes + ", \"max_n_succ_stages\": [[[[" + after + "]]]]" + optima + "}]");
  };
  const std::string one = R"("num_layers": 1, "num_devices": 1, "num_microbatches": 1)";
  const std::string optima = R"(, "training_cost": null, "inference_cost": 1)";
  EXPECT_EQ(with(one, "-7", optima), "");
  EXPECT_EQ(with(one, "1e12", optima), "");
  EXPECT_TRUE(absl::StrContains(with(one, "0.5", optima), "max_n_succ_stages[0][0][0][0]"));
  EXPECT_TRUE(absl::StrContains(with(one, "1", R"(, "training_cost": 1)"), "\"inference_cost\""));
  EXPECT_TRUE(absl::StrContains(with(one, "1", R"(, "inference_cost": 1)"), "\"training_cost\""));
  // A small file can ask for more than a search can do.
  EXPECT_TRUE(absl::StrContains(
      with(R"("num_layers": 512, "num_devices": 65536, "num_microbatches": 1)", "1", optima),
      "$[0].num_devices: expected fewer devices for 512 layers"));
}

TEST(AlpaSchedulesTest, TwoMeshesFourMicroBatches) {
  const auto none = std::nullopt;
  const ClockTable one_f_one_b = {{{{0, 0}}, none},     {{{1, 0}}, {{0, 1}}}, {none, {{0, 2}}},
                                  {{{0, 3}}, {{1, 1}}}, {{{2, 0}}, {{1, 2}}}, {{{1, 3}}, {{2, 1}}},
                                  {{{3, 0}}, {{2, 2}}}, {{{2, 3}}, {{3, 1}}}, {none, {{3, 2}}},
                                  {{{3, 3}}, none},     {{{3, 4}}, {{3, 5}}}};
  EXPECT_EQ(MakeClockTable(AlpaSchedule::k1F1B, 2, 4), one_f_one_b);
  const ClockTable gpipe = {{{{0, 0}}, none},    {{{1, 0}}, {{0, 1}}}, {none, {{1, 1}}},
                            {none, {{0, 2}}},    {{{0, 3}}, {{1, 2}}}, {{{1, 3}}, none},
                            {{{1, 4}}, {{1, 5}}}};
  EXPECT_EQ(MakeClockTable(AlpaSchedule::kGpipe, 2, 2), gpipe);
}

// Every phase of every micro-batch has its place, after what it needs.
TEST(AlpaSchedulesTest, TablesAreComplete) {
  for (const AlpaSchedule schedule :
       {AlpaSchedule::kGpipe, AlpaSchedule::k1F1B, AlpaSchedule::k1F1BOverlap}) {
    for (int32_t n = 1; n <= 6; ++n) {
      for (int32_t m = 1; m <= 9; ++m) {
        const ClockTable table = MakeClockTable(schedule, n, m);
        size_t cells = 0;
        std::vector<std::vector<int>> clock(m, std::vector<int>(2 * n, -1));
        for (size_t c = 0; c + 1 < table.size(); ++c) {
          for (const auto& cell : table[c]) {
            if (!cell.has_value()) continue;
            ++cells;
            const auto [micro_batch, stage] = *cell;
            if (stage > 0) EXPECT_GE(clock[micro_batch][stage - 1], 0);
            clock[micro_batch][stage] = static_cast<int>(c);
          }
        }
        EXPECT_EQ(cells, static_cast<size_t>(2 * n * m)) << n << "x" << m;
      }
    }
  }
}

TEST(AlpaSchedulesTest, InferenceIsForwardOnlyWithAnIdleClock) {
  const auto none = std::nullopt;
  const ClockTable table = {{{{0, 0}}, none}, {{{1, 0}}, {{0, 1}}}, {none, {{1, 1}}}, {none, none}};
  EXPECT_EQ(MakeClockTable(AlpaSchedule::kInference, 2, 2), table);
}

// A mesh's backward phases are two clocks apart from the first on, and so are forward phases after
// the warm-up.
TEST(AlpaSchedulesTest, ClocksOfOneForwardOneBackward) {
  for (const auto& [schedule, ahead] :
       {std::pair(AlpaSchedule::k1F1B, 1), std::pair(AlpaSchedule::k1F1BOverlap, 2)}) {
    for (int32_t n = 1; n <= 7; ++n) {
      for (int32_t m = 1; m <= 17; ++m) {
        ClockTable expected(2 * (n + m) - 1);
        for (auto& row : expected) row.resize(n);
        for (int32_t i = 0; i < n; ++i) {
          const int32_t warm_up = ahead * (n - 1 - i), first = 2 * n - 1 - i;
          for (int32_t k = 0; k < m; ++k) {
            expected[k <= warm_up ? i + k : first + 2 * (k - warm_up) - 1][i] = {k, i};
            expected[first + 2 * k][i] = {k, first};
          }
          expected.back()[i] = {m - 1, 2 * n + i};
        }
        EXPECT_EQ(MakeClockTable(schedule, n, m), expected) << n << "x" << m;
      }
    }
  }
}

TEST(AlpaSchedulesTest, MalformedFilesSayWhere) {
  const auto message = [](const std::string& text) {
    return std::string(ParseRecordedSchedules(text, "f.json").status().message());
  };
  EXPECT_TRUE(absl::StrContains(message(R"([{"cls": "Other"}])"), "$[0].cls"));
  EXPECT_TRUE(absl::StrContains(
      message(
          R"([{"cls": "GpipeSchedule", "num_mesh": 2, "num_microbatch": 1, "num_clock": 1,
               "table": [[null]]}])"),
      "one a mesh"));
  EXPECT_TRUE(absl::StrContains(
      message(
          R"([{"cls": "GpipeSchedule", "num_mesh": 1, "num_microbatch": 1, "num_clock": 99999,
               "table": [[null]]}])"),
      "$[0].table: has 1 clocks, expected 99999"));
  EXPECT_TRUE(absl::StrContains(
      message(
          R"([{"cls": "GpipeSchedule", "num_mesh": 1024, "num_microbatch": 65536, "num_clock": 0,
               "table": []}])"),
      "$[0].num_microbatch: expected a table of at most"));
}

}  // namespace
}  // namespace meshwright
