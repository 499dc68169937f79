#ifndef MESHWRIGHT_EXPORT_USUAL_CHOICES_H_
#define MESHWRIGHT_EXPORT_USUAL_CHOICES_H_

#include <string_view>

#include "meshwright/degrees/configuration.h"
#include "meshwright/export/findings.h"

namespace meshwright {

// Why plans with any but the default state are refused.
inline constexpr std::string_view kOnlyUsualState =
    "state: gradients and moments of 16 bits and the fused loss (--grads, --moments, --fused-loss) "
    "are written for no framework";

// Choices that plans can make and that are written for no framework.
void RequireUsualChoices(const transformer::Configuration& c, Findings& findings);

// The same for frameworks that compute all layers again or none.
void RequireEveryLayer(const transformer::Configuration& c, Findings& findings);

// The same for frameworks that number GPUs along replicas before the pipeline only.
void RequireUsualRanks(const transformer::Configuration& c, Findings& findings);

// The same for frameworks that keep everything on the GPUs, as they are launched.
void RequireNoOffload(const transformer::Configuration& c, Findings& findings);

// The same for frameworks whose context parallelism sends keys and values around a ring.
void RequireRing(const transformer::Configuration& c, Findings& findings);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_USUAL_CHOICES_H_
