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
  ASSERT_EQ(kProfileFormat, 1);
  const TestProgram program = ProgramFromData("tiny_gpt.train.hlo.txt.gz");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const auto model = FindCostModel("calibrated")->make(mesh);
  for (int again = 0; again < 2; ++again) {
    const auto space = SegmentSpace::Make(program.graph, mesh, *model);
    ASSERT_TRUE(space.ok()) << space.status();
    std::vector<std::string> fingerprints;
    for (const Segment& segment : (*space)->segments())
      fingerprints.push_back(segment.fingerprint);
    EXPECT_EQ(fingerprints, (std::vector<std::string>{
                                "cf418690df231c50fb500d3f334c3baee5b3e9d5df83f68571d47540617f918c",
                                "57d7751652b47aa501b74451b4e8e2a5ae6a8c5fdef517bb91e679d4cb0206c1",
                                "4e44aab698ff9c724be8aa74a04ea9156d535621bfcb0b854e50afc0cf2b7455",
                            }));
  }
}

}  // namespace
}  // namespace meshwright
