#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "meshwright/plan/cost_model_table.h"
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
  ASSERT_EQ(kProfileFormat, 3);
  const TestProgram program = ProgramFromData("tiny_gpt.train.hlo.txt.gz");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const auto model = FindCostModel("calibrated")->make(mesh);
  for (int again = 0; again < 2; ++again) {
    const auto space = SegmentSpace::Make(program.graph, mesh, *model);
    ASSERT_TRUE(space.ok()) << space.status();
    std::vector<std::string> fingerprints;
    for (const Segment& segment : (*space)->segments()) fingerprints.push_back(segment.fingerprint);
    EXPECT_EQ(fingerprints, (std::vector<std::string>{
                                "e6b9e93f2e2ee3fde250b7d7d3e1a06df0f25087d6bcf71775d7cd456af258b2",
                                "9acc7478fb18d587b857fde6d7151671bb1119d06e50c878892a6e49d8d8b7bc",
                                "fcf7865f8dc2261adf5b6c8ce3e188cbf685238f30e88ef180638d07f6263d07",
                            }));
  }
}

}  // namespace
}  // namespace meshwright
