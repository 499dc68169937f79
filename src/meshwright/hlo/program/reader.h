#ifndef MESHWRIGHT_HLO_PROGRAM_READER_H_
#define MESHWRIGHT_HLO_PROGRAM_READER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

enum class HloFormat {
  kText,   // "HloModule ..."
  kProto,  // a serialized HloModuleProto or HloProto
  kMlir,   // StableHLO or another MLIR dialect, text, bytecode or exported by JAX
};

// Tells the format by the contents. Anything printable that does not look like MLIR is kText: the
// text reader says best what is wrong with it.
HloFormat DetectHloFormat(std::string_view contents);

// Takes a byte order mark of UTF-8 away. Errors, `file: message`: contents that are a program in no
// format, being empty, NUL bytes, or text in another encoding.
absl::Status DecodeProgram(std::string& contents, std::string_view file_name);

// Reads the program in the file at `path`: HLO text or proto or StableHLO text or bytecode, gzipped
// or not, whatever it is called.
absl::StatusOr<Module> ReadHlo(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROGRAM_READER_H_
