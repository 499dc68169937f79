#include "meshwright/inter/layers/layer_clustering.h"

#include <cmath>
#include <map>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/inter/layers/alpa_layers.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// `operators` heavy ones of cost 1, each using the one before.
ClusteringProblem Chain(int32_t operators, int32_t layers, double bytes) {
  ClusteringProblem problem;
  problem.cost.assign(operators, 1);
  problem.heavy.assign(operators, true);
  for (int32_t i = 1; i < operators; ++i) problem.edges.push_back({i - 1, i, bytes});
  problem.layers = layers;
  return problem;
}

TEST(LayerClusteringTest, EqualOperatorsMakeEqualLayers) {
  const auto found = ClusterLayers(Chain(12, 3, 100));
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->slices, ElementsAre(Pair(0, 4), Pair(4, 8), Pair(8, 12)));
  EXPECT_EQ(found->max_boundary_bytes, 100);
}

TEST(LayerClusteringTest, CostsInSteps) {
  ClusteringProblem problem = Chain(12, 3, 100);
  for (int32_t i = 0; i < 12; ++i) problem.cost[i] = i + 1;
  problem.imbalance = 0.6;
  const auto found = ClusterLayers(problem);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->slices, ElementsAre(Pair(0, 4), Pair(4, 9), Pair(9, 12)));
}

TEST(LayerClusteringTest, OneValueUsedTwiceEntersOnce) {
  ClusteringProblem problem = Chain(6, 2, 10);
  problem.edges.push_back({0, 4, 10});
  problem.edges.push_back({0, 5, 10});
  problem.edges.push_back({1, 4, 7, 1});
  const auto found = ClusterLayers(problem);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->slices, ElementsAre(Pair(0, 3), Pair(3, 6)));
  EXPECT_EQ(found->max_boundary_bytes, 27);
}

TEST(LayerClusteringTest, MoreLayersThanOperators) {
  EXPECT_FALSE(ClusterLayers(Chain(3, 4, 1)).has_value());
  EXPECT_TRUE(ClusterLayers(Chain(3, 3, 1)).has_value());
}

// All ways to cut, with what the definition says of each.
struct AllClusterings {
  const ClusteringProblem& problem;
  double best = INFINITY;

  double Entering(int32_t begin, int32_t end) const {
    std::map<std::pair<int32_t, int32_t>, double> values;
    for (const auto& edge : problem.edges) {
      if (edge.from < begin && begin <= edge.to && edge.to < end) {
        values[{edge.from, edge.value}] = edge.bytes;
      }
    }
    double bytes = 0;
    for (const auto& value : values) bytes += value.second;
    return bytes;
  }
  bool Allowed(int32_t begin, int32_t end) const {
    double all = 0, cost = 0;
    int64_t heavy = 0, count = 0;
    for (size_t i = 0; i < problem.cost.size(); ++i) {
      all += problem.cost[i];
      heavy += problem.heavy[i] ? 1 : 0;
    }
    const double limit = all / problem.layers * (1 + problem.imbalance);
    const int64_t fewest = std::min<int64_t>(3, heavy / problem.layers);
    for (int32_t i = begin; i < end; ++i) {
      if (!problem.heavy[i]) continue;
      ++count;
      cost += problem.cost[i];
      if (count > fewest && cost >= limit) return false;
    }
    return count >= fewest || cost >= limit;
  }
  void Cut(int32_t begin, int32_t layers, double most) {
    const auto n = static_cast<int32_t>(problem.cost.size());
    if (layers == 0) {
      if (begin == n) best = std::min(best, most);
      return;
    }
    for (int32_t end = begin + 1; end <= n; ++end) {
      if (Allowed(begin, end)) Cut(end, layers - 1, std::max(most, Entering(begin, end)));
    }
  }
};

