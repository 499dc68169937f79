#ifndef MESHWRIGHT_DEGREES_FIXES_H_
#define MESHWRIGHT_DEGREES_FIXES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/degrees/configuration.h"

// Degrees and choices as users write them: "tp=8,pp=4,recompute=full".

namespace meshwright::transformer {

// What the user decided; what is absent is searched.
struct Fixes {
  std::optional<int64_t> tp, tp2, panels, cp, dp, pp, virtual_stages, ep, etp, micro_batch, zero,
      shard;
  std::optional<int64_t> recompute_layers, recompute_stages;
  std::optional<int64_t> tp_inside, tp2_inside, cp_inside, dp_inside, pp_inside;
  std::optional<int64_t> tp_unit, tp2_unit, cp_unit, dp_unit, pp_unit;
  std::optional<int64_t> offload_percent, offload_layers;
  std::optional<bool> sequence_parallel, ends_as_layers, in_order, grid, offload_optimizer,
      offload_activations;
  std::optional<ContextKind> context;
  std::optional<PipelineKind> schedule;
  std::optional<Recompute> recompute;
  bool single_modules =
      true;  // unless `recompute` says what, that of single modules is searched too
  // Of GPUs that are numbered in order, both orders are searched.
  bool both_rank_orders = false;

  friend bool operator==(const Fixes&, const Fixes&) = default;
};

// What frameworks do unless they are told otherwise: GPUs numbered in order, tensor parallelism
// over outputs, rings, the same recomputed in all layers, nothing offloaded. All else is searched.
Fixes UsualFixes();
// What launches are written for (export/), where `fixes` leaves it open: the same, and embedding
// and head not counted as layers, nothing but whole layers or attention computed again; but of
// layers any number, the same in all pipeline groups, and GPUs numbered in either order.
Fixes LaunchableFixes(Fixes fixes = {});

// Reads lists of KEY=VALUE; keys are tp, tp2, panels, cp, dp, pp, vp, ep, etp, mbs, zero, shard,
// recompute_layers, recompute_stages, tp_in, tp2_in, cp_in, dp_in, pp_in (GPUs inside a node),
// tp_unit, tp2_unit, cp_unit, dp_unit, pp_unit (nodes in a unit), offload_percent, offload_layers,
// sp, ends, place, tensor (1d, 2d), offload_optimizer, offload_activations, context, schedule and
// recompute. Errors: an unknown key, a value of another kind, a key twice; they say what would be
// valid.
absl::StatusOr<Fixes> ParseFixes(const std::vector<std::string>& lists);

// One fix as the user would write it, and the fixes without it.
struct SingleFix {
  std::string key, text;  // "tp", "tp=8"
  Fixes others;
};
std::vector<SingleFix> SplitFixes(const Fixes& fixes);

// What `configuration` has at a key: "8", "full".
std::string FixValue(const Configuration& configuration, std::string_view key);

// "tp=8 sp cp=1 dp=4 pp=4 mbs=2 zero=1 recompute=full": degrees of 1 and choices that are off are
// left out.
std::string ConfigurationText(const Configuration& configuration);

std::string_view RecomputeName(Recompute recompute);       // "none", "selective", "modules", "full"
std::string_view PrecisionName(Precision precision);       // "bf16"
std::string_view ContextKindName(ContextKind kind);        // "ring", "allgather", "ulysses"
std::string_view PipelineKindName(PipelineKind schedule);  // "1f1b", "interleaved", "zero-bubble"
std::optional<Recompute> FindRecompute(std::string_view name);
std::optional<PipelineKind> FindPipelineKind(std::string_view name);
std::optional<ContextKind> FindContextKind(std::string_view name);
absl::StatusOr<Precision> ParsePrecision(std::string_view name);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_FIXES_H_
