#include "meshwright/solve/min_plus.h"

#include <algorithm>
#include <utility>

#include "meshwright/solve/simd.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

// out[j] = min(out[j], row[j] + add)
MW_SIMD void MinAddRow(Number* __restrict out, const Number* __restrict row, Number add,
                       int32_t n) {
  for (int32_t j = 0; j < n; ++j) {
    const Number sum = row[j] + add;
    out[j] = sum < out[j] ? sum : out[j];
  }
}

MW_SIMD void ClampRow(Number* out, int32_t n) {
  for (int32_t j = 0; j < n; ++j) out[j] = out[j] >= kInf / 2 ? kInf : out[j];
}

}  // namespace

Matrix Transpose(const Matrix& m) {
  Matrix t{m.cols, m.rows, std::vector<Number>(m.cost.size())};
  for (int32_t i = 0; i < m.rows; ++i) {
    for (int32_t j = 0; j < m.cols; ++j) t.cost[static_cast<size_t>(j) * m.rows + i] = m.at(i, j);
  }
  return t;
}

Matrix AddMatrices(const Matrix& a, const Matrix& b) {
  Matrix sum = a;
  for (size_t i = 0; i < sum.cost.size(); ++i) sum.cost[i] = AddCost(sum.cost[i], b.cost[i]);
  return sum;
}

Matrix MinPlus(const Matrix& a, std::span<const Number> cost, const Matrix& b) {
  Matrix result{a.rows, b.cols, std::vector<Number>(static_cast<size_t>(a.rows) * b.cols, kInf)};
  for (int32_t i = 0; i < a.rows; ++i) {
    Number* out = result.cost.data() + static_cast<size_t>(i) * b.cols;
    for (int32_t s = 0; s < a.cols; ++s) {
      const Number add = AddCost(a.at(i, s), cost[s]);
      if (!IsInf(add)) MinAddRow(out, b.cost.data() + static_cast<size_t>(s) * b.cols, add, b.cols);
    }
    ClampRow(out, b.cols);
  }
  return result;
}

std::vector<Number> MinPlusVector(const Matrix& m, std::span<const Number> cost) {
  std::vector<Number> result(m.rows, kInf);
  for (int32_t i = 0; i < m.rows; ++i) {
    for (int32_t s = 0; s < m.cols; ++s)
      result[i] = std::min(result[i], AddCost(m.at(i, s), cost[s]));
  }
  return result;
}

Split SplitOffUnary(const Matrix& m) {
  Split split{m, std::vector<Number>(m.rows), std::vector<Number>(m.cols, kInf), true};
  std::vector<Number>& rest = split.rest.cost;
  for (int32_t i = 0; i < m.rows; ++i) {
    Number* row = rest.data() + static_cast<size_t>(i) * m.cols;
    const Number least = split.row[i] = *std::min_element(row, row + m.cols);
    if (IsInf(least)) continue;  // the row will go; it must not hold a column back
    for (int32_t j = 0; j < m.cols; ++j) {
      if (!IsInf(row[j])) row[j] -= least;
      split.col[j] = std::min(split.col[j], row[j]);
    }
  }
  for (int32_t i = 0; i < m.rows; ++i) {
    Number* row = rest.data() + static_cast<size_t>(i) * m.cols;
    for (int32_t j = 0; j < m.cols; ++j) {
      if (IsInf(split.row[i]) || IsInf(split.col[j])) {
        row[j] = 0;
      } else if (!IsInf(row[j])) {
        row[j] -= split.col[j];
      }
      split.rest_is_zero &= row[j] == 0;
    }
  }
  return split;
}

std::vector<Number> Dominance(const Matrix& m) {
  const size_t k = m.rows;
  std::vector<Number> table(k * k, 0);
  for (size_t a = 0; a < k; ++a) {
    const Number* row_a = m.cost.data() + a * m.cols;
    for (size_t b = 0; b < k; ++b) {
      const Number* row_b = m.cost.data() + b * m.cols;
      Number worst = 0;
      for (int32_t j = 0; j < m.cols; ++j) {
        if (!IsInf(row_a[j])) worst = std::max(worst, row_b[j] - row_a[j]);
      }
      table[a * k + b] = IsInf(worst) ? kInf : worst;
    }
  }
  return table;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
