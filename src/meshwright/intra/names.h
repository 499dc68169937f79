#ifndef MESHWRIGHT_INTRA_NAMES_H_
#define MESHWRIGHT_INTRA_NAMES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "meshwright/hlo/graph.h"

// Names of a program's inputs and outputs as users know them are declared in planner.h
// (ParameterName, OutputName). Here: matching names, and which outputs are the next step's inputs.

namespace meshwright {

// `*` stands for any characters (also none), `?` for exactly one, and "{0..3,7}" for a whole number
// that is one of these ("{1..15..2}": every other one), as names are folded
// (plan/text/folded_names.h). Everything else, brackets and quotes included, is literal, and so is
// a whole pattern that equals the text. Linear in the product of the lengths.
bool GlobMatch(std::string_view pattern, std::string_view text);

// Per output: index into graph.parameters whose sharding it must have, or -1. Donated buffers are
// always tied. If the program donates nothing and `by_position` is set, so are the first outputs
// that are updates of the first parameters, in order and of equal types: a training step returns
// its new state first, computed elementwise from the old (w - rate * gradient), and feeds it back.
std::vector<int32_t> TiedParameters(const Graph& graph, bool by_position);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_NAMES_H_
