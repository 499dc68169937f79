#ifndef MESHWRIGHT_HLO_STABLEHLO_SEPARATE_FUNCTIONS_H_
#define MESHWRIGHT_HLO_STABLEHLO_SEPARATE_FUNCTIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace meshwright {

// `text`, a StableHLO program that ReadStablehlo takes, with a function of its own for every call:
// a function that is called several times is copied behind itself, under another name. All else
// stays as it is, character by character, and BuildGraph gives the same operators and values in the
// same order. So a plan, which decides what is inside of a function for each call by itself, can be
// written into the text (AnnotateStablehlo). Functions that only other attributes name are not
// copied. Errors: those of ReadStablehlo's parser.
absl::StatusOr<std::string> SeparateFunctions(std::string_view text, std::string_view file_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_SEPARATE_FUNCTIONS_H_
