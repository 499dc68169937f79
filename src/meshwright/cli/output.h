#ifndef MESHWRIGHT_CLI_OUTPUT_H_
#define MESHWRIGHT_CLI_OUTPUT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace meshwright {

// A file that a command will write, and the option that named it.
struct OutputFile {
  std::string option;  // "-o"
  std::string path;    // empty: not asked for
};

// Registers an option that names an output; an empty name is refused.
CLI::Option* AddOutputOption(CLI::App& app, const std::string& names, std::string& path,
                             const std::string& description);

// Whether something can be made in the folder at `path`, which must be there: makes it and removes
// it again, as permissions alone do not tell.
bool CanWriteInto(const std::string& path);

// Before long work: whether the outputs can be written at its end. Errors: a directory, a folder
// that does not exist or is not writable, a file that is also among `inputs` (paths) or named
// twice.
absl::Status CheckOutputs(const std::vector<OutputFile>& outputs,
                          const std::vector<std::string>& inputs);

// Likewise whether a new folder, empty of all but its own files, can be made beside the outputs.
// Errors: its name is that of an output, or one lies in it. What is there already is not looked at.
absl::Status CheckFolderApart(const OutputFile& folder, const std::vector<OutputFile>& outputs);

// The file that a path leads to through links, whether it exists or not.
std::string OutputTarget(const std::string& path);
// A device or pipe, which cannot be replaced, only written into.
bool IsSpecialOutput(const std::string& path);

// Replaces a regular file in one step; follows symbolic links; writes into devices and pipes.
absl::Status WriteOutput(const OutputFile& output, std::string_view data);

// Errors if standard output does not take all of it.
absl::Status PrintOutput(std::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_OUTPUT_H_
