#ifndef MESHWRIGHT_PLAN_ANNOTATE_LEAF_FINDER_H_
#define MESHWRIGHT_PLAN_ANNOTATE_LEAF_FINDER_H_

#include <cstddef>
#include <vector>

#include "meshwright/hlo/flatten.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/identity.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Finds which values of a graph the instructions of its module are. The graph has no tuples and no
// calls, the module has; each instruction has as many leaves as its shape.
class LeafFinder {
 public:
  // The graph's values that an instruction's leaves are; an invalid id where that is not known.
  using Leaves = std::vector<ValueId>;

  explicit LeafFinder(const Graph& graph);

  // By instruction, for computations that run in one place only; empty for the others.
  const std::vector<Leaves>& leaves(ComputationId c) const { return leaves_[c.index()]; }

 private:
  void FindSinglePlaces();
  // Walks one computation; returns the leaves of its root. `call`, `caller`: as in CallSite.
  Leaves Visit(ComputationId c, const std::vector<Leaves>& arguments,
               const Instruction* call = nullptr, const CallSite* caller = nullptr);
  Leaves Translate(const CallSite& site, const Instruction& instruction,
                   const std::vector<Leaves>& arguments, const std::vector<Leaves>& views);
  // The next op, if it stands for `instruction`; else nullptr.
  const Op* TakeOp(OpKind kind, const Instruction& instruction);
  // The results of the ops that stand for the leaves of `instruction`, one each.
  Leaves TakeLeaves(OpKind kind, const Instruction& instruction);

  const Graph& graph_;
  const Module& module_;
  std::vector<bool> single_;                 // by computation: it runs in one place only
  std::vector<std::vector<Leaves>> leaves_;  // by computation and instruction
  size_t next_op_ = 0;
  LeafOffsets offsets_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_LEAF_FINDER_H_
