#ifndef MESHWRIGHT_HLO_DEAD_CODE_H_
#define MESHWRIGHT_HLO_DEAD_CODE_H_

#include "meshwright/hlo/graph.h"

namespace meshwright {

// Whether an instruction has to run even if nobody reads its results: parameters, which are there
// anyway; what talks to the world outside (infeed, outfeed, send, receive and their ends, random
// numbers from a state that XLA keeps, custom calls that say so).
bool HasEffect(const Instruction& instruction);

// Removes from a graph everything on which neither an output nor an effect depends, as XLA's dead
// code elimination, tuple and loop simplifiers do: operators, leaves of loops and conditionals, and
// whole loops and conditionals. Entry parameters and outputs stay. What is left keeps its order and
// is numbered anew; Value::users and Value::carried are made afresh. Linear in the graph's size.
//
// A loop in which something is alive needs its condition, a conditional its predicate. A carry
// whose parameter or exit is read needs init and next, and lives as a whole.
void DropDeadCode(Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_DEAD_CODE_H_
