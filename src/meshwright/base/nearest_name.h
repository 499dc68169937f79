#ifndef MESHWRIGHT_BASE_NEAREST_NAME_H_
#define MESHWRIGHT_BASE_NEAREST_NAME_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// For "did you mean" in error messages.

namespace meshwright {

// Fewest insertions, deletions and substitutions that turn `a` into `b` (Levenshtein).
int EditDistance(std::string_view a, std::string_view b);

// The one of `names` nearest to `word` by edit distance, the first of equals; empty if there are
// none. Only the first 64 characters of each count. Names that go on behind the whole word ("h100",
// "h100-sxm") are nearer than all others; where none is near, so are those that share a part
// between dashes ("--batch-size", "--global-batch").
std::string NearestName(std::string_view word, const std::vector<std::string>& names);

// At most `most` of `names`: those that contain `word` (of a pattern its longest piece without
// wildcards), the shortest first; where none does, the nearest by edit distance.
std::vector<std::string> NamesLike(std::string_view word, const std::vector<std::string>& names,
                                   size_t most);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_NEAREST_NAME_H_
