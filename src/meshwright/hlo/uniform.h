#ifndef MESHWRIGHT_HLO_UNIFORM_H_
#define MESHWRIGHT_HLO_UNIFORM_H_

#include "meshwright/hlo/graph.h"

namespace meshwright {

// Whether every element of an array constant is the same, bit for bit. False if it is not known.
bool IsUniform(const Instruction& constant);

// Whether every element is zero, as far as can be told through operators that only move elements.
bool IsZero(const Graph& graph, ValueId value);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_UNIFORM_H_
