#include "meshwright/solve/reduce_dominated.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

bool UsesNoMore(const Core::Node& node, int32_t b, int32_t a) {
  return std::all_of(node.segments.begin(), node.segments.end(),
                     [=](const Segment& s) { return s.amount[b] <= s.amount[a]; });
}

}  // namespace

bool RemoveDominated(Core* core, int32_t v, int64_t max_steps) {
  const int32_t k = core->strategies(v);
  if (k <= 1) return false;
  const Core::Node& node = core->node(v);
  int64_t steps = 0;
  for (int32_t e : node.edges) steps += int64_t{k} * k * core->strategies(core->Other(e, v));
  if (steps > max_steps) return false;
  std::vector<MatrixRef> dominance;  // fetched when first needed
  std::vector<int32_t> by_cost(k);
  std::iota(by_cost.begin(), by_cost.end(), 0);
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [&](int32_t a, int32_t b) { return node.cost[a] < node.cost[b]; });
  // No term of the sum is negative in a tidy core, so b must be at least as cheap as a by itself.
  const auto dominates = [&](int32_t b, int32_t a) {
    if (!UsesNoMore(node, b, a)) return false;
    if (dominance.empty()) {
      for (int32_t e : node.edges)
        dominance.push_back(core->pool().DominanceOf(core->MatrixFrom(e, v)));
    }
    Number sum = node.cost[b] - node.cost[a];
    for (const MatrixRef& table : dominance) {
      sum = AddCost(sum, table->at(a, b));
      if (sum > 0) return false;
    }
    return sum <= 0;
  };
  // From the most expensive down, against those still there, so that of equal ones the last looked
  // at stays and no cycle of equals removes all. dominator[a] is who removed a.
  std::vector<int32_t> dominator(k, -1);
  bool removed = false;
  for (int32_t i = k - 1; i >= 0; --i) {
    const int32_t a = by_cost[i];
    for (int32_t j = 0; j < k; ++j) {
      const int32_t b = by_cost[j];
      if (node.cost[b] > node.cost[a]) break;
      if (b == a || dominator[b] >= 0 || !dominates(b, a)) continue;
      dominator[a] = b;
      removed = true;
      break;
    }
  }
  if (!removed) return false;
  std::vector<int32_t> kept, index(k, -1), replacement(k);
  for (int32_t s = 0; s < k; ++s) {
    if (dominator[s] >= 0) continue;
    index[s] = static_cast<int32_t>(kept.size());
    kept.push_back(s);
  }
  for (int32_t s = 0; s < k; ++s) {
    int32_t top = s;
    while (dominator[top] >= 0) top = dominator[top];
    replacement[s] = index[top];
  }
  core->KeepStrategies(v, std::move(kept), std::move(replacement));
  return true;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
