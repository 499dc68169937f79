#ifndef MESHWRIGHT_TESTS_HETERO_SAMPLES_H_
#define MESHWRIGHT_TESTS_HETERO_SAMPLES_H_

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/families.h"
#include "tests/degrees/space_samples.h"

// Small problems over groups of nodes.

namespace meshwright::transformer::hetero {

// Up to `nodes` nodes of up to three types, up to `layers` layers, some of them with experts, some
// with too little memory.
inline Problem RandomProblem(std::mt19937_64& random, int64_t nodes, int64_t layers) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  const auto between = [&](double low, double high) {
    return low + (high - low) * std::uniform_real_distribution<double>()(random);
  };
  Problem problem;
  const int64_t heads = 4 << below(2), count = 1 + below(layers);
  problem.model = below(3) == 0 && count > 1 ? MixedModel(heads, heads, count, 4)
                                             : DenseModel(heads, heads, count);
  problem.model.hidden = 256 << below(4);
  problem.model.embedding.dim = problem.model.hidden;
  problem.model.embedding.vocabulary = problem.model.head.outputs = 256 << below(5);
  problem.model.head.tied = below(2) == 0;
  for (Layer& layer : problem.model.stacks[0].kinds) {
    if (layer.mlp.has_value()) layer.mlp->ffn = 512 << below(4);
  }
  problem.workload = {.sequence = 128 << below(3), .global_batch = 1 << below(5)};
  const char* const devices[] = {"v100", "a100-40g", "h100-sxm", "a10g"};
  const bool adding = heads > 4;  // switches
  const int64_t first = below(4), groups = 1 + below(3);
  int64_t left = std::max(nodes, groups);
  for (int64_t i = 0; i < groups; ++i) {
    NodeGroup& group = problem.cluster.groups.emplace_back();
    Cluster& cluster = group.cluster;
    cluster.device = *FindDevice(devices[(first + i) % 4]);
    group.name = cluster.name = absl::StrCat("group", i);
    cluster.nodes = 1 + below(left - (groups - 1 - i));
    left -= cluster.nodes;
    cluster.devices_per_node = 1 << below(3);
    cluster.intra_node = {"inside", between(1e10, 2e11), between(0, 1e-5), 1, adding};
    cluster.inter_node = {"outside", between(1e9, 2e10), between(0, 5e-5), 1, adding};
    group.on_demand_price = between(0.5, 5);
    group.spot_nodes = below(cluster.nodes + 1);
    group.spot_price = *group.on_demand_price * between(0.3, 1);
    // Near what is needed: of some problems everything fits, of some nothing.
    problem.budget_bytes.push_back(
        below(2) == 0 ? std::optional<int64_t>()
                      : std::optional<int64_t>(static_cast<int64_t>(between(2e9, 2.6e9))));
  }
  problem.cluster.links.assign(groups, std::vector<Link>(groups));
  for (int64_t i = 0; i < groups; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      Link link = {"between", between(5e8, 2e10), between(0, 1e-4), 1};
      if (i == j) link = problem.cluster.groups[i].cluster.inter_node;
      problem.cluster.links[i][j] = problem.cluster.links[j][i] = link;
    }
  }
  return problem;
}

// Every family there is, by going through all choices of degrees of all groups: none, any, or any
// two. Plans that do not use a stage class that a family has are another family's too.
inline std::vector<Family> AllFamilies(const Problem& problem, const FamilySpace& space) {
  std::vector<Family> families;
  const size_t count = problem.cluster.groups.size();
  for (const int64_t together : space.Together()) {
    std::vector<std::vector<std::vector<StageDegrees>>> options(count);
    for (size_t group = 0; group < count; ++group) {
      const std::vector<StageDegrees> all = space.Options(group, together);
      options[group].emplace_back();
      for (const StageDegrees& degrees : all) options[group].push_back({degrees});
      for (size_t a = 0; a < all.size(); ++a) {
        for (size_t b = a + 1; b < all.size(); ++b) options[group].push_back({all[a], all[b]});
      }
    }
    std::vector<size_t> chosen(count);
    while (true) {
      Family family;
      for (size_t group = 0; group < count; ++group) {
        for (const StageDegrees& degrees : options[group][chosen[group]]) {
          family.degrees.push_back(degrees);
          family.groups.push_back(static_cast<int32_t>(group));
        }
      }
      for (const FamilySpace::Choice& choice : space.Choices()) {
        family.zero = choice.zero;
        family.recompute = choice.recompute;
        if (!family.degrees.empty()) families.push_back(family);
      }
      size_t group = 0;
      while (group < count && ++chosen[group] == options[group].size()) chosen[group++] = 0;
      if (group == count) break;
    }
  }
  return families;
}

// Whether groups have the nodes for so many stages on each stage class.
inline bool HaveNodes(const Costs& costs, const std::vector<int64_t>& stages) {
  std::vector<int64_t> nodes(costs.groups());
  for (size_t stage_class = 0; stage_class < costs.stage_classes(); ++stage_class) {
    if (stages[stage_class] > costs.slots(stage_class)) return false;
    nodes[costs.Group(stage_class)] += costs.Nodes(stage_class, stages[stage_class]);
  }
  for (size_t group = 0; group < costs.groups(); ++group) {
    if (nodes[group] > costs.GroupNodes(group)) return false;
  }
  return true;
}

// All ways to put stages of `costs`' stage classes one behind the other and to deal layers out to
// them; the first and the last may have none. `visit` gets those that fit.
template <typename Visit>
void ForEachPlan(const Costs& costs, std::vector<Stage>& reversed, std::vector<int64_t>& used,
                 int64_t layers, const Visit& visit) {
  const bool last = reversed.empty();
  const int64_t in_flight =
      std::min(costs.micro_batches(), static_cast<int64_t>(reversed.size()) + 1);
  const auto put = [&](size_t stage_class, int64_t n, bool first, const auto& then) {
    const StageContent content = {layers - n, n, first, last};
    if (costs.CellAt(stage_class, content).most_in_flight < in_flight) return;
    reversed.push_back({static_cast<int32_t>(stage_class), static_cast<int32_t>(n)});
    then();
    reversed.pop_back();
  };
  for (size_t stage_class = 0; stage_class < costs.stage_classes(); ++stage_class) {
    ++used[stage_class];
    if (HaveNodes(costs, used)) {
      put(stage_class, layers, /*first=*/true,
          [&] { visit(std::vector<Stage>(reversed.rbegin(), reversed.rend())); });
      for (int64_t n = last ? 0 : 1; n <= layers; ++n) {
        put(stage_class, n, /*first=*/false,
            [&] { ForEachPlan(costs, reversed, used, layers - n, visit); });
      }
    }
    --used[stage_class];
  }
}

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_TESTS_HETERO_SAMPLES_H_
