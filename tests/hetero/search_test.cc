// The search over groups of nodes against costing every plan.

#include "meshwright/hetero/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/inter/schedule/simulate.h"
#include "tests/hetero/samples.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::transformer::hetero {
namespace {

using ::testing::HasSubstr;

struct Point {
  double seconds, dollars;
  std::vector<int64_t> nodes;  // of each group
};

// Plans whose groups have degrees of their own, and those in which a group has several.
struct Differing {
  int by_group = 0, by_stage = 0;
};

// Every plan's time and cost; empty if there are more than `most`.
std::vector<Point> AllPoints(const Problem& problem, size_t most, bool* all, Differing* differing) {
  std::vector<Point> points;
  *all = true;
  Coster coster(problem);
  for (const Family& family : AllFamilies(problem, FamilySpace(problem, coster))) {
    const Costs costs = coster.CostsOf(family);
    std::vector<Stage> reversed;
    std::vector<int64_t> used(costs.stage_classes());
    ForEachPlan(costs, reversed, used, costs.layers(), [&](const std::vector<Stage>& stages) {
      if (points.size() > most) return;
      std::vector<int64_t> count(costs.stage_classes()), nodes(costs.groups());
      for (const Stage& stage : stages) ++count[stage.stage_class];
      for (size_t stage_class = 0; stage_class < count.size(); ++stage_class) {
        // The plan is costed where every stage class has stages.
        if (count[stage_class] == 0) return;
        nodes[costs.Group(stage_class)] += costs.Nodes(stage_class, count[stage_class]);
      }
      double rate = 0;
      for (size_t group = 0; group < nodes.size(); ++group) {
        rate += *PricePerHour(problem.cluster.groups[group], nodes[group]);
      }
      const double seconds = Seconds(costs, stages);
      points.push_back({seconds, seconds * rate / 3600, nodes});
      if (family.ByStage()) {
        ++differing->by_stage;
      } else if (!family.Common().has_value()) {
        ++differing->by_group;
      }
    });
    if (points.size() > most) {
      *all = false;
      return {};
    }
  }
  return points;
}

// Those than which none is faster and as cheap, or cheaper and as fast; the fastest first.
std::vector<Point> Front(std::vector<Point> points) {
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.dollars < b.dollars;
  });
  std::vector<Point> front;
  for (const Point& point : points) {
    if (front.empty() || point.dollars < front.back().dollars) front.push_back(point);
  }
  return front;
}

constexpr double kTiny = 1e-9;

