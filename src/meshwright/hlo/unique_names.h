#ifndef MESHWRIGHT_HLO_UNIQUE_NAMES_H_
#define MESHWRIGHT_HLO_UNIQUE_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace meshwright {

// Names that are unique in a module and change as little as possible: a name that is taken gets
// another number at its end.
class UniqueNames {
 public:
  std::string Take(const std::string& name);

 private:
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int64_t> next_;  // by name without its number
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_UNIQUE_NAMES_H_
