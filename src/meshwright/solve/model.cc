#include "meshwright/solve/model.h"

#include <algorithm>
#include <utility>

namespace meshwright::solve::MW_SOLVE_WIDTH {

Int128 ModelCost(const Model& model, const Choice& choice) {
  Int128 sum = model.constant;
  for (int32_t v = 0; v < model.size(); ++v) {
    const Number cost = model.nodes[v].cost[choice[v]];
    if (IsInf(cost)) return kInfCost;
    sum += cost;
  }
  for (const ModelEdge& edge : model.edges) {
    const Number cost = edge.matrix->at(choice[edge.a], choice[edge.b]);
    if (IsInf(cost)) return kInfCost;
    sum += cost;
  }
  return sum;
}

std::vector<Number> RowUsage(const Model& model, const Choice& choice) {
  std::vector<Number> usage(model.capacity.size() + 1, 0);
  for (int32_t v = 0; v < model.size(); ++v) {
    for (const Segment& segment : model.nodes[v].segments) {
      usage[segment.begin] += segment.amount[choice[v]];
      usage[segment.end] -= segment.amount[choice[v]];
    }
  }
  for (size_t r = 1; r < usage.size(); ++r) usage[r] += usage[r - 1];
  usage.pop_back();
  return usage;
}

Number MaxExcess(const Model& model, const Choice& choice) {
  const std::vector<Number> usage = RowUsage(model, choice);
  Number excess = -kInf;
  for (size_t r = 0; r < usage.size(); ++r) excess = std::max(excess, usage[r] - model.capacity[r]);
  return excess;
}

std::vector<Segment> DisjointSegments(std::vector<Segment> segments) {
  std::erase_if(segments, [](const Segment& s) {
    return s.begin >= s.end ||
           std::all_of(s.amount.begin(), s.amount.end(), [](Number a) { return a == 0; });
  });
  if (segments.empty()) return segments;
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  const size_t width = segments[0].amount.size();
  std::vector<int32_t> cuts;
  for (const Segment& s : segments) {
    cuts.push_back(s.begin);
    cuts.push_back(s.end);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Segment> result;
  std::vector<size_t> open;  // segments that hold the current cut
  size_t next = 0;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::erase_if(open, [&](size_t s) { return segments[s].end <= cuts[i]; });
    for (; next < segments.size() && segments[next].begin == cuts[i]; ++next) open.push_back(next);
    if (open.empty()) continue;
    std::vector<Number> amount(width, 0);
    for (size_t s : open) {
      for (size_t k = 0; k < width; ++k) amount[k] += segments[s].amount[k];
    }
    if (!result.empty() && result.back().end == cuts[i] && result.back().amount == amount) {
      result.back().end = cuts[i + 1];
    } else {
      result.push_back({cuts[i], cuts[i + 1], std::move(amount)});
    }
  }
  return result;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
