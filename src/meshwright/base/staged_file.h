#ifndef MESHWRIGHT_BASE_STAGED_FILE_H_
#define MESHWRIGHT_BASE_STAGED_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright {

// A whole file beside the one that it will replace. Until Commit() nothing is seen of it, and
// without Commit() nothing is left of it, so that several files can be written together or not.
class StagedFile {
 public:
  // Errors name `path` and the system's reason.
  static absl::StatusOr<StagedFile> Make(const std::string& path, std::string_view data);

  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&& other) noexcept;
  ~StagedFile();

  // Gives it its name, in one step.
  absl::Status Commit();

 private:
  StagedFile(std::string temporary, std::string path);

  std::string temporary_, path_;  // the former empty: nothing to tidy away
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_STAGED_FILE_H_
