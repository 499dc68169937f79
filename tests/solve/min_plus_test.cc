// The matrix operations against their definitions, entry by entry.
#include "meshwright/solve/min_plus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/solve/random_problem.h"

namespace meshwright::solve {
namespace {

Matrix RandomMatrix(RandomSource* random, int32_t rows, int32_t cols, int64_t least = 0) {
  Matrix m{rows, cols, {}};
  for (int32_t i = 0; i < rows * cols; ++i) {
    m.cost.push_back(random->Percent(25) ? kInf : least + random->Below(9));
  }
  return m;
}

// Sizes around the width of vector registers, where remainders of loops begin.
constexpr int32_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17};
int32_t RandomSize(RandomSource* random) { return kSizes[random->Below(std::size(kSizes))]; }

TEST(MinPlusTest, TransposeSwapsIndices) {
  RandomSource random(1);
  const Matrix m = RandomMatrix(&random, 3, 5);
  const Matrix t = Transpose(m);
  ASSERT_EQ(t.rows, 5);
  ASSERT_EQ(t.cols, 3);
  for (int32_t i = 0; i < 3; ++i) {
    for (int32_t j = 0; j < 5; ++j) EXPECT_EQ(t.at(j, i), m.at(i, j));
  }
  EXPECT_EQ(Transpose(t), m);
}

TEST(MinPlusTest, SumsAbsorbInfinity) {
  const Matrix a{1, 4, {1, kInf, 3, kInf}}, b{1, 4, {5, -2, kInf, kInf}};
  EXPECT_EQ(AddMatrices(a, b), (Matrix{1, 4, {6, kInf, kInf, kInf}}));
}

TEST(MinPlusTest, ProductsAreMinimaOfSums) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomSource random(seed);
    const int32_t rows = RandomSize(&random), inner = RandomSize(&random),
                  cols = RandomSize(&random);
    const Matrix a = RandomMatrix(&random, rows, inner, -4), b = RandomMatrix(&random, inner, cols);
    const Matrix cost = RandomMatrix(&random, 1, inner);
    const Matrix product = MinPlus(a, cost.cost, b);
    ASSERT_EQ(product.rows, rows);
    ASSERT_EQ(product.cols, cols);
    for (int32_t i = 0; i < rows; ++i) {
      int64_t least = kInf;
      for (int32_t s = 0; s < inner; ++s)
        least = std::min(least, AddCost(a.at(i, s), cost.cost[s]));
      EXPECT_EQ(MinPlusVector(a, cost.cost)[i], least);
      for (int32_t j = 0; j < cols; ++j) {
        int64_t expected = kInf;
        for (int32_t s = 0; s < inner; ++s) {
          expected = std::min(expected, AddCost(AddCost(a.at(i, s), cost.cost[s]), b.at(s, j)));
        }
        EXPECT_EQ(product.at(i, j), expected);
      }
    }
    if (HasFailure()) return;
  }
}

TEST(MinPlusTest, SplitsAddUpAgain) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomSource random(seed);
    const Matrix m = RandomMatrix(&random, RandomSize(&random), RandomSize(&random), -3);
    const Split split = SplitOffUnary(m);
    bool zero = true;
    for (int32_t i = 0; i < m.rows; ++i) {
      int64_t least = kInf;
      for (int32_t j = 0; j < m.cols; ++j) {
        const int64_t rest = split.rest.at(i, j);
        EXPECT_GE(rest, 0);
        EXPECT_EQ(AddCost(AddCost(split.row[i], split.col[j]), rest), m.at(i, j));
        least = std::min(least, rest);
        zero &= rest == 0;
      }
      EXPECT_EQ(least, 0) << "row " << i;
    }
    for (int32_t j = 0; j < m.cols; ++j) {
      int64_t least = kInf;
      for (int32_t i = 0; i < m.rows; ++i) least = std::min(least, split.rest.at(i, j));
      EXPECT_EQ(least, 0) << "column " << j;
    }
    EXPECT_EQ(split.rest_is_zero, zero);
    if (HasFailure()) return;
  }
}

TEST(MinPlusTest, SumsOfVectorsSplitCompletely) {
  const Split split = SplitOffUnary({2, 3, {5, 6, 9, 7, 8, 11}});
  EXPECT_TRUE(split.rest_is_zero);
  EXPECT_EQ(split.row, (std::vector<int64_t>{5, 7}));
  EXPECT_EQ(split.col, (std::vector<int64_t>{0, 1, 4}));
}

TEST(MinPlusTest, DominanceIsTheLargestLoss) {
  // Row 1 is at most 3 worse than row 0, which is at most 2 worse than row 1; row 2 is forbidden
  // where the others are not, and they are where it is not.
  const Matrix m{3, 3, {0, 2, kInf, 3, 0, kInf, kInf, kInf, 0}};
  EXPECT_EQ(Dominance(m), (std::vector<int64_t>{0, 3, kInf,  //
                                                2, 0, kInf,  //
                                                kInf, kInf, 0}));
  // Where a is forbidden it does not matter what b costs.
  EXPECT_EQ(Dominance({2, 2, {0, kInf, 0, 7}})[1], 0);
}

}  // namespace
}  // namespace meshwright::solve
