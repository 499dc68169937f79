#ifndef MESHWRIGHT_TESTS_SHARDING_CALL_STAND_INS_H_
#define MESHWRIGHT_TESTS_SHARDING_CALL_STAND_INS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tests/sharding/random_operators.h"
#include "tests/sharding/tensor.h"

// Stand-ins for kernels that cannot run in a test: calls with the shapes and attributes of the real
// ones, which compute in whole numbers what depends on the same elements of the operands, and adds
// up over the same dimensions, as what the kernel computes.

namespace meshwright {

// One result as a product of operands, each named by its number with a letter for each dimension,
// "0:bsd 1:btd 2:bte -> bse": summed (or, after "max ", the largest) over letters that it lacks.
// Dimensions of several letters stand in parentheses, major to minor. A dimension of size 1 whose
// letters are longer holds for all of them. An operand may occur several times.
struct CallStandIn {
  std::string target;
  std::vector<std::string> results;
};

struct CallExample {
  CallStandIn call;
  std::vector<std::string> operands;  // types and letters: "f32 bs(gr)d"
  std::vector<std::string> results;
  std::string attributes;  // of the call, after its target
  std::string rule;        // what Rule::ToString is to say
};
const std::vector<CallExample>& CallExamples();

// The text of an entry that calls the kernel of `example`, with random sizes of letters.
std::string RandomCall(const CallExample& example, Random& random);

// The results of a call to `target` with these pieces of its operands; `sizes` of the results'.
std::vector<Tensor> ExecuteCall(std::string_view target, const std::vector<Tensor>& operands,
                                const std::vector<std::vector<int64_t>>& sizes);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_CALL_STAND_INS_H_
