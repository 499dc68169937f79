#include "meshwright/solve/min_plus.h"

#include <algorithm>
#include <utility>

#include "meshwright/solve/simd.h"

namespace meshwright::solve {
namespace {

// out[j] = min(out[j], row[j] + add)
MW_SIMD void MinAddRow(int64_t* __restrict out, const int64_t* __restrict row, int64_t add,
                       int32_t n) {
  for (int32_t j = 0; j < n; ++j) {
    const int64_t sum = row[j] + add;
    out[j] = sum < out[j] ? sum : out[j];
  }
}

MW_SIMD void ClampRow(int64_t* out, int32_t n) {
  for (int32_t j = 0; j < n; ++j) out[j] = out[j] >= kInf / 2 ? kInf : out[j];
}

}  // namespace

Matrix Transpose(const Matrix& m) {
  Matrix t{m.cols, m.rows, std::vector<int64_t>(m.cost.size())};
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

Matrix MinPlus(const Matrix& a, std::span<const int64_t> cost, const Matrix& b) {
  Matrix result{a.rows, b.cols, std::vector<int64_t>(static_cast<size_t>(a.rows) * b.cols, kInf)};
  for (int32_t i = 0; i < a.rows; ++i) {
    int64_t* out = result.cost.data() + static_cast<size_t>(i) * b.cols;
    for (int32_t s = 0; s < a.cols; ++s) {
      const int64_t add = AddCost(a.at(i, s), cost[s]);
      if (!IsInf(add)) MinAddRow(out, b.cost.data() + static_cast<size_t>(s) * b.cols, add, b.cols);
    }
    ClampRow(out, b.cols);
  }
  return result;
}

std::vector<int64_t> MinPlusVector(const Matrix& m, std::span<const int64_t> cost) {
  std::vector<int64_t> result(m.rows, kInf);
  for (int32_t i = 0; i < m.rows; ++i) {
    for (int32_t s = 0; s < m.cols; ++s)
      result[i] = std::min(result[i], AddCost(m.at(i, s), cost[s]));
  }
  return result;
}

Split SplitOffUnary(const Matrix& m) {
  Split split{m, std::vector<int64_t>(m.rows), std::vector<int64_t>(m.cols, kInf), true};
  std::vector<int64_t>& rest = split.rest.cost;
  for (int32_t i = 0; i < m.rows; ++i) {
    int64_t* row = rest.data() + static_cast<size_t>(i) * m.cols;
    const int64_t least = split.row[i] = *std::min_element(row, row + m.cols);
    if (IsInf(least)) continue;  // the row will go; it must not hold a column back
    for (int32_t j = 0; j < m.cols; ++j) {
      if (!IsInf(row[j])) row[j] -= least;
      split.col[j] = std::min(split.col[j], row[j]);
    }
  }
  for (int32_t i = 0; i < m.rows; ++i) {
    int64_t* row = rest.data() + static_cast<size_t>(i) * m.cols;
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

std::vector<int64_t> WorseBy(const Matrix& m) {
  const size_t k = m.rows;
  std::vector<int64_t> table(k * k, 0);
  for (size_t a = 0; a < k; ++a) {
    const int64_t* row_a = m.cost.data() + a * m.cols;
    for (size_t b = 0; b < k; ++b) {
      const int64_t* row_b = m.cost.data() + b * m.cols;
      int64_t worst = 0;
      for (int32_t j = 0; j < m.cols; ++j) {
        if (!IsInf(row_a[j])) worst = std::max(worst, row_b[j] - row_a[j]);
      }
      table[a * k + b] = IsInf(worst) ? kInf : worst;
    }
  }
  return table;
}

}  // namespace meshwright::solve
