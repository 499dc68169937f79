#ifndef MESHWRIGHT_PLAN_ANNOTATE_LOOP_CARRIES_H_
#define MESHWRIGHT_PLAN_ANNOTATE_LOOP_CARRIES_H_

#include <cstdint>
#include <map>
#include <utility>

#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/plan/annotate/leaf_finder.h"

namespace meshwright {

// What a program's text calls the results of its loops, and what the graph carries for them.
class LoopCarries {
 public:
  // `graph` must outlive the object.
  LoopCarries(const Graph& graph, const StablehloSource& source, const LeafFinder& finder);

  // What is carried for `result`, whose value is `leaf`; nullptr: it is no result of a loop. A
  // value that a loop hands on as it is, is its own result.
  const Carry* Find(const StablehloSource::Result& result, ValueId leaf) const;

 private:
  std::map<ValueId, const Carry*> by_exit_;
  std::map<std::pair<int32_t, ValueId>, const Carry*> by_init_;  // invariant ones, by loop
  std::map<int32_t, int32_t> loops_;                             // by operation
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_LOOP_CARRIES_H_
