#include "meshwright/cost/layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cost/graphs.h"

namespace meshwright {
namespace {

using Copied = std::vector<bool>;

Copied CopiesOf(const std::string& entry, const char* op) {
  const Program program = ParseProgram(ModuleText(entry));
  const std::vector<bool> free(program.graph.values.size(), false);
  return FindLayoutCopies(program.graph, free)[program.Op(op).index()];
}

TEST(FindLayoutCopies, ProductsReadMatricesEitherWay) {
  EXPECT_EQ(CopiesOf(R"(
    a = f32[8,16] parameter(0)
    b = f32[32,16] parameter(1)
    t = f32[16,8] transpose(a), dimensions={1,0}
    ROOT d = f32[8,32] dot(t, b), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  )",
                     "d"),
            (Copied{false, false}));
}

TEST(FindLayoutCopies, BatchDimensionsMustLead) {
  // Attention: heads lie inside the sequence until somebody moves them.
  EXPECT_EQ(CopiesOf(R"(
    q = bf16[2,64,8,16] parameter(0)
    k = bf16[2,8,64,16] parameter(1)
    ROOT d = bf16[2,8,64,64] dot(q, k), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={3}
  )",
                     "d"),
            (Copied{true, false}));
}

TEST(FindLayoutCopies, DimensionsOfSizeOneLieAnywhere) {
  EXPECT_EQ(CopiesOf(R"(
    q = bf16[1,64,1,16] parameter(0)
    k = bf16[1,1,64,16] parameter(1)
    ROOT d = bf16[1,1,64,64] dot(q, k), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={3}
  )",
                     "d"),
            (Copied{false, false}));
}

TEST(FindLayoutCopies, ReshapesMergeWhatLiesTogether) {
  const std::string program = R"(
    a = f32[4,8,16] parameter(0)
    together = f32[4,128] reshape(a)
    t = f32[4,16,8] transpose(a), dimensions={0,2,1}
    apart = f32[4,128] reshape(t)
    ROOT both = f32[4,128] add(together, apart)
  )";
  EXPECT_EQ(CopiesOf(program, "together"), Copied{false});
  EXPECT_EQ(CopiesOf(program, "apart"), Copied{true});
}

TEST(FindLayoutCopies, EachCopyOnce) {
  const std::string program = R"(
    q = bf16[2,64,8,16] parameter(0)
    k = bf16[2,8,64,16] parameter(1)
    one = bf16[2,8,64,64] dot(q, k), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={3}
    two = bf16[2,8,64,64] dot(q, k), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={3}
    ROOT sum = bf16[2,8,64,64] add(one, two)
  )";
  EXPECT_EQ(CopiesOf(program, "one"), (Copied{true, false}));
  EXPECT_EQ(CopiesOf(program, "two"), (Copied{false, false}));
}

}  // namespace
}  // namespace meshwright
