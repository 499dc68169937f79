#include <array>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/matmuls.h"
#include "meshwright/model/model_table.h"
#include "meshwright/model/tensors.h"

namespace meshwright::transformer {
namespace {

Json FlopsJson(const FlopCounts& flops) {
  return {{"forward", flops.forward},
          {"backward", flops.backward},
          {"dense_forward", flops.dense_forward},
          {"dense_backward", flops.dense_backward}};
}

Json MatmulJson(const Matmul& matmul) {
  constexpr std::array<const char*, 5> kKinds = {"weight", "scores", "values", "experts", "scan"};
  Json json = {{"kind", kKinds[static_cast<size_t>(matmul.kind)]},
               {"part", PartName(matmul.part)},
               {"m", matmul.m},
               {"n", matmul.n},
               {"k", matmul.k},
               {"batch", matmul.batch}};
  if (matmul.pairs > 0) json["attended_pairs"] = matmul.pairs;
  json["flops"] = matmul.Flops(false);
  return json;
}

Json LayerJson(const Model& model, const Stack& stack, int32_t kind, const Batch& batch) {
  const Layer& layer = stack.kinds[kind];
  Json json = {{"name", layer.name},
               {"layers", stack.CountOf(kind)},
               {"attention", layer.attends() ? AttentionText(layer.attention) : ""},
               {"feedforward", FeedforwardText(layer)},
               {"parallel", layer.parallel},
               {"matmuls", Json::array()}};
  if (layer.recurrence.has_value()) json["recurrence"] = RecurrenceText(*layer.recurrence);
  for (const Matmul& matmul : LayerMatmuls(model, stack, layer, batch)) {
    json["matmuls"].push_back(MatmulJson(matmul));
  }
  return json;
}

Json StackJson(const Model& model, const Stack& stack, const Batch& batch) {
  Json json = {{"role", stack.role == StackRole::kEncoder ? "encoder" : "decoder"},
               {"kinds", Json::array()},
               {"layers", stack.layers}};
  for (int32_t kind = 0; kind < std::ssize(stack.kinds); ++kind) {
    json["kinds"].push_back(LayerJson(model, stack, kind, batch));
  }
  return json;
}

Json TensorJson(const Tensor& tensor) {
  Json json = {{"name", tensor.name},
               {"part", PartName(tensor.part)},
               {"group", GroupName(GroupOf(tensor.part))},
               {"shape", tensor.shape},
               {"count", tensor.count},
               {"parameters", tensor.elements()},
               {"active", tensor.active_elements}};
  if (tensor.mtp) json["multi_token_prediction"] = true;
  if (!tensor.trained) json["trained"] = false;
  return json;
}

}  // namespace

std::string ModelJson(const Model& model, const Batch& batch) {
  const std::vector<Tensor> tensors = Tensors(model);
  const ParameterCounts counts = CountParameters(tensors);
  const ModelFlops flops = CountModelFlops(model, batch);
  Json json = {{"name", model.name},
               {"family", model.family},
               {"hidden", model.hidden},
               {"vocabulary", model.embedding.vocabulary},
               {"max_sequence", model.max_sequence},
               {"stacks", Json::array()},
               {"tensors", Json::array()},
               {"notes", model.notes}};
  for (const Stack& stack : model.stacks) json["stacks"].push_back(StackJson(model, stack, batch));
  for (const Tensor& tensor : tensors) json["tensors"].push_back(TensorJson(tensor));
  json["parameters"] = {{"total", counts.total},
                        {"active", counts.active},
                        {"embedding", counts.embedding},
                        {"untrained", counts.untrained},
                        {"multi_token_prediction", counts.mtp}};
  json["sequence"] = batch.tokens;
  json["tokens"] = TokensOf(model, batch);
  json["flops"] = {
      {"embedding", FlopsJson(flops.embedding)},        {"weights", FlopsJson(flops.weights)},
      {"attention", FlopsJson(flops.attention)},        {"head", FlopsJson(flops.head)},
      {"multi_token_prediction", FlopsJson(flops.mtp)}, {"total", FlopsJson(flops.total())}};
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace meshwright::transformer
