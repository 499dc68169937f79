#include "meshwright/hetero/lagrangian_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "tests/hetero/samples.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::transformer::hetero {
namespace {

// The stage classes that stages may lie on with one number of sequences and one choice of the rest.
struct AnyLanes {
  std::vector<StageClass> stage_classes;

  size_t Position(size_t group, const StageDegrees& degrees) const {
    const auto found = std::find_if(
        stage_classes.begin(), stage_classes.end(), [&](const StageClass& stage_class) {
          return stage_class.group == group && stage_class.degrees == degrees;
        });
    return found - stage_classes.begin();
  }
};

AnyLanes LanesOf(FamilySpace& space, int64_t together, const FamilySpace::Choice& choice) {
  AnyLanes any;
  for (size_t group = 0; group < space.problem().cluster.groups.size(); ++group) {
    for (const StageDegrees& degrees : space.Options(group, together)) {
      any.stage_classes.push_back(space.StageClassOf(group, degrees, choice));
    }
  }
  return any;
}

// There is room for every plan in the time that it takes, and none in much less than the best.
TEST(LagrangianBoundTest, HasRoomForEveryPlan) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int compared = 0, shown = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Problem problem = RandomProblem(random, 6, 8);
    const std::vector<NodeGroup>& groups = problem.cluster.groups;
    Coster coster(problem);
    FamilySpace space(problem, coster);
    std::vector<Family> families = AllFamilies(problem, space);
    std::shuffle(families.begin(), families.end(), random);
    families.resize(std::min<size_t>(families.size(), 12));
    for (const Family& family : families) {
      const FamilySpace::Choice choice = {family.zero, family.recompute};
      const AnyLanes any = LanesOf(space, family.together(), choice);
      const Costs all = space.CostsOfAny(any.stage_classes, choice);
      LagrangianBound slack(groups, all, 1, space.most_stages());
      std::vector<size_t> stage_classes;
      for (size_t stage_class = 0; stage_class < family.degrees.size(); ++stage_class) {
        stage_classes.push_back(
            any.Position(family.Group(stage_class), family.degrees[stage_class]));
        ASSERT_LT(stage_classes.back(), any.stage_classes.size());
      }
      const Costs costs = coster.CostsOf(family);
      std::vector<Stage> reversed;
      std::vector<int64_t> used(costs.stage_classes());
      double best = std::numeric_limits<double>::infinity();
      int plans = 0;
      ForEachPlan(costs, reversed, used, costs.layers(), [&](const std::vector<Stage>& stages) {
        best = std::min(best, Seconds(costs, stages));
        ++plans;
      });
      if (plans == 0) continue;
      ++compared;
      ASSERT_TRUE(slack.SetCutoff(best * (1 + 1e-9)));
      EXPECT_LE(slack.LeastSeconds(), best * (1 + 1e-9));
      EXPECT_TRUE(slack.MayHold(stage_classes));
      EXPECT_TRUE(slack.MayHold(stage_classes, groups.size()));
      EXPECT_TRUE(slack.MayHold({}, 0));
      const bool half = slack.SetCutoff(best / 2) && slack.MayHold(stage_classes);
      shown += half ? 0 : 1;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(shown, compared / 2);
}

}  // namespace
}  // namespace meshwright::transformer::hetero
