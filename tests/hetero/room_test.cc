#include "meshwright/hetero/room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "tests/hetero/samples.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::transformer {
namespace {

// The lanes that stages may lie on with one number of sequences and one choice of the rest.
struct AnyLanes {
  std::vector<MixedLane> lanes;

  size_t Position(size_t group, const StageDegrees& degrees) const {
    const auto found = std::find_if(lanes.begin(), lanes.end(), [&](const MixedLane& lane) {
      return lane.group == group && lane.degrees == degrees;
    });
    return found - lanes.begin();
  }
};

AnyLanes LanesOf(MixedFamilySpace& space, int64_t together,
                 const MixedFamilySpace::Choice& choice) {
  AnyLanes any;
  for (size_t group = 0; group < space.problem().cluster.groups.size(); ++group) {
    for (const StageDegrees& degrees : space.Options(group, together)) {
      any.lanes.push_back(space.Lane(group, degrees, choice));
    }
  }
  return any;
}

// There is room for every plan in the time that it takes, and none in much less than the best.
TEST(MixedRoomTest, HasRoomForEveryPlan) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int compared = 0, shown = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const MixedProblem problem = RandomMixedProblem(random, 6, 8);
    const std::vector<NodeGroup>& groups = problem.cluster.groups;
    MixedCoster coster(problem);
    MixedFamilySpace space(problem, coster);
    std::vector<MixedFamily> families = AllMixedFamilies(problem, space);
    std::shuffle(families.begin(), families.end(), random);
    families.resize(std::min<size_t>(families.size(), 12));
    for (const MixedFamily& family : families) {
      const MixedFamilySpace::Choice choice = {family.zero, family.recompute};
      const AnyLanes any = LanesOf(space, family.together(), choice);
      const MixedCosts all = space.CostsOfAny(any.lanes, choice);
      MixedRoom room(groups, all, 1, space.layers());
      std::vector<size_t> lanes;
      for (size_t lane = 0; lane < family.degrees.size(); ++lane) {
        lanes.push_back(any.Position(family.Group(lane), family.degrees[lane]));
        ASSERT_LT(lanes.back(), any.lanes.size());
      }
      const MixedCosts costs = coster.Costs(family);
      std::vector<MixedStage> reversed;
      std::vector<int64_t> used(costs.lanes());
      double best = std::numeric_limits<double>::infinity();
      int plans = 0;
      ForEachMixedPlan(costs, reversed, used, costs.layers(),
                       [&](const std::vector<MixedStage>& stages) {
                         best = std::min(best, MixedSeconds(costs, stages));
                         ++plans;
                       });
      if (plans == 0) continue;
      ++compared;
      ASSERT_TRUE(room.SetCutoff(best * (1 + 1e-9)));
      EXPECT_LE(room.LeastSeconds(), best * (1 + 1e-9));
      EXPECT_TRUE(room.MayHold(lanes));
      EXPECT_TRUE(room.MayHold(lanes, groups.size()));
      EXPECT_TRUE(room.MayHold({}, 0));
      const bool half = room.SetCutoff(best / 2) && room.MayHold(lanes);
      shown += half ? 0 : 1;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(shown, compared / 2);
}

}  // namespace
}  // namespace meshwright::transformer
