#ifndef MESHWRIGHT_EXPORT_ARTEFACT_FOLDER_H_
#define MESHWRIGHT_EXPORT_ARTEFACT_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/export/artefact.h"

namespace meshwright {

// Whether `folder` can be made: it is not there or empty, and the folder it lies in is. Errors
// begin with `option`, by which the user named it, and say what is there instead.
absl::Status CheckArtefactFolder(const std::string& folder, const std::string& option = "-o");

// A folder with all its files beside the place where it will stand. Until Commit() nothing is seen
// of it, and without Commit() nothing is left of it.
class StagedFolder {
 public:
  // Errors are those of CheckArtefactFolder, and of the file that cannot be written.
  static absl::StatusOr<StagedFolder> Make(const std::string& folder, const Artefacts& files,
                                           const std::string& option = "-o");

  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&& other) noexcept;
  ~StagedFolder();

  // Gives it its name, in one step. Nothing that exists is replaced.
  absl::Status Commit();

 private:
  StagedFolder(std::string temporary, std::string folder, std::string option);

  std::string temporary_, folder_, option_;  // the first empty: nothing to tidy away
};

// Makes the folder with all files in it, or nothing.
absl::Status WriteArtefactFolder(const std::string& folder, const Artefacts& files,
                                 const std::string& option = "-o");

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_ARTEFACT_FOLDER_H_
