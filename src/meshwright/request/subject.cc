#include "meshwright/request/subject.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/program/file_kind.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/model_reader.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

// A model's configuration, by how its text begins or by its name: a JSON object. What else begins
// with a brace is a damaged program to its reader, which says what it found, unless it is called
// JSON.
bool IsConfiguration(std::string_view text, const std::string& name) {
  if (absl::EndsWith(name, ".yaml") || absl::EndsWith(name, ".yml")) return true;
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t brace = text.find_first_not_of(kBlanks);
  if (brace == std::string_view::npos || text[brace] != '{') return false;
  const size_t next = text.find_first_not_of(kBlanks, brace + 1);
  return next == std::string_view::npos || text[next] == '"' || text[next] == '}' ||
         absl::EndsWith(name, ".json");
}

constexpr size_t kBeginning = 4096;  // enough to find what a text begins with

}  // namespace

absl::StatusOr<bool> IsModel(const Subject& subject, bool asked) {
  const std::string& name = subject.name;
  if (subject.contents.has_value()) {
    MW_RETURN_IF_ERROR(CheckFileKind(*subject.contents, name, WantedFile::kProgramOrModel));
    return IsConfiguration(subject.contents->substr(0, kBeginning), name);
  }
  std::error_code error;
  if (name == "-") return asked;
  if (!fs::exists(name, error)) {
    if (transformer::FindBuiltinModel(name) != nullptr) return true;
    // A path is that of a file, and opening it says what is wrong.
    if (name.find('/') == std::string::npos) return transformer::LoadModel(name).status();
    return ReadFile(name).status();
  }
  MW_RETURN_IF_ERROR(CheckFileKindAt(name, WantedFile::kProgramOrModel));
  if (fs::exists(name + "/config.json", error)) return true;
  // What is no file with something in it cannot be looked at: a pipe would lose what is read.
  if (!fs::is_regular_file(name, error) || fs::file_size(name, error) == 0) return asked;
  std::ifstream file(name);
  std::string beginning(kBeginning, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(kBeginning));
  beginning.resize(static_cast<size_t>(file.gcount()));
  return IsConfiguration(beginning, name);
}

absl::StatusOr<transformer::Model> ReadModel(const Subject& subject, std::string& description,
                                             std::vector<InputFile>& inputs) {
  const std::string& name = subject.name;
  if (subject.contents.has_value() || name == "-") {
    if (subject.contents.has_value()) {
      description = std::string(*subject.contents);
    } else {
      MW_ASSIGN_OR_RETURN(description, ReadInput(name));
    }
    inputs.push_back({name, "model", Sha256Hex(description)});
    MW_RETURN_IF_ERROR(CheckFileKind(description, name, WantedFile::kModel));
    return transformer::ParseModel(description, name == "-" ? "standard input" : name);
  }
  const transformer::BuiltinModel* const builtin = transformer::FindBuiltinModel(name);
  std::error_code error;
  if (builtin != nullptr && name.find('/') == std::string::npos) {
    description = builtin->config;
    return transformer::LoadModel(name);
  }
  if (!fs::exists(name, error)) return transformer::LoadModel(name);  // says what is
  MW_RETURN_IF_ERROR(CheckFileKindAt(name, WantedFile::kModel));
  const std::string path =
      fs::is_directory(name, error) ? absl::StrCat(name, "/config.json") : name;
  // Once: it may be a pipe.
  MW_ASSIGN_OR_RETURN(std::string stored, ReadFile(path));
  inputs.push_back({path, "model", Sha256Hex(stored)});
  MW_ASSIGN_OR_RETURN(description,
                      MaybeGunzip(std::move(stored), path, transformer::kLargestModelFile));
  return transformer::ParseModel(description, path);
}

}  // namespace meshwright
