#include "meshwright/solve/compile.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"

// Usage over time only grows where an interval begins, so it peaks just after a beginning that is
// followed by an end. Those time points become rows; all others are dominated by the next row.
//
// Sums in the solver are 64-bit. Problems whose sums might not fit are scaled down by a power of
// two here, once, instead of paying for 128 bits in every inner loop; real ones never are (it takes
// 12 days in picoseconds, or four exabytes).

namespace meshwright::solve {
namespace {

constexpr Int128 kMaxCostSum = kInf / 8;
constexpr Int128 kMaxUsageSum = Int128{1} << 61;

int ShiftToFit(Int128 sum, Int128 limit) {
  int shift = 0;
  while ((sum >> shift) > limit) ++shift;
  return shift;
}

int64_t ScaleCost(int64_t cost, int shift) { return cost >= kForbidden ? kInf : cost >> shift; }

int64_t MaxFinite(const std::vector<int64_t>& cost) {
  int64_t largest = 0;
  for (int64_t c : cost) {
    if (c < kForbidden) largest = std::max(largest, c);
  }
  return largest;
}

// Only matrices that change are copied: ones with a forbidden entry or when costs are scaled.
MatrixRef ScaleMatrix(const MatrixRef& matrix, int shift) {
  const auto& cost = matrix->cost;
  if (shift == 0 &&
      std::none_of(cost.begin(), cost.end(), [](int64_t c) { return c >= kForbidden; })) {
    return matrix;
  }
  auto scaled = std::make_shared<Matrix>(*matrix);
  for (int64_t& c : scaled->cost) c = ScaleCost(c, shift);
  return scaled;
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
  const int shift = compiled->usage_shift =
      ShiftToFit(std::max<Int128>(sum, problem.usage_limit), kMaxUsageSum);
  const std::vector<int32_t>& times = compiled->row_time = PeakTimes(problem);
  Model& model = compiled->model;
  model.capacity.assign(times.size(), problem.usage_limit >> shift);
  const auto row = [&times](int32_t time) {
    return static_cast<int32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  std::vector<Int128> least(times.size() + 1, 0);  // sums of smallest usages, unscaled
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    std::vector<Segment> segments;
    for (const Usage& usage : problem.nodes[v].usages) {
      Segment segment{row(usage.begin), row(usage.end), usage.amount};
      if (segment.begin >= segment.end) continue;
      for (int64_t& a : segment.amount) a = (a >> shift) + ((a & ((int64_t{1} << shift) - 1)) != 0);
      segments.push_back(std::move(segment));
    }
    model.nodes[v].segments = DisjointSegments(std::move(segments));
    const auto add_least = [&least](int32_t begin, int32_t end,
                                    const std::vector<int64_t>& amount) {
      const int64_t smallest = *std::min_element(amount.begin(), amount.end());
      least[begin] += smallest;
      least[end] -= smallest;
    };
    if (shift == 0) {
      for (const Segment& s : model.nodes[v].segments) add_least(s.begin, s.end, s.amount);
    } else {  // amounts were rounded up: look at the original ones, without the sums of overlapping
              // usages
      for (const Usage& u : problem.nodes[v].usages) {
        if (u.begin < u.end) add_least(row(u.begin), row(u.end), u.amount);
      }
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
  Int128 sum = 0;
  for (const Node& node : problem.nodes) sum += MaxFinite(node.cost);
  absl::flat_hash_map<const Matrix*, int64_t> largest;
  for (const Edge& edge : problem.edges) {
    auto [it, fresh] = largest.try_emplace(edge.matrix.get(), 0);
    if (fresh) it->second = MaxFinite(edge.matrix->cost);
    sum += it->second;
  }
  const int shift = compiled.cost_shift = ShiftToFit(sum, kMaxCostSum);
  Model& model = compiled.model;
  model.nodes.resize(problem.nodes.size());
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    model.nodes[v].cost = problem.nodes[v].cost;
    for (int64_t& c : model.nodes[v].cost) c = ScaleCost(c, shift);
  }
  absl::flat_hash_map<const Matrix*, MatrixRef> scaled;
  model.edges.reserve(problem.edges.size());
  for (const Edge& edge : problem.edges) {
    MatrixRef& matrix = scaled[edge.matrix.get()];
    if (matrix == nullptr) matrix = ScaleMatrix(edge.matrix, shift);
    model.edges.push_back({edge.a.value, edge.b.value, matrix});
  }
  CompileUsage(problem, &compiled);
  return compiled;
}

}  // namespace meshwright::solve
