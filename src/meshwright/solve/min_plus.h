#ifndef MESHWRIGHT_SOLVE_MIN_PLUS_H_
#define MESHWRIGHT_SOLVE_MIN_PLUS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "meshwright/solve/model.h"

// Matrix operations in the (min, +) algebra over 64-bit costs where kInf absorbs. These inner loops
// take most of the time of exact elimination, so they are plain loops over contiguous rows that the
// compiler vectorises.

namespace meshwright::solve::MW_SOLVE_WIDTH {

Matrix Transpose(const Matrix& m);

// result(i, j) = a(i, j) + b(i, j).
Matrix AddMatrices(const Matrix& a, const Matrix& b);

// result(i, j) = min over s of a(i, s) + cost[s] + b(s, j).
Matrix MinPlus(const Matrix& a, std::span<const Number> cost, const Matrix& b);

// result[i] = min over s of m(i, s) + cost[s].
std::vector<Number> MinPlusVector(const Matrix& m, std::span<const Number> cost);

// m split into row[i] + col[j] + rest(i, j), with rest >= 0 and a zero in every row and column of
// rest that has a finite entry. Rows and columns without one get kInf in row or col, and zeros in
// rest.
struct Split {
  Matrix rest;
  std::vector<Number> row, col;
  bool rest_is_zero = false;
};
Split SplitOffUnary(const Matrix& m);

// table[a * rows + b] = max over columns of m(b, col) - m(a, col): how much worse b can be than a
// whatever the other end does. Columns where a is forbidden do not count; kInf if b is forbidden
// where a is not. `m` must have a zero in every row, so no entry is negative.
std::vector<Number> Dominance(const Matrix& m);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_MIN_PLUS_H_
