#include "meshwright/cli/requested_model.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/model_reader.h"

namespace meshwright {

absl::StatusOr<transformer::Model> ReadRequestedModel(const std::string& name,
                                                      std::string& description,
                                                      std::vector<InputFile>& inputs) {
  if (name == "-") {
    MW_ASSIGN_OR_RETURN(description, ReadInput(name));
    inputs.push_back({name, "model", Sha256Hex(description)});
    return transformer::ParseModel(description, "standard input");
  }
  const transformer::BuiltinModel* const builtin = transformer::FindBuiltinModel(name);
  std::error_code error;
  if (builtin != nullptr && name.find('/') == std::string::npos) {
    description = builtin->config;
    return transformer::LoadModel(name);
  }
  if (!std::filesystem::exists(name, error)) return transformer::LoadModel(name);  // says what is
  const std::string path =
      std::filesystem::is_directory(name, error) ? absl::StrCat(name, "/config.json") : name;
  // Once: it may be a pipe.
  MW_ASSIGN_OR_RETURN(std::string stored, ReadFile(path));
  inputs.push_back({path, "model", Sha256Hex(stored)});
  MW_ASSIGN_OR_RETURN(description,
                      MaybeGunzip(std::move(stored), path, transformer::kLargestModelFile));
  return transformer::ParseModel(description, path);
}

}  // namespace meshwright
