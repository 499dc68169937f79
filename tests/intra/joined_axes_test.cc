#include "meshwright/intra/joined_axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "meshwright/cost/roofline.h"
#include "meshwright/intra/names.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

Sharding Parse(std::string_view text, const Mesh& mesh, int64_t rank) {
  return *ParseSharding(text, mesh, rank);
}

TEST(JoinedAxesTest, ShardingsGoBothWays) {
  const Mesh whole = TestMesh("x=2,y=2,z=2", "8xh100-sxm");
  const RooflineCostModel model(whole);
  const JoinedCostModel joined(model, 1);
  ASSERT_EQ(joined.mesh().rank(), 2u);
  EXPECT_EQ(joined.mesh().axes[1].size, 4);
  const Sharding split = Parse("[x,(y,z)]", whole, 2);
  const std::optional<Sharding> as_one = JoinAxis(split, 1);
  ASSERT_TRUE(as_one.has_value());
  EXPECT_EQ(as_one->dims[1], AxisList({1}));
  EXPECT_EQ(SplitAxis(*as_one, 1), split);
  EXPECT_EQ(JoinAxis(Parse("[x,_]", whole, 2), 1)->dims[0], AxisList({0}));
  for (std::string_view apart : {"[y,z]", "[(z,y),_]", "[y,_]", "[_,z]", "[_,(y,x,z)]"})
    EXPECT_FALSE(JoinAxis(Parse(apart, whole, 2), 1).has_value()) << apart;
}

// The whole mesh has every path of the joined one, at the same price.
TEST(JoinedAxesTest, ReshardingsCostWhatTheyDoOnTheWholeMesh) {
  const RooflineCostModel model(TestMesh("x=2,y=2,z=4", "2x8xh100-sxm"));
  const Shape shape = Shape::Array(ElementType::kBF16, {4096, 2048});
  for (AxisIndex axis : {AxisIndex{0}, AxisIndex{1}}) {
    const JoinedCostModel joined(model, axis);
    std::vector<Sharding> all;
    for (const Strategy& s : EnumerateStrategies(ValueRule(shape), joined.mesh()))
      all.push_back(*ResultSharding(ValueRule(shape), s, 0, joined.mesh()));
    for (const Sharding& from : all) {
      for (const Sharding& to : all) {
        const double there = joined.Reshard(shape, from, to).seconds;
        const double whole =
            model.Reshard(shape, SplitAxis(from, axis), SplitAxis(to, axis)).seconds;
        EXPECT_LE(whole, there * (1 + 1e-9))
            << from.ToString(joined.mesh()) << " -> " << to.ToString(joined.mesh());
      }
    }
    const Sharding rows = all.back(), none = Sharding::Replicated(2);
    EXPECT_GT(joined.Reshard(shape, rows, none).seconds, 0);
  }
}

struct Problem {
  explicit Problem(const CostModel& cost_model)
      : program(ProgramFromData("mlp_adam.train.hlo.txt")),
        fusion(AnalyzeFusion(program.graph)),
        intervals(Liveness(program.graph, fusion, ScheduleForMemory(program.graph, fusion))),
        tied(TiedParameters(program.graph, true)) {
    pins = *ResolvePins(program.graph, cost_model.mesh(), {}, &tied);
    groups = FormGroups(program.graph, fusion, std::vector<bool>(program.graph.values.size()));
  }
  ProblemInputs Inputs(const CostModel& cost_model) const {
    return {.graph = program.graph,
            .cost_model = cost_model,
            .fusion = fusion,
            .groups = groups,
            .intervals = intervals,
            .pins = pins,
            .tied = tied};
  }
  CandidateSets Sets(const CostModel& cost_model) const {
    return CandidateSets(program.graph, fusion, groups, cost_model, StrategySpace::kFull);
  }

  TestProgram program;
  FusionInfo fusion;
  std::vector<Interval> intervals;
  std::vector<int32_t> tied;
  Pins pins;
  Groups groups;
};

TEST(JoinedAxesTest, ChoicesCostNoMoreThanOnTheJoinedMesh) {
  const RooflineCostModel model(TestMesh("2x2x2", "8xh100-sxm"));
  const Problem problem(model);
  const ProblemInputs inputs = problem.Inputs(model);
  CandidateSets sets = problem.Sets(model);
  const absl::StatusOr<PlanningProblem> built = BuildProblem(inputs, &sets);
  ASSERT_TRUE(built.ok()) << built.status();
  const std::vector<std::vector<int32_t>> choices = ChoicesOfJoinedAxes(inputs, sets, *built, {});
  ASSERT_EQ(choices.size(), 2u);
  for (AxisIndex axis : {AxisIndex{0}, AxisIndex{1}}) {
    const JoinedCostModel joined(model, axis);
    CandidateSets joined_sets = problem.Sets(joined);
    const absl::StatusOr<PlanningProblem> small =
        BuildProblem(problem.Inputs(joined), &joined_sets);
    ASSERT_TRUE(small.ok()) << small.status();
    const absl::StatusOr<solve::Solution> best = solve::Solve(small->problem);
    ASSERT_EQ(best->outcome, solve::Outcome::kOptimal);
    const solve::Evaluation found = solve::Evaluate(built->problem, choices[axis]);
    EXPECT_FALSE(found.forbidden);
    // But for roundings and the preferences among parameters of equal cost.
    EXPECT_LE(static_cast<double>(found.cost), static_cast<double>(best->cost) * (1 + 1e-6));
  }
}

TEST(JoinedAxesTest, TwoAxesAreNotJoined) {
  const RooflineCostModel model(TestMesh("x=2,y=1,z=4", "8xh100-sxm"));
  const Problem problem(model);
  CandidateSets sets = problem.Sets(model);
  const ProblemInputs inputs = problem.Inputs(model);
  const absl::StatusOr<PlanningProblem> built = BuildProblem(inputs, &sets);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_TRUE(ChoicesOfJoinedAxes(inputs, sets, *built, {}).empty());
}

}  // namespace
}  // namespace meshwright
