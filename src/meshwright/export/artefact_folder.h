#ifndef MESHWRIGHT_EXPORT_ARTEFACT_FOLDER_H_
#define MESHWRIGHT_EXPORT_ARTEFACT_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "meshwright/export/artefact.h"

namespace meshwright {

// Whether `folder` can be made: it is not there or empty, and the folder it lies in is. Errors
// begin with `option`, by which the user named it, and say what is there instead.
absl::Status CheckArtefactFolder(const std::string& folder, const std::string& option = "-o");

// Makes the folder with all files in it, or nothing: they are written to a folder beside it, which
// then gets its name. Nothing that exists is replaced.
absl::Status WriteArtefactFolder(const std::string& folder, const Artefacts& files,
                                 const std::string& option = "-o");

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_ARTEFACT_FOLDER_H_
