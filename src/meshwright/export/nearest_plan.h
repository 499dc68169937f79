#ifndef MESHWRIGHT_EXPORT_NEAREST_PLAN_H_
#define MESHWRIGHT_EXPORT_NEAREST_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "meshwright/export/target.h"

namespace meshwright {

// The configuration that a target can express and that differs least from that of a launch: in as
// few decisions as possible, and of these in the least powers of two of the degrees. All that the
// planner's space has for the model on as many GPUs are looked at, in the plan's precision and in
// bf16. None if there is none.
std::optional<transformer::Configuration> NearestExpressible(const ModelLaunch& launch,
                                                             const ExportTarget& target);

// Decisions in which they differ, "zero 2 -> 1, pp 4 -> 2".
std::string ChangesText(const transformer::Configuration& from,
                        const transformer::Configuration& to);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_NEAREST_PLAN_H_
