#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_MODEL_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_MODEL_H_

#include <string>
#include <vector>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// One kind of parallelism that a model is trained with.
struct DegreeUse {
  std::string kind;    // "tensor", "context", "data", "pipeline", "expert"
  int64_t degree = 1;  // devices of a group
  std::string how;     // "column and row, 8 of a group in one node"
};

// Those of more than one device. Requires plan.model.
std::vector<DegreeUse> DegreeUses(const Plan& plan);

// "mixed parallelism: tensor 4, pipeline 4, data 4"; "no parallelism". Requires plan.model.
std::string ModelHeadline(const Plan& plan);

// How a plan over groups of nodes keeps the optimizer's state, where it is sharded: "optimizer
// state sharded (ZeRO-1) over each stage's data degree"; else "".
std::string StateOverGroups(const Plan& plan);

// How the stages on a group of nodes are divided: "tensor 2, data 4, 1 sequence a micro-batch".
std::string GroupDegreesText(const PlanNodeGroup& group);

// ExplainPlan of a plan that was made from a model instead of a program.
std::string ExplainModel(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_MODEL_H_
