#ifndef MESHWRIGHT_TESTS_DEGREES_PLAIN_STEP_COST_H_
#define MESHWRIGHT_TESTS_DEGREES_PLAIN_STEP_COST_H_

#include "meshwright/degrees/step_cost.h"

// The calibrated model's cost of one configuration with nothing kept and nothing shared: layer
// after layer, group after group, every collective asked for where it is due.

namespace meshwright::transformer {

StepCost PlainCost(const Model& model, const Workload& workload, const Cluster& cluster,
                   const FrameworkParameters& framework, const Configuration& c);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_TESTS_DEGREES_PLAIN_STEP_COST_H_
