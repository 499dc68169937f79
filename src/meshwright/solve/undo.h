#ifndef MESHWRIGHT_SOLVE_UNDO_H_
#define MESHWRIGHT_SOLVE_UNDO_H_

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Some strategies of `node` were removed; strategy s now was kept[s] then. replacement[s] is where
// strategy s of then went: its index now, that of the strategy that dominates it, or -1 if it was
// impossible.
struct StrategiesRemoved {
  int32_t node = -1;
  std::vector<int32_t> kept, replacement;
};

// The strategy of `node` follows that of `into`: follow[s_into].
struct Merged {
  int32_t node = -1, into = -1;
  std::vector<int32_t> follow;
};

// `node` was minimised out: given its neighbours its best strategy is the cheapest.
struct Eliminated {
  struct Neighbour {
    int32_t node = -1;
    MatrixRef matrix;  // rows are the neighbour's strategies, columns `node`'s
  };
  int32_t node = -1;
  MatrixRef cost;  // 1 x k
  std::vector<Neighbour> neighbours;
};

// The log of what reductions did, in order, so that choices can be carried across in both
// directions. Indices of nodes are those of the model before all of them, for all of the steps.
class UndoLog {
 public:
  using Step = std::variant<StrategiesRemoved, Merged, Eliminated>;

  void Add(Step step) { steps_.push_back(std::move(step)); }
  int64_t size() const { return static_cast<int64_t>(steps_.size()); }

  // `choice` has an entry for every original node; those that remain are set, and this sets others.
  void Expand(Choice* choice) const;

  // The other way: turns an original choice into one of the nodes that remain (others keep stale
  // entries). A choice that was not optimal where the log knows better comes out different, and
  // never more expensive after Expand if it was feasible.
  void Project(Choice* choice) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_UNDO_H_
