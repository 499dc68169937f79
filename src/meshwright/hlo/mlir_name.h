#ifndef MESHWRIGHT_HLO_MLIR_NAME_H_
#define MESHWRIGHT_HLO_MLIR_NAME_H_

#include <string_view>

#include "meshwright/hlo/text_cursor.h"

// Bare identifiers of MLIR: letters, digits, '_', '$', '.', not beginning with a digit, as in
// `stablehlo.add`.

namespace meshwright {

bool StartsMlirName(char c);
bool ContinuesMlirName(char c);
bool IsMlirName(std::string_view text);
// Empty, without moving, if there is none.
std::string_view MlirName(TextCursor& cursor);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_MLIR_NAME_H_
