#ifndef MESHWRIGHT_HLO_TEXT_HEADER_H_
#define MESHWRIGHT_HLO_TEXT_HEADER_H_

#include <string>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/text_cursor.h"

// What stands before the first computation: the line `HloModule name, attribute=value, ...` and the
// tables FileNames, FunctionNames, FileLocations and StackFrames.

namespace meshwright {

absl::Status ReadModuleHeader(TextCursor& cursor, Module& module);
void AppendModuleHeader(const Module& module, std::string& out);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_HEADER_H_
