#ifndef MESHWRIGHT_EXPLAIN_IN_SHORT_H_
#define MESHWRIGHT_EXPLAIN_IN_SHORT_H_

#include <string>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// What parallelism any plan is, in one sentence: "mixed parallelism: FSDP over x (16), tensor over
// y (8)", "pipeline of 4 stages; each: tensor parallelism over x (8)", "mixed parallelism: tensor
// 4, pipeline 4, data 4". Linear in the program.
std::string InShort(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_IN_SHORT_H_
