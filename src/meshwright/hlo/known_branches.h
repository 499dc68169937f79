#ifndef MESHWRIGHT_HLO_KNOWN_BRANCHES_H_
#define MESHWRIGHT_HLO_KNOWN_BRANCHES_H_

#include <cstddef>
#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

// Which of `branches` a conditional takes that is chosen by the number or the predicate in
// `element`: true takes the first; an index that is none takes the last.
size_t ChosenBranch(ElementType type, const std::string& element, size_t branches);

// Makes each conditional whose branch is known - what chooses is a constant, or computed from
// constants in the same computation - a call of that branch, as XLA's simplifier does. The reader
// of StableHLO has such a branch in the conditional's place at once. Computations that nobody calls
// any more stay.
void CallKnownBranches(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_KNOWN_BRANCHES_H_
