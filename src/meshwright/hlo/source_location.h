#ifndef MESHWRIGHT_HLO_SOURCE_LOCATION_H_
#define MESHWRIGHT_HLO_SOURCE_LOCATION_H_

#include <cstdint>
#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

// Where the user's program has an instruction.
struct SourceLocation {
  std::string file;  // "": not known
  int64_t line = 0;
};

// JAX names files by number, in tables of the module; other programs in the instruction itself.
SourceLocation SourceOf(const Module& module, const Metadata& metadata);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SOURCE_LOCATION_H_
