#include "meshwright/solve/forest_descent.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace meshwright::solve::MW_SOLVE_WIDTH {

ForestDescent::ForestDescent(const Model& model, const Neighbourhoods& near, uint64_t seed)
    : model_(model),
      near_(near),
      random_(seed),
      order_(model.size()),
      tree_(model.size()),
      in_forest_(model.size()),
      up_(model.size()),
      reached_(model.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  for (const ModelNode& node : model.nodes) {
    at_.push_back(cost_.size());
    cost_.insert(cost_.end(), node.cost.begin(), node.cost.end());
  }
  weight_.resize(cost_.size());
}

void ForestDescent::SetMultipliers(const std::vector<double>& multipliers) {
  std::vector<double> before(multipliers.size() + 1, 0.0);
  for (size_t r = 0; r < multipliers.size(); ++r) before[r + 1] = before[r] + multipliers[r];
  for (int32_t v = 0; v < model_.size(); ++v) {
    const ModelNode& node = model_.nodes[v];
    for (size_t s = 0; s < node.cost.size(); ++s) {
      double usage_cost = 0;
      for (const Segment& g : node.segments) {
        usage_cost += (before[g.end] - before[g.begin]) * static_cast<double>(g.amount[s]);
      }
      const double most = static_cast<double>(kInf) / 64;
      cost_[at_[v] + s] =
          AddCost(node.cost[s], static_cast<Number>(std::round(std::min(usage_cost, most))));
    }
  }
}

int32_t ForestDescent::Root(int32_t v) {
  while (tree_[v] != v) v = tree_[v] = tree_[tree_[v]];
  return v;
}

// Greedy: in random order, every node that closes no circle.
void ForestDescent::GrowForest() {
  std::shuffle(order_.begin(), order_.end(), random_);
  std::fill(in_forest_.begin(), in_forest_.end(), false);
  std::vector<int32_t> roots;
  for (int32_t v : order_) {
    roots.clear();
    for (const Neighbourhoods::Link& link : near_.of(v)) {
      if (in_forest_[link.other]) roots.push_back(Root(link.other));
    }
    std::sort(roots.begin(), roots.end());
    if (std::adjacent_find(roots.begin(), roots.end()) != roots.end()) continue;
    in_forest_[v] = true;
    tree_[v] = v;
    for (int32_t root : roots) tree_[root] = v;
  }
  // Parents before children, by a walk from the first node met of every tree.
  sequence_.clear();
  std::fill(reached_.begin(), reached_.end(), false);
  for (int32_t start : order_) {
    if (!in_forest_[start] || reached_[start]) continue;
    reached_[start] = true;
    up_[start] = nullptr;
    sequence_.push_back(start);
    for (size_t next = sequence_.size() - 1; next < sequence_.size(); ++next) {
      const int32_t v = sequence_[next];
      for (const Neighbourhoods::Link& link : near_.of(v)) {
        if (!in_forest_[link.other] || reached_[link.other]) continue;
        reached_[link.other] = true;
        sequence_.push_back(link.other);
        for (const Neighbourhoods::Link& back : near_.of(link.other)) {
          if (back.other == v) up_[link.other] = &back;
        }
      }
    }
  }
}

int64_t ForestDescent::Move(Choice* choice) {
  GrowForest();
  int64_t steps = 4 * int64_t{model_.size()};
  for (int32_t v : sequence_) {
    const int32_t k = model_.strategies(v);
    Number* weight = weight_.data() + at_[v];
    std::copy_n(cost_.data() + at_[v], k, weight);
    for (const Neighbourhoods::Link& link : near_.of(v)) {
      if (in_forest_[link.other]) continue;
      const int32_t theirs = (*choice)[link.other];
      for (int32_t s = 0; s < k; ++s) weight[s] = AddCost(weight[s], link.at(s, theirs));
      steps += k;
    }
  }
  for (size_t i = sequence_.size(); i-- > 0;) {
    const int32_t v = sequence_[i];
    if (up_[v] == nullptr) continue;
    const Neighbourhoods::Link& link = *up_[v];
    const int32_t k = model_.strategies(v), parents = model_.strategies(link.other);
    const Number* weight = weight_.data() + at_[v];
    Number* parent = weight_.data() + at_[link.other];
    const Number* entry = link.matrix->cost.data();
    const int64_t mine = link.row ? link.matrix->cols : 1,
                  theirs = link.row ? 1 : link.matrix->cols;
    for (int32_t p = 0; p < parents; ++p) {
      Number least = kInf;
      for (int32_t s = 0; s < k; ++s)
        least = std::min(least, weight[s] + entry[s * mine + p * theirs]);
      parent[p] = AddCost(parent[p], std::min(least, kInf));
    }
    steps += int64_t{k} * parents;
  }
  for (int32_t v : sequence_) {
    const int32_t k = model_.strategies(v);
    const Number* weight = weight_.data() + at_[v];
    int32_t best = (*choice)[v];  // stays on ties
    const auto cost = [&](int32_t s) {
      return up_[v] == nullptr ? weight[s]
                               : AddCost(weight[s], up_[v]->at(s, (*choice)[up_[v]->other]));
    };
    Number least = cost(best);
    for (int32_t s = 0; s < k; ++s) {
      if (const Number c = cost(s); c < least) {
        least = c;
        best = s;
      }
    }
    (*choice)[v] = best;
  }
  return steps;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
