#ifndef MESHWRIGHT_BASE_GLOB_H_
#define MESHWRIGHT_BASE_GLOB_H_

#include <string_view>

namespace meshwright {

// `*` stands for any characters (also none), `?` for exactly one, and "{0..3,7}" for a whole number
// that is one of these ("{1..15..2}": every other one), as names are folded
// (plan/text/folded_names.h). Everything else, brackets and quotes included, is literal, and so is
// a whole pattern that equals the text. Linear in the product of the lengths.
bool GlobMatch(std::string_view pattern, std::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_GLOB_H_