void ExpectSameAsExhaustive(const Problem& problem, std::mt19937_64& random, int* compared,
                            Differing* differing) {
  bool all = false;
  Differing plans;
  const std::vector<Point> points = AllPoints(problem, 200'000, &all, &plans);
  if (!all) return;
  differing->by_group += plans.by_group;
  differing->by_stage += plans.by_stage;
  ++*compared;
  const auto search = [&](SearchOptions options) { return *SearchPlans(problem, options); };
  const auto least = [&](const auto& value, const auto& allowed) {
    double best = std::numeric_limits<double>::infinity();
    for (const Point& point : points) {
      if (allowed(point)) best = std::min(best, value(point));
    }
    return best;
  };
  const auto seconds = [](const Point& point) { return point.seconds; };
  const auto dollars = [](const Point& point) { return point.dollars; };
  const auto any = [](const Point&) { return true; };

  const Result fastest = search({});
  EXPECT_TRUE(fastest.proven);
  const Result cheapest = search({.objective = Objective::kCost});
  EXPECT_TRUE(cheapest.proven);
  if (!points.empty()) {
    // Of equals by the objective the best by the other.
    const double least_seconds = least(seconds, any), least_dollars = least(dollars, any);
    const double then_dollars = least(
        dollars, [&](const Point& one) { return one.seconds <= least_seconds * (1 + kTiny); });
    const double then_seconds = least(
        seconds, [&](const Point& one) { return one.dollars <= least_dollars * (1 + kTiny); });
    ASSERT_EQ(fastest.front.size(), 1u);
    ASSERT_EQ(cheapest.front.size(), 1u);
    EXPECT_LE(fastest.front[0].step_dollars(), then_dollars * (1 + kTiny));
    EXPECT_LE(cheapest.front[0].seconds, then_seconds * (1 + kTiny));
  }
  const Result pareto = search({.objective = Objective::kPareto});
  EXPECT_TRUE(pareto.proven);
  if (points.empty()) {
    EXPECT_TRUE(fastest.front.empty());
    EXPECT_TRUE(cheapest.front.empty());
    EXPECT_TRUE(pareto.front.empty());
    return;
  }
  ASSERT_EQ(fastest.front.size(), 1u);
  EXPECT_NEAR(fastest.front[0].seconds / least(seconds, any), 1, kTiny);
  EXPECT_EQ(fastest.bound, fastest.front[0].seconds);
  ASSERT_EQ(cheapest.front.size(), 1u);
  EXPECT_NEAR(cheapest.front[0].step_dollars(), least(dollars, any), least(dollars, any) * kTiny);

  // Where the effort does not suffice the bound holds nevertheless.
  const int64_t effort = int64_t{10} << random() % 16;
  const bool by_cost = random() % 2 == 0;
  const Result early = search({.objective = by_cost ? Objective::kCost : Objective::kTime,
                               .state_effort = effort,
                               .plan_effort = effort,
                               .proof_effort = effort});
  EXPECT_LE(early.bound, (by_cost ? least(dollars, any) : least(seconds, any)) * (1 + kTiny));

  const std::vector<Point> front = Front(points);
  std::vector<Point> found;
  for (const Choice& choice : pareto.front) {
    found.push_back({choice.seconds, choice.step_dollars(), choice.nodes});
  }
  // Figures that differ in the last digits only are equal.
  const auto covers = [](const std::vector<Point>& a, const std::vector<Point>& b) {
    return std::all_of(b.begin(), b.end(), [&](const Point& point) {
      return std::any_of(a.begin(), a.end(), [&](const Point& other) {
        return other.seconds <= point.seconds * (1 + kTiny) &&
               other.dollars <= point.dollars * (1 + kTiny);
      });
    });
  };
  // On the nodes that are no good nothing takes less than is said of them.
  for (const SubCluster& cluster : pareto.sub_clusters) {
    const auto on_nodes = [&](const Point& point) { return point.nodes == cluster.nodes; };
    EXPECT_LE(cluster.bound_seconds, least(seconds, on_nodes) * (1 + kTiny));
  }
  EXPECT_TRUE(covers(found, front)) << found.size() << " of " << front.size();
  EXPECT_TRUE(covers(front, found));

  // The fastest within dollars, and the cheapest within time; both limits of the whole run.
  const Point& limit = points[random() % points.size()];
  const double steps = 1000;
  const Result within = search({.steps = steps, .most_dollars = limit.dollars * steps * 1.01});
  ASSERT_EQ(within.front.size(), 1u);
  EXPECT_NEAR(
      within.front[0].seconds /
          least(seconds, [&](const Point& point) { return point.dollars <= limit.dollars * 1.01; }),
      1, kTiny);
  const Result by_then = search({.objective = Objective::kCost,
                                 .steps = steps,
                                 .most_seconds = limit.seconds * steps * 1.01});
  ASSERT_EQ(by_then.front.size(), 1u);
  const double by_then_dollars =
      least(dollars, [&](const Point& point) { return point.seconds <= limit.seconds * 1.01; });
  EXPECT_NEAR(by_then.front[0].step_dollars(), by_then_dollars, by_then_dollars * kTiny);
  const Result never = search({.steps = steps, .most_seconds = least(seconds, any) * steps * 0.99});
  EXPECT_TRUE(never.front.empty());
}

TEST(HeteroOptimality, SameAsExhaustiveSearch) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int compared = 0;
  Differing differing;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Problem problem = RandomProblem(random, 6, seed % 3 == 0 ? 12 : 5);
    ExpectSameAsExhaustive(problem, random, &compared, &differing);
    if (HasFailure()) break;
  }
  EXPECT_GT(compared, 50);
  EXPECT_GT(differing.by_group, 100'000) << "plans whose groups have degrees of their own";
  EXPECT_GT(differing.by_stage, 100'000) << "plans with several degrees in a group";
}

// A plan's step by running every pass, exchange and update as an event.
double SecondsByEvents(const Costs& costs, const std::vector<Stage>& stages) {
  std::vector<StageTimes> times(stages.size());
  std::vector<int64_t> behind(costs.stage_classes());
  int64_t first = costs.layers();
  for (size_t i = stages.size(); i-- > 0;) {
    const Stage& stage = stages[i];
    first -= stage.layers;
    const Cell& cell =
        costs.CellAt(stage.stage_class, {first, stage.layers, i == 0, i + 1 == stages.size()});
    times[i].forward = cell.forward;
    times[i].backward = cell.backward;
    times[i].update = cell.update;
    if (i + 1 < stages.size()) {
      const int32_t next = stages[i + 1].stage_class;
      times[i].send_forward = times[i + 1].send_backward =
          costs.SendSeconds(stage.stage_class, next, behind[next] - 1);
    }
    ++behind[stage.stage_class];
  }
  if (stages.size() > 1) {
    times[0].update += costs.TiedSeconds(stages.front().stage_class, stages.back().stage_class,
                                         std::ssize(stages));
  }
  ScheduleShape shape;
  shape.groups = static_cast<int32_t>(stages.size());
  shape.micro_batches = static_cast<int32_t>(costs.micro_batches());
  return Simulate(**FindSchedule("1f1b"), shape, times, Sends::kExchanged)->seconds +
         costs.fixed_seconds();
}

// The fastest of all plans, each run event by event, is what the search finds.
TEST(HeteroOptimality, SameAsExhaustiveSearchByEvents) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  constexpr int64_t kMostPlans = 60'000;
  const int wanted = Cases(15);
  int compared = 0, of_groups = 0, pipelines = 0;
  for (uint64_t seed = 1000; compared < wanted; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Problem problem = RandomProblem(random, 4, 5);
    if (problem.cluster.groups.size() == 1) continue;
    // Slow networks but between groups, so that pipelines are worth it.
    const double slower = static_cast<double>(1 << random() % 8);
    for (size_t i = 0; i < problem.cluster.groups.size(); ++i) {
      Cluster& cluster = problem.cluster.groups[i].cluster;
      cluster.intra_node.bandwidth_bytes_per_second /= slower;
      cluster.inter_node.bandwidth_bytes_per_second /= slower;
      problem.cluster.links[i][i] = cluster.inter_node;
    }
    Coster coster(problem);
    double least = std::numeric_limits<double>::infinity();
    int64_t plans = 0;
    for (const Family& family : AllFamilies(problem, FamilySpace(problem, coster))) {
      const Costs costs = coster.CostsOf(family);
      std::vector<Stage> reversed;
      std::vector<int64_t> used(costs.stage_classes());
      ForEachPlan(costs, reversed, used, costs.layers(), [&](const std::vector<Stage>& stages) {
        if (++plans <= kMostPlans) least = std::min(least, SecondsByEvents(costs, stages));
      });
      if (plans > kMostPlans) break;
    }
    if (plans > kMostPlans || plans == 0) continue;
    ++compared;
    const absl::StatusOr<Result> found = SearchPlans(problem, {});
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->front.size(), 1u);
    EXPECT_TRUE(found->proven);
    EXPECT_NEAR(found->front[0].seconds, least, kTiny * least);
    of_groups += std::count_if(found->front[0].nodes.begin(), found->front[0].nodes.end(),
                               [](int64_t nodes) { return nodes > 0; }) > 1;
    pipelines += found->front[0].plan.stages.size() > 1 ? 1 : 0;
  }
  std::cout << compared << " clusters, the fastest plan on several groups of " << of_groups
            << ", a pipeline on " << pipelines << "\n";
}

