#ifndef MESHWRIGHT_BASE_COUNTED_H_
#define MESHWRIGHT_BASE_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "meshwright/base/strings.h"

namespace meshwright {

// "1 stage", "3 stages". `many`: the plural where it is not `one` with an s.
inline std::string Counted(int64_t count, std::string_view one, std::string_view many = "") {
  if (count == 1) return StrCat("1 ", one);
  return many.empty() ? StrCat(count, " ", one, "s") : StrCat(count, " ", many);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_COUNTED_H_
