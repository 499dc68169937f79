#ifndef MESHWRIGHT_COST_READERS_H_
#define MESHWRIGHT_COST_READERS_H_

#include <vector>

#include "meshwright/cost/fusion.h"
#include "meshwright/hlo/graph.h"

namespace meshwright {

// True if `op` runs by itself, at its own time: it is no fused operator and no view.
bool RunsByItself(const Graph& graph, const FusionInfo& fusion, OpId op);

// Per value: the operators that run by themselves and read it, directly or through fused operators
// and views, each once, ascending. Reads of loops (Carry::init, Carry::next) are not among them.
// Empty for free values.
std::vector<std::vector<OpId>> Readers(const Graph& graph, const FusionInfo& fusion);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_READERS_H_