// Nodes that cost nothing, or whose groups differ in the price only: many plans are equally cheap
// or equally fast.
TEST(HeteroOptimality, EqualsAreToldApart) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int compared = 0;
  Differing differing;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Problem problem = RandomProblem(random, seed % 3 == 2 ? 4 : 6, 5);
    std::vector<NodeGroup>& groups = problem.cluster.groups;
    for (NodeGroup& group : groups) {
      if (seed % 3 == 0 || (seed % 3 == 1 && random() % 2 == 0)) {
        group.on_demand_price = group.spot_price = 0;
      }
      if (seed % 3 != 2) continue;
      const int64_t nodes = group.cluster.nodes;
      group.cluster = groups[0].cluster;
      group.cluster.nodes = nodes;
    }
    if (seed % 3 == 2) {
      for (std::vector<Link>& row : problem.cluster.links) {
        for (Link& link : row) link = groups[0].cluster.inter_node;
      }
    }
    ExpectSameAsExhaustive(problem, random, &compared, &differing);
    if (HasFailure()) break;
  }
  EXPECT_GT(compared, 12);
}

// Two groups of up to 7 nodes, as in docs/heterogeneous.md, some with slow networks, on which
// reducing gradients takes much of a step.
Problem DocumentedSizeProblem(std::mt19937_64& random) {
  const auto below = [&](uint64_t n) { return random() % n; };
  constexpr const char* kDevices[] = {"a10g", "v100", "a100-40g", "h100-sxm", "h200"};
  Problem problem;
  problem.model = DenseModel(16, 16, 16);
  problem.model.hidden = problem.model.embedding.dim = 1024;
  problem.model.embedding.vocabulary = problem.model.head.outputs = 32'000;
  problem.model.stacks[0].kinds[0].attention.qk_head_dim = 64;
  problem.model.stacks[0].kinds[0].attention.v_head_dim = 64;
  problem.model.stacks[0].kinds[0].mlp->ffn = 4096;
  problem.workload = {.sequence = 1024, .global_batch = int64_t{16} << below(2)};
  const size_t first = below(5);
  std::string cluster;
  for (size_t t = 0; t < 2; ++t) {
    absl::StrAppend(&cluster, t == 0 ? "" : "+", 1 + below(7), "x4x", kDevices[(first + t) % 5]);
  }
  problem.cluster = *ParseMixedCluster(cluster);
  const double slower = static_cast<double>(1 << below(4));
  for (std::vector<Link>& row : problem.cluster.links) {
    for (Link& link : row) link.bandwidth_bytes_per_second /= slower;
  }
  for (NodeGroup& group : problem.cluster.groups) {
    group.cluster.inter_node.bandwidth_bytes_per_second /= slower;
  }
  return problem;
}

