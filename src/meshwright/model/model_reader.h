#ifndef MESHWRIGHT_MODEL_MODEL_READER_H_
#define MESHWRIGHT_MODEL_MODEL_READER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/model/model.h"

// Models from what users give: a name, a Hugging Face configuration, or our own short form
// (docs/models.md). All errors say what would be valid; those of files name file, line and column.

namespace meshwright::transformer {

inline constexpr int64_t kLargestModelFile = int64_t{16} << 20;  // bytes, inflated

// A `config.json` of one of the families of families/families.h. `file` is for errors and becomes
// the model's name. Fields that are absent have the values that transformers' classes give them,
// except sizes without which no model is meant: hidden size, layers, heads, vocabulary, MLP.
absl::StatusOr<Model> ReadHuggingFaceConfig(std::string_view text, std::string_view file);

// A YAML map with the key "model".
absl::StatusOr<Model> ReadShortForm(std::string_view text, std::string_view file);

// A file in one of these forms: YAML by the name's end, else JSON if it begins with a brace.
absl::StatusOr<Model> ParseModel(std::string_view text, std::string_view file);

// A built-in name (builtin_models.h), or the path of a file in one of these forms or of a folder
// with a config.json. A name wins over a file of the same name unless it has a slash or a dot.
absl::StatusOr<Model> LoadModel(const std::string& name_or_path);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_MODEL_READER_H_
