#ifndef MESHWRIGHT_INTRA_NAMES_H_
#define MESHWRIGHT_INTRA_NAMES_H_

#include <cstdint>
#include <vector>

#include "meshwright/base/glob.h"
#include "meshwright/hlo/graph.h"

// Names of a program's inputs and outputs as users know them are declared in planner.h
// (ParameterName, OutputName). Here: which outputs are the next step's inputs.

namespace meshwright {

// Per output: index into graph.parameters whose sharding it must have, or -1. Donated buffers are
// always tied. If the program donates nothing and `by_position` is set, so are the first outputs
// that are updates of the first parameters, in order and of equal types: a training step returns
// its new state first, computed elementwise from the old (w - rate * gradient), and feeds it back.
std::vector<int32_t> TiedParameters(const Graph& graph, bool by_position);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_NAMES_H_
