#include "meshwright/model/families.h"

namespace meshwright::transformer {
namespace {

std::vector<Task> DecoderTasks() {
  return {Task::kLanguageModel, Task::kBase, Task::kSequenceClassification};
}

std::vector<Task> TowerTasks() { return {Task::kBase, Task::kProjection}; }

}  // namespace

const std::vector<Family>& Families() {
  static const auto* const kFamilies = new std::vector<Family>{
      {"apertus", "Apertus", "Apertus", DecoderTasks(), &ReadApertus, &ApertusLayout},
      {"bamba", "Bamba", "Bamba", DecoderTasks(), &ReadBamba, &BambaLayout},
      {"bert",
       "Bert",
       "BERT",
       {Task::kPreTraining, Task::kBase, Task::kMaskedLm, Task::kLanguageModel,
        Task::kSequenceClassification},
       &ReadBert,
       &BertLayout},
      {"bloom", "Bloom", "BLOOM", DecoderTasks(), &ReadBloom, &BloomLayout},
      {"clip_text_model", "CLIPText", "CLIP (texts)", TowerTasks(), &ReadClipText, &ClipLayout},
      {"clip_vision_model", "CLIPVision", "CLIP (images)", TowerTasks(), &ReadClipVision,
       &ClipLayout},
      {"cohere", "Cohere", "Command R", DecoderTasks(), &ReadCohere, nullptr},
      {"cohere2", "Cohere2", "Command R7B, Command A", DecoderTasks(), &ReadCohere, nullptr},
      {"dbrx", "Dbrx", "DBRX", DecoderTasks(), &ReadDbrx, &DbrxLayout},
      {"deepseek_v2", "DeepseekV2", "DeepSeek V2", DecoderTasks(), &ReadDeepseek, nullptr},
      {"deepseek_v3", "DeepseekV3", "DeepSeek V3, R1", DecoderTasks(), &ReadDeepseek, nullptr},
      {"deepseek_v32", "DeepseekV32", "DeepSeek V3.2", DecoderTasks(), &ReadDeepseek, nullptr},
      {"dots1", "Dots1", "dots.llm1", DecoderTasks(), &ReadDots1, nullptr},
      {"ernie4_5", "Ernie4_5", "ERNIE 4.5", DecoderTasks(), &ReadErnie, nullptr},
      {"ernie4_5_moe", "Ernie4_5_Moe", "ERNIE 4.5 MoE", DecoderTasks(), &ReadErnieMoe, nullptr},
      {"exaone4", "Exaone4", "EXAONE 4", DecoderTasks(), &ReadExaone4, &PostNormLayout},
      {"falcon", "Falcon", "Falcon", DecoderTasks(), &ReadFalcon, &FalconLayout},
      {"falcon_mamba", "FalconMamba", "Falcon Mamba", DecoderTasks(), &ReadMamba, &MambaLayout},
      {"gemma", "Gemma", "Gemma 1", DecoderTasks(), &ReadGemma, nullptr},
      {"gemma2", "Gemma2", "Gemma 2", DecoderTasks(), &ReadGemma2, &Gemma2Layout},
      {"gemma3", "Gemma3", "Gemma 3 (text)", DecoderTasks(), &ReadGemma3, &Gemma2Layout},
      {"gemma3_text", "Gemma3Text", "Gemma 3 (text)", DecoderTasks(), &ReadGemma3, &Gemma2Layout},
      {"gemma3n", "Gemma3n", "Gemma 3n (text)", DecoderTasks(), &ReadGemma3n, &Gemma2Layout},
      {"gemma3n_text", "Gemma3nText", "Gemma 3n (text)", DecoderTasks(), &ReadGemma3n,
       &Gemma2Layout},
      {"glm", "Glm", "GLM 4 (9B)", DecoderTasks(), &ReadGlm, nullptr},
      {"glm4", "Glm4", "GLM 4 (0414)", DecoderTasks(), &ReadGlm, &Glm4Layout},
      {"glm4_moe", "Glm4Moe", "GLM 4.5, 4.6", DecoderTasks(), &ReadGlm4Moe, nullptr},
      {"gpt2", "GPT2", "GPT-2, GPT-3", DecoderTasks(), &ReadGpt2, &Gpt2Layout},
      {"gpt_neo", "GPTNeo", "GPT-Neo", DecoderTasks(), &ReadGptNeo, &GptNeoLayout},
      {"gpt_neox", "GPTNeoX", "GPT-NeoX, Pythia", DecoderTasks(), &ReadGptNeox, &GptNeoxLayout},
      {"gpt_oss", "GptOss", "gpt-oss", DecoderTasks(), &ReadGptOss, &GptOssLayout},
      {"gptj", "GPTJ", "GPT-J", DecoderTasks(), &ReadGptJ, &GptJLayout},
      {"granite", "Granite", "Granite 3", DecoderTasks(), &ReadGranite, nullptr},
      {"granitemoe", "GraniteMoe", "Granite 3 MoE", DecoderTasks(), &ReadGraniteMoe, nullptr},
      {"granitemoehybrid", "GraniteMoeHybrid", "Granite 4", DecoderTasks(), &ReadGraniteHybrid,
       &GraniteHybridLayout},
      {"hunyuan_v1_dense", "HunYuanDenseV1", "Hunyuan (dense)", DecoderTasks(), &ReadHunyuan,
       &HunyuanLayout},
      {"hunyuan_v1_moe", "HunYuanMoEV1", "Hunyuan (experts)", DecoderTasks(), &ReadHunyuanMoe,
       &HunyuanLayout},
      {"jamba", "Jamba", "Jamba", DecoderTasks(), &ReadJamba, &BambaLayout},
      {"kimi_k2", "DeepseekV3", "Kimi K2", DecoderTasks(), &ReadDeepseek, nullptr},
      {"lfm2", "Lfm2", "LFM 2", DecoderTasks(), &ReadLfm2, &Lfm2Layout},
      {"llama", "Llama", "Llama 1, 2, 3", DecoderTasks(), &ReadLlama, nullptr},
      {"llama4", "Llama4", "Llama 4 (text)", DecoderTasks(), &ReadLlama4, &Llama4Layout},
      {"llama4_text", "Llama4", "Llama 4 (text)", DecoderTasks(), &ReadLlama4, &Llama4Layout},
      {"mamba", "Mamba", "Mamba", DecoderTasks(), &ReadMamba, &MambaLayout},
      {"mamba2", "Mamba2", "Mamba 2", DecoderTasks(), &ReadMamba2, &MambaLayout},
      {"minimax", "MiniMax", "MiniMax 01, M1", DecoderTasks(), &ReadMinimax, &MinimaxLayout},
      {"minimax_m2", "MiniMaxM2", "MiniMax M2", DecoderTasks(), &ReadMinimaxM2, nullptr},
      {"mistral", "Mistral", "Mistral", DecoderTasks(), &ReadMistral, nullptr},
      {"mixtral", "Mixtral", "Mixtral", DecoderTasks(), &ReadMixtral, &MixtralLayout},
      {"mpt", "MPT", "MPT", DecoderTasks(), &ReadMpt, &MptLayout},
      {"mt5",
       "MT5",
       "mT5",
       {Task::kLanguageModel, Task::kBase, Task::kEncoder},
       &ReadT5,
       &T5Layout},
      {"nemotron", "Nemotron", "Nemotron-4, Minitron", DecoderTasks(), &ReadNemotron, nullptr},
      {"nemotron_h", "NemotronH", "Nemotron-H, Nemotron Nano 2 and 3", DecoderTasks(),
       &ReadNemotronH, &NemotronHLayout},
      {"olmo2", "Olmo2", "OLMo 2", DecoderTasks(), &ReadOlmo2, &PostNormLayout},
      {"olmo3", "Olmo3", "OLMo 3", DecoderTasks(), &ReadOlmo2, &PostNormLayout},
      {"olmoe", "Olmoe", "OLMoE", DecoderTasks(), &ReadOlmoe, nullptr},
      {"opt", "OPT", "OPT", DecoderTasks(), &ReadOpt, &OptLayout},
      {"phi", "Phi", "Phi 1, 1.5, 2", DecoderTasks(), &ReadPhi, &PhiLayout},
      {"phi3", "Phi3", "Phi 3, 4", DecoderTasks(), &ReadPhi3, nullptr},
      {"phimoe", "PhiMoE", "Phi 3.5 MoE", DecoderTasks(), &ReadPhimoe, &MixtralLayout},
      {"qwen2", "Qwen2", "Qwen 2, 2.5", DecoderTasks(), &ReadQwen2, nullptr},
      {"qwen2_5_vl_text", "Qwen2_5_VL", "Qwen 2.5 VL (text)", DecoderTasks(), &ReadQwen2, nullptr},
      {"qwen2_moe", "Qwen2Moe", "Qwen 1.5 and 2 MoE", DecoderTasks(), &ReadQwen2Moe,
       &Qwen2MoeLayout},
      {"qwen2_vl_text", "Qwen2VL", "Qwen 2 VL (text)", DecoderTasks(), &ReadQwen2, nullptr},
      {"qwen3", "Qwen3", "Qwen 3", DecoderTasks(), &ReadQwen3, nullptr},
      {"qwen3_moe", "Qwen3Moe", "Qwen 3 MoE", DecoderTasks(), &ReadQwen3Moe, nullptr},
      {"qwen3_next", "Qwen3Next", "Qwen 3 Next", DecoderTasks(), &ReadQwen3Next, &Qwen3NextLayout},
      {"qwen3_vl_moe_text", "Qwen3VLMoe", "Qwen 3 VL MoE (text)", DecoderTasks(), &ReadQwen3Moe,
       nullptr},
      {"qwen3_vl_text", "Qwen3VL", "Qwen 3 VL (text)", DecoderTasks(), &ReadQwen3, nullptr},
      {"recurrent_gemma", "RecurrentGemma", "RecurrentGemma", DecoderTasks(), &ReadRecurrentGemma,
       &RecurrentGemmaLayout},
      {"roberta",
       "Roberta",
       "RoBERTa",
       {Task::kMaskedLm, Task::kBase, Task::kLanguageModel},
       &ReadBert,
       &RobertaLayout},
      {"rwkv", "Rwkv", "RWKV 4", DecoderTasks(), &ReadRwkv, &RwkvLayout},
      {"seed_oss", "SeedOss", "Seed-OSS", DecoderTasks(), &ReadSeedOss, nullptr},
      {"siglip_text_model",
       "SiglipText",
       "SigLIP (texts)",
       {Task::kBase},
       &ReadSiglipText,
       &SiglipLayout},
      {"siglip_vision_model",
       "SiglipVision",
       "SigLIP (images)",
       {Task::kBase},
       &ReadSiglipVision,
       &SiglipLayout},
      {"smollm3", "SmolLM3", "SmolLM 3", DecoderTasks(), &ReadSmollm3, nullptr},
      {"stablelm", "StableLm", "StableLM 2", DecoderTasks(), &ReadStablelm, nullptr},
      {"starcoder2", "Starcoder2", "StarCoder 2", DecoderTasks(), &ReadStarcoder2,
       &Starcoder2Layout},
      {"t5",
       "T5",
       "T5 1.0 and 1.1",
       {Task::kLanguageModel, Task::kBase, Task::kEncoder},
       &ReadT5,
       &T5Layout},
      {"vit", "ViT", "ViT", {Task::kImageClassification, Task::kBase}, &ReadVit, &VitLayout},
      {"whisper",
       "Whisper",
       "Whisper",
       {Task::kLanguageModel, Task::kBase},
       &ReadWhisper,
       &WhisperLayout},
  };
  return *kFamilies;
}

const Family* FindFamily(std::string_view model_type) {
  for (const Family& family : Families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

const TensorLayout& LayoutOf(std::string_view family) {
  static const TensorLayout* const kLlama = new TensorLayout();
  const Family* const found = FindFamily(family);
  return found != nullptr && found->layout != nullptr ? found->layout() : *kLlama;
}

}  // namespace meshwright::transformer
