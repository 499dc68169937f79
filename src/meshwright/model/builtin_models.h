#ifndef MESHWRIGHT_MODEL_BUILTIN_MODELS_H_
#define MESHWRIGHT_MODEL_BUILTIN_MODELS_H_

#include <string_view>
#include <vector>

namespace meshwright::transformer {

struct BuiltinModel {
  const char* name;    // "llama3-8b"
  const char* source;  // of the configuration: an address or a paper
  const char* config;  // as config.json
};

// In the order of families and sizes.
const std::vector<BuiltinModel>& BuiltinModels();

// By name, without regard to case and to what stands between words: "LLAMA3_8B" is "llama3-8b".
// Some models have other names beside ("Qwen3 MoE 30B", "Nemotron-340B"), and all may have their
// vendor's before them ("Meta-Llama-3-8B"). nullptr if there is none.
const BuiltinModel* FindBuiltinModel(std::string_view name);

// Whether two names are of one model: the same without regard to case and to what stands between
// words, or of the same built-in model.
bool IsSameModel(std::string_view a, std::string_view b);

// Parts of BuiltinModels(), one for each builtin_models_*.cc.
std::vector<BuiltinModel> BuiltinGptModels();
std::vector<BuiltinModel> BuiltinLlamaModels();
std::vector<BuiltinModel> BuiltinOtherModels();

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_BUILTIN_MODELS_H_
