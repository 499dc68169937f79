#include "meshwright/hlo/dependency_order.h"

#include <utility>

namespace meshwright {

DependencyOrder OrderByDependency(const std::vector<std::vector<size_t>>& needs) {
  enum class State : char { kNew, kOpen, kDone };
  std::vector<State> state(needs.size(), State::kNew);
  DependencyOrder result;
  std::vector<std::pair<size_t, size_t>> path;  // (open node, how many of its needs are visited)
  for (size_t start = 0; start < needs.size(); ++start) {
    if (state[start] != State::kNew) continue;
    state[start] = State::kOpen;
    path.emplace_back(start, 0);
    while (!path.empty()) {
      auto& [node, visited] = path.back();
      if (visited == needs[node].size()) {
        state[node] = State::kDone;
        result.order.push_back(node);
        path.pop_back();
        continue;
      }
      const size_t next = needs[node][visited++];
      if (state[next] == State::kNew) {
        state[next] = State::kOpen;
        path.emplace_back(next, 0);
      } else if (state[next] == State::kOpen) {
        size_t first = path.size() - 1;
        while (path[first].first != next) --first;
        for (; first < path.size(); ++first) result.cycle.push_back(path[first].first);
        result.order.clear();
        return result;
      }
    }
  }
  return result;
}

}  // namespace meshwright
