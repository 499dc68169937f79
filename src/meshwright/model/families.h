#ifndef MESHWRIGHT_MODEL_FAMILIES_H_
#define MESHWRIGHT_MODEL_FAMILIES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "meshwright/model/config.h"
#include "meshwright/model/model.h"
#include "meshwright/model/tensor_names.h"

// The families of transformers whose Hugging Face configurations can be read. A new one is a row in
// families.cc and a function in a file of its own.

namespace meshwright::transformer {

// The task of a checkpoint, by the end of its class ("LlamaForCausalLM").
enum class Task {
  kUnstated,  // no `architectures`: the family's usual one
  kBase,      // without a head
  kEncoder,   // the encoder of an encoder and a decoder
  kLanguageModel,
  kMaskedLm,
  kPreTraining,  // BERT: masked tokens and next sentence
  kSequenceClassification,
  kImageClassification,
  kProjection,  // of one token, into a space that several encoders share
};

struct FamilyInput {
  const Config& config;  // of the text model where the file describes several (`text_config`)
  Task task;
  int64_t labels;  // of classification
};

struct Family {
  const char* model_type;  // as in configurations: "llama"
  const char* prefix;      // of the names of its classes: "Llama"
  const char* models;      // examples, for tables
  // Tasks that it can have; of those, the first is the usual one.
  std::vector<Task> tasks;
  // Errors go to the config, and leave a model that is not to be used.
  void (*read)(const FamilyInput& input, Model* model);
  // nullptr: Llama's.
  const TensorLayout& (*layout)();
};

const std::vector<Family>& Families();

// nullptr if there is none.
const Family* FindFamily(std::string_view model_type);

// Llama's if the family is unknown, as that of our own descriptions is.
const TensorLayout& LayoutOf(std::string_view family);

// One of each family, by the file that has them.
void ReadBert(const FamilyInput& input, Model* model);
void ReadBloom(const FamilyInput& input, Model* model);
void ReadApertus(const FamilyInput& input, Model* model);
void ReadClipText(const FamilyInput& input, Model* model);
void ReadClipVision(const FamilyInput& input, Model* model);
void ReadCohere(const FamilyInput& input, Model* model);
void ReadDots1(const FamilyInput& input, Model* model);
void ReadErnie(const FamilyInput& input, Model* model);
void ReadErnieMoe(const FamilyInput& input, Model* model);
void ReadExaone4(const FamilyInput& input, Model* model);
void ReadGlm(const FamilyInput& input, Model* model);
void ReadGlm4Moe(const FamilyInput& input, Model* model);
void ReadGranite(const FamilyInput& input, Model* model);
void ReadGraniteMoe(const FamilyInput& input, Model* model);
void ReadHunyuan(const FamilyInput& input, Model* model);
void ReadHunyuanMoe(const FamilyInput& input, Model* model);
void ReadMinimax(const FamilyInput& input, Model* model);
void ReadMinimaxM2(const FamilyInput& input, Model* model);
void ReadOlmo2(const FamilyInput& input, Model* model);
void ReadOlmoe(const FamilyInput& input, Model* model);
void ReadSeedOss(const FamilyInput& input, Model* model);
void ReadSmollm3(const FamilyInput& input, Model* model);
void ReadStablelm(const FamilyInput& input, Model* model);
void ReadStarcoder2(const FamilyInput& input, Model* model);
void ReadDbrx(const FamilyInput& input, Model* model);
void ReadDeepseek(const FamilyInput& input, Model* model);
void ReadFalcon(const FamilyInput& input, Model* model);
void ReadGemma(const FamilyInput& input, Model* model);
void ReadGemma2(const FamilyInput& input, Model* model);
void ReadGemma3(const FamilyInput& input, Model* model);
void ReadGemma3n(const FamilyInput& input, Model* model);
void ReadGpt2(const FamilyInput& input, Model* model);
void ReadGptNeox(const FamilyInput& input, Model* model);
void ReadGptJ(const FamilyInput& input, Model* model);
void ReadGptNeo(const FamilyInput& input, Model* model);
void ReadGptOss(const FamilyInput& input, Model* model);
void ReadLlama(const FamilyInput& input, Model* model);
void ReadLlama4(const FamilyInput& input, Model* model);
void ReadMistral(const FamilyInput& input, Model* model);
void ReadMixtral(const FamilyInput& input, Model* model);
void ReadMamba(const FamilyInput& input, Model* model);
void ReadMamba2(const FamilyInput& input, Model* model);
void ReadJamba(const FamilyInput& input, Model* model);
void ReadBamba(const FamilyInput& input, Model* model);
void ReadGraniteHybrid(const FamilyInput& input, Model* model);
void ReadNemotronH(const FamilyInput& input, Model* model);
void ReadQwen3Next(const FamilyInput& input, Model* model);
void ReadLfm2(const FamilyInput& input, Model* model);
void ReadRecurrentGemma(const FamilyInput& input, Model* model);
void ReadMpt(const FamilyInput& input, Model* model);
void ReadNemotron(const FamilyInput& input, Model* model);
void ReadOpt(const FamilyInput& input, Model* model);
void ReadPhi(const FamilyInput& input, Model* model);
void ReadPhi3(const FamilyInput& input, Model* model);
void ReadPhimoe(const FamilyInput& input, Model* model);
void ReadQwen2(const FamilyInput& input, Model* model);
void ReadQwen2Moe(const FamilyInput& input, Model* model);
void ReadQwen3(const FamilyInput& input, Model* model);
void ReadQwen3Moe(const FamilyInput& input, Model* model);
void ReadRwkv(const FamilyInput& input, Model* model);
void ReadSiglipText(const FamilyInput& input, Model* model);
void ReadSiglipVision(const FamilyInput& input, Model* model);
void ReadT5(const FamilyInput& input, Model* model);
void ReadVit(const FamilyInput& input, Model* model);
void ReadWhisper(const FamilyInput& input, Model* model);

const TensorLayout& ApertusLayout();
const TensorLayout& BertLayout();
const TensorLayout& ClipLayout();
const TensorLayout& MinimaxLayout();
const TensorLayout& RwkvLayout();
const TensorLayout& SiglipLayout();
const TensorLayout& WhisperLayout();
const TensorLayout& PostNormLayout();
const TensorLayout& Glm4Layout();
const TensorLayout& HunyuanLayout();
const TensorLayout& Starcoder2Layout();
const TensorLayout& BloomLayout();
const TensorLayout& FalconLayout();
const TensorLayout& Gemma2Layout();
const TensorLayout& Gpt2Layout();
const TensorLayout& GptNeoxLayout();
const TensorLayout& DbrxLayout();
const TensorLayout& GptJLayout();
const TensorLayout& GptNeoLayout();
const TensorLayout& RobertaLayout();
const TensorLayout& GptOssLayout();
const TensorLayout& Llama4Layout();
const TensorLayout& MixtralLayout();
const TensorLayout& MambaLayout();
const TensorLayout& BambaLayout();
const TensorLayout& GraniteHybridLayout();
const TensorLayout& NemotronHLayout();
const TensorLayout& Qwen3NextLayout();
const TensorLayout& Lfm2Layout();
const TensorLayout& RecurrentGemmaLayout();
const TensorLayout& MptLayout();
const TensorLayout& OptLayout();
const TensorLayout& PhiLayout();
const TensorLayout& Qwen2MoeLayout();
const TensorLayout& T5Layout();
const TensorLayout& VitLayout();

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_FAMILIES_H_
