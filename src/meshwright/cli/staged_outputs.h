#ifndef MESHWRIGHT_CLI_STAGED_OUTPUTS_H_
#define MESHWRIGHT_CLI_STAGED_OUTPUTS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "meshwright/base/staged_file.h"
#include "meshwright/cli/output.h"
#include "meshwright/export/artefact_folder.h"

namespace meshwright {

// The outputs of one command: all are written, or none. Files and folders are written beside their
// places, where disks that are full and the like show, and get their names together. Only into
// devices and pipes, which have no such place, data goes at once; they come first in Commit().
class StagedOutputs {
 public:
  // An empty path is not asked for. `data` may go after the call.
  absl::Status Add(const OutputFile& output, std::string_view data);
  absl::Status AddFolder(const OutputFile& output, const Artefacts& files);

  // `more`: what is written by itself; it comes after devices and pipes, where an error leaves
  // nothing behind, and before files get their names.
  absl::Status Commit(absl::FunctionRef<absl::Status()> more = [] { return absl::OkStatus(); });

 private:
  std::vector<std::pair<OutputFile, std::string>> special_;
  std::vector<StagedFile> files_;
  std::vector<StagedFolder> folders_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_STAGED_OUTPUTS_H_
