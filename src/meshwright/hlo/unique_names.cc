#include "meshwright/hlo/unique_names.h"

#include "meshwright/base/strings.h"

namespace meshwright {

std::string UniqueNames::Take(const std::string& name) {
  if (taken_.insert(name).second) return name;
  const size_t dot = name.rfind('.');
  const bool numbered = dot != std::string::npos && dot + 1 < name.size() &&
                        name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  const std::string base = numbered ? name.substr(0, dot) : name;
  int64_t& next = next_[base];
  while (true) {
    std::string candidate = StrCat(base, ".", ++next);
    if (taken_.insert(candidate).second) return candidate;
  }
}

}  // namespace meshwright
