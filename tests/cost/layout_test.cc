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

// A program in which a sharding is asked for costs what the same one costs without.
TEST(FindLayoutCopies, RequestsForShardingsHandOnWhatTheyAreGiven) {
  // The mask is older than the scores, so they lie as it does.
  const std::string scores = R"(
    k = bf16[2,64,8,16] parameter(1)
    q = bf16[2,64,8,16] parameter(2)
    kq = bf16[2,8,64,64] dot(k, q), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, rhs_contracting_dims={3}
    scores = bf16[2,8,64,64] transpose(kq), dimensions={0,1,3,2}
  )";
  const std::string mask = "mask = bf16[2,8,64,64] parameter(0), sharding={devices=[1,2,1,1]<=[2]}";
  const std::string use = R"(
    sum = bf16[2,8,64,64] add(wanted, scores)
    ROOT flat = bf16[65536] reshape(sum)
  )";
  const Copied plain =
      CopiesOf(mask + scores + "wanted = bf16[2,8,64,64] copy(mask)" + use, "flat");
  EXPECT_EQ(plain, Copied{true});  // the copy is younger than the scores
  const std::string request =
      "wanted = bf16[2,8,64,64] custom-call(mask), custom_call_target=\"Sharding\", "
      "sharding={devices=[2,1,1,1]<=[2]}";
  EXPECT_EQ(CopiesOf(mask + scores + request + use, "flat"), Copied{false});
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
