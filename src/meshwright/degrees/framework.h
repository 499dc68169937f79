#ifndef MESHWRIGHT_DEGREES_FRAMEWORK_H_
#define MESHWRIGHT_DEGREES_FRAMEWORK_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/base/words.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/model/model.h"

// Frameworks that train transformers, one row each. Whatever predicts a step, for a plan or for a
// published run, goes by these rows, so that what is validated is what decides.

namespace meshwright::transformer {

// How logits become a loss and a gradient.
enum class Loss {
  kF32,    // the loss and its gradient in f32, beside the logits in 16 bits and in f32
  kFused,  // one kernel makes the gradient of 16-bit logits in f32, in place
  // As kF32, of some tokens at once: as many as have no more logits than hidden states in all
  // (Liger's fused linear cross entropy).
  kChunked,
};

// What computes attention. Its speed is a multiple of the device's for flash attention.
enum class AttentionKernel {
  kEager,   // scores go through memory
  kFlash,   // the first flash attention
  kFlash2,  // the second
  kCudnn,   // cuDNN's, or the third
};

// The optimizer state, gradients and loss that a framework has, where users may choose.
struct StateTypes {
  double gradient_bytes = 4, moment_bytes = 4;  // of a parameter, as StateOptions
  Loss loss = Loss::kF32;
};

// The name of the parameters (CostParameters::frameworks) from a release on.
struct FrameworkRelease {
  std::string_view first;  // "26.06"; of the first of all it counts for older ones too
  std::string_view parameters;
  bool long_attention = false;  // FrameworkParameters'
};

struct Framework {
  std::string_view name;     // as in --framework
  std::string_view summary;  // for help
  // In rising order. Attention's kernel, what overlaps and how fast the rest is are the parameters.
  absl::Span<const FrameworkRelease> releases;
  std::string_view release;  // where nobody says which
  StateTypes state;
  // Of models with latent attention, whose recipes keep moments in fewer bits.
  double latent_moment_bytes = 4;
  // What is sharded unless somebody says otherwise, as Configuration::zero. With 3 weights are
  // gathered anew for the backward phase; FSDP that keeps them (reshard_after_forward off,
  // SHARD_GRAD_OP) costs nearly the same and is 3 here, too.
  int zero = 1;
  // Selective recomputation keeps every other matmul and attention's result, as torchtitan's; else
  // all but attention's core.
  bool keeps_every_other_matmul = false;
  // ZeRO 3 shards weights of the type that they are multiplied in, beside the master copy, and
  // where the optimizer's state is offloaded, the copy and the gradients' shards go along
  // (DeepSpeed's fp16_groups, fp32_partitioned_groups_flat and grad_partitions_flat_buffer); else
  // it shards the master copy alone, which stays.
  bool shards_working_weights = false;
  bool trains_mtp = false;  // modules of multi-token prediction
  // A micro-batch need not divide a replica's batch: it is made as much smaller as it takes.
  bool shrinks_micro_batches = false;
  // With a pipeline the micro-batches are as many as the groups, unless somebody says otherwise;
  // else they are single sequences.
  bool micro_batch_per_group = false;
  // Recipes recompute single modules of latent attention where memory is short.
  bool recomputes_modules_to_fit = false;
};

absl::Span<const Framework> FrameworkTable();
std::string FrameworkNames();  // "megatron, nemo, ..."
// nullptr: there is none.
const Framework* FindFramework(std::string_view name);

// A framework at a release, and the state that it trains with.
struct ChosenFramework {
  const Framework* framework = &FrameworkTable().front();
  std::string release = std::string(framework->release);
  std::optional<AttentionKernel> attention = std::nullopt;  // none: that of the release
  StateOptions state;                                       // of the default: StateOptions'

  // The parameters by which it runs.
  FrameworkParameters Parameters(const CostParameters& all) const;
  friend bool operator==(const ChosenFramework&, const ChosenFramework&) = default;
};

bool HasLatentAttention(const Model& model);

// The framework `name` at `release` (empty: the row's), with the state that it has for `model`.
// Errors: a name that there is not, with the nearest; a release that is no number.
absl::StatusOr<ChosenFramework> ChooseFramework(std::string_view name, std::string_view release,
                                                const Model& model);

double LogitBytes(Loss loss, const Model& model);  // StateOptions::logit_bytes
// Nothing where there are no logits.
std::optional<Loss> LossOf(double logit_bytes);

}  // namespace meshwright::transformer

namespace meshwright {
template <>
inline constexpr auto kWords<transformer::Loss> = std::to_array<std::string_view>({"f32", "fused",
                                                                                   "chunked"});
template <>
inline constexpr auto kWords<transformer::AttentionKernel> =
    std::to_array<std::string_view>({"eager", "flash", "flash2", "cudnn"});
}  // namespace meshwright

#endif  // MESHWRIGHT_DEGREES_FRAMEWORK_H_
