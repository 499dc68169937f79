#ifndef MESHWRIGHT_SOLVE_FOREST_DESCENT_H_
#define MESHWRIGHT_SOLVE_FOREST_DESCENT_H_

#include <cstdint>
#include <random>
#include <vector>

#include "meshwright/solve/local_state.h"
#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Improves a choice at given row multipliers, capacities ignored, by changing many nodes at once: a
// random set of nodes whose induced graph is a forest is re-chosen *optimally* given the others, by
// dynamic programming along its trees. With some five edges a node such a set holds about half of
// all nodes, so a few moves reach a choice that no forest improves, far better than changing single
// nodes (block coordinate descent; Hamze and de Freitas 2004 sample by the same sets). A move costs
// O(nodes + entries of the forest's edges) and never makes the Lagrangian cost worse.
class ForestDescent {
 public:
  ForestDescent(const Model& model, const Neighbourhoods& near, uint64_t seed);

  // Multipliers by row, cost per unit of usage.
  void SetMultipliers(const std::vector<double>& multipliers);

  // One move. Returns elementary steps.
  int64_t Move(Choice* choice);

 private:
  int32_t Root(int32_t v);
  void GrowForest();

  const Model& model_;
  const Neighbourhoods& near_;
  std::mt19937_64 random_;
  std::vector<size_t> at_;      // of node in cost_ and weight_
  std::vector<Number> cost_;    // with multipliers
  std::vector<Number> weight_;  // by strategy, during a move
  std::vector<int32_t> order_;  // permuted anew for every move
  std::vector<int32_t> tree_;   // union-find over nodes in the forest
  std::vector<bool> in_forest_;
  std::vector<int32_t> sequence_;  // nodes of the forest, parents first
  std::vector<const Neighbourhoods::Link*>
      up_;  // link to the parent, null for roots and nodes outside
  std::vector<bool> reached_;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_FOREST_DESCENT_H_
