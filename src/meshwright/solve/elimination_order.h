#ifndef MESHWRIGHT_SOLVE_ELIMINATION_ORDER_H_
#define MESHWRIGHT_SOLVE_ELIMINATION_ORDER_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// An order in which a model's nodes can be minimised out one after another. Removing a node joins
// its neighbours into a clique, and takes a table over node and neighbours.
struct EliminationOrder {
  struct Step {
    int32_t node;
    std::vector<int32_t> neighbours;  // at that time, ascending
    double table = 1;                 // entries: product of strategies of node and neighbours
  };
  std::vector<Step> steps;
  bool complete = true;      // false: every node left needs a table beyond the limit
  double total_entries = 0;  // of all tables
};

// Finding the order of least width (the treewidth) is NP-hard (Arnborg et al. 1987); this is
// greedy: the node with the smallest table next (min-weight; on ties least fill would be better,
// but weight decides what memory and time it takes). Stops at tables above `max_table` entries. O(n
// d^2 log n) for degrees d met.
EliminationOrder OrderByWeight(const Model& model, double max_table);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_ELIMINATION_ORDER_H_
