#include "meshwright/solve/elimination_order.h"

#include <algorithm>
#include <iterator>
#include <queue>
#include <utility>

namespace meshwright::solve::MW_SOLVE_WIDTH {

EliminationOrder OrderByWeight(const Model& model, double max_table) {
  std::vector<std::vector<int32_t>> adjacent(model.size());  // sorted
  for (const ModelEdge& edge : model.edges) {
    adjacent[edge.a].push_back(edge.b);
    adjacent[edge.b].push_back(edge.a);
  }
  for (auto& list : adjacent) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  const auto weight = [&](int32_t v) {
    double w = model.strategies(v);
    for (int32_t u : adjacent[v]) w *= model.strategies(u);
    return w;
  };
  // Entries go stale when a neighbour is eliminated; the current weight is pushed then.
  std::priority_queue<std::pair<double, int32_t>, std::vector<std::pair<double, int32_t>>,
                      std::greater<>>
      queue;
  std::vector<double> current(model.size());
  for (int32_t v = 0; v < model.size(); ++v) queue.emplace(current[v] = weight(v), v);

  EliminationOrder order;
  std::vector<bool> done(model.size(), false);
  std::vector<int32_t> merged;
  while (!queue.empty()) {
    const auto [w, v] = queue.top();
    queue.pop();
    if (done[v] || w != current[v]) continue;
    if (w > max_table) {
      order.complete = false;
      break;
    }
    done[v] = true;
    order.total_entries += w;
    const std::vector<int32_t> clique = std::move(adjacent[v]);
    for (int32_t u : clique) {
      merged.clear();
      std::set_union(adjacent[u].begin(), adjacent[u].end(), clique.begin(), clique.end(),
                     std::back_inserter(merged));
      std::erase_if(merged, [u, v](int32_t x) { return x == u || x == v; });
      adjacent[u] = merged;
      queue.emplace(current[u] = weight(u), u);
    }
    order.steps.push_back({v, clique, w});
  }
  return order;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
