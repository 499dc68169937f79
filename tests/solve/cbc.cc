#include "tests/solve/cbc.h"

#include <coin/CbcModel.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>
#include <set>
#include <utility>
#include <vector>

namespace meshwright::solve {

// The usual linearisation: a binary for each strategy, a continuous variable for each pair of an
// edge.
std::optional<double> SolveWithCbc(const Problem& problem) {
  std::vector<double> cost, upper;
  std::vector<std::vector<int>> node_variable;
  const auto variable = [&](int64_t c) {
    cost.push_back(c >= kForbidden ? 0.0 : static_cast<double>(c));
    upper.push_back(c >= kForbidden ? 0.0 : 1.0);
    return static_cast<int>(cost.size()) - 1;
  };
  for (const Node& node : problem.nodes) {
    node_variable.emplace_back();
    for (int64_t c : node.cost) node_variable.back().push_back(variable(c));
  }
  const int binaries = static_cast<int>(cost.size());
  struct Row {
    std::vector<std::pair<int, double>> terms;
    double lower, upper;
  };
  std::vector<Row> rows;
  for (const auto& variables : node_variable) {
    Row row{{}, 1, 1};
    for (int x : variables) row.terms.emplace_back(x, 1);
    rows.push_back(row);
  }
  for (const Edge& edge : problem.edges) {
    const auto& a = node_variable[edge.a.index()];
    const auto& b = node_variable[edge.b.index()];
    std::vector<Row> by_row, by_col;
    for (int x : a) by_row.push_back({{{x, -1}}, 0, 0});
    for (int x : b) by_col.push_back({{{x, -1}}, 0, 0});
    for (size_t i = 0; i < a.size(); ++i) {
      for (size_t j = 0; j < b.size(); ++j) {
        const int x = variable(edge.matrix->at(static_cast<int32_t>(i), static_cast<int32_t>(j)));
        by_row[i].terms.emplace_back(x, 1);
        by_col[j].terms.emplace_back(x, 1);
      }
    }
    rows.insert(rows.end(), by_row.begin(), by_row.end());
    rows.insert(rows.end(), by_col.begin(), by_col.end());
  }
  std::set<int32_t> times;
  for (const Node& node : problem.nodes) {
    for (const Usage& usage : node.usages) times.insert(usage.begin);
  }
  if (problem.usage_limit != kUnlimited) {
    for (int32_t t : times) {
      Row row{{}, -COIN_DBL_MAX, static_cast<double>(problem.usage_limit)};
      for (size_t v = 0; v < problem.nodes.size(); ++v) {
        for (size_t s = 0; s < node_variable[v].size(); ++s) {
          double sum = 0;
          for (const Usage& u : problem.nodes[v].usages) {
            if (u.begin <= t && t < u.end) sum += static_cast<double>(u.amount[s]);
          }
          if (sum > 0) row.terms.emplace_back(node_variable[v][s], sum);
        }
      }
      rows.push_back(row);
    }
  }
  CoinPackedMatrix matrix(false, 0, 0);
  matrix.setDimensions(0, static_cast<int>(cost.size()));
  std::vector<double> row_lower, row_upper;
  for (const Row& row : rows) {
    std::vector<int> index;
    std::vector<double> value;
    for (const auto& [x, a] : row.terms) {
      index.push_back(x);
      value.push_back(a);
    }
    matrix.appendRow(static_cast<int>(index.size()), index.data(), value.data());
    row_lower.push_back(row.lower);
    row_upper.push_back(row.upper);
  }
  OsiClpSolverInterface lp;
  lp.messageHandler()->setLogLevel(0);
  const std::vector<double> zero(cost.size(), 0.0);
  lp.loadProblem(matrix, zero.data(), upper.data(), cost.data(), row_lower.data(),
                 row_upper.data());
  for (int x = 0; x < binaries; ++x) lp.setInteger(x);
  CbcModel cbc(lp);
  cbc.setLogLevel(0);
  cbc.branchAndBound();
  if (cbc.isProvenInfeasible() || cbc.bestSolution() == nullptr) return std::nullopt;
  return cbc.getObjValue();
}

}  // namespace meshwright::solve
