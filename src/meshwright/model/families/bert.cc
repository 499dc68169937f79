#include <algorithm>
#include <vector>

#include "meshwright/model/families/common.h"

// BERT (arXiv:1810.04805): norms after the residual sums, a pooler on the first token, and heads
// for masked tokens (its weight is the embedding's) and the next sentence. RoBERTa is the same but
// for names, and has no second head.

namespace meshwright::transformer {

void ReadBert(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  model->hidden = config.Count("hidden_size", kMaxWidth);
  const int64_t layers = config.Count("num_hidden_layers", kMaxLayers);
  Embedding& embedding = model->embedding;
  embedding.vocabulary = config.Count("vocab_size", kMaxVocabulary);
  embedding.dim = model->hidden;
  embedding.positions = config.Count("max_position_embeddings", kMaxVocabulary, 512);
  embedding.token_types = config.CountOrZero("type_vocab_size", kMaxVocabulary, 2);
  embedding.norm = LayerNorm();
  // RoBERTa counts positions from behind the token of padding, which is the second.
  constexpr int64_t kPadding = 2;
  const int64_t without = model->family == "roberta" ? kPadding : 0;
  model->max_sequence = std::max<int64_t>(1, embedding.positions - without);
  Layer layer;
  layer.attention = ReadHeads(config, model->hidden, {.kv_heads = "", .head_dim = ""});
  layer.attention.position = PositionKind::kNone;
  layer.attention.causal = input.task == Task::kLanguageModel || config.Flag("is_decoder", false);
  SetBiases(layer.attention, true, true);
  layer.mlp =
      Mlp{.ffn = config.Count("intermediate_size", kMaxFfn), .up_bias = true, .down_bias = true};
  layer.mlp->activation = ReadActivation(config, "hidden_act", "gelu");
  layer.post_norm = true;
  layer.attention_norm = layer.mlp_norm = LayerNorm();
  Stack& stack = model->stacks.emplace_back(Stack{.role = StackRole::kEncoder});
  for (int64_t i = 0; i < layers; ++i) AppendLayer(stack, layer);

  Head& head = model->head;
  const bool words = input.task == Task::kPreTraining || input.task == Task::kMaskedLm ||
                     input.task == Task::kLanguageModel;
  if (words) {
    head.outputs = embedding.vocabulary;
    head.tied = config.Flag("tie_word_embeddings", true);
    head.bias = head.transform = true;
  }
  const bool pooled = input.task == Task::kBase || input.task == Task::kPreTraining ||
                      input.task == Task::kSequenceClassification;
  if (pooled) head.pooler = model->hidden;
  if (input.task == Task::kPreTraining) head.pooled_outputs = 2;
  if (input.task == Task::kSequenceClassification) head.pooled_outputs = input.labels;
}

namespace {

// With the names that both have for the parts of a layer.
std::vector<TensorName> EncoderNames(std::vector<TensorName> names) {
  const std::vector<TensorName> common = {{Part::kQuery, "attention.self.query.*"},
                                          {Part::kKey, "attention.self.key.*"},
                                          {Part::kValue, "attention.self.value.*"},
                                          {Part::kAttentionOutput, "attention.output.dense.*"},
                                          {Part::kAttentionNorm, "attention.output.LayerNorm.*"},
                                          {Part::kMlpUp, "intermediate.dense.*"},
                                          {Part::kMlpDown, "output.dense.*"},
                                          {Part::kMlpNorm, "output.LayerNorm.*"}};
  names.insert(names.end(), common.begin(), common.end());
  return names;
}

}  // namespace

const TensorLayout& BertLayout() {
  static const TensorLayout* const kLayout = new TensorLayout{
      .layer_prefix = "bert.encoder.layer.{layer}.",
      .names = EncoderNames({{Part::kTokenEmbedding, "bert.embeddings.word_embeddings.*"},
                             {Part::kPositionEmbedding, "bert.embeddings.position_embeddings.*"},
                             {Part::kTokenTypeEmbedding, "bert.embeddings.token_type_embeddings.*"},
                             {Part::kEmbeddingNorm, "bert.embeddings.LayerNorm.*"},
                             {Part::kPooler, "bert.pooler.dense.*"},
                             {Part::kHeadTransform, "cls.predictions.transform.dense.*"},
                             {Part::kHeadTransformNorm, "cls.predictions.transform.LayerNorm.*"},
                             {Part::kHead, "cls.predictions{bias?:.decoder}.*"},
                             {Part::kPooledHead, "cls.seq_relationship.*"}})};
  return *kLayout;
}

const TensorLayout& RobertaLayout() {
  static const TensorLayout* const kLayout = new TensorLayout{
      .layer_prefix = "roberta.encoder.layer.{layer}.",
      .names =
          EncoderNames({{Part::kTokenEmbedding, "roberta.embeddings.word_embeddings.*"},
                        {Part::kPositionEmbedding, "roberta.embeddings.position_embeddings.*"},
                        {Part::kTokenTypeEmbedding, "roberta.embeddings.token_type_embeddings.*"},
                        {Part::kEmbeddingNorm, "roberta.embeddings.LayerNorm.*"},
                        {Part::kPooler, "roberta.pooler.dense.*"},
                        {Part::kHeadTransform, "lm_head.dense.*"},
                        {Part::kHeadTransformNorm, "lm_head.layer_norm.*"},
                        {Part::kHead, "lm_head{bias?:.decoder}.*"}})};
  return *kLayout;
}

}  // namespace meshwright::transformer
