#ifndef MESHWRIGHT_TESTS_SHARDING_INTERPRETER_H_
#define MESHWRIGHT_TESTS_SHARDING_INTERPRETER_H_

#include <vector>

#include "meshwright/hlo/graph.h"
#include "tests/sharding/scalar_functions.h"
#include "tests/sharding/tensor.h"

// Executes single operators on small arrays: the numeric oracle of the sharding rules. The same
// code runs an operator on whole arrays and on one device's pieces of them. It works out of the
// attributes and of where the pieces lie, and knows nothing of rules.

namespace meshwright {

// Results of `op` for the given pieces of its operands. Of elements that are not in the operands'
// pieces a gather yields 0 and a scatter drops the update. `first`: this device adds the initial
// value of a reduction; others start from its identity. Aborts on an operator it does not know.
std::vector<Tensor> Execute(const Graph& graph, const Op& op, const std::vector<Tensor>& operands,
                            const std::vector<Placement>& operand_places,
                            const std::vector<Placement>& result_places, bool first);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_INTERPRETER_H_
