#ifndef MESHWRIGHT_HLO_TEXT_WRITER_H_
#define MESHWRIGHT_HLO_TEXT_WRITER_H_

#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

// HLO text as XLA prints it. Computations that were read with a signature get one, and '%' before
// names, as in compiled programs; others are printed the short way, as in lowered ones.
// Floating-point constants get the fewest digits that read back equal. ParseHloText of the result
// equals `module`.
std::string ToHloText(const Module& module);

// One instruction, without indentation and line end.
std::string ToString(const Module& module, const Computation& computation,
                     const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_WRITER_H_
