#ifndef MESHWRIGHT_HLO_PROGRAM_KNOWN_ATTRIBUTES_H_
#define MESHWRIGHT_HLO_PROGRAM_KNOWN_ATTRIBUTES_H_

#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

// XLA's parser refuses attributes that it does not know. As a newer XLA may have written them, they
// are ignored here, and named: one line about those in the header and in the instructions of
// `module`, read from HLO text, with the first place of each; empty if all are known.
std::string UnknownAttributesWarning(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROGRAM_KNOWN_ATTRIBUTES_H_
