#include "meshwright/model/builtin_models.h"

#include <string>
#include <utility>

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

// Names of models in tables of published runs, as Normalised() has it.
constexpr std::pair<std::string_view, const char*> kOtherNames[] = {
    {"deepseekr1", "deepseek-v3"},
    {"deepseekv3671b", "deepseek-v3"},
    {"gpt3", "gpt3-175b"},
    {"kimik21t", "kimi-k2"},
    {"llama3405b", "llama3.1-405b"},
    {"llama318b", "llama3.1-8b"},
    {"llama3170b", "llama3.1-70b"},
    {"llama31405b", "llama3.1-405b"},
    {"megatronturing530b", "megatron-530b"},
    {"nemotron15b", "nemotron-4-15b"},
    {"nemotron22b", "nemotron-3-22b"},
    {"nemotron340b", "nemotron-4-340b"},
    {"nemotron422b", "nemotron-3-22b"},  // NeMo's own alias
    {"nemotron8b", "nemotron-3-8b"},
    {"qwen3235b", "qwen3-235b-a22b"},
    {"qwen330b", "qwen3-30b-a3b"},
    {"qwen3moe235b", "qwen3-235b-a22b"},
    {"qwen3moe30b", "qwen3-30b-a3b"},
    {"turing530b", "megatron-530b"},
};

// Who publishes models, before whose names tables and repositories write them: "Meta-Llama-3-8B".
constexpr std::string_view kVendors[] = {"alibaba",  "deepseekai", "facebook",  "google",
                                         "meta",     "microsoft",  "mistralai", "moonshotai",
                                         "mosaicml", "nvidia",     "openai",    "tiiuae"};

// By its name as Normalised() has it.
const BuiltinModel* FindNormalised(std::string_view wanted) {
  std::string name(wanted);
  for (const auto& [other, builtin] : kOtherNames) {
    if (wanted == other) name = Normalised(builtin);
  }
  for (const BuiltinModel& model : BuiltinModels()) {
    if (Normalised(model.name) == name) return &model;
  }
  return nullptr;
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
  if (const BuiltinModel* const found = FindNormalised(wanted); found != nullptr) return found;
  for (const std::string_view vendor : kVendors) {
    if (wanted.starts_with(vendor)) return FindNormalised(wanted.substr(vendor.size()));
  }
  return nullptr;
}

bool IsSameModel(std::string_view a, std::string_view b) {
  const BuiltinModel* const builtin = FindBuiltinModel(a);
  return Normalised(a) == Normalised(b) || (builtin != nullptr && builtin == FindBuiltinModel(b));
}

}  // namespace meshwright::transformer
