#ifndef MESHWRIGHT_SOLVE_REDUCE_H_
#define MESHWRIGHT_SOLVE_REDUCE_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/matrix_pool.h"
#include "meshwright/solve/model.h"
#include "meshwright/solve/undo.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

struct ReduceOptions {
  int64_t max_product_steps = int64_t{1} << 24;      // of one degree-2 elimination
  int64_t max_dominance_steps = int64_t{1} << 22;    // of one node's dominance table
  int64_t max_component_entries = int64_t{1} << 20;  // of the tables of one component
};

// The rest of a model after all exact reductions, and the way back.
struct Reduced {
  bool infeasible = false;
  // The part that showed it, at most one of these and in terms of the original: a node of which no
  // strategy was left, or a row that what was left exceeded. -1: not that.
  int32_t empty_node = -1, crowded_row = -1;
  Model model;
  std::vector<int32_t> node_of;  // where node i of `model` was in the original
  std::vector<int32_t> row_now;  // by row of the original: the row that stands for it now, or -1
  int32_t original_size = 0;
  UndoLog log;

  // Choice of the original from one of `model`: as feasible, and of the same cost.
  Choice Expand(const Choice& choice) const;
  // Choice of `model` from one of the original, see UndoLog::Project.
  Choice Project(Choice choice) const;
  // Multipliers of the rows of `model` from those of the original: a row that is implied by another
  // leaves its multiplier to it.
  std::vector<double> ProjectMultipliers(const std::vector<double>& multipliers) const;
};

// Strategies s of v with (*allowed)[v][s] false are removed first, if `allowed` is given. Models
// that are much alike are reduced faster with one `pool` for all of them; the results are the same.
using StrategyMask = std::vector<std::vector<bool>>;
Reduced Reduce(Model model, const ReduceOptions& options = {},
               const StrategyMask* allowed = nullptr, MatrixPool* pool = nullptr);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_REDUCE_H_
