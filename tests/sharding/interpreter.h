#ifndef MESHWRIGHT_TESTS_SHARDING_INTERPRETER_H_
#define MESHWRIGHT_TESTS_SHARDING_INTERPRETER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/sharding/sharding.h"

// Executes single operators on small arrays: the numeric oracle of the sharding rules. The same
// code runs an operator on whole arrays and on one device's pieces of them. It works out of the
// attributes and of where the pieces lie, and knows nothing of rules.

namespace meshwright {

struct Tensor {
  std::vector<int64_t> dims;
  std::vector<double> data;  // row-major
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

// A device's piece of an array: [offset, offset + size) of each dimension of `global`.
struct Placement {
  std::vector<int64_t> offset, size, global;
};
Placement WholePlacement(const std::vector<int64_t>& dims);

using Index = std::vector<int64_t>;
// Calls `body` with every index of an array of `dims`, in row-major order.
void ForEachIndex(const std::vector<int64_t>& dims, const std::function<void(const Index&)>& body);
double& At(Tensor& tensor, const Index& index);
double At(const Tensor& tensor, const Index& index);
// The piece of `whole` that `placement` describes.
Tensor Piece(const Tensor& whole, const Placement& placement);

// Results of `op` for the given pieces of its operands. Of elements that are not in the operands'
// pieces a gather yields 0 and a scatter drops the update. `first`: this device adds the initial
// value of a reduction; others start from its identity. Aborts on an operator it does not know.
std::vector<Tensor> Execute(const Graph& graph, const Op& op, const std::vector<Tensor>& operands,
                            const std::vector<Placement>& operand_places,
                            const std::vector<Placement>& result_places, bool first);

double Combine(Reduction reduction, double a, double b);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_INTERPRETER_H_
