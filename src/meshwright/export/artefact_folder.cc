#include "meshwright/export/artefact_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
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

absl::Status WriteArtefactFolder(const std::string& folder, const Artefacts& files,
                                 const std::string& option) {
  const NamedFolder named = {option, folder};
  MW_RETURN_IF_ERROR(CheckArtefactFolder(folder, option));
  const fs::path path = WholePath(folder);
  std::string fresh = (path.parent_path() / ".meshwright.XXXXXX").string();
  if (mkdtemp(fresh.data()) == nullptr) {
    return FolderError(named, absl::StrCat("cannot be made: ", std::strerror(errno)));
  }
  bool done = false;
  const absl::Cleanup tidy = [&] {
    std::error_code ignored;
    if (!done) fs::remove_all(fresh, ignored);
  };
  for (const Artefact& file : files) MW_RETURN_IF_ERROR(WriteInto(fresh, file, option));
  if (chmod(fresh.c_str(), NotMasked(0777)) != 0) return FolderError(named, std::strerror(errno));
  // Replaces an empty folder, and fails on any other.
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    return FolderError(named, absl::StrCat("cannot be made: ", std::strerror(errno)));
  }
  done = true;
  return absl::OkStatus();
}

}  // namespace meshwright
