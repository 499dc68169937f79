#ifndef TESTS_EXPORT_SHELL_H_
#define TESTS_EXPORT_SHELL_H_

#include <filesystem>
#include <string>

#include "meshwright/export/artefact.h"
#include "tests/testing/scratch_folder.h"

namespace meshwright {

// A folder with a launch in it, and programs of its own in place of torchrun, accelerate, srun and
// the like: each writes its arguments to a file of its name, a line each, and ends well.
class LaunchFolder {
 public:
  explicit LaunchFolder(const Artefacts& files);

  // Runs `command` in the folder by bash, the programs first in PATH; returns its exit code.
  // `output` gets both of its streams.
  int Run(const std::string& command, std::string* output = nullptr) const;
  std::string Read(const std::string& name) const;
  std::filesystem::path path() const { return root_ / "launch"; }

 private:
  const ScratchFolder folder_;
  const std::filesystem::path root_ = folder_.path();
};

}  // namespace meshwright

#endif  // TESTS_EXPORT_SHELL_H_
