#include "meshwright/export/artefact_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

// A folder, and the option by which the user named it.
struct NamedFolder {
  const std::string& option;
  const std::string& folder;
};

absl::Status FolderError(const NamedFolder& named, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(named.option, ": ", named.folder, " ", message));
}

// Absolute, links followed, without a slash at its end.
fs::path WholePath(const std::string& folder) {
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error);
  fs::path path = fs::weakly_canonical(absolute, error);
  if (error) path = absolute.lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

// What new files and folders may be used for, which mkdtemp does not ask.
mode_t NotMasked(mode_t mode) {
  const mode_t mask = umask(0);
  umask(mask);
  return mode & ~mask;
}

absl::Status WriteInto(const fs::path& folder, const Artefact& file, const std::string& option) {
  const fs::path path = folder / file.name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return FolderError({option, path.parent_path().string()}, error.message());
  MW_RETURN_IF_ERROR(WriteFile(path.string(), file.contents));
  if (file.executable && chmod(path.c_str(), NotMasked(0777)) != 0) {
    return FolderError({option, path.string()}, std::strerror(errno));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckArtefactFolder(const std::string& folder, const std::string& option) {
  const NamedFolder named = {option, folder};
  if (folder.empty() || folder == "-") {
    return FolderError({option, "\"" + folder + "\""}, "names no folder");
  }
  const fs::path path = WholePath(folder);
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const fs::directory_iterator first(path, error);
    if (error) return FolderError(named, absl::StrCat("cannot be read: ", error.message()));
    if (first == fs::directory_iterator()) return absl::OkStatus();
    return FolderError(named, absl::StrCat("holds ", first->path().filename().string(),
                                           "; nothing is overwritten: name a new or empty folder"));
  }
  if (fs::exists(fs::symlink_status(path, error))) {
    return FolderError(named, "is a file; a folder is needed");
  }
  if (!fs::is_directory(path.parent_path(), error)) {
    return FolderError(named, absl::StrCat("cannot be made: the folder ",
                                           path.parent_path().string(), " does not exist"));
  }
  return absl::OkStatus();
}

StagedFolder::StagedFolder(std::string temporary, std::string folder, std::string option)
    : temporary_(std::move(temporary)), folder_(std::move(folder)), option_(std::move(option)) {}

StagedFolder::StagedFolder(StagedFolder&& other) noexcept
    : temporary_(std::exchange(other.temporary_, "")),
      folder_(std::move(other.folder_)),
      option_(std::move(other.option_)) {}

StagedFolder& StagedFolder::operator=(StagedFolder&& other) noexcept {
  std::swap(temporary_, other.temporary_);
  std::swap(folder_, other.folder_);
  std::swap(option_, other.option_);
  return *this;
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

absl::StatusOr<StagedFolder> StagedFolder::Make(const std::string& folder, const Artefacts& files,
                                                const std::string& option) {
  MW_RETURN_IF_ERROR(CheckArtefactFolder(folder, option));
  std::string fresh = (WholePath(folder).parent_path() / ".meshwright.XXXXXX").string();
  if (mkdtemp(fresh.data()) == nullptr) {
    return FolderError({option, folder}, absl::StrCat("cannot be made: ", std::strerror(errno)));
  }
  StagedFolder staged(fresh, folder, option);
  for (const Artefact& file : files) MW_RETURN_IF_ERROR(WriteInto(fresh, file, option));
  if (chmod(fresh.c_str(), NotMasked(0777)) != 0) {
    return FolderError({option, folder}, std::strerror(errno));
  }
  return staged;
}

absl::Status StagedFolder::Commit() {
  // Replaces an empty folder, and fails on any other.
  if (std::rename(temporary_.c_str(), WholePath(folder_).c_str()) != 0) {
    return FolderError({option_, folder_}, absl::StrCat("cannot be made: ", std::strerror(errno)));
  }
  temporary_.clear();
  return absl::OkStatus();
}

absl::Status WriteArtefactFolder(const std::string& folder, const Artefacts& files,
                                 const std::string& option) {
  MW_ASSIGN_OR_RETURN(StagedFolder staged, StagedFolder::Make(folder, files, option));
  return staged.Commit();
}

}  // namespace meshwright
