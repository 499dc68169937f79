#ifndef MESHWRIGHT_HLO_TEXT_READER_H_
#define MESHWRIGHT_HLO_TEXT_READER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Reads HLO text as XLA prints it, in any of its styles: names with or without '%', computations
// with or without signature, operands with or without shapes. Instructions and computations may be
// used before they are defined; the module has them in order. The result is verified (verifier.h).
// Errors: one line, `file:line:column: what was found, what would be valid`.
// Time and memory are linear in the size of the text.
absl::StatusOr<Module> ParseHloText(std::string_view text, std::string_view file_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_READER_H_
