#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "meshwright/intra/cost_model_table.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/segment_space.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

// Profile databases live longer than a build of this program, and go from machine to machine:
// fingerprints are part of their format. Whatever changes them, a new opcode in the middle of the
// list for one, must raise kProfileFormat; else measurements of one program could be taken for
// those of another.
TEST(Fingerprints, ArePartOfTheFormat) {
  ASSERT_EQ(kProfileFormat, 4);
  const TestProgram program = ProgramFromData("tiny_gpt.train.hlo.txt.gz");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const auto model = FindCostModel("calibrated")->make(mesh);
  for (int again = 0; again < 2; ++again) {
    const auto space = SegmentSpace::Make(program.graph, mesh, *model);
    ASSERT_TRUE(space.ok()) << space.status();
    std::vector<std::string> fingerprints;
    for (const Segment& segment : (*space)->segments()) fingerprints.push_back(segment.fingerprint);
    EXPECT_EQ(fingerprints, (std::vector<std::string>{
                                "7748ad36801938c6d738633ac0835461509704321eef82e4be88c44d5138d843",
                                "db7658c11e39acb81131097579ceea4755452a32a84826325eeb35d6e53974e8",
                                "bf59c608d5e3793b339fb30b2caee73a1c139f0b74d964b5d431abc5929043dd",
                            }));
  }
}

}  // namespace
}  // namespace meshwright
