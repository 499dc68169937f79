#include "meshwright/solve/compile.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_map.h"

// Usage over time only grows where an interval begins, so it peaks just after a beginning that is
// followed by an end. Those time points become rows; all others are dominated by the next row.

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

Number ModelCostOf(int64_t cost) { return cost >= kForbidden ? kInf : Number{cost}; }

template <typename ProblemMatrix>
MatrixRef ModelMatrix(const std::shared_ptr<const ProblemMatrix>& matrix) {
  const std::vector<int64_t>& cost = matrix->cost;
  if constexpr (std::is_same_v<ProblemMatrix, Matrix>) {  // copied only if an entry changes
    if (std::none_of(cost.begin(), cost.end(), [](int64_t c) { return c >= kForbidden; }))
      return matrix;
  }
  auto converted = std::make_shared<Matrix>(Matrix{matrix->rows, matrix->cols, {}});
  converted->cost.reserve(cost.size());
  for (int64_t c : cost) converted->cost.push_back(ModelCostOf(c));
  return converted;
}

// Time points just after which usage can peak, in order.
std::vector<int32_t> PeakTimes(const Problem& problem) {
  std::vector<std::pair<int32_t, bool>> events;  // time, is a beginning (ends sort first)
  for (const Node& node : problem.nodes) {
    for (const Usage& usage : node.usages) {
      if (usage.begin >= usage.end) continue;
      events.emplace_back(usage.begin, true);
      events.emplace_back(usage.end, false);
    }
  }
  std::sort(events.begin(), events.end());
  std::vector<int32_t> times;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].second && (i + 1 == events.size() || !events[i + 1].second))
      times.push_back(events[i].first);
  }
  return times;
}

void CompileUsage(const Problem& problem, Compiled* compiled) {
  Int128 sum = 0;
  for (const Node& node : problem.nodes) {
    for (const Usage& usage : node.usages) {
      if (usage.begin < usage.end)
        sum += *std::max_element(usage.amount.begin(), usage.amount.end());
    }
  }
  if (problem.usage_limit == kUnlimited || sum <= problem.usage_limit)
    return;  // memory never binds
  const std::vector<int32_t>& times = compiled->row_time = PeakTimes(problem);
  Model& model = compiled->model;
  model.capacity.assign(times.size(), problem.usage_limit);
  const auto row = [&times](int32_t time) {
    return static_cast<int32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  std::vector<Int128> least(times.size() + 1, 0);  // sums of smallest usages
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    std::vector<Segment> segments;
    for (const Usage& usage : problem.nodes[v].usages) {
      Segment segment{row(usage.begin), row(usage.end), {usage.amount.begin(), usage.amount.end()}};
      if (segment.begin < segment.end) segments.push_back(std::move(segment));
    }
    model.nodes[v].segments = DisjointSegments(std::move(segments));
    for (const Segment& segment : model.nodes[v].segments) {
      const Number smallest = *std::min_element(segment.amount.begin(), segment.amount.end());
      least[segment.begin] += smallest;
      least[segment.end] -= smallest;
    }
  }
  Int128 now = 0;
  for (size_t r = 0; r < times.size(); ++r) {
    now += least[r];
    if (now > problem.usage_limit && compiled->infeasible_time < 0)
      compiled->infeasible_time = times[r];
  }
}

}  // namespace

Compiled Compile(const Problem& problem) {
  Compiled compiled;
  Model& model = compiled.model;
  model.nodes.resize(problem.nodes.size());
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    for (int64_t c : problem.nodes[v].cost) model.nodes[v].cost.push_back(ModelCostOf(c));
  }
  absl::flat_hash_map<const solve::Matrix*, MatrixRef> converted;
  model.edges.reserve(problem.edges.size());
  for (const Edge& edge : problem.edges) {
    MatrixRef& matrix = converted[edge.matrix.get()];
    if (matrix == nullptr) matrix = ModelMatrix(edge.matrix);
    model.edges.push_back({edge.a.value, edge.b.value, matrix});
  }
  CompileUsage(problem, &compiled);
  return compiled;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
