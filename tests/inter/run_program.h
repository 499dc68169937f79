#ifndef MESHWRIGHT_TESTS_INTER_RUN_PROGRAM_H_
#define MESHWRIGHT_TESTS_INTER_RUN_PROGRAM_H_

#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "tests/sharding/interpreter.h"

namespace meshwright {

// Leaves of the result of the entry computation of `module`, which has no calls, for the leaves of
// its parameters. Computes in double, whatever the types are. `graph` is that of the module.
std::vector<Tensor> RunProgram(const Module& module, const Graph& graph,
                               const std::vector<Tensor>& parameters);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_INTER_RUN_PROGRAM_H_
