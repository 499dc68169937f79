#ifndef MESHWRIGHT_HLO_NEAREST_NAME_H_
#define MESHWRIGHT_HLO_NEAREST_NAME_H_

#include <string_view>

#include "absl/types/span.h"

namespace meshwright {

// The candidate with the smallest edit distance to `name` (the first of several); empty if there
// are no candidates. For "did you mean" in error messages; only the first 64 characters of `name`
// count.
std::string_view NearestName(std::string_view name, absl::Span<const std::string_view> candidates);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_NEAREST_NAME_H_
