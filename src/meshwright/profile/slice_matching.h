#ifndef MESHWRIGHT_PROFILE_SLICE_MATCHING_H_
#define MESHWRIGHT_PROFILE_SLICE_MATCHING_H_

#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/inter/slice/slice.h"

namespace meshwright {

// By op of `b`: the op of `a` that is the same in it; invalid: none is. Layers of one kind have the
// same operators, but not always in the same order. Colour refinement (Weisfeiler and Leman): ops
// are told apart by what they do, by what they take from which ops, and by which ops take their
// results, until that tells no more of them apart. Those that are still equal, as parts of a
// symmetry, are paired in order.
std::vector<OpId> MatchOps(const ProgramSlice& a, const ProgramSlice& b);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_SLICE_MATCHING_H_
