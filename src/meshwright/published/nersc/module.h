#ifndef MESHWRIGHT_PUBLISHED_NERSC_MODULE_H_
#define MESHWRIGHT_PUBLISHED_NERSC_MODULE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/published/nersc/nersc.h"
#include "meshwright/published/nersc/operator.h"

// The halves of a layer as lists of operators, in the order of the published tables.

namespace meshwright::transformer::nersc {

enum class Module {
  kMlp1d,                   // "mlp_1d"
  kMlpSumma,                // "mlp_2d"
  kMlpSequence,             // "mlp_seqp"
  kAttention1d,             // "sa_1d"
  kAttentionSumma,          // "sa_2d": attention itself on the grid; no search uses it
  kAttentionSummaSequence,  // "sa_2d_seqp": SUMMA projections about attention split by sequence
  kAttentionSequence,       // "sa_seqp"
};
// Errors list the names.
absl::StatusOr<Module> ParseModule(std::string_view name);
bool IsMlp(Module module);
bool IsSumma(Module module);
bool Is1d(Module module);

struct ModuleOptions {
  int64_t batch = 1;         // samples of a micro-batch
  int64_t tp1 = 1, tp2 = 1;  // tp2 is 1 where Is1d
  int64_t panels = 0;        // where IsSumma
  // Variants of attention. kAttentionSumma has no flash attention. Recomputed: scores are not kept.
  bool flash = true, recomputed = false;
};

// `model`, `system` and `options` must have passed the checks of check.h.
std::vector<Operator> MakeModule(const Model& model, const System& system, Module module,
                                 const ModuleOptions& options);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_MODULE_H_
