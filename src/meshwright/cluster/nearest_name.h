#ifndef MESHWRIGHT_CLUSTER_NEAREST_NAME_H_
#define MESHWRIGHT_CLUSTER_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

// The one of `names` that takes the fewest insertions, deletions and substitutions to become `word`
// (the first of equals); empty if there are none. For "did you mean" in errors, so only the first
// 64 characters of a word count.
std::string NearestName(std::string_view word, const std::vector<std::string>& names);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_NEAREST_NAME_H_
