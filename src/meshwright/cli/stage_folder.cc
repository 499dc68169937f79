#include "meshwright/cli/stage_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "stages.json";

absl::Status EmitError(const std::string& folder, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("--emit: ", folder, " ", message));
}

// Absolute, links followed, without a slash at its end.
fs::path FolderPath(const std::string& folder) {
  const fs::path path = OutputTarget(folder);
  return path.has_filename() ? path : path.parent_path();
}

bool LiesIn(const std::string& file, const fs::path& folder) {
  const fs::path path = OutputTarget(file);
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// As StageModules names files.
bool IsStageFileName(const std::string& name) {
  return absl::StartsWith(name, "stage") && absl::EndsWith(name, ".hlo.txt") &&
         name.find('/') == std::string::npos;
}

// Names of the modules that the index of an earlier emission lists. Anything but such an index
// gives none: what it might mean is not ours to remove.
std::set<std::string> RecordedFiles(const fs::path& folder) {
  const absl::StatusOr<std::string> text = ReadFile((folder / kIndexName).string());
  if (!text.ok()) return {};
  const auto index = InputJson::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("stages") || !index["stages"].is_array()) return {};
  std::set<std::string> names;
  for (const auto& stage : index["stages"]) {
    if (!stage.is_object() || !stage.contains("modules") || !stage["modules"].is_object())
      return {};
    for (const auto& module : stage["modules"]) {
      if (!module.is_object() || !module.contains("file") || !module["file"].is_string()) return {};
      const auto& name = module["file"].get_ref<const std::string&>();
      if (!IsStageFileName(name)) return {};
      names.insert(name);
    }
  }
  if (!names.empty()) names.insert(kIndexName);
  return names;
}

// All in the folder is of one earlier emission.
absl::Status CheckContents(const std::string& folder, const fs::path& path) {
  const std::set<std::string> recorded = RecordedFiles(path);
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (recorded.contains(name) && !entry->is_directory(ignored)) continue;
    return EmitError(folder, absl::StrCat("holds ", name,
                                          ", which no earlier --emit of a pipeline wrote; name a "
                                          "new or empty folder"));
  }
  if (error) return EmitError(folder, absl::StrCat("cannot be read: ", error.message()));
  return absl::OkStatus();
}

absl::Status CheckPlace(const std::string& folder, const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    if (!CanWriteInto(path.string())) return EmitError(folder, "is not writable");
    return CheckContents(folder, path);
  }
  if (fs::exists(fs::symlink_status(path, error)))
    return EmitError(folder, "is a file; the stages of a pipeline need a folder");
  const std::string parent = path.parent_path().string();
  if (!fs::is_directory(parent, error))
    return EmitError(folder,
                     absl::StrCat("cannot be made: the folder ", parent, " does not exist"));
  if (!CanWriteInto(parent))
    return EmitError(folder,
                     absl::StrCat("cannot be made: the folder ", parent, " is not writable"));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStageFolder(const std::string& folder, const OutputFile& plan_file,
                              const std::vector<std::string>& inputs) {
  if (folder == "-") return EmitError(folder, "is no folder, which the stages of a pipeline need");
  const fs::path path = FolderPath(folder);
  if (!plan_file.path.empty() && LiesIn(plan_file.path, path)) {
    return EmitError(folder,
                     absl::StrCat("takes the stages alone, but ", plan_file.option, " names ",
                                  plan_file.path, "; write the plan to another folder"));
  }
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (fs::exists(input, ignored) && LiesIn(input, path)) {
      return EmitError(
          folder, absl::StrCat("holds ", input, ", an input of this command; name another folder"));
    }
  }
  return CheckPlace(folder, path);
}

absl::Status WriteStageFolder(const std::string& folder, const std::vector<StageFile>& files) {
  const fs::path path = FolderPath(folder);
  std::error_code error;
  const bool made = fs::create_directory(path, error);
  if (error) return EmitError(folder, absl::StrCat("cannot be made: ", error.message()));
  std::string fresh = (path / ".meshwright.XXXXXX").string();
  if (mkdtemp(fresh.data()) == nullptr) return EmitError(folder, "is not writable");
  bool done = false;
  const absl::Cleanup tidy = [&] {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    if (!done && made) fs::remove(path, ignored);
  };
  for (const StageFile& file : files) {
    MW_RETURN_IF_ERROR(WriteFile((fs::path(fresh) / file.name).string(), file.contents));
  }
  // The index goes first and comes last: without one nothing here counts as stages.
  std::set<std::string> old = RecordedFiles(path);
  if (old.erase(kIndexName) > 0) fs::remove(path / kIndexName, error);
  for (const std::string& name : old) fs::remove(path / name, error);
  for (const StageFile& file : files) {
    fs::rename(fs::path(fresh) / file.name, path / file.name, error);
    if (error) {
      return EmitError(folder, absl::StrCat("did not take ", file.name, ": ", error.message()));
    }
  }
  done = true;
  return absl::OkStatus();
}

}  // namespace meshwright