// A search that is ended at any time has a bound that holds, and looks at nothing more.
TEST(HeteroDeadline, BoundsHoldWheneverASearchEnds) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  std::mt19937_64 random(7);
  const Problem problem = DocumentedSizeProblem(random);
  const Result whole = *SearchPlans(problem, {});
  EXPECT_FALSE(whole.stopped);
  const double least = whole.front[0].seconds;
  int found = 0;
  for (int64_t looks = 1; looks < 2'000'000; looks *= 16) {
    int64_t looked = 0;
    const Result early = *SearchPlans(problem, {.stop = [&] { return ++looked > looks; }});
    EXPECT_LE(early.bound, least * (1 + kTiny));
    EXPECT_LE(early.evaluated, whole.evaluated);
    if (!early.stopped) break;
    if (early.front.empty()) continue;
    ++found;
    EXPECT_GE(early.front[0].seconds, least * (1 - kTiny));
  }
  EXPECT_GT(found, 0);
}

// Where there are too many plans to go through, too.
TEST(HeteroFreedom, FixesFindNothingBetter) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int compared = 0, longer = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::mt19937_64 random(seed);
    Problem problem = DocumentedSizeProblem(random);
    const Result free = *SearchPlans(problem, {});
    ASSERT_EQ(free.front.size(), 1u);
    for (const char* const fix : {"pp=1", "pp=2", "pp=3", "pp=4", "tp=1", "tp=2", "tp=4", "dp=4",
                                  "mbs=1", "mbs=2", "zero=1"}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " " << fix);
      problem.fixes = *ParseFixes({fix});
      const absl::StatusOr<Result> fixed = SearchPlans(problem, {});
      if (!fixed.ok() || fixed->front.empty()) continue;
      ++compared;
      longer += fixed->front[0].seconds > free.front[0].seconds * (1 + kTiny) ? 1 : 0;
      EXPECT_GE(fixed->front[0].seconds, free.front[0].seconds * (1 - kTiny));
      EXPECT_LE(free.bound, fixed->front[0].seconds * (1 + kTiny));
    }
  }
  EXPECT_GT(compared, 50);
  EXPECT_GT(longer, 25);
}

}  // namespace
}  // namespace meshwright::transformer::hetero
