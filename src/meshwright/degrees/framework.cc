#include "meshwright/degrees/framework.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer {
namespace {

// Releases are those of NVIDIA's containers, by year and month. Attention's scores went through
// memory until flash attention, whose first version 23.04 has and whose second 23.09; later ones
// have cuDNN's, which since 9.0 (24.07) is of the third's kind. From 26.06 on experts run faster.
constexpr std::array<FrameworkRelease, 6> kMegatronReleases = {
    {{"21", "megatron-2021"},
     {"23.04", "megatron-23.04"},
     {"23.09", "megatron-23.09"},
     {"24.01", "megatron"},
     {"24.07", "megatron", /*long_attention=*/true},
     {"26.06", "megatron-26.06", /*long_attention=*/true}}};
// Nothing tells releases of PyTorch's FSDP apart. DeepSpeed and Accelerate train the same modules
// with the same kernels, and so by default does MaxText, of which no half of the runs tells.
constexpr std::array<FrameworkRelease, 1> kFsdpReleases = {{{"24.01", "fsdp"}}};

// Recipes of NeMo and Megatron-Bridge: grad_reduce_in_fp32 = False, cross_entropy_fusion_impl =
// "te", and with latent attention exp_avg_dtype and exp_avg_sq_dtype of 16 bits.
constexpr StateTypes kPerformanceRecipe = {.gradient_bytes = 2, .loss = Loss::kFused};

constexpr std::array<Framework, 7> kFrameworks = {{
    {.name = "megatron",
     .summary = "Megatron-LM",
     .releases = kMegatronReleases,
     .release = "24.07",
     .trains_mtp = true},
    {.name = "nemo",
     .summary = "NeMo and Megatron-Bridge by their performance recipes",
     .releases = kMegatronReleases,
     .release = "24.07",
     .state = kPerformanceRecipe,
     .latent_moment_bytes = 2,
     .trains_mtp = true,
     .recomputes_modules_to_fit = true},
    {.name = "fsdp",
     .summary = "PyTorch's FSDP under any trainer",
     .releases = kFsdpReleases,
     .release = "24.07",
     .zero = 3,
     .keeps_every_other_matmul = true,
     .shrinks_micro_batches = true,
     .micro_batch_per_group = true},
    {.name = "torchtitan",
     .summary = "torchtitan",
     .releases = kFsdpReleases,
     .release = "24.07",
     .zero = 3,
     .keeps_every_other_matmul = true,
     .micro_batch_per_group = true},
    {.name = "deepspeed",
     .summary = "DeepSpeed's ZeRO on Hugging Face's models",
     .releases = kFsdpReleases,
     .release = "24.07",
     .shards_working_weights = true},
    {.name = "accelerate",
     .summary = "Hugging Face's Trainer with FSDP",
     .releases = kFsdpReleases,
     .release = "24.07",
     .zero = 3},
    {.name = "maxtext",
     .summary = "MaxText on JAX",
     .releases = kFsdpReleases,
     .release = "24.07",
     .zero = 3},
}};

// "26.04.01" as {26, 4, 1}.
std::optional<std::vector<int>> ReleaseNumbers(std::string_view text) {
  std::vector<int> numbers;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(text), '.')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < 0) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

// By AttentionKernel: parameters that are of it.
constexpr std::array<std::string_view, 4> kKernels = {"megatron-2021", "megatron-23.04",
                                                      "megatron-23.09", "megatron"};

constexpr int64_t kLeastChunks = 4;  // of the tokens of a micro-batch, with Loss::kChunked

}  // namespace

absl::Span<const Framework> FrameworkTable() { return kFrameworks; }

std::string FrameworkNames() {
  std::string names;
  for (const Framework& one : kFrameworks) StrAppend(&names, names.empty() ? "" : ", ", one.name);
  return names;
}

const Framework* FindFramework(std::string_view name) {
  const auto found = std::find_if(kFrameworks.begin(), kFrameworks.end(),
                                  [&](const Framework& one) { return one.name == name; });
  return found == kFrameworks.end() ? nullptr : &*found;
}

FrameworkParameters ChosenFramework::Parameters(const CostParameters& all) const {
  const std::vector<int> numbers = ReleaseNumbers(release).value_or(std::vector<int>());
  std::string_view name = framework->releases.front().parameters;
  bool long_attention = false;
  for (const FrameworkRelease& one : framework->releases) {
    if (*ReleaseNumbers(one.first) > numbers) continue;
    name = one.parameters;
    long_attention = one.long_attention;
  }
  FrameworkParameters parameters = all.Framework(name);
  parameters.long_attention =
      attention.has_value() ? attention == AttentionKernel::kCudnn : long_attention;
  if (attention.has_value()) {
    const FrameworkParameters kernel = all.Framework(kKernels[static_cast<size_t>(*attention)]);
    parameters.attention = kernel.attention;
    parameters.score_traffic = kernel.score_traffic;
  }
  parameters.keeps_every_other_matmul = framework->keeps_every_other_matmul;
  parameters.shards_working_weights = framework->shards_working_weights;
  return parameters;
}

absl::StatusOr<ChosenFramework> ChooseFramework(std::string_view name, std::string_view release,
                                                const Model& model) {
  ChosenFramework chosen;
  chosen.framework = FindFramework(name);
  if (chosen.framework == nullptr) {
    std::vector<std::string> names;
    names.reserve(kFrameworks.size());
    for (const Framework& one : kFrameworks) names.emplace_back(one.name);
    return absl::InvalidArgumentError(StrCat("found \"", name, "\", did you mean \"",
                                             NearestName(name, names), "\"? Frameworks are ",
                                             FrameworkNames()));
  }
  const Framework& row = *chosen.framework;
  chosen.release = std::string(release.empty() ? row.release : release);
  if (!ReleaseNumbers(chosen.release).has_value()) {
    return absl::InvalidArgumentError(StrCat("found the release \"", release,
                                             "\", expected a year and month such as ",
                                             kMegatronReleases.back().first));
  }
  chosen.state = {.gradient_bytes = row.state.gradient_bytes,
                  .moment_bytes = HasLatentAttention(model)
                                      ? std::min(row.state.moment_bytes, row.latent_moment_bytes)
                                      : row.state.moment_bytes,
                  .logit_bytes = LogitBytes(row.state.loss, model)};
  return chosen;
}

bool HasLatentAttention(const Model& model) {
  return std::any_of(model.stacks.begin(), model.stacks.end(), [](const Stack& stack) {
    return std::any_of(stack.kinds.begin(), stack.kinds.end(),
                       [](const Layer& layer) { return layer.attention.latent.has_value(); });
  });
}

double LogitBytes(Loss loss, const Model& model) {
  constexpr double kUnfused = 12, kFused = 4;
  if (loss != Loss::kChunked) return loss == Loss::kFused ? kFused : kUnfused;
  const int64_t hidden = std::max<int64_t>(model.hidden, 1);
  const int64_t chunks = (model.head.outputs + hidden - 1) / hidden;
  return kUnfused / static_cast<double>(std::max<int64_t>(chunks, kLeastChunks));
}

std::optional<Loss> LossOf(double logit_bytes) {
  if (!(logit_bytes > 0)) return std::nullopt;
  const Model none;
  if (logit_bytes < LogitBytes(Loss::kFused, none)) return Loss::kChunked;
  return logit_bytes < LogitBytes(Loss::kF32, none) ? Loss::kFused : Loss::kF32;
}

}  // namespace meshwright::transformer
