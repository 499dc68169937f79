#include "meshwright/plan/annotate/loop_carries.h"

#include <vector>

namespace meshwright {

LoopCarries::LoopCarries(const Graph& graph, const StablehloSource& source,
                         const LeafFinder& finder) {
  for (const Carry& carry : graph.carries) {
    by_exit_.emplace(carry.exit, &carry);
    if (carry.invariant) by_init_.emplace(std::pair(carry.loop, carry.init), &carry);
  }
  for (const StablehloSource::Result& result : source.results) {
    if (result.handed_on) continue;
    const std::vector<LeafFinder::Leaves>& leaves = finder.leaves(result.computation);
    if (leaves.empty()) continue;
    for (const ValueId leaf : leaves[result.instruction.index()]) {
      const auto carry = by_exit_.find(leaf);
      if (carry != by_exit_.end()) loops_[result.operation] = carry->second->loop;
    }
  }
}

const Carry* LoopCarries::Find(const StablehloSource::Result& result, ValueId leaf) const {
  if (result.handed_on) return nullptr;
  if (const auto carry = by_exit_.find(leaf); carry != by_exit_.end()) return carry->second;
  const auto loop = loops_.find(result.operation);
  if (loop == loops_.end()) return nullptr;
  const auto carry = by_init_.find(std::pair(loop->second, leaf));
  return carry == by_init_.end() ? nullptr : carry->second;
}

}  // namespace meshwright
