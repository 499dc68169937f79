#ifndef MESHWRIGHT_HLO_LOOP_STARTS_H_
#define MESHWRIGHT_HLO_LOOP_STARTS_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Gives each value that a loop carries a tensor of its own to start from where several start from
// one that is filled with one element, as equal constants are one after common subexpressions are
// eliminated: how a carried value may be divided then says nothing of the others. Computes the
// same; all other instructions keep their names and order. Linear in the module.
void SeparateLoopStarts(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_LOOP_STARTS_H_
