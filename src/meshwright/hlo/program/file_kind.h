#ifndef MESHWRIGHT_HLO_PROGRAM_FILE_KIND_H_
#define MESHWRIGHT_HLO_PROGRAM_FILE_KIND_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

// Files that one command writes or takes, handed to another: they are told by how they begin, so
// that a message says what a file is and which command or option takes it.

namespace meshwright {

enum class FileKind {
  kProgram,
  kModel,  // config.json or YAML
  kPlan,
  kCluster,
  kCalibration,
  kLayerTimes,  // CSV, of --profile
  kSweep,       // CSV, of --sweep
  kVerification,
  kDatabase,
};

// What is wanted of a file.
enum class WantedFile { kProgram, kProgramOrModel, kModel, kPlan, kCluster };

// The kind of a file that holds or begins with `text`; none: it is like none of these.
std::optional<FileKind> KindOfText(std::string_view text);

// Error: `text` is of a kind that is not wanted; `name` stands for the file. What is like no kind
// passes: its reader says best what is wrong with it.
absl::Status CheckFileKind(std::string_view text, std::string_view name, WantedFile wanted);

// The same of the beginning of the file at `path`; a folder without a config.json is nothing that
// is wanted. What is no file with something in it, such as a pipe, passes unread.
absl::Status CheckFileKindAt(const std::string& path, WantedFile wanted);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROGRAM_FILE_KIND_H_
