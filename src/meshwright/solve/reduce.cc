#include "meshwright/solve/reduce.h"

#include <optional>
#include <utility>

#include "meshwright/solve/core.h"
#include "meshwright/solve/reduce_components.h"
#include "meshwright/solve/reduce_dominated.h"
#include "meshwright/solve/reduce_follow.h"
#include "meshwright/solve/reduce_low_degree.h"
#include "meshwright/solve/reduce_rows.h"

// Reductions enable each other: a forbidden strategy makes an edge functional, a merge adds up
// parallel edges into a separable one, without it a node has degree two, its elimination makes a
// strategy dominated. A worklist of nodes whose surroundings changed runs them to a common fixed
// point; the memory side, which is one sweep over all rows, runs between fixed points. Every step
// removes a strategy, a node, an edge or a row, so this ends; it is ended early when a sweep over
// the rows of a large model leads to a handful of changes only, which can go on for hundreds of
// sweeps.
//
// Left out: dominance by mixtures of strategies, and domination between rows that are not
// neighbours in time.

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr int64_t kFewChanges = 8192;  // changes a sweep are few below nodes / this

void KeepAllowed(Core* core, const StrategyMask& allowed) {
  for (int32_t v = 0; v < core->size(); ++v) {
    std::vector<int32_t> kept, replacement(allowed[v].size(), -1);
    for (size_t s = 0; s < allowed[v].size(); ++s) {
      if (!allowed[v][s]) continue;
      replacement[s] = static_cast<int32_t>(kept.size());
      kept.push_back(static_cast<int32_t>(s));
    }
    if (kept.size() == allowed[v].size()) continue;
    if (kept.empty()) {
      core->SetInfeasible();
      return;
    }
    core->KeepStrategies(v, std::move(kept), std::move(replacement));
  }
}

}  // namespace

Reduced Reduce(Model model, const ReduceOptions& options, const StrategyMask* allowed,
               MatrixPool* pool) {
  Reduced result;
  result.original_size = model.size();
  std::optional<MatrixPool> own;
  Core core(std::move(model), pool != nullptr ? pool : &own.emplace());
  // Memory first: what it shows to be slack need not be merged along with nodes.
  if (allowed != nullptr) KeepAllowed(&core, *allowed);
  if (!core.infeasible()) ReduceRows(&core);
  bool worthwhile = true;
  do {
    const int64_t before = core.changes();
    for (int32_t v = core.TakeQueued(); v >= 0 && !core.infeasible(); v = core.TakeQueued()) {
      core.Tidy(v);
      if (core.infeasible()) break;
      if (EliminateLowDegree(&core, v, options.max_product_steps)) continue;
      if (MergeFollowers(&core, v)) continue;
      RemoveDominated(&core, v, options.max_dominance_steps);
    }
    if (!core.infeasible()) ReduceRows(&core);
    if (!core.infeasible() && !core.HasQueued()) {
      SolveComponents(&core, options.max_component_entries);
    }
    worthwhile = (core.changes() - before) * kFewChanges > result.original_size;
  } while (!core.infeasible() && core.HasQueued() && worthwhile);
  result.infeasible = core.infeasible();
  result.empty_node = core.empty_node();
  result.crowded_row = core.crowded_row();
  result.model = core.Extract(&result.node_of);
  result.row_now = core.row_now();
  result.log = core.TakeLog();
  return result;
}

Choice Reduced::Expand(const Choice& choice) const {
  Choice full(original_size, 0);
  for (size_t i = 0; i < node_of.size(); ++i) full[node_of[i]] = choice[i];
  log.Expand(&full);
  return full;
}

Choice Reduced::Project(Choice choice) const {
  log.Project(&choice);
  Choice reduced(node_of.size());
  for (size_t i = 0; i < node_of.size(); ++i) reduced[i] = choice[node_of[i]];
  return reduced;
}

std::vector<double> Reduced::ProjectMultipliers(const std::vector<double>& multipliers) const {
  std::vector<double> projected(model.rows(), 0.0);
  for (size_t r = 0; r < row_now.size(); ++r) {
    if (row_now[r] >= 0) projected[row_now[r]] += multipliers[r];
  }
  return projected;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
