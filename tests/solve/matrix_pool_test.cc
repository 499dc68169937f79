#include "meshwright/solve/matrix_pool.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/solve/random_problem.h"

namespace meshwright::solve {
namespace {

Matrix Small(RandomSource* random) {
  Matrix m{2, 2, {}};
  for (int i = 0; i < 4; ++i) m.cost.push_back(random->Percent(20) ? kInf : random->Below(3));
  return m;
}

TEST(MatrixPoolTest, EqualMatricesAreOneObject) {
  MatrixPool pool;
  const MatrixRef a = pool.Intern(Matrix{1, 2, {3, 4}});
  EXPECT_EQ(pool.Intern(Matrix{1, 2, {3, 4}}), a);
  EXPECT_EQ(pool.InternVector({3, 4}), a);
  EXPECT_NE(pool.Intern(Matrix{2, 1, {3, 4}}), a);
  EXPECT_NE(pool.Intern(Matrix{1, 2, {3, 5}}), a);
  EXPECT_EQ(*a, (Matrix{1, 2, {3, 4}}));
}

TEST(MatrixPoolTest, OperationsAreDoneOnce) {
  MatrixPool pool;
  const MatrixRef a = pool.Intern(Matrix{2, 2, {0, 1, 2, 3}}),
                  b = pool.Intern(Matrix{2, 2, {5, 0, 0, 5}}), cost = pool.InternVector({0, 9});
  EXPECT_EQ(pool.Transposed(a), pool.Transposed(a));
  EXPECT_EQ(pool.Sum(a, b), pool.Sum(a, b));
  EXPECT_EQ(pool.MinPlusOf(a, cost, b), pool.MinPlusOf(a, cost, b));
  EXPECT_EQ(pool.DominanceOf(a), pool.DominanceOf(a));
  EXPECT_EQ(pool.SplitOf(a).row, pool.SplitOf(a).row);
  // Results are interned too: two transpositions are none.
  EXPECT_EQ(pool.Transposed(pool.Transposed(a)), a);
}

TEST(MatrixPoolTest, SelectsRowsInAnyOrder) {
  MatrixPool pool;
  const MatrixRef m = pool.Intern(Matrix{3, 2, {0, 1, 2, 3, 4, 5}});
  EXPECT_EQ(*pool.SelectRows(m, pool.InternVector({2, 0, 2})), (Matrix{3, 2, {4, 5, 0, 1, 4, 5}}));
}

TEST(MatrixPoolTest, SplitsSayWhetherAnythingCameOff) {
  MatrixPool pool;
  EXPECT_TRUE(pool.SplitOf(pool.Intern(Matrix{2, 2, {0, 1, 1, 0}})).unchanged);
  const MatrixPool::SplitRef sum = pool.SplitOf(pool.Intern(Matrix{2, 2, {1, 2, 4, 5}}));
  EXPECT_FALSE(sum.unchanged);
  EXPECT_EQ(sum.rest, nullptr);
  EXPECT_EQ(*sum.row, (Matrix{1, 2, {1, 4}}));
  EXPECT_EQ(*sum.col, (Matrix{1, 2, {0, 1}}));
}

// With so little slack that it forgets all the time, and with plenty: the same results as without
// it.
TEST(MatrixPoolTest, ResultsDoNotDependOnWhatItRemembers) {
  for (const int64_t max_bytes : {int64_t{0}, int64_t{1000}, int64_t{1} << 20}) {
    MatrixPool pool(max_bytes);
    RandomSource random(7);
    for (int round = 0; round < 2000; ++round) {
      SCOPED_TRACE(absl::StrCat(max_bytes, " bytes, round ", round));
      const Matrix x = Small(&random), y = Small(&random);
      const std::vector<int64_t> cost = {random.Below(4), random.Below(4)};
      const MatrixRef a = pool.Intern(x), b = pool.Intern(y), c = pool.InternVector(cost);
      EXPECT_EQ(*a, x);
      EXPECT_EQ(*pool.Transposed(a), Transpose(x));
      EXPECT_EQ(*pool.Sum(a, b), AddMatrices(x, y));
      EXPECT_EQ(*pool.MinPlusOf(a, c, b), MinPlus(x, cost, y));
      const Split split = SplitOffUnary(x);
      const MatrixPool::SplitRef split_ref = pool.SplitOf(a);
      EXPECT_EQ(split_ref.row->cost, split.row);
      EXPECT_EQ(split_ref.col->cost, split.col);
      if (split.rest_is_zero) {
        EXPECT_EQ(split_ref.rest, nullptr);
      } else {
        EXPECT_EQ(*split_ref.rest, split.rest);
      }
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace meshwright::solve
