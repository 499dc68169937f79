#include "meshwright/transformer/builtin_models.h"

#include <string>

#include "absl/strings/ascii.h"

namespace meshwright::transformer {
namespace {

bool IsDigitAt(std::string_view text, size_t i) {
  return i < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[i]));
}

// Letters, digits and decimal points of a name, in lower case.
std::string Normalised(std::string_view name) {
  std::string letters;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool point = c == '.' && i > 0 && IsDigitAt(name, i - 1) && IsDigitAt(name, i + 1);
    if (absl::ascii_isalnum(c) || point) letters += absl::ascii_tolower(c);
  }
  return letters;
}

}  // namespace

const std::vector<BuiltinModel>& BuiltinModels() {
  static const auto* const kModels = [] {
    auto* const models = new std::vector<BuiltinModel>();
    for (const auto& part : {BuiltinGptModels(), BuiltinLlamaModels(), BuiltinOtherModels()}) {
      models->insert(models->end(), part.begin(), part.end());
    }
    return models;
  }();
  return *kModels;
}

const BuiltinModel* FindBuiltinModel(std::string_view name) {
  const std::string wanted = Normalised(name);
  for (const BuiltinModel& model : BuiltinModels()) {
    if (Normalised(model.name) == wanted) return &model;
  }
  return nullptr;
}

}  // namespace meshwright::transformer
