#ifndef MESHWRIGHT_EXPORT_NEAREST_PLAN_H_
#define MESHWRIGHT_EXPORT_NEAREST_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "meshwright/export/target.h"

namespace meshwright {

struct NearestOptions {
  bool has_script = false;  // the user's own program is launched
  bool has_to_fit = true;   // into the launch's budget and the host's memory
};

// The configuration that a target can express and that differs least from that of a launch: in as
// few decisions as possible, and of these in the least powers of two of the degrees. Those that
// need no program of the user's own go before those that do. All that the planner's space has for
// the model on as many GPUs are looked at, in the plan's precision and in bf16, with the plan's
// context parallelism and with rings. None if there is none.
std::optional<transformer::Configuration> NearestExpressible(const ModelLaunch& launch,
                                                             const ExportTarget& target,
                                                             const NearestOptions& options = {});

// Decisions in which they differ, "zero 2 -> 1, pp 4 -> 2".
std::string ChangesText(const transformer::Configuration& from,
                        const transformer::Configuration& to);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_NEAREST_PLAN_H_
