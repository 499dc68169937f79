#ifndef MESHWRIGHT_DEGREES_FIXES_H_
#define MESHWRIGHT_DEGREES_FIXES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/model/model.h"

// Degrees and choices as users write them: "tp=8,pp=4,recompute=full".

namespace meshwright::transformer {

// The defaults of frameworks: GPUs numbered in order, tensor parallelism over outputs, rings, the
// same recomputed in all layers, nothing offloaded. All else is searched.
Fixes UsualFixes();
// The choices that launches are written for (export/), where `fixes` leaves it open: the same, and
// embedding and head not counted as layers, nothing but whole layers or attention recomputed; but
// of layers any number, the same in all pipeline groups, and GPUs numbered in either order.
Fixes LaunchableFixes(Fixes fixes = {});

// Reads lists of KEY=VALUE, between commas or blanks; keys are those of DegreeTable(), and of lists
// over the stages of a pipeline: layers=5-7-6-6, order=fast+fast+slow+slow. Errors: an
// unknown key, a value of another kind, a key twice; they say what would be valid.
absl::StatusOr<Fixes> ParseFixes(const std::vector<std::string>& lists);

// One fix as the user would write it, and the fixes without it.
struct SingleFix {
  std::string key, text;  // "tp", "tp=8"
  Fixes others;
};
std::vector<SingleFix> SplitFixes(const Fixes& fixes);

// What fixes `configuration` of `model` among all that LaunchableFixes leave.
std::vector<std::string> FixTexts(const Configuration& configuration, const Model& model);
// ... among all that there are whose tensor parallelism is over outputs and whose GPUs are numbered
// in order.
std::vector<std::string> AllFixTexts(const Configuration& configuration, const Model& model);

// "bf16". Errors name --dtype.
absl::StatusOr<Precision> ParsePrecision(std::string_view name);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_FIXES_H_
