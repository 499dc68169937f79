#include "meshwright/solve/reduce_components.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/eliminate.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

// Alive nodes by component, ascending within one.
std::vector<std::vector<int32_t>> ComponentsOf(const Core& core) {
  std::vector<bool> seen(core.size(), false);
  std::vector<std::vector<int32_t>> components;
  for (int32_t start = 0; start < core.size(); ++start) {
    if (seen[start] || !core.node(start).alive) continue;
    seen[start] = true;
    std::vector<int32_t> component{start};
    for (size_t next = 0; next < component.size(); ++next) {
      for (int32_t e : core.node(component[next]).edges) {
        const int32_t other = core.Other(e, component[next]);
        if (seen[other]) continue;
        seen[other] = true;
        component.push_back(other);
      }
    }
    std::sort(component.begin(), component.end());
    components.push_back(std::move(component));
  }
  return components;
}

Model ModelOf(const Core& core, const std::vector<int32_t>& component) {
  Model model;
  const auto index = [&component](int32_t v) {
    return static_cast<int32_t>(std::lower_bound(component.begin(), component.end(), v) -
                                component.begin());
  };
  for (int32_t v : component) {
    model.nodes.push_back({core.node(v).cost, {}});
    for (int32_t e : core.node(v).edges) {
      const Core::Edge& edge = core.edge(e);
      if (edge.a == v) model.edges.push_back({index(v), index(edge.b), edge.matrix});
    }
  }
  return model;
}

// Equal for equal components. Matrices are interned, so their addresses tell them apart.
std::vector<int64_t> Fingerprint(const Model& model) {
  std::vector<int64_t> print;
  for (const ModelNode& node : model.nodes) {
    print.push_back(static_cast<int64_t>(node.cost.size()));
    for (Number c : node.cost) {
      print.push_back(static_cast<int64_t>(c));
      if (kWide) print.push_back(static_cast<int64_t>(c >> (kWide ? 64 : 0)));
    }
  }
  for (const ModelEdge& edge : model.edges) {
    print.push_back(edge.a);
    print.push_back(edge.b);
    print.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(edge.matrix.get())));
  }
  return print;
}

}  // namespace

int64_t SolveComponents(Core* core, int64_t max_entries) {
  const std::vector<std::vector<int32_t>> components = ComponentsOf(*core);
  if (components.size() < 2) return 0;
  absl::flat_hash_map<std::vector<int64_t>, std::optional<Choice>> solved;
  int64_t count = 0;
  for (const std::vector<int32_t>& component : components) {
    if (std::any_of(component.begin(), component.end(),
                    [&](int32_t v) { return !core->node(v).segments.empty(); })) {
      continue;
    }
    const Model model = ModelOf(*core, component);
    const auto [it, fresh] = solved.try_emplace(Fingerprint(model));
    if (fresh) it->second = EliminateExactly(model, max_entries);
    const std::optional<Choice>& choice = it->second;
    if (!choice.has_value()) continue;
    ++count;
    if (choice->empty()) {
      core->SetInfeasible();
      return count;
    }
    for (size_t i = 0; i < component.size(); ++i) {
      const int32_t v = component[i];
      core->KeepStrategies(v, {(*choice)[i]}, std::vector<int32_t>(core->strategies(v), 0));
    }
  }
  return count;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
