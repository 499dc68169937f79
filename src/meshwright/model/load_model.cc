#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/model_reader.h"

namespace meshwright::transformer {
namespace {

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

absl::StatusOr<Model> ParseModel(std::string_view text, std::string_view file) {
  const bool yaml = absl::EndsWith(ToAbsl(file), ".yaml") || absl::EndsWith(ToAbsl(file), ".yml");
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool brace = first != std::string_view::npos && text[first] == '{';
  const bool json = !yaml && (brace || absl::EndsWith(ToAbsl(file), ".json"));
  return json ? ReadHuggingFaceConfig(text, file) : ReadShortForm(text, file);
}

absl::StatusOr<Model> LoadModel(const std::string& name_or_path) {
  const BuiltinModel* const builtin = FindBuiltinModel(name_or_path);
  const bool is_path = name_or_path.find('/') != std::string::npos;
  if (builtin != nullptr && !is_path) {
    return ReadHuggingFaceConfig(builtin->config, builtin->name);
  }
  if (!Exists(name_or_path)) {
    std::vector<std::string> names;
    for (const BuiltinModel& model : BuiltinModels()) names.emplace_back(model.name);
    return absl::NotFoundError(absl::StrCat(
        name_or_path, ": neither a file nor a model that is known by name; the nearest name is \"",
        NearestName(name_or_path, names), "\", and `meshwright model --list` has all"));
  }
  const std::string path =
      IsFolder(name_or_path) ? absl::StrCat(name_or_path, "/config.json") : name_or_path;
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFileMaybeGzip(path, kLargestModelFile));
  return ParseModel(text, path);
}

}  // namespace meshwright::transformer
