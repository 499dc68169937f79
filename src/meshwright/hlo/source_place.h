#ifndef MESHWRIGHT_HLO_SOURCE_PLACE_H_
#define MESHWRIGHT_HLO_SOURCE_PLACE_H_

#include <cstdint>
#include <string>

#include "meshwright/base/strings.h"

namespace meshwright {

// Where something stands in the text of a program, both counted from 1; line 0 if it was not text.
// Two places are always equal: a program is the same wherever its parts stand.
struct SourcePlace {
  int32_t line = 0, column = 0;

  // ":12:3", to be put behind the name of a file; empty if there is none.
  std::string Suffix() const { return line > 0 ? StrCat(":", line, ":", column) : ""; }
  friend bool operator==(const SourcePlace&, const SourcePlace&) { return true; }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SOURCE_PLACE_H_
