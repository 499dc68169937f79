// The three models of the publication, and how the authors measured their layers to grow with the
// micro-batch. Profiles are of one sequence; the factors are cumulative ratios of measurements.

#include <algorithm>
#include <iterator>

#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/strings.h"
#include "meshwright/published/fasop/fasop.h"

namespace meshwright::transformer::fasop {
namespace {

std::vector<LayerKind> DecoderOnly(int64_t layers) {
  std::vector<LayerKind> kinds(layers + 2, LayerKind::kLayer);
  kinds.front() = LayerKind::kEmbedding;
  kinds.back() = LayerKind::kPost;
  return kinds;
}

std::vector<LayerKind> EncoderDecoder(int64_t layers) {
  std::vector<LayerKind> kinds(1, LayerKind::kEmbedding);
  kinds.insert(kinds.end(), layers / 2, LayerKind::kEncoder);
  kinds.push_back(LayerKind::kEmbedding);
  kinds.insert(kinds.end(), layers / 2, LayerKind::kDecoder);
  return kinds;
}

// Where the layer of `kind` was measured at micro-batches; beyond the last time is proportional.
struct Growth {
  int64_t first = 1;              // below it the factor is 1
  std::vector<double> ratios;     // at first, 2 first, 4 first, ... to what went before
  int64_t proportional_over = 1;  // the factor beyond is the last one's times b over this
};

double GrowthFactor(const Growth& growth, int64_t micro_batch) {
  double factor = 1;
  int64_t at = growth.first;
  for (const double ratio : growth.ratios) {
    if (micro_batch < at) return factor;
    factor *= ratio;
    if (micro_batch == at) return factor;
    at *= 2;
  }
  if (micro_batch < at) return factor;
  return factor * static_cast<double>(micro_batch) / static_cast<double>(growth.proportional_over);
}

double BertFactor(Gpu gpu, LayerKind kind, int64_t micro_batch) {
  const double b = static_cast<double>(micro_batch);
  if (kind == LayerKind::kPost) return b;
  const bool embedding = kind == LayerKind::kEmbedding;
  if (gpu == Gpu::kA10) return micro_batch < (embedding ? 4 : 8) ? 1 : b / 4;
  if (embedding) return GrowthFactor({8, {1.385, 1.589, 1.565}, 32}, micro_batch);
  // At 8 sequences 1.236 was written, at more the same ratio as 1.235.
  if (micro_batch == 8) return 1.236;
  return GrowthFactor({8, {1.235, 1.658}, 16}, micro_batch);
}

double T5Factor(Gpu gpu, LayerKind kind, int64_t micro_batch) {
  const bool a10 = gpu == Gpu::kA10;
  switch (kind) {
    case LayerKind::kEncoder:
      return a10 ? GrowthFactor({2, {1.140}, 2}, micro_batch)
                 : GrowthFactor({4, {1.173, 1.489}, 8}, micro_batch);
    case LayerKind::kDecoder:
      return a10 ? GrowthFactor({2, {1.094}, 2}, micro_batch)
                 : GrowthFactor({4, {1.142, 1.683}, 8}, micro_batch);
    default:
      return a10 ? GrowthFactor({2, {1.2, 1.2, 1.4, 1.6}, 16}, micro_batch)
                 : GrowthFactor({2, {1.386, 1.244, 1.356, 1.055, 1.368}, 32}, micro_batch);
  }
}

double GptFactor(Gpu gpu, LayerKind kind, int64_t micro_batch) {
  // The ends are constant on the A100.
  return kind == LayerKind::kLayer || gpu == Gpu::kA10 ? static_cast<double>(micro_batch) : 1;
}

using FactorFunction = double (*)(Gpu, LayerKind, int64_t);

// A profile of equal layers, run by run.
struct Runs {
  Gpu gpu;
  int64_t tp;
  std::vector<std::pair<double, int64_t>> seconds;  // of so many layers in a row
};

struct PublishedModel {
  Model model;
  FactorFunction factor;
  Profile profile;
};

Profile MakeProfile(const std::vector<Runs>& runs) {
  Profile profile;
  for (const Runs& one : runs) {
    std::vector<double>& seconds = profile[{one.gpu, one.tp}];
    for (const auto& [value, times] : one.seconds) seconds.insert(seconds.end(), times, value);
  }
  return profile;
}

std::vector<PublishedModel> MakePublishedModels() {
  constexpr Gpu a100 = Gpu::kA100, a10 = Gpu::kA10;
  std::vector<PublishedModel> models;
  models.push_back(
      {{"gpt2XL", 1600, 1024, 48, 50257, 16, 64, false, DecoderOnly(48)},
       &GptFactor,
       MakeProfile({{a100, 1, {{0.000159, 1}, {0.0016384583333333331, 48}, {0.00073, 1}}},
                    {a100, 2, {{0.000570774, 1}, {0.0015983830416666667, 48}, {0.000728, 1}}},
                    {a100, 4, {{0.000749588, 1}, {0.001452470833333333, 48}, {0.000732, 1}}},
                    {a10, 1, {{0.000297, 1}, {0.0023422291666666665, 48}, {0.0021184, 1}}},
                    {a10, 2, {{0.000558376, 1}, {0.0016447205833333336, 48}, {0.0020587, 1}}},
                    {a10, 4, {{0.001030207, 1}, {0.0017473151875, 48}, {0.0020743, 1}}}})});
  models.push_back(
      {{"bert", 1024, 512, 24, 30522, 16, 256, false, DecoderOnly(24)},
       &BertFactor,
       MakeProfile({{a100, 1, {{0.000230861, 1}, {0.001443982, 24}, {0.001056433, 1}}},
                    {a100, 2, {{0.000458074, 1}, {0.001640034, 24}, {0.000849152, 1}}},
                    {a100, 4, {{0.000467277, 1}, {0.001612544, 24}, {0.000859308, 1}}},
                    {a10, 1, {{0.000229263, 1}, {0.002081418, 24}, {0.00212672, 1}}},
                    {a10, 2, {{0.00049963, 1}, {0.001829433, 24}, {0.001205842, 1}}},
                    {a10, 4, {{0.000613117, 1}, {0.001926255, 24}, {0.000994603, 1}}}})});
  // The last encoder and the last decoder come with what follows them.
  const auto t5 = [](Gpu gpu, int64_t tp, double encoder_embedding, double encoder,
                     double last_encoder, double decoder_embedding, double decoder,
                     double last_decoder) -> Runs {
    return {gpu,
            tp,
            {{encoder_embedding, 1},
             {encoder, 23},
             {last_encoder, 1},
             {decoder_embedding, 1},
             {decoder, 23},
             {last_decoder, 1}}};
  };
  models.push_back({{"T5", 1024, 512, 48, 30522, 32, 128, true, EncoderDecoder(48)},
                    &T5Factor,
                    MakeProfile({t5(a100, 1, 0.000190997, 0.001170739, 0.0011881197, 0.000220585,
                                    0.002099025, 0.0021149037),
                                 t5(a100, 2, 0.000410318, 0.001364652, 0.001383654, 0.000517321,
                                    0.00242337, 0.0024399401000000003),
                                 t5(a100, 4, 0.000441623, 0.001504668, 0.0015243614, 0.000487876,
                                    0.002515952, 0.0025322598),
                                 t5(a10, 1, 0.000212169, 0.001450825, 0.0014675381, 0.000187683,
                                    0.002590394, 0.0026067972),
                                 t5(a10, 2, 0.00040257, 0.001484366, 0.0015053945, 0.00058794,
                                    0.002575711, 0.0025957858),
                                 t5(a10, 4, 0.000471425, 0.001431004, 0.0014520802, 0.000588989,
                                    0.002607838, 0.0026276983)})});
  return models;
}

const std::vector<PublishedModel>& PublishedModels() {
  static const auto* const kModels = new std::vector<PublishedModel>(MakePublishedModels());
  return *kModels;
}

const PublishedModel& Published(const Model& model) {
  const std::vector<PublishedModel>& all = PublishedModels();
  return *std::find_if(all.begin(), std::prev(all.end()),
                       [&](const PublishedModel& one) { return one.model.name == model.name; });
}

}  // namespace

std::string_view GpuName(Gpu gpu) { return gpu == Gpu::kA100 ? "A100" : "A10"; }

const std::vector<Model>& Models() {
  static const auto* const kModels = [] {
    auto* const models = new std::vector<Model>();
    for (const PublishedModel& one : PublishedModels()) models->push_back(one.model);
    return models;
  }();
  return *kModels;
}

absl::StatusOr<const Model*> FindModel(std::string_view name) {
  std::vector<std::string> names;
  for (const Model& model : Models()) {
    if (model.name == name) return &model;
    names.push_back(model.name);
  }
  return absl::InvalidArgumentError(
      StrCat("found model \"", name, "\", expected ", absl::StrJoin(names, ", ")));
}

double MicroBatchFactor(const Model& model, Gpu gpu, LayerKind kind, int64_t micro_batch) {
  return Published(model).factor(gpu, kind, micro_batch);
}

const Profile& PublishedProfile(const Model& model) { return Published(model).profile; }

}  // namespace meshwright::transformer::fasop
