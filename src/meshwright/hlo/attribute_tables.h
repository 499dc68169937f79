#ifndef MESHWRIGHT_HLO_ATTRIBUTE_TABLES_H_
#define MESHWRIGHT_HLO_ATTRIBUTE_TABLES_H_

#include <string_view>

#include "meshwright/hlo/opcode.h"

// What the tables of attributes share: which opcodes a row is for, and spellings by number.

namespace meshwright {

inline bool Any(Opcode) { return true; }
template <Opcode... kOpcodes>
bool Is(Opcode opcode) {
  return ((opcode == kOpcodes) || ...);
}

// API versions of custom calls. The second is what XLA assumes and does not print.
inline constexpr std::string_view kApiVersions[] = {"", "", "API_VERSION_STATUS_RETURNING",
                                                    "API_VERSION_STATUS_RETURNING_UNIFIED",
                                                    "API_VERSION_TYPED_FFI"};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_ATTRIBUTE_TABLES_H_
