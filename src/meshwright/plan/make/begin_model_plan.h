#ifndef MESHWRIGHT_PLAN_MAKE_BEGIN_MODEL_PLAN_H_
#define MESHWRIGHT_PLAN_MAKE_BEGIN_MODEL_PLAN_H_

#include <cstdint>
#include <optional>

#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_model.h"

namespace meshwright {

// What plans of models say whatever they are costed by: inputs, options, cluster, mesh, the model
// and the configuration `best`.
Plan BeginModelPlan(const ModelRequest& request, const Cluster& cluster,
                    const transformer::Configuration& best);

// GPUs that are numbered in order need no word in a plan: every launcher does that by itself.
transformer::Configuration WithoutUsualPlacement(transformer::Configuration configuration);

// The framework that the step was costed by, and its state.
void SetFramework(const transformer::ChosenFramework& framework, std::optional<int64_t> mtp,
                  PlanTransformer& part);

// What peak memory consists of, on the device that has the highest.
void SetMemoryByCategory(const transformer::StageMemory& memory, Plan& plan);
PlanGroupBytes ToGroupBytes(const transformer::StageMemory& memory);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_BEGIN_MODEL_PLAN_H_