TEST(LayerClusteringTest, NoOtherCutsHaveFewerBytes) {
  std::mt19937 random(20);
  int64_t feasible = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    const auto pick = [&](int32_t least, int32_t most) {
      return std::uniform_int_distribution<int32_t>(least, most)(random);
    };
    ClusteringProblem problem = Chain(pick(2, 9), pick(1, 4), 50);
    const auto n = static_cast<int32_t>(problem.cost.size());
    for (int32_t i = 0; i < n; ++i) {
      problem.heavy[i] = pick(0, 3) > 0;
      problem.cost[i] = problem.heavy[i] ? pick(1, 6) : 0;
    }
    for (auto& edge : problem.edges) edge.bytes = pick(1, 5) * 10;
    for (int32_t i = pick(0, 4); i > 0; --i) {
      const int32_t from = pick(0, n - 2);
      // Another value, or another use of what the next one takes.
      const bool same = pick(0, 1) == 0;
      problem.edges.push_back({from, pick(from + 1, n - 1),
                               same ? problem.edges[from].bytes : pick(1, 5) * 10.0,
                               same ? 0 : i + 1});
    }
    AllClusterings exhaustive{problem};
    exhaustive.Cut(0, problem.layers, 0);
    const auto found = ClusterLayers(problem);
    ASSERT_EQ(found.has_value(), std::isfinite(exhaustive.best));
    if (!found.has_value()) continue;
    ++feasible;
    EXPECT_EQ(found->max_boundary_bytes, exhaustive.best);
    double most = 0;
    int32_t end = 0;
    for (const auto& slice : found->slices) {
      EXPECT_EQ(slice.first, end);
      EXPECT_TRUE(exhaustive.Allowed(slice.first, slice.second));
      most = std::max(most, exhaustive.Entering(slice.first, slice.second));
      end = slice.second;
    }
    EXPECT_EQ(end, n);
    EXPECT_EQ(most, exhaustive.best);
    EXPECT_EQ(found->slices.size(), static_cast<size_t>(problem.layers));
  }
  EXPECT_GT(feasible, 100);
}

constexpr char kCase[] = R"([{"name": "two", "edges": [[0, 1, 8]], "non_trivial": [1, 1],
  "compute_costs": [1, 2], "layer_num": 2, "eps": 0.5, "criteria": "count",
  "slices": [[0, 1], [1, 2]], "max_boundary_bytes": 8.0}])";

TEST(AlpaLayersTest, ReadsACase) {
  const auto cases = ParseRecordedClusterings(kCase, "f");
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_EQ(cases->size(), 1u);
  const RecordedClustering& one = cases->front();
  EXPECT_EQ(one.name, "two");
  EXPECT_EQ(one.problem.criterion, ClusteringProblem::Criterion::kCount);
  const auto found = ClusterLayers(one.problem);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->slices, one.clustering->slices);
  EXPECT_EQ(found->max_boundary_bytes, one.clustering->max_boundary_bytes);
}

TEST(AlpaLayersTest, Errors) {
  struct Case {
    const char *part, *instead, *message;
  };
  for (const Case& c : std::vector<Case>{
           {"[[0, 1, 8]]", "[[1, 0, 8]]", "f: $[0].edges[0]: expected an edge to a later operator"},
           {"[[0, 1, 8]]", "[[0, 2, 8]]", "$[0].edges[0][1]"},
           {"[[0, 1, 8]]", "[[0, 1]]", "$[0].edges[0]"},
           {"[1, 1]", "[1]", "$[0].non_trivial"},
           {"\"count\"", "\"time\"", "expected \"flops\", \"count\" or \"input_memory\""},
           {"\"layer_num\": 2", "\"layer_num\": 0", "$[0].layer_num"},
           {"\"eps\": 0.5,", "", "eps"},
           {"[1, 2], \"layer", "[1, -2], \"layer", "$[0].compute_costs[1]"}}) {
    std::string text = kCase;
    text.replace(text.find(c.part), std::string(c.part).size(), c.instead);
    EXPECT_THAT(std::string(ParseRecordedClusterings(text, "f").status().message()),
                HasSubstr(c.message))
        << text;
  }
  EXPECT_THAT(std::string(ParseRecordedClusterings("{}", "f").status().message()),
              HasSubstr("expected a list"));
  EXPECT_THAT(std::string(ParseRecordedClusterings("[]", "f").status().message()),
              HasSubstr("holds no case"));
}

}  // namespace
}  // namespace meshwright
