#ifndef MESHWRIGHT_EXPORT_USUAL_CHOICES_H_
#define MESHWRIGHT_EXPORT_USUAL_CHOICES_H_

#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/export/findings.h"

namespace meshwright {

// Whether a launch of the state is written: of all states by targets that have the types of
// gradients and moments and the fused loss as options, else of the usual one.
void RequireState(const transformer::StateOptions& state, bool writes_state, Findings& findings);

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
