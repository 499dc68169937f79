#include "tests/export/shell.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "meshwright/export/artefact_folder.h"

namespace meshwright {

namespace fs = std::filesystem;

LaunchFolder::LaunchFolder(const Artefacts& files) {
  EXPECT_TRUE(WriteArtefactFolder((root_ / "launch").string(), files).ok());
  fs::create_directory(root_ / "bin");
  for (const char* const program : {"torchrun", "accelerate", "srun", "scontrol", "meshwright"}) {
    const fs::path file = root_ / "bin" / program;
    std::ofstream(file) << "#!/bin/sh\nprintf '%s\\n' \"$@\" >called-" << program << "\n";
    fs::permissions(file, fs::perms::owner_all);
  }
}

int LaunchFolder::Run(const std::string& command, std::string* output) const {
  std::ofstream(root_ / "command.sh") << command << "\n";
  const std::string line = "cd '" + path().string() + "' && PATH='" + (root_ / "bin").string() +
                           "':\"$PATH\" bash ../command.sh >../output 2>&1";
  const int status = std::system(line.c_str());
  if (output != nullptr) {
    *output = ReadText(root_ / "output");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string LaunchFolder::Read(const std::string& name) const { return ReadText(path() / name); }

}  // namespace meshwright
