#include "meshwright/blocks/parts_in_a_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/blocks/blocks.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Attention of 8 heads of 8 whose queries, keys and values one product makes; `apart` takes them
// from its result, y, as q, k and v.
std::vector<std::string> NotesOfAttention(const std::string& apart, const std::string& mesh) {
  const TestProgram program = ProgramFromText(StrCat(R"(HloModule t
ENTRY main {
  x = f32[32,16,64] parameter(0)
  w = f32[64,192] parameter(1)
  y = f32[32,16,192] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
)",
                                                     apart, R"(
  s = f32[32,8,16,16] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={3}
  p = f32[32,8,16,16] tanh(s)
  ROOT o = f32[32,8,16,8] dot(p, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={1}
})"));
  const Mesh devices = TestMesh(mesh, "2x8xh100-sxm");
  return BlockFinder(program.graph, devices).Find().notes;
}

// Three slices of `of`, of type `type`, as heads; `ranges`: behind the first two dimensions.
std::string Slices(const std::string& of, const std::vector<std::string>& ranges,
                   const std::string& type) {
  std::string text;
  for (size_t i = 0; i < 3; ++i) {
    const std::string name(1, "qkv"[i]);
    text += StrCat(name, "_part = ", type, " slice(", of, "), slice={[0:32],[0:16],", ranges[i],
                   "}\n", name, " = f32[32,16,8,8] reshape(", name, "_part)\n");
  }
  return text;
}

const std::string& InARow() {
  static const std::string text =
      StrCat("r = f32[32,16,3,8,8] reshape(y)\n",
             Slices("r", {"[0:1],[0:8],[0:8]", "[1:2],[0:8],[0:8]", "[2:3],[0:8],[0:8]"},
                    "f32[32,16,1,8,8]"));
  return text;
}

TEST(PartsInARow, AreNamedWithTheLayoutThatHelps) {
  EXPECT_THAT(NotesOfAttention(InARow(), "16x1"), IsEmpty());  // no cut of 8 heads
  EXPECT_THAT(
      NotesOfAttention(InARow(), "2x8"),
      ElementsAre("y makes 3 arrays one behind the other (r takes them as 3x8x8): no cut goes on "
                  "into all of them, and what they meet in is not in its block. Laid out as "
                  "(8x3x8) they can be cut together, in one block"));
}

TEST(PartsInARow, MayBeSlicesOfTheWhole) {
  const std::string thirds = Slices("y", {"[0:64]", "[64:128]", "[128:192]"}, "f32[32,16,64]");
  EXPECT_THAT(NotesOfAttention(thirds, "16x1"), IsEmpty());
  EXPECT_THAT(NotesOfAttention(thirds, "2x8"),
              ElementsAre(testing::HasSubstr("(q_part takes them as 3x64)")));
}

TEST(PartsInARow, AreNoneSideBySide) {
  const std::string beside =
      StrCat("r = f32[32,16,8,3,8] reshape(y)\n",
             Slices("r", {"[0:8],[0:1],[0:8]", "[0:8],[1:2],[0:8]", "[0:8],[2:3],[0:8]"},
                    "f32[32,16,8,1,8]"));
  EXPECT_THAT(NotesOfAttention(beside, "2x8"), IsEmpty());
  const std::string in_turn = Slices("y", {"[0:190:3]", "[1:191:3]", "[2:192:3]"}, "f32[32,16,64]");
  EXPECT_THAT(NotesOfAttention(in_turn, "2x8"), IsEmpty());
}

// Of several layers that are alike the first is named.
TEST(PartsInARow, OfProductsThatAreAlike) {
  std::string text = R"(HloModule t
ENTRY main {
  x0 = f32[32,64] parameter(0)
  w = f32[64,128] parameter(1)
)";
  for (int layer = 0; layer < 3; ++layer) {
    const std::string n = StrCat(layer);
    text += StrCat("y", n, " = f32[32,128] dot(x", n,
                   ", w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\ngate", n,
                   " = f32[32,64] slice(y", n, "), slice={[0:32],[0:64]}\nup", n,
                   " = f32[32,64] slice(y", n, "), slice={[0:32],[64:128]}\n",
                   layer == 2 ? "ROOT " : "", "x", layer + 1, " = f32[32,64] multiply(gate", n,
                   ", up", n, ")\n");
  }
  const TestProgram program = ProgramFromText(text + "}");
  const Mesh mesh = TestMesh("8", "8xh100-sxm");
  EXPECT_THAT(BlockFinder(program.graph, mesh).Find().notes,
              ElementsAre(testing::StartsWith("y0 and 2 matmuls like it make 2 arrays")));
}

}  // namespace
}  // namespace meshwright
