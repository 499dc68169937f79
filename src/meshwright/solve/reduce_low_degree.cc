#include "meshwright/solve/reduce_low_degree.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

bool EliminateLowDegree(Core* core, int32_t v, int64_t max_steps) {
  if (core->strategies(v) == 1) {
    core->Fix(v);
    return true;
  }
  const Core::Node& node = core->node(v);
  if (!node.segments.empty() || core->degree(v) > 2) return false;
  if (core->degree(v) == 2) {
    int64_t steps = core->strategies(v);
    for (int32_t e : node.edges) steps *= core->strategies(core->Other(e, v));
    if (steps > max_steps) return false;
  }
  core->Eliminate(v);
  return true;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
