#include "meshwright/solve/local_state.h"

#include <algorithm>
#include <utility>

namespace meshwright::solve::MW_SOLVE_WIDTH {

Neighbourhoods::Neighbourhoods(const Model& model)
    : first_(model.size() + 1, 0), first_user_(model.rows() + 1, 0) {
  for (const ModelEdge& edge : model.edges) {
    ++first_[edge.a + 1];
    ++first_[edge.b + 1];
  }
  for (size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
  links_.resize(first_.back());
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for (const ModelEdge& edge : model.edges) {
    links_[next[edge.a]++] = {edge.b, edge.matrix.get(), true};
    links_[next[edge.b]++] = {edge.a, edge.matrix.get(), false};
  }
  for (const bool fill : {false, true}) {
    std::vector<size_t> place(first_user_.begin(), first_user_.end() - 1);
    for (int32_t v = 0; v < model.size(); ++v) {
      for (const Segment& g : model.nodes[v].segments) {
        for (int32_t r = g.begin; r < g.end; ++r) {
          if (fill) {
            users_[place[r]++] = v;
          } else {
            ++first_user_[r + 1];
          }
        }
      }
    }
    if (fill) break;
    for (size_t r = 1; r < first_user_.size(); ++r) first_user_[r] += first_user_[r - 1];
    users_.resize(first_user_.back());
  }
}

LocalState::LocalState(const Model& model, const Neighbourhoods& near, Choice choice)
    : model_(model),
      near_(near),
      choice_(std::move(choice)),
      cost_(model.constant),
      slack_(model.capacity) {
  for (int32_t v = 0; v < model.size(); ++v) {
    cost_ += model.nodes[v].cost[choice_[v]];
    slack_.Take(model.nodes[v].segments, choice_[v]);
  }
  for (const ModelEdge& edge : model.edges)
    cost_ += edge.matrix->at(choice_[edge.a], choice_[edge.b]);
}

bool LocalState::Feasible() const {
  return cost_ < kInf / 2 &&
         std::all_of(slack().begin(), slack().end(), [](Number r) { return r >= 0; });
}

void LocalState::CostsOf(int32_t v, std::vector<Number>* costs) const {
  *costs = model_.nodes[v].cost;
  for (const Neighbourhoods::Link& link : near_.of(v)) {
    const int32_t theirs = choice_[link.other];
    for (size_t s = 0; s < costs->size(); ++s) {
      (*costs)[s] = AddCost((*costs)[s], link.at(static_cast<int32_t>(s), theirs));
    }
  }
}

void LocalState::Set(int32_t v, int32_t s) {
  const int32_t old = choice_[v];
  if (s == old) return;
  cost_ += Int128{model_.nodes[v].cost[s]} - model_.nodes[v].cost[old];
  for (const Neighbourhoods::Link& link : near_.of(v)) {
    const int32_t theirs = choice_[link.other];
    cost_ += Int128{link.at(s, theirs)} - link.at(old, theirs);
  }
  slack_.GiveBack(model_.nodes[v].segments, old);
  slack_.Take(model_.nodes[v].segments, s);
  choice_[v] = s;
}

bool LocalState::ImproveWith(std::span<const int32_t> nodes, std::span<const int32_t> strategies) {
  const Int128 before = cost_;
  std::vector<int32_t> old(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    old[i] = choice_[nodes[i]];
    Set(nodes[i], strategies[i]);
  }
  if (cost_ < before && Feasible()) return true;
  for (size_t i = 0; i < nodes.size(); ++i) Set(nodes[i], old[i]);
  return false;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
