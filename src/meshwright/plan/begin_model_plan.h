#ifndef MESHWRIGHT_PLAN_BEGIN_MODEL_PLAN_H_
#define MESHWRIGHT_PLAN_BEGIN_MODEL_PLAN_H_

#include "meshwright/cluster/cluster.h"
#include "meshwright/plan/plan.h"
#include "meshwright/plan/plan_model.h"
#include "meshwright/transformer/configuration.h"

namespace meshwright {

// What plans of models say whatever they are costed by: inputs, options, cluster, mesh, the model
// and the configuration `best`.
Plan BeginModelPlan(const ModelRequest& request, const Cluster& cluster,
                    const transformer::Configuration& best);

PlanDegrees ToPlanDegrees(const transformer::Configuration& configuration);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_BEGIN_MODEL_PLAN_H_
